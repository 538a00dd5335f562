#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/memory/detail/block_grid.hpp>
#include <millpond/memory/detail/credits.hpp>
#include <millpond/memory/detail/pool_layout.hpp>

namespace millpond::memory::detail {

/// A thread's cache of free blocks: a loaded magazine that it pops from and pushes to, and a spare one, which is full
/// or empty.
///
/// Threads: the owner's; others may read the counts and the number of blocks it holds.
/// Memory:  the first line holds all that an acquire or a release touches, besides the magazine.
struct alignas(core::kFalseSharingRange) BlockCache {
    using Block = BlockGrid::Block;

    /// Magazines end at multiples of this, and a null is below each, so that the address and the contents of a place
    /// show whether a magazine is full or empty. Inside a larger magazine an address may look full although it is not.
    static constexpr std::size_t kMagazineUnit = 512;

    /// A release writes to *top, an acquire reads top[-1]. If each operation must take the slow path, in strict
    /// pools and without magazines, it stays at a place that looks both full and empty.
    std::atomic<Block*> top{nullptr};
    BlockGrid grid;
    core::Tally released;  ///< Unused by strict pools, which count in `account`.

    void* pool{nullptr};
    std::atomic<Block*> long_way_top{nullptr};  ///< Replaces `top` on the slow path.
    Block* bottom{nullptr};                     ///< Start of the loaded magazine.
    Block* end{nullptr};                        ///< End of the loaded magazine.
    Block* magazines{nullptr};                  ///< Start of all magazines: a place that looks both full and empty.
    Block* spare{nullptr};                      ///< Start of the spare magazine.
    std::atomic<std::uint64_t> carried{0};      ///< Net blocks added to the loaded magazine other than by release and
                                                ///< acquire: acquired blocks are not counted.
    std::int64_t reported{0};                   ///< The part of in_use() that the depot knows.
    core::Tally refused;
    core::Tally exchanges;
    std::atomic<std::uint32_t> moves{0};  ///< Odd during a move.
    std::uint32_t magazine_blocks{0};
    std::uint32_t magazine_places{0};  ///< From one magazine to the next.
    bool long_way{false};
    bool spare_is_full{false};
    bool attached{false};             ///< Belongs to a thread or a Cache. Under the pool's mutex.
    CreditAccount* account{nullptr};  ///< Null unless the pool is strict.
    Block single{nullptr};            ///< Replaces the magazine if there are none.

    void describe(void* its_pool, const BlockGrid& blocks, const PoolLayout& layout, Block* first_magazine) noexcept {
        pool = its_pool;
        grid = blocks;
        magazine_blocks = layout.magazine_blocks;
        magazine_places = layout.magazine_places;
        magazines = first_magazine;
        long_way = layout.strict || magazine_blocks == 0;
        if (long_way) top.store(magazines, std::memory_order_relaxed);
    }

    /// Null if the magazine is empty, or the operation must take the slow path.
    [[nodiscard]] Block try_pop() noexcept {
        auto* const at = top.load(std::memory_order_relaxed);
        auto* const block = at[-1];
        if (block != nullptr) [[likely]]
            top.store(at - 1, std::memory_order_relaxed);
        return block;
    }
    /// False if the magazine is full, or may be, or the operation must take the slow path.
    [[nodiscard]] bool try_push(Block block) noexcept {
        auto* const at = top.load(std::memory_order_relaxed);
        if (reinterpret_cast<std::uintptr_t>(at) % kMagazineUnit == 0) [[unlikely]]
            return false;
        *at = block;
        top.store(at + 1, std::memory_order_relaxed);
        return true;
    }

    /// Moves the contents of `other`, which is left without a pool. Under the pool's mutex, by the owner of both.
    void move_from(BlockCache& other) noexcept;

    // The slow path.
    [[nodiscard]] std::atomic<Block*>& true_top() noexcept { return long_way ? long_way_top : top; }
    [[nodiscard]] Block* position() const noexcept {
        return (long_way ? long_way_top : top).load(std::memory_order_relaxed);
    }
    void set_position(Block* at) noexcept { true_top().store(at, std::memory_order_relaxed); }
    [[nodiscard]] bool is_empty() const noexcept { return position() == bottom; }
    [[nodiscard]] bool is_full() const noexcept { return position() == end; }
    [[nodiscard]] std::size_t level() const noexcept { return static_cast<std::size_t>(position() - bottom); }
    [[nodiscard]] std::size_t free_places() const noexcept { return static_cast<std::size_t>(end - position()); }
    /// Requires that it is not empty.
    [[nodiscard]] Block pop() noexcept {
        auto& place = true_top();
        auto* const at = place.load(std::memory_order_relaxed) - 1;
        place.store(at, std::memory_order_relaxed);
        return *at;
    }
    /// Requires that it is not full.
    void push(Block block) noexcept {
        auto& place = true_top();
        auto* const at = place.load(std::memory_order_relaxed);
        *at = block;
        place.store(at + 1, std::memory_order_relaxed);
    }
    void count_released(std::size_t count) noexcept {
        if (account != nullptr) {
            account->give_back(count);
        } else {
            released.add(count);
        }
    }
    void carry(std::size_t in, std::size_t out) noexcept {
        const auto before = carried.load(std::memory_order_relaxed);
        carried.store(before + in - out, std::memory_order_release);
    }

