#pragma once

#include <millpond/net/socket_address.hpp>

#include "service/tls.hpp"
#include "service/token.hpp"

namespace millpond::fixd {

/// Where the page is served: `[[web]]`.
struct WebConfig {
    net::SocketAddress listen{net::SocketAddress::parse("127.0.0.1:9475")};
    service::TokenSource token{};
    service::TlsOptions tls{};
    friend bool operator==(const WebConfig&, const WebConfig&) = default;
};

}  // namespace millpond::fixd
