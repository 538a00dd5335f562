#include "gateway/health/pools.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/tally.hpp>

namespace millpond::gateway::health {
namespace {

/// Refusals count as missing data until a new session empties the table; instruments stay forever.
void see(PoolState& pool, std::uint64_t used, std::uint64_t refused, std::uint64_t sessions, std::int64_t now) {
    if (sessions != pool.sessions) {
        pool.sessions = sessions;
        pool.missing = 0;
    }
    if (refused != pool.refused && pool.missing == 0) pool.full_since = now;
    pool.missing += refused - pool.refused;
    pool.used = used;
    pool.refused = refused;
}

/// A decoder's counters of its table.
struct Filling {
    std::uint64_t live{0};
    std::uint64_t refused{0};
    std::uint64_t sessions{0};
};
Filling filling_of(const Feed& feed, const FeedTable& table) {
    const auto live = fmt::format("{}_live", table.name);
    const auto refused = fmt::format("{}_refused", table.name);
    Filling filling;
    feed.visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
        if (name == live) filling.live = tally.read();
        if (name == refused) filling.refused = tally.read();
        if (name == "clears") filling.sessions = tally.read();
    });
    return filling;
}

}  // namespace

void look_at_pools(const std::vector<std::unique_ptr<Pipeline>>& pipelines, std::int64_t now,
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
        see(instruments, pipeline->publisher().named().read(), pipeline->instruments().refused().read(), 0, now);
        pipeline->for_each_feed([&](const Feed& feed) {
            const auto table = feed.table();
            if (!table) return;
            const auto filling = filling_of(feed, *table);
            auto& pool = next(
                table->name, [&] { return fmt::format("feed '{}'", feed.config().name); }, table->capacity,
                table->bound);
            see(pool, filling.live, filling.refused, filling.sessions, now);
        });
    }
}

}  // namespace millpond::gateway::health
