#pragma once

#include <cstdint>
#include <string_view>

#include <millpond/fix/tag.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::engine {

/// Why a connection did not become a logged-on session.
enum class RefusalReason : std::uint8_t {
    unreachable,      ///< An initiator found no address, or none of them let it connect in time.
    not_allowed,      ///< The address is not on the list.
    full,             ///< It was the oldest one without a Logon, or there is no room for another session.
    silent,           ///< No first message in time.
    tls,              ///< The TLS handshake failed.
    garbled,          ///< The first bytes are not a FIX message.
    not_a_logon,      ///< The first message is another one.
    unknown_session,  ///< No session has the Logon's BeginString and CompIDs.
    duplicate,        ///< The session is connected already.
    invalid_logon,    ///< The session did not accept the Logon, or the peer not ours.
    closed_by_peer,   ///< The peer closed the connection before the Logon was complete.
    no_store,         ///< The session's store could not be opened.
    not_admitted,     ///< The session's guard refused it.
    standby,          ///< The session waits for its standby, or that has taken over.
};

[[nodiscard]] std::string_view name(RefusalReason reason) noexcept;

/// A connection that did not become a logged-on session.
struct Refusal {
    RefusalReason reason{RefusalReason::invalid_logon};
    net::SocketAddress peer{};
    fix::Tag tag{fix::tag::kInvalid};  ///< The field at fault; kInvalid where none is.
    std::string_view detail{};         ///< May hold any bytes of the peer's. Lives as long as the call.
};

}  // namespace millpond::engine
