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
void* BasicBlockPool<Policy>::acquire_with(BlockCache& cache, Place place) noexcept {
    if (layout_.strict && !take_credits(1)) {
        cache.refused.add();
        return nullptr;
    }
    if (cache.level == 0 && !depot_.refill(cache)) [[unlikely]] {
        cache.refused.add();
        if (layout_.strict) credits_.fetch_add(1, std::memory_order_release);
        return nullptr;
    }
    const auto index = cache.pop();
    auto* const block = cache.grid.block(index);
    cache.acquired.add();
    if constexpr (Policy::kChecked) ledger_.acquired(index, block, place);
    return block;
}

template <class Policy>
void BasicBlockPool<Policy>::release_with(BlockCache& cache, void* block) noexcept {
    const auto index = cache.grid.index_of(block);
    if (index >= cache.grid.count) [[unlikely]]
        detail::misuse(name_.c_str(), "release of what is none of its blocks", block);
    if constexpr (Policy::kChecked) ledger_.released(static_cast<std::uint32_t>(index), static_cast<std::byte*>(block));
    put(cache, static_cast<std::uint32_t>(index));
    cache.released.add();
    if (layout_.strict) credits_.fetch_add(1, std::memory_order_release);  // sync "credit back": take_credits
}

template <class Policy>
void BasicBlockPool<Policy>::put(BlockCache& cache, std::uint32_t index) noexcept {
    if (cache.level == cache.magazine_blocks) [[unlikely]] {
        if (cache.magazine_blocks == 0) return depot_.push_block(index);
        depot_.make_room(cache);
    }
    cache.push(index);
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
    if (layout_.strict && !take_credits(blocks.size())) {
        cache.refused.add();
        return false;
    }
    std::size_t done = 0;
    while (done < blocks.size()) {
        if (cache.level == 0 && !depot_.refill(cache)) {
            while (done > 0) put(cache, static_cast<std::uint32_t>(grid_.index_of(blocks[--done])));
            cache.refused.add();
            if (layout_.strict) credits_.fetch_add(blocks.size(), std::memory_order_release);
            return false;
        }
        const auto round = std::min<std::size_t>(blocks.size() - done, cache.level);
        for (std::size_t i = 0; i < round; ++i) {
            blocks[done + i] = static_cast<Element*>(static_cast<void*>(cache.grid.block(cache.pop())));
        }
        done += round;
    }
    cache.acquired.add(done);
    if constexpr (Policy::kChecked) {
        for (auto* block : blocks) {
            ledger_.acquired(checked_index(block), static_cast<std::byte*>(static_cast<void*>(block)), place);
        }
    }
    return true;
}

template <class Policy>
void BasicBlockPool<Policy>::release_batch_with(BlockCache& cache, std::span<void* const> blocks) noexcept {
    for (auto* const block : blocks) {
        const auto index = checked_index(block);
        if constexpr (Policy::kChecked) ledger_.released(index, static_cast<std::byte*>(block));
        put(cache, index);
    }
    cache.released.add(blocks.size());
    if (layout_.strict)
        credits_.fetch_add(blocks.size(), std::memory_order_release);  // sync "credit back": take_credits
}

template <class Policy>
std::uint32_t BasicBlockPool<Policy>::checked_index(const void* block) const noexcept {
    const auto index = grid_.index_of(block);
    if (index >= grid_.count) [[unlikely]]
        detail::misuse(name_.c_str(), "release of what is none of its blocks", block);
    return static_cast<std::uint32_t>(index);
}

}  // namespace millpond::memory
