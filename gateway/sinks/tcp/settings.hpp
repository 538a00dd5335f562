#pragma once

#include "gateway/json_lines/line_settings.hpp"
#include "gateway/sinks/tcp/options.hpp"

namespace millpond::gateway::tcp {

/// JSON lines to TCP clients: `[[tcp]]`.
struct Settings : LineSettings {
    Settings() : LineSettings("127.0.0.1:9100", Options{}) {}
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::tcp
