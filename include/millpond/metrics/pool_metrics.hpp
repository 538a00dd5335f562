#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <millpond/metrics/registry.hpp>

namespace millpond::metrics {

/// Lists what a pool knows of itself, as millpond_pool_*{pool="<its name>"}: gauges and counters that are summed when
/// the page is written. `Pool` is a BlockPool or a MessagePool: it has name() and stats(), and lives as long as what is
/// returned. Throws as Registry does.
template <class Pool>
[[nodiscard]] std::vector<Registration> add_pool(Registry& registry, const Pool& pool) {
    std::vector<Registration> all;
    const auto name = [&](std::string_view what, const char* help) {
        return MetricName{"millpond_pool_" + std::string(what), help, {{"pool", pool.name()}}};
    };
    const auto gauge = [&](std::string_view what, const char* help, auto member) {
        all.push_back(registry.add_gauge(name(what, help),
                                         [&pool, member] { return static_cast<double>(pool.stats().*member); }));
    };
    const auto counter = [&](std::string_view what, const char* help, auto member) {
        all.push_back(registry.add_counter(name(what, help),
                                           [&pool, member] { return static_cast<double>(pool.stats().*member); }));
    };
    using Stats = decltype(pool.stats());
    gauge("capacity_blocks", "Blocks that can be in use before the pool refuses.", &Stats::capacity);
    gauge("owned_blocks", "Blocks allocated.", &Stats::owned);
    gauge("in_use_blocks", "Blocks in use.", &Stats::in_use);
    gauge("high_water_blocks", "Maximum number of blocks in use at once, within one magazine for each cache.",
          &Stats::high_water);
    gauge("region_bytes", "Memory of the pool.", &Stats::region_bytes);
    gauge("page_bytes", "Size of its memory pages.", &Stats::page_bytes);
    counter("acquired_total", "Blocks acquired.", &Stats::acquired);
    counter("released_total", "Blocks released.", &Stats::released);
    counter("refused_total", "Acquisitions refused because the pool was exhausted.", &Stats::refused);
    counter("exchanges_total", "Magazines exchanged with the depot.", &Stats::exchanges);
    counter("uncached_total", "Operations of threads without a cache.", &Stats::uncached);
    return all;
}

}  // namespace millpond::metrics
