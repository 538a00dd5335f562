#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <millpond/engine/standby.hpp>
#include <millpond/fix/session.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::engine {

/// Reason why a session lost its connection.
enum class Closed : std::uint8_t {
    none,               ///< The session is connected, or never was.
    by_peer,            ///< The peer closed the connection, or the network did.
    logged_out,         ///< The Logout handshake is complete.
    logout_timeout,     ///< The peer did not answer our Logout.
    logon_timeout,      ///< No Logon arrived.
    logon_refused,      ///< The peer's Logon was invalid, or the peer refused ours.
    heartbeat_timeout,  ///< The peer did not answer a TestRequest.
    sequence_too_low,   ///< A number was used already, without PossDupFlag.
    outside_schedule,   ///< The session is outside its schedule.
    slow_consumer,      ///< The peer reads too slowly.
    too_many_messages,  ///< The peer exceeds its message rate.
    connect_failed,     ///< The connection was refused, the host was unreachable, or the connection timed out.
    tls_failed,         ///< The TLS handshake failed.
    application_error,  ///< A callback of the application threw an exception.
    store_failed,       ///< Writing the store's file to the disk failed.
    standby_lost,       ///< The session's standby was lost.
    superseded,         ///< Another machine has taken over.
    not_encoded,        ///< A required session message did not fit into max_message_bytes.
    numbers_used_up,    ///< The next number to send is beyond 2^53 - 1: the session must be reset.
    shut_down,          ///< The engine shut down.
};

[[nodiscard]] std::string_view name(Closed reason) noexcept;
[[nodiscard]] Closed closed_by(fix::Disconnect reason) noexcept;

/// Snapshot of a session.
struct SessionStatus {
    std::string name;  ///< Name of the session: "FIX.4.4:HOUSE->CLIENT".
    fix::Role role{fix::Role::acceptor};
    fix::Session::State state{fix::Session::State::disconnected};
    std::string peer{};         ///< Address and port; empty while disconnected.
    bool enabled{true};         ///< False between request_logout and request_logon.
    bool open{true};            ///< Whether the schedule is open now.
    bool resending{false};      ///< A ResendRequest of the peer is being answered.
    bool awaits_resend{false};  ///< Our ResendRequest is not answered yet.
    std::uint64_t next_sender{0};
    std::uint64_t next_target{0};
    std::int64_t last_received_utc_ns{0};
    std::int64_t last_sent_utc_ns{0};
    std::int64_t connected_utc_ns{0};
    std::uint64_t connections{0};
    Closed last_closed{Closed::none};
    std::uint64_t received{0};
    std::uint64_t sent{0};
    std::uint64_t resent{0};
    std::uint64_t rejected{0};
    std::uint64_t garbled{0};         ///< Byte ranges that were not a message, and messages that were too long.
    std::uint64_t pending_bytes{0};   ///< Sent and not yet written to the socket.
    std::uint64_t lost_fills{0};      ///< Bytes sent and not yet written to the socket.
    std::uint64_t lost{0};            ///< Messages in these gap fills.
    std::uint64_t beyond{0};          ///< ResendRequests for numbers that were not sent yet.
    std::uint64_t store_damaged{0};   ///< Times that a damaged message was found in the store.
    std::uint64_t store_failures{0};  ///< Times that the next file of the store could not be prepared.
    /// Time by which the clock is before the last reset, because it was set back to before the start of the scheduled
    /// period; the sequence numbers are not reset. 0: the clock was not set back.
    std::int64_t set_back_ns{0};
    StandbyStatus standby{};
};

/// Name of a state: "disconnected", "awaiting logon", "active", "awaiting logout".
[[nodiscard]] std::string_view name(fix::Session::State state) noexcept;

}  // namespace millpond::engine