    /// Sets the position and `carried` so that other threads see both changes or neither.
    void move_to(Block* at, std::size_t in, std::size_t out) noexcept {
        const auto number = moves.load(std::memory_order_relaxed);
        moves.store(number + 1, std::memory_order_relaxed);
        carry(in, out);
        true_top().store(at, std::memory_order_release);
        moves.store(number + 2, std::memory_order_release);
    }
    /// Makes this the loaded magazine; its first `count` places hold blocks.
    void load(Block* magazine, std::size_t count) noexcept {
        const auto unloaded = level();
        bottom = magazine;
        end = magazine + magazine_blocks;
        move_to(magazine + count, count, unloaded);
    }
    [[nodiscard]] bool use_full_spare() noexcept {
        if (!spare_is_full) return false;
        auto* const full = spare;
        spare = bottom;
        spare_is_full = false;
        load(full, magazine_blocks);
        return true;
    }
    [[nodiscard]] bool use_empty_spare() noexcept {
        if (spare_is_full) return false;
        auto* const empty = spare;
        spare = bottom;
        spare_is_full = true;
        load(empty, 0);
        return true;
    }

    // For any thread, concurrently with the owner.
    /// Blocks in the loaded magazine, calculated from the position alone.
    [[nodiscard]] std::uint64_t held() const noexcept {
        const auto* const at = (long_way ? long_way_top : top).load(std::memory_order_acquire);
        if (at == nullptr || magazine_blocks == 0) return 0;
        const auto place = static_cast<std::uint64_t>(at - magazines) % magazine_places;
        return place == 0 ? magazine_blocks : magazine_blocks - (magazine_places - place);
    }
    /// Acquired minus released; negative, modulo 2^64, if blocks of other threads are released. The value at some
    /// moment of the call; up to a magazine less if the owner is preempted in the middle of a move.
    [[nodiscard]] std::uint64_t in_use() const noexcept {
        for (int tries = 0; tries < 100; ++tries) {
            const auto number = moves.load(std::memory_order_acquire);
            const auto in_and_out = carried.load(std::memory_order_acquire);
            const auto in_loaded = held();
            if (number % 2 == 0 && moves.load(std::memory_order_relaxed) == number) return in_and_out - in_loaded;
        }
        return carried.load(std::memory_order_relaxed) - magazine_blocks;
    }

    void add_counts_of(const BlockCache& other) noexcept {
        released.add(other.released.read());
        carry(other.in_use(), 0);
        refused.add(other.refused.read());
        exchanges.add(other.exchanges.read());
    }
    void reset_counts() noexcept {
        for (auto* const tally : {&released, &refused, &exchanges}) tally->set(0);
        carried.store(held(), std::memory_order_relaxed);
        reported = 0;
    }
};

inline void BlockCache::move_from(BlockCache& other) noexcept {
    const auto copy = [](auto& to, const auto& from) {
        to.store(from.load(std::memory_order_relaxed), std::memory_order_relaxed);
    };
    copy(top, other.top);
    copy(long_way_top, other.long_way_top);
    copy(carried, other.carried);
    released.set(other.released.read());
    refused.set(other.refused.read());
    exchanges.set(other.exchanges.read());
    grid = other.grid;
    pool = std::exchange(other.pool, nullptr);
    bottom = other.bottom;
    end = other.end;
    magazines = other.magazines;
    spare = other.spare;
    reported = other.reported;
    magazine_blocks = other.magazine_blocks;
    magazine_places = other.magazine_places;
    long_way = other.long_way;
    spare_is_full = other.spare_is_full;
    attached = std::exchange(other.attached, false);
    account = std::exchange(other.account, nullptr);
    if (magazine_blocks == 0) {  // The magazine is a part of the cache; it is empty between operations.
        bottom = end = &single;
        set_position(bottom);
    }
}

}  // namespace millpond::memory::detail
