#pragma once

#include <vector>

#include "fixd/health/health.hpp"
#include "fixd/settings/engine_config.hpp"

namespace millpond::fixd {

/// Pages and metrics that admit other machines without authentication or TLS.
[[nodiscard]] std::vector<Finding> exposures(const EngineConfig& config);

}  // namespace millpond::fixd
