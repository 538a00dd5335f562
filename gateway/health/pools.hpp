#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gateway/health/state.hpp"
#include "gateway/receive/pipeline.hpp"

namespace millpond::gateway::health {

/// How full the tables of instruments and the books' orders are. pools: as the last call left them, at first empty.
void look_at_pools(const std::vector<std::unique_ptr<Pipeline>>& pipelines, std::int64_t now,
                   std::vector<PoolState>& pools);

}  // namespace millpond::gateway::health
