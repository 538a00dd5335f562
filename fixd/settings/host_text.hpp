#pragma once

#include <string_view>

#include <millpond/engine/initiator.hpp>

namespace millpond::fixd {

/// Parses "fix.example.com:5001", "10.0.0.1:5001" or "[fd00::1]:5001". Throws std::invalid_argument that quotes other
/// text.
[[nodiscard]] engine::Host host_of(std::string_view text);
/// "socks5://HOST:PORT" or "http://HOST:PORT". Throws as host_of.
[[nodiscard]] engine::Proxy proxy_of(std::string_view text);

}  // namespace millpond::fixd
