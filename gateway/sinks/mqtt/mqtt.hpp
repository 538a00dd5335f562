#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::mqtt {

enum class Protocol : std::uint8_t { v3_1_1, v5 };

/// PEM files; `on` with no authority trusts the system's.
struct Tls {
    bool on{false};
    std::string authority{};    ///< Authorities that must have signed the broker's certificate.
    std::string certificate{};  ///< Our certificate, if the broker requests one.
    std::string key{};
    friend bool operator==(const Tls&, const Tls&) = default;
};

struct Options {
    std::string name{"mqtt"};
    std::string host{"127.0.0.1"};
    std::uint16_t port{1'883};
    std::string topic{"bbo/{symbol}"};
    std::string state_topic{"millpond/mqtt"};
    std::string client_id{};  ///< Chosen by chance when empty.
    Protocol protocol{Protocol::v5};
    int qos{0};  ///< 0 or 1.
    bool retain{true};
    Delivery mode{Delivery::conflate};
    std::string user{};
    std::string password{};
    Tls tls{};
    std::chrono::seconds keepalive{15};
    std::size_t window{1'024};        ///< Messages on their way at a time, a power of two.
    std::size_t send_buffer{65'536};  ///< Bytes that the kernel may hold.
    std::chrono::milliseconds reconnect{250};
    std::chrono::milliseconds reconnect_longest{30'000};
};

/// Whether this build has libmosquitto.
[[nodiscard]] bool is_built() noexcept;

/// The sink of mqtt_sink.hpp. Throws std::runtime_error when it is not built, std::invalid_argument for an invalid
/// topic, std::runtime_error with libmosquitto's message for settings that it refuses.
[[nodiscard]] std::unique_ptr<Sink> open(const Options& options, service::Say say);

}  // namespace millpond::gateway::mqtt
