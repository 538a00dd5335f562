#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/net/socket_address.hpp>
#include <millpond/tls/context.hpp>

#include "service/settings/schema.hpp"

namespace millpond::fixd {

/// An address for counterparties: `[[acceptor]]`.
struct AcceptorConfig {
    std::string name{"acceptor"};
    net::SocketAddress listen{net::SocketAddress::parse("127.0.0.1:5001")};
    std::size_t max_connections{256};
    std::size_t max_before_logon_per_address{16};
    std::vector<std::string> allow{};
    tls::Options tls{};  ///< Without a certificate: plain.
    friend bool operator==(const AcceptorConfig&, const AcceptorConfig&) = default;
};

/// Checks that involve several keys or acceptors. Throws ConfigError.
void check_acceptors(const std::vector<AcceptorConfig>& acceptors);

/// The TLS files, which are read.
[[nodiscard]] std::vector<std::string> files_read(const AcceptorConfig& acceptor);

}  // namespace millpond::fixd

namespace millpond::settings {

// clang-format off
template <> std::string_view Schema<fixd::AcceptorConfig>::name();
template <> std::span<const Key<fixd::AcceptorConfig>> Schema<fixd::AcceptorConfig>::keys();
// clang-format on

}  // namespace millpond::settings
