#pragma once

#include <string>

#include "gateway/health/state.hpp"

namespace millpond::gateway::health {

/// The current findings in Prometheus' text format: `millpond_finding{stage,severity,of}` is 1 while one lasts.
[[nodiscard]] std::string report_metrics(const State& state);

}  // namespace millpond::gateway::health
