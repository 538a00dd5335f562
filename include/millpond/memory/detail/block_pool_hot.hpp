#pragma once

#include <algorithm>

#include <millpond/memory/block_pool.hpp>
#include <millpond/memory/detail/block_grid.hpp>

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
    auto* const block = cache.try_pop();
    if (block == nullptr) [[unlikely]]
        return acquire_slowly(cache, place);
    if constexpr (Policy::kChecked) ledger_.acquired(index_of(block), block, place);
    return block;
}

template <class Policy>
inline void BasicBlockPool<Policy>::release_with(BlockCache& cache, void* block) noexcept {
    const auto index = cache.grid.index_of(block);
    if (index >= cache.grid.count()) [[unlikely]]
        refuse_foreign(cache, block);
    if constexpr (Policy::kChecked) ledger_.released(static_cast<std::uint32_t>(index), static_cast<std::byte*>(block));
    if (!cache.try_push(static_cast<std::byte*>(block))) [[unlikely]]
        return release_slowly(cache, static_cast<std::byte*>(block));
    cache.released.add();
}

template <class Policy>
void* BasicBlockPool<Policy>::acquire_slowly(BlockCache& cache, Place place) noexcept {
    auto& pool = *static_cast<BasicBlockPool*>(cache.pool);
    if (cache.account == nullptr || cache.is_empty() || !pool.credits_.try_acquire(*cache.account, 1)) [[unlikely]]
        return acquire_exchanging(cache, place);
    auto* const block = cache.pop();
    if constexpr (Policy::kChecked) pool.ledger_.acquired(pool.index_of(block), block, place);
    return block;
}

template <class Policy>
void* BasicBlockPool<Policy>::acquire_exchanging(BlockCache& cache, Place place) noexcept {
    auto& pool = *static_cast<BasicBlockPool*>(cache.pool);
    if (cache.account != nullptr && !pool.credits_.acquire(*cache.account, 1)) {
        cache.refused.add();
        return nullptr;
    }
    if (cache.is_empty() && !pool.depot_.refill(cache)) {
        cache.refused.add();
        if (cache.account != nullptr) cache.account->give_back(1);
        return nullptr;
    }
    auto* const block = cache.pop();
    if constexpr (Policy::kChecked) pool.ledger_.acquired(pool.index_of(block), block, place);
    return block;
}

template <class Policy>
void BasicBlockPool<Policy>::release_slowly(BlockCache& cache, std::byte* block) noexcept {
    if (cache.is_full()) [[unlikely]]
        return release_exchanging(cache, block);
    cache.push(block);
    cache.count_released(1);
}

template <class Policy>
void BasicBlockPool<Policy>::release_exchanging(BlockCache& cache, std::byte* block) noexcept {
    static_cast<BasicBlockPool*>(cache.pool)->put(cache, block);
    cache.count_released(1);
}

template <class Policy>
void BasicBlockPool<Policy>::put(BlockCache& cache, std::byte* block) noexcept {
    if (cache.is_full()) {
        if (cache.magazine_blocks == 0) {
            cache.carry(0, 1);
            return depot_.push_block(index_of(block));
        }
        depot_.swap_full(cache);
    }
    cache.push(block);
}

template <class Policy>
template <class Element>
inline bool BasicBlockPool<Policy>::acquire_batch_with(BlockCache& cache, std::span<Element*> blocks,
                                                       Place place) noexcept {
    // An empty batch, which may be at null, also takes the other branch: 0 - 1 is above every level.
    if (Policy::kChecked || cache.long_way || blocks.size() - 1 >= cache.level())
        return acquire_batches(cache, blocks, place);
    auto* const from = cache.position() - blocks.size();
    detail::copy_pointers(static_cast<void*>(blocks.data()), from, blocks.size(), [](const auto&) {});
    cache.set_position(from);
    return true;
}

template <class Policy>
inline void BasicBlockPool<Policy>::release_batch_with(BlockCache& cache, std::span<void* const> blocks) noexcept {
    if (Policy::kChecked || cache.long_way || blocks.size() > cache.free_places())
        return release_batches(cache, blocks);
    auto* const to = cache.position();
    if (!cache.grid.copy(to, blocks.data(), blocks.size())) [[unlikely]]
        refuse_batch(cache, blocks);
    cache.set_position(to + blocks.size());
    cache.released.add(blocks.size());
}

template <class Policy>
template <class Element>
bool BasicBlockPool<Policy>::acquire_batches(BlockCache& cache, std::span<Element*> blocks, Place place) noexcept {
    if (cache.account != nullptr && !credits_.acquire(*cache.account, blocks.size())) {
        cache.refused.add();
        return false;
    }
    std::size_t done = 0;
    while (done < blocks.size()) {
        if (cache.is_empty() && !depot_.refill(cache)) {
            const auto popped = done;
            while (done > 0) put(cache, bytes_of(blocks[--done]));
            cache.carry(popped, 0);
            cache.refused.add();
            if (cache.account != nullptr) cache.account->give_back(blocks.size());
            return false;
        }
        const auto round = std::min(blocks.size() - done, cache.level());
        auto* const from = cache.position() - round;
        detail::copy_pointers(static_cast<void*>(&blocks[done]), from, round, [](const auto&) {});
        if (done + round < blocks.size()) {
            cache.move_to(from, 0, round);  // Blocks count as in use once all are acquired.
        } else {
            cache.carry(done, 0);
            cache.set_position(from);
        }
        done += round;
    }
    if (blocks.size() > cache.magazine_blocks) depot_.count_in_use_of(cache);
    if constexpr (Policy::kChecked) {
        for (auto* block : blocks) ledger_.acquired(index_of(bytes_of(block)), bytes_of(block), place);
    }
    return true;
}

template <class Policy>
void BasicBlockPool<Policy>::release_batches(BlockCache& cache, std::span<void* const> blocks) noexcept {
    if constexpr (Policy::kChecked) {
        for (void* const block : blocks) {
            if (!owns(block)) refuse_foreign(cache, block);
            ledger_.released(index_of(block), static_cast<std::byte*>(block));
        }
    }
    for (std::size_t done = 0; done < blocks.size();) {
        if (cache.magazine_blocks == 0) {
            if (!owns(blocks[done])) refuse_foreign(cache, blocks[done]);
            put(cache, static_cast<std::byte*>(blocks[done++]));
            continue;
        }
        if (cache.is_full()) depot_.swap_full(cache);
        const auto round = std::min(blocks.size() - done, cache.free_places());
        auto* const to = cache.position();
        if (!cache.grid.copy(to, &blocks[done], round)) [[unlikely]]
            refuse_batch(cache, blocks);
        cache.set_position(to + round);
        done += round;
    }
    cache.count_released(blocks.size());
}

template <class Policy>
void BasicBlockPool<Policy>::refuse_batch(const BlockCache& cache, std::span<void* const> blocks) noexcept {
    refuse_foreign(cache, *std::ranges::find_if_not(blocks, [&](void* block) { return cache.grid.holds(block); }));
}

template <class Policy>
void BasicBlockPool<Policy>::refuse_foreign(const BlockCache& cache, const void* block) noexcept {
    detail::misuse(static_cast<const BasicBlockPool*>(cache.pool)->name_.c_str(),
                   "release of a block that is not its own", block);
}

}  // namespace millpond::memory
