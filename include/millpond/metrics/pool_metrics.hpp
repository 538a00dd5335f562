#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/metrics/registry.hpp>

namespace millpond::metrics {

namespace detail {

/// Lists the members of PoolStats, as returned by stats().
template <class Stats>
void add_pool_stats(Registry& registry, const Labels& labels, Stats stats, std::vector<Registration>& all) {
    const auto name = [&](std::string_view what, const char* help) {
        return MetricName{"millpond_pool_" + std::string(what), help, labels};
    };
    const auto gauge = [&](std::string_view what, const char* help, auto member) {
        all.push_back(
            registry.add_gauge(name(what, help), [stats, member] { return static_cast<double>(stats().*member); }));
    };
    const auto counter = [&](std::string_view what, const char* help, auto member) {
        all.push_back(
            registry.add_counter(name(what, help), [stats, member] { return static_cast<double>(stats().*member); }));
    };
    using Members = decltype(stats());
    gauge("capacity_blocks", "Blocks that can be in use before the pool refuses.", &Members::capacity);
    gauge("owned_blocks", "Blocks allocated.", &Members::owned);
    gauge("in_use_blocks", "Blocks in use.", &Members::in_use);
    gauge("high_water_blocks", "Maximum number of blocks in use at once, within one magazine for each cache.",
          &Members::high_water);
    gauge("region_bytes", "Memory of the pool.", &Members::region_bytes);
    gauge("page_bytes", "Size of its memory pages.", &Members::page_bytes);
    counter("acquired_total", "Blocks acquired.", &Members::acquired);
    counter("released_total", "Blocks released.", &Members::released);
    counter("refused_total", "Acquisitions refused because the pool was exhausted.", &Members::refused);
    counter("exchanges_total", "Magazines exchanged with the depot.", &Members::exchanges);
    counter("uncached_total", "Operations of threads without a cache.", &Members::uncached);
}

}  // namespace detail

/// Lists a pool's statistics as millpond_pool_*{pool="<its name>"}: gauges and counters that are summed when the page
/// is written. `Pool` is a BlockPool, a MessagePool or a NumaPool: it has name() and stats(), and must outlive the
/// result. A NumaPool is listed for each node, with a label `node`. Throws like Registry, also for a second pool of the
/// same name.
template <class Pool>
[[nodiscard]] std::vector<Registration> add_pool(Registry& registry, const Pool& pool) {
    std::vector<Registration> all;
    if constexpr (requires { pool.node_stats(); }) {
        const auto nodes = pool.node_stats();
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const Labels labels{{"pool", pool.name()}, {"node", std::to_string(nodes[i].node)}};
            detail::add_pool_stats(registry, labels, [&pool, i] { return pool.node_stats()[i].pool; }, all);
            all.push_back(registry.add_counter(
                {"millpond_pool_lent_total", "Blocks acquired by callers on other NUMA nodes.", labels},
                [&pool, i] { return static_cast<double>(pool.node_stats()[i].borrowed); }));
        }
    } else {
        detail::add_pool_stats(registry, {{"pool", pool.name()}}, [&pool] { return pool.stats(); }, all);
    }
    return all;
}

}  // namespace millpond::metrics
