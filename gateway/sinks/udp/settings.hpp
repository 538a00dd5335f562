#pragma once

#include <cstdint>
#include <string>

#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/kind.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::udp {

/// Settings of `[[udp]]`: quotes and levels as `quotes` datagrams, to chain gateways.
struct Settings : SinkBasics {
    net::SocketAddress to;     ///< Destination ADDRESS:PORT, unicast or multicast.
    std::string interface;     ///< Interface for multicast; empty: the kernel's choice.
    std::uint16_t channel{0};  ///< Channel number in the datagrams.
    Delivery mode{Delivery::every};
    std::uint32_t depth{0};             ///< Levels of a side to send; 0: none.
    std::uint32_t refresh_seconds{10};  ///< Time in which all quotes and levels are repeated once.
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::udp
