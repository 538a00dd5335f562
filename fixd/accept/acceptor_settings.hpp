#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <millpond/net/socket_address.hpp>

#include "fixd/tls_files.hpp"

namespace millpond::fixd {

/// An address for counterparties: `[[acceptor]]`.
struct AcceptorConfig {
    std::string name{"acceptor"};
    net::SocketAddress listen{net::SocketAddress::parse("127.0.0.1:5001")};
    std::uint64_t max_connections{256};
    std::uint64_t max_before_logon{64};
    std::uint64_t max_before_logon_per_address{16};
    std::uint64_t first_message_seconds{10};
    std::vector<std::string> allow{};
    TlsFiles tls{};
    friend bool operator==(const AcceptorConfig&, const AcceptorConfig&) = default;
};

/// Checks that involve several keys or acceptors. Throws ConfigError.
void check_acceptors(const std::vector<AcceptorConfig>& acceptors);

}  // namespace millpond::fixd
