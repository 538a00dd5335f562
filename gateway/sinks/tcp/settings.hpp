#pragma once

#include "gateway/json_lines/json_lines_settings.hpp"

namespace millpond::gateway::tcp {

/// Settings of `[[tcp]]`: JSON lines to TCP clients.
struct Settings : JsonLinesSettings {
    Settings() : JsonLinesSettings("127.0.0.1:9100", Delivery::every, std::uint64_t{256} * 1024) {}
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::tcp
