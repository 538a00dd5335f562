#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <millpond/core/exceptions.hpp>
#include <millpond/memory/numa_pool.hpp>

// Bodies of BasicNumaPool off the hot path.
namespace millpond::memory {

template <class Policy>
BasicNumaPool<Policy>::BasicNumaPool(std::size_t block_bytes, std::size_t capacity, const NumaPoolOptions& options,
                                     NumaTopology topology)
    : name_(options.pool.name.empty() ? detail::next_pool_name() : options.pool.name),
      topology_(std::move(topology)),
      borrow_(options.borrow) {
    if (topology_.nodes.empty())
        MILLPOND_THROW(std::invalid_argument("a NUMA topology without nodes, the minimum is 1"));
    for (const auto node : topology_.nodes) {
        auto of_node = options.pool;
        of_node.name = name_;
        if (topology_.nodes.size() > 1) {
            of_node.name += ".node" + std::to_string(node);
            if (topology_.bind) of_node.region.numa_node = node;
        }
        homes_.push_back({node, std::make_unique<Pool>(block_bytes, capacity, of_node),
                          std::make_unique<std::atomic<std::uint64_t>>(0)});
    }
    for (const auto index : topology_.index_of_cpu) {
        if (index >= homes_.size()) {
            MILLPOND_THROW(std::invalid_argument("a processor of NUMA node index " + std::to_string(index) +
                                                 ", there are " + std::to_string(homes_.size())));
        }
    }
    front_ = homes_.front().pool.get();
    others_ = homes_.size() - 1;
}

template <class Policy>
bool BasicNumaPool<Policy>::prewarm() noexcept {
    bool all = true;
    for (const auto& home : homes_) all = home.pool->prewarm() && all;
    return all;
}

template <class Policy>
PoolStats BasicNumaPool<Policy>::stats() const {
    auto sum = front_->stats();
    for (std::size_t node = 1; node < homes_.size(); ++node) {
        const auto more = homes_[node].pool->stats();
        for (const auto member : {&PoolStats::capacity, &PoolStats::owned, &PoolStats::region_bytes}) {
            sum.*member += more.*member;
        }
        for (const auto member :
             {&PoolStats::in_use, &PoolStats::high_water, &PoolStats::acquired, &PoolStats::released,
              &PoolStats::refused, &PoolStats::exchanges, &PoolStats::uncached}) {
            sum.*member += more.*member;
        }
    }
    return sum;
}

template <class Policy>
std::vector<NumaNodeStats> BasicNumaPool<Policy>::node_stats() const {
    std::vector<NumaNodeStats> all;
    for (const auto& home : homes_) {
        all.push_back({home.node, home.pool->stats(), home.borrowed->load(std::memory_order_relaxed)});
    }
    return all;
}

template <class Policy>
bool BasicNumaPool<Policy>::reset() noexcept {
    for (const auto& home : homes_) {
        if (home.pool->stats().in_use != 0) return false;
    }
    bool all = true;
    for (const auto& home : homes_) {
        if (home.pool->reset()) {
            home.borrowed->store(0, std::memory_order_relaxed);
        } else {
            all = false;
        }
    }
    return all;
}

template <class Policy>
template <class Visit>
void BasicNumaPool<Policy>::for_each_live(Visit&& visit) const {
    for (const auto& home : homes_) home.pool->for_each_live(visit);
}

template <class Policy>
std::string BasicNumaPool<Policy>::audit() const {
    for (const auto& home : homes_) {
        if (auto fault = home.pool->audit(); !fault.empty()) return fault;
    }
    return {};
}

template <class Policy>
BasicNumaPool<Policy>::Cache::Cache(BasicNumaPool& pool) : pool_(&pool) {
    caches_.reserve(pool.homes_.size());
    for (const auto& home : pool.homes_) caches_.emplace_back(*home.pool);
}

}  // namespace millpond::memory
