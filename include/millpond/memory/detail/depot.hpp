#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <millpond/core/cache_line.hpp>
#include <millpond/memory/detail/block_cache.hpp>
#include <millpond/memory/detail/index_stack.hpp>
#include <millpond/memory/detail/pool_layout.hpp>

namespace millpond::memory::detail {

/// Stock of full and empty magazines. One compare-and-swap moves a whole magazine.
///
/// Threads: any, each with its own cache.
/// Source:  Bonwick and Adams 2001, "Magazines and Vmem"; its depot is locked, this one is two lock-free stacks.
template <class Policy>
class Depot {
public:
    using Block = BlockCache::Block;

    /// Fills the magazines with all blocks, lowest first. `memory`: the start of the pool's Region.
    Depot(std::byte* memory, const PoolLayout& layout, const BlockGrid& grid);

    /// Exchanges the cache's empty magazine for a full one. False, with nothing changed, if there is none.
    /// Only while the cache holds no block.
    [[nodiscard]] bool refill(BlockCache& cache) noexcept;

    /// Exchanges one of the cache's two full magazines for an empty one.
    void swap_full(BlockCache& cache) noexcept;

    /// Gives the cache its two empty magazines, or removes them.
    void equip(BlockCache& cache) noexcept;
    void strip(BlockCache& cache) noexcept;

    /// Returns a block directly, in a pool without magazines.
    void push_block(std::uint32_t index) noexcept {
        // First: the next thread to acquire the block must not count it a second time.
        in_use_.fetch_sub(1, std::memory_order_relaxed);
        Policy::racy_point();
        full_.push(links_, index);
    }

    /// Adds the change of the cache's blocks in use since the last call to the total. The total is exact for this cache
    /// and off by at most a magazine for each other one, which calls this before its count changes by more. Without
    /// magazines each acquire and release is counted.
    void count_in_use_of(BlockCache& cache) noexcept {
        if (cache.magazine_blocks == 0) return;
        const auto now = static_cast<std::int64_t>(cache.in_use());
        if (now == cache.reported) return;
        add_in_use(now - cache.reported);
        cache.reported = now;
    }

    /// Blocks in use, as counted when magazines were exchanged; without magazines never more than are in use.
    [[nodiscard]] std::uint64_t in_use() const noexcept {
        return static_cast<std::uint64_t>(std::max<std::int64_t>(in_use_.load(std::memory_order_relaxed), 0));
    }

    /// Maximum of in_use().
    [[nodiscard]] std::uint64_t high_water() const noexcept {
        const auto most = static_cast<std::uint64_t>(high_water_.load(std::memory_order_relaxed));
        if (most <= layout_.capacity) return most;
        // Counts more than the capacity as in use only if the error of the caches does not explain it.
        const auto hidden = (layout_.caches + std::uint64_t{1}) * layout_.magazine_blocks;
        return std::max<std::uint64_t>(layout_.capacity, most - std::min(hidden, most));
    }

    /// Resets both counts. No block may be in use.
    void reset_counts() noexcept {
        in_use_.store(0, std::memory_order_relaxed);
        high_water_.store(0, std::memory_order_relaxed);
    }

    /// Calls visit(block) for each block in the depot. The pool must be idle.
    template <class Visit>
    void for_each_block(Visit&& visit) const;
    /// Number of empty magazines. The pool must be idle.
    [[nodiscard]] std::size_t count_empty() const noexcept;

private:
    static constexpr std::uint32_t kNone = IndexStack<Policy>::kNone;

    /// The end of a magazine is where the places of the next one begin.
    [[nodiscard]] Block* magazine(std::uint32_t number) const noexcept {
        return magazines_ + (std::size_t{number} + 1) * layout_.magazine_places - layout_.magazine_blocks;
    }
    [[nodiscard]] std::uint32_t number_of(const Block* magazine) const noexcept {
        return static_cast<std::uint32_t>(static_cast<std::size_t>(magazine - magazines_) / layout_.magazine_places);
    }
    void add_in_use(std::int64_t more) noexcept;

