#include "gateway/health/pools.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::gateway::health {
namespace {

/// Counts refusals as missing data until a new session empties the table. Tables of instruments are never emptied.
void update(PoolState& pool, std::uint64_t used, std::uint64_t refused, std::uint64_t sessions, std::int64_t now) {
    if (sessions != pool.sessions) {
        pool.sessions = sessions;
        pool.missing = 0;
    }
    if (refused != pool.refused && pool.missing == 0) pool.full_since = now;
    pool.missing += refused - pool.refused;
    pool.used = used;
    pool.nearly_full.update(pool.grows && used * 100 >= pool.capacity * PoolState::kNearlyFull, now);
    pool.refused = refused;
}

}  // namespace

void update_pools(const std::vector<std::unique_ptr<Pipeline>>& pipelines, std::int64_t now,
                  std::vector<PoolState>& pools) {
    std::size_t index = 0;
    const auto next = [&](std::string_view name, auto&& of, std::uint64_t capacity,
                          std::string_view bound) -> PoolState& {
        if (index == pools.size())
            pools.push_back({.name = std::string{name}, .of = of(), .capacity = capacity, .bound = bound});
        return pools[index++];
    };
    for (const auto& pipeline : pipelines) {
        auto& instruments = next(
            "instruments", [&] { return fmt::format("ring '{}'", pipeline->config().name); },
            pipeline->config().max_instruments, "max_instruments");
        update(instruments, pipeline->publisher().named().read(), pipeline->instruments().refused().read(), 0, now);
        pipeline->for_each_feed([&](const Feed& feed) {
            const auto table = feed.table();
            if (!table) return;
            const auto use = feed.health().table;
            auto& pool = next(
                table->name, [&] { return fmt::format("feed '{}'", feed.config().name); }, table->capacity,
                table->bound);
            pool.grows = true;
            update(pool, use.used, use.refused, use.clears, now);
        });
    }
}

}  // namespace millpond::gateway::health
