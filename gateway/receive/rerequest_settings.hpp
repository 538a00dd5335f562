#pragma once

#include <cstdint>

#include <millpond/net/socket_address.hpp>

namespace millpond::gateway {

/// How a feed requests what no line delivered; settings of formats with re-request servers derive from it.
struct RerequestSettings {
    net::SocketAddress rerequest;         ///< Server of MoldUDP64; none when empty.
    std::uint64_t rerequest_ms{5};        ///< Pause before a request is repeated; each time doubles it.
    std::uint64_t rerequest_tries{6};     ///< Requests after which a gap is given up.
    std::uint64_t rerequest_most{1'000};  ///< Messages in one request.
    bool rerequest_start{true};           ///< Also request what came before the start.
    friend bool operator==(const RerequestSettings&, const RerequestSettings&) = default;
};

}  // namespace millpond::gateway
