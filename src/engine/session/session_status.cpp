#include <millpond/engine/session_status.hpp>
#include <millpond/tls/failure.hpp>

namespace millpond::engine {

std::string_view name(Closed reason) noexcept {
    switch (reason) {
        case Closed::none: return "none";
        case Closed::by_peer: return "closed by the peer";
        case Closed::logged_out: return "logged out";
        case Closed::logout_timeout: return "logout timeout";
        case Closed::logon_timeout: return "logon timeout";
        case Closed::logon_refused: return "logon refused";
        case Closed::heartbeat_timeout: return "heartbeat timeout";
        case Closed::sequence_too_low: return "sequence number too low";
        case Closed::outside_schedule: return "outside the schedule";
        case Closed::slow_consumer: return "slow consumer";
        case Closed::too_many_messages: return "too many messages";
        case Closed::connect_failed: return "no connection";
        case Closed::tls_failed: return tls::kHandshakeFailed;
        case Closed::application_error: return "application error";
        case Closed::store_failed: return "the store failed";
        case Closed::standby_lost: return "the standby was lost";
        case Closed::superseded: return "another machine has taken over";
        case Closed::not_encoded: return "a session message could not be encoded";
        case Closed::numbers_used_up: return "outbound sequence numbers used up";
        case Closed::shut_down: return "shut down";
    }
    return "unknown";
}

Closed closed_by(fix::Disconnect reason) noexcept {
    switch (reason) {
        case fix::Disconnect::logged_out: return Closed::logged_out;
        case fix::Disconnect::logout_timeout: return Closed::logout_timeout;
        case fix::Disconnect::logon_timeout: return Closed::logon_timeout;
        case fix::Disconnect::logon_refused: return Closed::logon_refused;
        case fix::Disconnect::heartbeat_timeout: return Closed::heartbeat_timeout;
        case fix::Disconnect::sequence_too_low: return Closed::sequence_too_low;
        case fix::Disconnect::send_refused: return Closed::slow_consumer;
        case fix::Disconnect::outside_schedule: return Closed::outside_schedule;
        case fix::Disconnect::not_encoded: return Closed::not_encoded;
        case fix::Disconnect::numbers_used_up: return Closed::numbers_used_up;
    }
    return Closed::none;
}

std::string_view name(fix::Session::State state) noexcept {
    switch (state) {
        case fix::Session::State::disconnected: return "disconnected";
        case fix::Session::State::awaiting_logon: return "awaiting logon";
        case fix::Session::State::active: return "active";
        case fix::Session::State::awaiting_logout: return "awaiting logout";
    }
    return "unknown";
}

}  // namespace millpond::engine
