#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <millpond/memory/block_pool.hpp>

// Bodies of BasicBlockPool that read the whole pool.
namespace millpond::memory {

template <class Policy>
std::uint64_t BasicBlockPool<Policy>::count_in_use() const noexcept {
    std::uint64_t in_use = 0;
    for_each_cache([&](const BlockCache& cache) { in_use += cache.in_use(); });
    return in_use;
}

template <class Policy>
std::uint64_t BasicBlockPool<Policy>::count_released() const noexcept {
    auto released = credits_.returned();
    for_each_cache([&](const BlockCache& cache) { released += cache.released.read(); });
    return released;
}

template <class Policy>
std::uint64_t BasicBlockPool<Policy>::min_in_use() const noexcept {
    if (layout_.magazine_blocks == 0) return depot_.in_use();
    constexpr int kTries = 8;
    // An attached cache acquires or releases at most two magazines of blocks between two calls of
    // Depot::count_in_use_of.
    const auto uncounted = 2 * std::int64_t{layout_.magazine_blocks} * (std::int64_t{attached_} + 1);
    auto least = static_cast<std::int64_t>(depot_.in_use()) - uncounted;
    // Caches are read one after the other: a block counted in one may be released meanwhile and another acquired in a
    // cache that is read later. Blocks released meanwhile are therefore not counted.
    for (int tries = 0; tries < kTries; ++tries) {
        const auto released_before = count_released();
        const auto in_use = count_in_use();
        const auto meanwhile = count_released() - released_before;
        least = std::max(least, static_cast<std::int64_t>(in_use - meanwhile));
        if (meanwhile == 0) break;
    }
    return static_cast<std::uint64_t>(std::clamp<std::int64_t>(least, 0, layout_.owned));
}

template <class Policy>
PoolStats BasicBlockPool<Policy>::stats() const {
    PoolStats stats;
    stats.capacity = layout_.capacity;
    stats.owned = layout_.owned;
    stats.block_bytes = layout_.block_bytes;
    stats.stride_bytes = layout_.stride;
    stats.region_bytes = region_.size();
    stats.page_bytes = region_.page_bytes();
    stats.magazine_blocks = layout_.magazine_blocks;
    stats.strict = layout_.strict || layout_.magazine_blocks == 0;
    const std::lock_guard lock(mutex_);
    for_each_cache([&](const BlockCache& cache) {
        stats.refused += cache.refused.read();
        stats.exchanges += cache.exchanges.read();
    });
    // First: a block that is released later may be counted as in use.
    stats.released = count_released();
    stats.in_use = min_in_use();
    // No count ever decreases.
    stats.acquired = max_acquired_ = std::max(max_acquired_, stats.released + stats.in_use);
    high_water_in_use_ = std::max(high_water_in_use_, stats.in_use);
    stats.high_water = layout_.strict ? credits_.high_water() : std::max(high_water_in_use_, depot_.high_water());
    stats.uncached = uncached_.read();
    return stats;
}

template <class Policy>
bool BasicBlockPool<Policy>::reset() noexcept {
    const std::lock_guard lock(mutex_);
    if (count_in_use() != 0) return false;
    for_each_cache([](BlockCache& cache) { cache.reset_counts(); });
    uncached_.set(0);
    max_acquired_ = 0;
    high_water_in_use_ = 0;
    credits_.reset();
    depot_.reset_counts();
    return true;
}

template <class Policy>
std::vector<bool> BasicBlockPool<Policy>::free_blocks(std::string& fault) const {
    std::vector<bool> free(layout_.owned, false);
    const auto found = [&](const void* block) {
        const auto index = index_of(block);
        if (index >= layout_.owned || free[index]) {
            fault = "pool '" + name_ + "': block " + std::to_string(index) + " is in two places";
        } else {
            free[index] = true;
        }
    };
    depot_.for_each_block(found);
    std::size_t equipped = 0;
    for_each_cache([&](const BlockCache& cache) {
        if (!cache.attached) return;
        ++equipped;
        for (const auto* place = cache.bottom; place != cache.position(); ++place) found(*place);
        for (std::uint32_t i = 0; cache.spare_is_full && i < layout_.magazine_blocks; ++i) found(cache.spare[i]);
    });
    if (layout_.magazine_blocks > 0) {
        std::size_t full = 0;
        depot_.for_each_block([&](const void*) { ++full; });
        const auto counted = full / layout_.magazine_blocks + depot_.count_empty() + 2 * equipped;
        if (counted != layout_.magazines) {
            fault = "pool '" + name_ + "': " + std::to_string(counted) + " magazines are in place, " +
                    std::to_string(layout_.magazines) + " were made";
        }
    }
    return free;
}

template <class Policy>
std::string BasicBlockPool<Policy>::audit() const {
    const std::lock_guard lock(mutex_);  // A thread that used the pool may just be ending.
    std::string fault;
    const auto free = free_blocks(fault);
    if (!fault.empty()) return fault;
    const auto live = static_cast<std::uint64_t>(std::count(free.begin(), free.end(), false));
    const auto in_use = count_in_use();
    if (live != in_use) {
        return "pool '" + name_ + "': " + std::to_string(live) + " blocks are out, " + std::to_string(in_use) +
               " were acquired and not released";
    }
    return {};
}

template <class Policy>
template <class Visit>
void BasicBlockPool<Policy>::for_each_live(Visit&& visit) const {
    std::string fault;
    const auto free = [&] {
        const std::lock_guard lock(mutex_);
        return free_blocks(fault);
    }();
    for (std::uint32_t index = 0; index < layout_.owned; ++index) {
        if (!free[index]) visit(static_cast<void*>(grid_.block(index)));
    }
}

}  // namespace millpond::memory
