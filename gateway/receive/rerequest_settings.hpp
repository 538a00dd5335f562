#pragma once

#include <cstdint>

#include <millpond/net/socket_address.hpp>

namespace millpond::gateway {

/// Re-requests of messages that no line delivered; settings of formats with re-request servers derive from it.
struct RerequestSettings {
    net::SocketAddress rerequest;   ///< MoldUDP64 server; empty: none.
    std::uint64_t rerequest_ms{5};  ///< Pause before a request is repeated, doubled each time.
    bool rerequest_start{true};     ///< Also request the session's messages before the start.
    friend bool operator==(const RerequestSettings&, const RerequestSettings&) = default;
};

}  // namespace millpond::gateway
