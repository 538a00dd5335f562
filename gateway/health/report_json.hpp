#pragma once

#include <string>

#include "gateway/health/state.hpp"

namespace millpond::gateway::health {

/// Returns the response of /api/health; web/openapi.yaml describes it.
[[nodiscard]] std::string report_json(const State& state);

/// Returns one line: "good", or the first finding with its start.
[[nodiscard]] std::string report_line(const State& state);

/// Whether there is no error among the findings; an error means that quotes do not arrive somewhere.
[[nodiscard]] bool is_good(const State& state);

}  // namespace millpond::gateway::health
