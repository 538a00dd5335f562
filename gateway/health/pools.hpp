#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gateway/health/state.hpp"
#include "gateway/receive/pipeline.hpp"

namespace millpond::gateway::health {

/// Updates the fill levels of the instrument tables and of the feeds' tables. pools: the result of the previous call,
/// initially empty.
void update_pools(const std::vector<std::unique_ptr<Pipeline>>& pipelines, std::int64_t now,
                  std::vector<PoolState>& pools);

}  // namespace millpond::gateway::health
