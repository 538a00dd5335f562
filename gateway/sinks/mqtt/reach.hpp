#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

namespace millpond::gateway::mqtt {

/// Tries to connect to each of the host's addresses by TCP, for at most five seconds each. Returns the reason if none
/// can be reached, else nullopt. Returns within 100 ms of a stop, except while the name is looked up.
[[nodiscard]] std::optional<std::string> unreachable(const std::string& host, std::uint16_t port,
                                                     const std::stop_token& stop);

}  // namespace millpond::gateway::mqtt
