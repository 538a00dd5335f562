#pragma once

#include <cstdint>
#include <string>

namespace millpond::engine {

/// Host name and port of a counterparty or a proxy.
struct Host {
    std::string name;  ///< Host name or address.
    std::uint16_t port{0};
    friend bool operator==(const Host&, const Host&) = default;
};

/// A proxy that an initiator connects through. TLS is end to end with the counterparty, whose name the proxy looks up.
struct Proxy {
    enum class Kind : std::uint8_t { socks5, http_connect };
    Kind kind{Kind::socks5};
    Host host;
    std::string username{};  ///< Empty: the proxy requires none. At most 255 bytes with SOCKS5, like the password.
    std::string password{};
};

}  // namespace millpond::engine
