#include "gateway/health/pools.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/tally.hpp>

namespace millpond::gateway::health {
namespace {

PoolState instruments_of(const Pipeline& pipeline) {
    return {.name = "instruments",
            .of = fmt::format("ring '{}'", pipeline.config().name),
            .used = pipeline.publisher().named().read(),
            .capacity = pipeline.config().max_instruments,
            .refused = pipeline.instruments().refused().read()};
}

/// Nothing for a feed that keeps no orders.
template <class Line>
std::optional<PoolState> orders_of(const Line& line) {
    std::optional<std::uint64_t> live;
    std::uint64_t refused = 0;
    line.decoder().visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
        if (name == "orders_live") live = tally.read();
        if (name == "orders_refused") refused = tally.read();
    });
    if (!live) return std::nullopt;
    return PoolState{.name = "orders",
                     .of = fmt::format("feed '{}'", line.config().name),
                     .used = *live,
                     .capacity = line.config().max_orders,
                     .refused = refused};
}

}  // namespace

std::vector<PoolState> pools_of(const std::vector<std::unique_ptr<Pipeline>>& pipelines) {
    std::vector<PoolState> pools;
    for (const auto& pipeline : pipelines) {
        pools.push_back(instruments_of(*pipeline));
        pipeline->for_each_feed([&](const auto& line) {
            if (auto orders = orders_of(line)) pools.push_back(std::move(*orders));
        });
    }
    return pools;
}

}  // namespace millpond::gateway::health
