#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/net/socket_address.hpp>
#include <millpond/tls/context.hpp>

#include "service/settings/schema.hpp"
#include "service/tls.hpp"
#include "service/token.hpp"

namespace millpond::fixd {

/// A server of the page: `[[web]]`.
struct WebConfig {
    net::SocketAddress listen{net::SocketAddress::parse("127.0.0.1:9475")};
    service::TokenSource token{};
    tls::Options tls{};
    friend bool operator==(const WebConfig&, const WebConfig&) = default;
};

/// The files that are read: the token and the TLS files.
[[nodiscard]] std::vector<std::string> files_read(const WebConfig& web);
/// Reads the TLS files. Throws service::ConfigError that names the server.
[[nodiscard]] tls::Context tls_of(const WebConfig& web);

}  // namespace millpond::fixd

namespace millpond::settings {

// clang-format off
template <> std::string_view Schema<fixd::WebConfig>::name();
template <> std::span<const Key<fixd::WebConfig>> Schema<fixd::WebConfig>::keys();
// clang-format on

}  // namespace millpond::settings
