#pragma once

#include <cstdint>
#include <string>

#include "gateway/sinks/kind.hpp"
#include "gateway/sinks/mqtt/mqtt.hpp"
#include "service/token.hpp"

namespace millpond::gateway::mqtt {

/// The newest quote of each instrument to an MQTT broker: `[[mqtt]]`.
struct Settings : SinkBasics {
    std::string host{"127.0.0.1"};
    std::uint16_t port{1'883};
    std::string topic{"bbo/{symbol}"};
    std::string state_topic;  ///< Birth and will; millpond/NAME when empty.
    std::string client_id;    ///< Chosen by chance when empty.
    Protocol protocol{Protocol::v5};
    std::uint64_t qos{0};
    bool retain{true};
    Delivery mode{Delivery::conflate};
    std::string user;
    service::TokenSource password;
    Tls tls;
    std::uint64_t keepalive_seconds{15};
    std::uint64_t window{1'024};              ///< Messages on their way at a time, a power of two.
    std::uint64_t send_buffer{64ULL * 1024};  ///< Bytes that the kernel may hold.
    std::uint64_t reconnect_ms{250};          ///< First pause before the next attempt; each one doubles it.
    std::uint64_t reconnect_most_ms{30'000};  ///< Longest pause.
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::mqtt
