#pragma once

#include <cstdint>

#include <millpond/net/socket_address.hpp>

namespace millpond::gateway {

/// Default capacity for messages that arrive during a rebuild of books.
inline constexpr std::uint64_t kRebuildBuffer = 16ULL * 1024 * 1024;

/// Re-requests of messages that no line delivered; settings of formats with re-request servers derive from it.
struct RerequestSettings {
    net::SocketAddress rerequest;      ///< Server by UDP; empty: none.
    net::SocketAddress rerequest_tcp;  ///< Server by TCP, for formats that have one; empty: none.
    std::uint64_t rerequest_ms{5};     ///< Pause before a request is repeated, doubled each time; 40 times that by TCP.
    bool rerequest_start{true};        ///< Also request the session's messages before the start.

    [[nodiscard]] bool has_server() const noexcept { return !rerequest.empty() || !rerequest_tcp.empty(); }
    friend bool operator==(const RerequestSettings&, const RerequestSettings&) = default;
};

}  // namespace millpond::gateway