    PoolLayout layout_;
    BlockGrid grid_;
    std::atomic<std::uint32_t>* links_;
    Block* magazines_;
    IndexStack<Policy> full_;
    IndexStack<Policy> empty_;
    alignas(core::kFalseSharingRange) std::atomic<std::int64_t> in_use_{0};
    std::atomic<std::int64_t> high_water_{0};
};

template <class Policy>
Depot<Policy>::Depot(std::byte* memory, const PoolLayout& layout, const BlockGrid& grid)
    : layout_(layout),
      grid_(grid),
      links_(reinterpret_cast<std::atomic<std::uint32_t>*>(memory + layout.links_at)),
      magazines_(reinterpret_cast<Block*>(memory + layout.magazines_at)) {
    const auto size = layout.magazine_blocks;
    const auto full = size == 0 ? layout.owned : layout.owned / size;
    std::uninitialized_value_construct_n(links_, std::max(full, layout.magazines));
    for (auto number = layout.magazines; number-- > full;) empty_.push(links_, number);
    for (auto number = full; number-- > 0;) {
        // A cache pops from the top, where the lowest index is.
        for (std::uint32_t i = 0; i < size; ++i) magazine(number)[i] = grid.block((number + 1) * size - 1 - i);
        full_.push(links_, number);
    }
}

template <class Policy>
bool Depot<Policy>::refill(BlockCache& cache) noexcept {
    if (cache.use_full_spare()) return true;
    count_in_use_of(cache);
    const auto number = full_.pop(links_);
    if (number == kNone) return false;
    if (cache.magazine_blocks == 0) {
        add_in_use(1);
        cache.push(grid_.block(number));
        cache.carry(1, 0);
        return true;
    }
    Policy::racy_point();
    empty_.push(links_, number_of(cache.bottom));
    cache.load(magazine(number), cache.magazine_blocks);
    cache.exchanges.add();
    // The first blocks are written soon; their lines may be in the cache of the core that released them.
    for (auto* next = cache.end; next != cache.bottom && cache.end - next < 4;) __builtin_prefetch(*--next, 1);
    return true;
}

template <class Policy>
void Depot<Policy>::swap_full(BlockCache& cache) noexcept {
    if (cache.use_empty_spare()) return;
    count_in_use_of(cache);
    const auto number = empty_.pop(links_);
    assert(number != kNone && "there are two more magazines than caches and blocks can fill");
    Policy::racy_point();
    full_.push(links_, number_of(cache.bottom));
    cache.load(magazine(number), 0);
    cache.exchanges.add();
}

template <class Policy>
void Depot<Policy>::equip(BlockCache& cache) noexcept {
    cache.spare_is_full = false;
    if (cache.magazine_blocks == 0) return cache.load(&cache.single, 0);
    cache.load(magazine(empty_.pop(links_)), 0);
    cache.spare = magazine(empty_.pop(links_));
}

template <class Policy>
void Depot<Policy>::strip(BlockCache& cache) noexcept {
    assert(cache.is_empty() && !cache.spare_is_full);
    if (cache.magazine_blocks == 0) return;
    empty_.push(links_, number_of(cache.bottom));
    empty_.push(links_, number_of(cache.spare));
}

template <class Policy>
void Depot<Policy>::add_in_use(std::int64_t more) noexcept {
    const auto now = in_use_.fetch_add(more, std::memory_order_relaxed) + more;
    auto most = high_water_.load(std::memory_order_relaxed);
    while (now > most && !high_water_.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
    }
}

template <class Policy>
template <class Visit>
void Depot<Policy>::for_each_block(Visit&& visit) const {
    for (auto number = full_.peek(links_).index(); number != kNone;
         number = links_[number].load(std::memory_order_relaxed)) {
        if (layout_.magazine_blocks == 0) visit(grid_.block(number));
        for (std::uint32_t i = 0; i < layout_.magazine_blocks; ++i) visit(magazine(number)[i]);
    }
}

template <class Policy>
std::size_t Depot<Policy>::count_empty() const noexcept {
    std::size_t count = 0;
    for (auto number = empty_.peek(links_).index(); number != kNone;
         number = links_[number].load(std::memory_order_relaxed)) {
        ++count;
    }
    return count;
}

}  // namespace millpond::memory::detail
