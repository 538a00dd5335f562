#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::udp {

struct Options {
    std::string name{"udp"};
    net::SocketAddress to{};
    std::string interface{};
    std::uint16_t channel{0};
    Delivery mode{Delivery::every};
    std::chrono::nanoseconds heartbeat{std::chrono::seconds{1}};
};

}  // namespace millpond::gateway::udp
