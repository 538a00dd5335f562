#pragma once

#include <string>

#include "gateway/health/state.hpp"

namespace millpond::gateway::health {

/// The page /api/health; web/openapi.yaml describes it.
[[nodiscard]] std::string report_json(const State& state);

/// One line: "good", or the first thing that is wrong, since when.
[[nodiscard]] std::string report_line(const State& state);

/// False when quotes do not arrive somewhere: there is an error among the findings.
[[nodiscard]] bool is_good(const State& state);

}  // namespace millpond::gateway::health
