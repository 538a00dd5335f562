#pragma once

#include <cstdint>
#include <string_view>

#include <millpond/fix/tag.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::engine {

/// Reason why a connection did not become a logged-on session.
enum class RefusalReason : std::uint8_t {
    unreachable,      ///< No address of the host was found, or none accepted the connection in time.
    not_allowed,      ///< The address is not on the list.
    full,             ///< The connection was the oldest one without a Logon, or the maximum of sessions is reached.
    silent,           ///< No first message in time.
    tls,              ///< The TLS handshake failed.
    garbled,          ///< The first bytes are not a FIX message.
    not_a_logon,      ///< The first message is not a Logon.
    unknown_session,  ///< No session has the Logon's BeginString and CompIDs.
    duplicate,        ///< The session is connected already.
    invalid_logon,    ///< The session refused the Logon, or the peer refused ours.
    closed_by_peer,   ///< The peer closed the connection before the Logon was complete.
    no_store,         ///< The session's store could not be opened.
    not_admitted,     ///< The session's guard refused it.
    standby,          ///< The session waits for its standby, or the standby has taken over.
};

[[nodiscard]] std::string_view name(RefusalReason reason) noexcept;

/// A connection that did not become a logged-on session.
struct Refusal {
    RefusalReason reason{RefusalReason::invalid_logon};
    net::SocketAddress peer{};
    fix::Tag tag{fix::tag::kInvalid};  ///< The invalid field; kInvalid: none.
    std::string_view
        detail{};  ///< More specific than the reason; may contain any bytes of the peer. Valid during the call.
};

}  // namespace millpond::engine
