#include <millpond/engine/refusal.hpp>
#include <millpond/tls/failure.hpp>

namespace millpond::engine {

std::string_view name(RefusalReason reason) noexcept {
    switch (reason) {
        case RefusalReason::unreachable: return "cannot connect";
        case RefusalReason::not_allowed: return "address not allowed";
        case RefusalReason::full: return "too many connections";
        case RefusalReason::silent: return "no Logon in time";
        case RefusalReason::tls: return tls::kHandshakeFailed;
        case RefusalReason::garbled: return "garbled first message";
        case RefusalReason::not_a_logon: return "first message is not a Logon";
        case RefusalReason::unknown_session: return "unknown session";
        case RefusalReason::duplicate: return "session is connected already";
        case RefusalReason::invalid_logon: return "Logon refused";
        case RefusalReason::closed_by_peer: return "connection closed before the Logon was complete";
        case RefusalReason::no_store: return "store cannot be opened";
        case RefusalReason::not_admitted: return "not admitted";
        case RefusalReason::standby: return "no standby";
    }
    return "unknown";
}

}  // namespace millpond::engine
