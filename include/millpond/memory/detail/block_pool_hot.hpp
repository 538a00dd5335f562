#pragma once

#include <algorithm>
#include <array>

#include <millpond/memory/block_pool.hpp>

// Bodies of BasicBlockPool that run for every block.
namespace millpond::memory {

template <class Policy>
void* BasicBlockPool<Policy>::try_acquire(Place place) noexcept {
    auto* const cache = static_cast<BlockCache*>(slot_.mine());
    if (cache == nullptr) [[unlikely]]
        return acquire_uncached(place);
    return acquire_with(*cache, place);
}

template <class Policy>
void BasicBlockPool<Policy>::release(void* block) noexcept {
    auto* const cache = static_cast<BlockCache*>(slot_.mine());
    if (cache == nullptr) [[unlikely]]
        return release_uncached(block);
    release_with(*cache, block);
}

template <class Policy>
inline void* BasicBlockPool<Policy>::acquire_with(BlockCache& cache, Place place) noexcept {
    if (cache.strict || cache.is_empty()) [[unlikely]]
        return acquire_slowly(cache, place);
    auto* const block = cache.pop();
    cache.acquired.add();
    if constexpr (Policy::kChecked) ledger_.acquired(index_of(block), block, place);
    return block;
}

template <class Policy>
inline void BasicBlockPool<Policy>::release_with(BlockCache& cache, void* block) noexcept {
    const auto index = cache.grid.index_of(block);
    if (index >= cache.grid.count) [[unlikely]]
        refuse_foreign(block);
    if constexpr (Policy::kChecked) ledger_.released(static_cast<std::uint32_t>(index), static_cast<std::byte*>(block));
    if (cache.strict || cache.is_full()) [[unlikely]]
        return release_slowly(cache, static_cast<std::byte*>(block));
    cache.push(static_cast<std::byte*>(block));
    cache.released.add();
}

template <class Policy>
void* BasicBlockPool<Policy>::acquire_slowly(BlockCache& cache, Place place) noexcept {
    if (cache.strict && !take_credits(1)) {
        cache.refused.add();
        return nullptr;
    }
    if (cache.is_empty() && !depot_.refill(cache)) {
        cache.refused.add();
        if (cache.strict) credits_.fetch_add(1, std::memory_order_release);
        return nullptr;
    }
    auto* const block = cache.pop();
    cache.acquired.add();
    if constexpr (Policy::kChecked) ledger_.acquired(index_of(block), block, place);
    return block;
}

template <class Policy>
void BasicBlockPool<Policy>::release_slowly(BlockCache& cache, std::byte* block) noexcept {
    put(cache, block);
    cache.released.add();
    if (cache.strict) credits_.fetch_add(1, std::memory_order_release);  // sync "credit back": take_credits
}

template <class Policy>
void BasicBlockPool<Policy>::put(BlockCache& cache, std::byte* block) noexcept {
    if (cache.is_full()) [[unlikely]] {
        if (cache.magazine_blocks == 0) return depot_.push_block(index_of(block));
        depot_.make_room(cache);
    }
    cache.push(block);
}

template <class Policy>
bool BasicBlockPool<Policy>::take_credits(std::uint64_t count) noexcept {
    auto left = credits_.load(std::memory_order_relaxed);
    do {
        if (left < count) return false;
    } while (!credits_.compare_exchange_weak(left, left - count,
                                             std::memory_order_acquire,  // sync "credit back": the adds after a put
                                             std::memory_order_relaxed));
    left -= count;
    auto least = least_credits_.load(std::memory_order_relaxed);
    while (left < least && !least_credits_.compare_exchange_weak(least, left, std::memory_order_relaxed)) {
    }
    return true;
}

template <class Policy>
template <class Element>
bool BasicBlockPool<Policy>::acquire_batch_with(BlockCache& cache, std::span<Element*> blocks, Place place) noexcept {
    if (cache.strict && !take_credits(blocks.size())) {
        cache.refused.add();
        return false;
    }
    std::size_t done = 0;
    while (done < blocks.size()) {
        if (cache.is_empty() && !depot_.refill(cache)) {
            while (done > 0) put(cache, bytes_of(blocks[--done]));
            cache.refused.add();
            if (cache.strict) credits_.fetch_add(blocks.size(), std::memory_order_release);
            return false;
        }
        const auto round = std::min(blocks.size() - done, cache.level());
        const auto* const from = cache.top -= round;
        for (std::size_t i = 0; i < round; ++i) blocks[done + i] = element_of<Element>(from[i]);
        done += round;
    }
    cache.acquired.add(done);
    if constexpr (Policy::kChecked) {
        for (auto* block : blocks) ledger_.acquired(index_of(bytes_of(block)), bytes_of(block), place);
    }
    return true;
}

template <class Policy>
void BasicBlockPool<Policy>::release_batch_with(BlockCache& cache, std::span<void* const> blocks) noexcept {
    // All are looked at before any is taken, without a branch for each.
    const auto grid = cache.grid;
    std::uint64_t highest = 0;
    for (const void* const block : blocks) highest = std::max(highest, grid.index_of(block));
    if (highest >= grid.count) [[unlikely]] {
        refuse_foreign(*std::ranges::find_if_not(blocks, [&](const void* block) { return owns(block); }));
    }
    if constexpr (Policy::kChecked) {
        for (void* const block : blocks) ledger_.released(index_of(block), static_cast<std::byte*>(block));
    }
    for (std::size_t done = 0; done < blocks.size();) {
        if (cache.is_full()) {
            put(cache, static_cast<std::byte*>(blocks[done++]));
            continue;
        }
        const auto round = std::min(blocks.size() - done, cache.room());
        auto* const to = cache.top;
        for (std::size_t i = 0; i < round; ++i) to[i] = static_cast<std::byte*>(blocks[done + i]);
        cache.top = to + round;
        done += round;
    }
    cache.released.add(blocks.size());
    if (cache.strict) credits_.fetch_add(blocks.size(), std::memory_order_release);  // sync "credit back": take_credits
}

template <class Policy>
void BasicBlockPool<Policy>::refuse_foreign(const void* block) const noexcept {
    detail::misuse(name_.c_str(), "release of what is none of its blocks", block);
}

}  // namespace millpond::memory
