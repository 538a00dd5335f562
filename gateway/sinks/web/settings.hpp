#pragma once

#include "gateway/json_lines/line_settings.hpp"
#include "gateway/sinks/web/options.hpp"

namespace millpond::gateway::web {

/// The page, and JSON lines to WebSocket clients: `[[web]]`.
struct Settings : LineSettings {
    Settings() : LineSettings("127.0.0.1:9465", Options{}) {}
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::web
