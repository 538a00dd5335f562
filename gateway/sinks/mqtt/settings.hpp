#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "gateway/sinks/count_of.hpp"
#include "gateway/sinks/kind.hpp"
#include "gateway/sinks/mqtt/mqtt.hpp"
#include "service/token.hpp"

namespace millpond::gateway::mqtt {

/// The newest quote of each instrument to an MQTT broker: `[[mqtt]]`.
struct Settings : SinkBasics {
    std::string host{Options{}.host};
    std::uint16_t port{Options{}.port};
    std::string topic{Options{}.topic};
    std::string state_topic;  ///< Birth and will; millpond/NAME when empty.
    std::string client_id;    ///< Chosen by chance when empty.
    Protocol protocol{Options{}.protocol};
    std::uint64_t qos{static_cast<std::uint64_t>(Options{}.qos)};
    bool retain{Options{}.retain};
    Delivery mode{Options{}.mode};
    std::string user;
    service::TokenSource password;
    Tls tls;
    std::uint64_t keepalive_seconds{count_of<std::chrono::seconds>(Options{}.keepalive)};
    std::uint64_t window{Options{}.window};            ///< Messages on their way at a time, a power of two.
    std::uint64_t send_buffer{Options{}.send_buffer};  ///< Bytes that the kernel may hold.
    /// First pause before the next attempt; each one doubles it, up to the second key.
    std::uint64_t reconnect_ms{count_of<std::chrono::milliseconds>(Options{}.reconnect)};
    std::uint64_t reconnect_most_ms{count_of<std::chrono::milliseconds>(Options{}.reconnect_longest)};
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::mqtt
