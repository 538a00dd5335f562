#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/count_of.hpp"
#include "gateway/sinks/kind.hpp"
#include "gateway/sinks/udp/options.hpp"

namespace millpond::gateway::udp {

/// Our own `quotes` datagrams, to chain gateways: `[[udp]]`.
struct Settings : SinkBasics {
    net::SocketAddress to;                     ///< ADDRESS:PORT, unicast or multicast.
    std::string interface;                     ///< For multicast; the kernel's choice when empty.
    std::uint16_t channel{Options{}.channel};  ///< Channel number in the datagrams.
    Delivery mode{Options{}.mode};
    std::uint64_t heartbeat_ms{count_of<std::chrono::milliseconds>(
        Options{}.heartbeat)};  ///< Silence after which a datagram without quotes is sent.
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::udp
