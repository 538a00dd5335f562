#pragma once

#include <string>

#include "gateway/health/state.hpp"

namespace millpond::gateway::health {

/// The response of /api/health; web/openapi.yaml describes it.
[[nodiscard]] std::string report_json(const State& state);

/// One line: "good", or the first finding with its start.
[[nodiscard]] std::string report_line(const State& state);

/// False if there is an error among the findings: quotes do not arrive somewhere.
[[nodiscard]] bool is_good(const State& state);

}  // namespace millpond::gateway::health
