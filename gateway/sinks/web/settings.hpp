#pragma once

#include "gateway/json_lines/json_lines_settings.hpp"

namespace millpond::gateway::web {

/// Settings of `[[web]]`: the page, and JSON lines to WebSocket clients.
struct Settings : JsonLinesSettings {
    Settings() : JsonLinesSettings("127.0.0.1:9465", Delivery::conflate, std::uint64_t{128} * 1024) {}
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::web
