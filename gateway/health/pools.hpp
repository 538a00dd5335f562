#pragma once

#include <memory>
#include <vector>

#include "gateway/health/state.hpp"
#include "gateway/pipeline.hpp"

namespace millpond::gateway::health {

/// How full the tables of instruments and the books' orders are.
[[nodiscard]] std::vector<PoolState> pools_of(const std::vector<std::unique_ptr<Pipeline>>& pipelines);

}  // namespace millpond::gateway::health
