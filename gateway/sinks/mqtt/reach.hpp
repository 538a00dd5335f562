#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

namespace millpond::gateway::mqtt {

/// Why no TCP connection is possible; nothing if a server listens there. Tries each of the host's addresses for at most
/// five seconds, and ends within 100 ms of a stop; the lookup of the name may take as long as the system's
/// resolver.
[[nodiscard]] std::optional<std::string> unreachable(const std::string& host, std::uint16_t port,
                                                     const std::stop_token& stop);

}  // namespace millpond::gateway::mqtt
