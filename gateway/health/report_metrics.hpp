#pragma once

#include <string>

#include "gateway/health/state.hpp"

namespace millpond::gateway::health {

/// Formats the current findings in Prometheus' text format: `millpond_finding{stage,severity,of}` is 1 while a finding
/// lasts.
[[nodiscard]] std::string report_metrics(const State& state);

}  // namespace millpond::gateway::health
