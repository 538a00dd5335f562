#include "gateway/health/pools.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/tally.hpp>

namespace millpond::gateway::health {
namespace {

/// Refusals count as missing data until a new session empties the table; instruments stay for ever.
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

/// What a feed's decoder counts of its orders; nothing where it keeps none.
struct Orders {
    std::uint64_t live{0};
    std::uint64_t refused{0};
    std::uint64_t sessions{0};
};
template <class Line>
std::optional<Orders> orders_of(const Line& line) {
    std::optional<std::uint64_t> live;
    Orders orders;
    line.decoder().visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
        if (name == "orders_live") live = tally.read();
        if (name == "orders_refused") orders.refused = tally.read();
        if (name == "clears") orders.sessions = tally.read();
    });
    if (!live) return std::nullopt;
    orders.live = *live;
    return orders;
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
        pipeline->for_each_feed([&](const auto& line) {
            const auto orders = orders_of(line);
            if (!orders) return;
            auto& pool = next(
                "orders", [&] { return fmt::format("feed '{}'", line.config().name); }, line.config().max_orders,
                "max_orders");
            see(pool, orders->live, orders->refused, orders->sessions, now);
        });
    }
}

}  // namespace millpond::gateway::health
