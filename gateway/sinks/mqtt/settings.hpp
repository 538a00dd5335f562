#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "gateway/sinks/kind.hpp"
#include "gateway/sinks/sink.hpp"
#include "service/token.hpp"

namespace millpond::gateway::mqtt {

enum class Protocol : std::uint8_t { v3_1_1, v5 };

/// TLS settings with PEM files; `on` without an authority trusts the system's authorities.
struct Tls {
    bool on{false};
    std::string authority{};    ///< Authorities that must have signed the broker's certificate.
    std::string certificate{};  ///< The client certificate, if the broker requests one.
    std::string key{};
    friend bool operator==(const Tls&, const Tls&) = default;
};

/// Levels of a side that are sent if `book_depth` is unset.
inline constexpr std::uint32_t kBookDepth = 10;
/// Shortest time between two messages of an instrument's levels.
inline constexpr std::chrono::milliseconds kBookInterval{100};

/// Settings of `[[mqtt]]`: the newest quote, and on request the best levels, of each instrument to an MQTT broker.
struct Settings : SinkBasics {
    std::string host{"127.0.0.1"};
    std::uint16_t port{1'883};
    std::string topic{"bbo/{symbol}"};
    std::string book_topic;                   ///< Topic of an instrument's best levels; empty: they are not sent.
    std::optional<std::uint32_t> book_depth;  ///< Levels of a side; unset: kBookDepth with a book_topic.
    std::string state_topic;                  ///< Topic of the birth and will messages; empty: millpond/NAME.
    std::string client_id;                    ///< Client id; empty: random.
    Protocol protocol{Protocol::v5};
    int qos{0};  ///< Quality of service, 0 or 1.
    bool retain{true};
    Delivery mode{Delivery::conflate};
    std::string user;
    service::TokenSource password;
    Tls tls;
    // The following settings have no keys.
    std::chrono::seconds keepalive{15};
    std::uint64_t window{1'024};                      ///< Maximum number of messages in flight, a power of two.
    std::uint64_t send_buffer{65'536};                ///< Kernel send buffer, in bytes.
    std::chrono::milliseconds reconnect{250};         ///< Pause before the first reconnect; each attempt doubles it.
    std::chrono::milliseconds max_reconnect{30'000};  ///< Maximum pause.
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::mqtt
