#pragma once

#include <string>

namespace millpond::app {

/// A gateway's /api/health as tables for a terminal: what is wrong, feeds, rings with latencies and readers, sinks.
/// Throws std::runtime_error when the JSON is none.
[[nodiscard]] std::string top_text(const std::string& health_json);

}  // namespace millpond::app
