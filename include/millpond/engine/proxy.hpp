#pragma once

#include <cstdint>
#include <string>

namespace millpond::engine {

/// Where a counterparty, or a proxy, listens.
struct Host {
    std::string name;  ///< A name or an address.
    std::uint16_t port{0};
};

/// What an initiator connects through. TLS runs inside, with the counterparty itself; names of counterparties are
/// looked up by the proxy.
struct Proxy {
    enum class Kind : std::uint8_t { socks5, http_connect };
    Kind kind{Kind::socks5};
    Host host;
    std::string username{};  ///< Empty: the proxy requires none. At most 255 bytes with SOCKS5, like the password.
    std::string password{};
};

}  // namespace millpond::engine
