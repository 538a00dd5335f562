#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/tally.hpp>

namespace millpond::memory::detail {

/// Where the blocks of a pool are, and which pointer is which.
///
/// Source: exact division by multiplication with the inverse modulo 2^64: Granlund and Montgomery 1994, section 9.
struct BlockGrid {
    std::byte* first{nullptr};
    std::uint64_t inverse{1};  ///< Of the stride's odd part, modulo 2^64.
    std::uint32_t shift{0};    ///< The stride is its odd part times 2^shift.
    std::uint32_t count{0};
    std::uint64_t stride{1};

    BlockGrid() noexcept = default;
    BlockGrid(std::byte* first_block, std::size_t stride_bytes, std::uint32_t blocks) noexcept
        : first(first_block),
          shift(static_cast<std::uint32_t>(std::countr_zero(stride_bytes))),
          count(blocks),
          stride(stride_bytes) {
        const auto odd = stride >> shift;
        // Newton's iteration doubles the right bits: odd * odd == 1 modulo 8 gives 3, then 6, 12, 24, 48, 96.
        inverse = odd;
        for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
    }

    [[nodiscard]] std::byte* block(std::uint32_t index) const noexcept { return first + index * stride; }

    /// The index of the block at `pointer`; `count` or more for every pointer that is no block's.
    [[nodiscard]] std::uint64_t index_of(const void* pointer) const noexcept {
        const auto distance = reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(first);
        const auto product = distance * inverse;
        return (product >> shift) | (product << (-shift % 64));  // As std::rotr, in a form that is vectorised.
    }
};

/// One thread's blocks: a magazine that it pops from and pushes to, and a spare one, which is full or empty.
///
/// Threads: its owner's; the counts may be read by others.
/// Memory:  the first line holds all that an acquire or a release touches, besides the magazine.
struct alignas(core::kFalseSharingRange) BlockCache {
    using Block = std::byte*;

    Block* top{nullptr};     ///< The free blocks of the loaded magazine are [bottom, top).
    Block* bottom{nullptr};  ///< Where the loaded magazine begins.
    Block* end{nullptr};     ///< Where it ends.
    core::Tally acquired;
    core::Tally released;
    BlockGrid grid;

    Block* spare{nullptr};
    std::uint32_t magazine_blocks{0};
    bool spare_is_full{false};
    bool taken{false};      ///< Under the pool's mutex.
    bool strict{false};     ///< As the pool.
    Block single{nullptr};  ///< Stands for the magazine where there are none.
    core::Tally refused;
    core::Tally exchanges;

    void describe(const BlockGrid& blocks, std::uint32_t magazine, bool is_strict) noexcept {
        grid = blocks;
        magazine_blocks = magazine;
        strict = is_strict;
    }
    void add_counts_of(const BlockCache& other) noexcept {
        acquired.add(other.acquired.read());
        released.add(other.released.read());
        refused.add(other.refused.read());
        exchanges.add(other.exchanges.read());
    }
    void forget_counts() noexcept {
        for (auto* const tally : {&acquired, &released, &refused, &exchanges}) tally->set(0);
    }

    [[nodiscard]] bool is_empty() const noexcept { return top == bottom; }
    [[nodiscard]] bool is_full() const noexcept { return top == end; }
    [[nodiscard]] std::size_t level() const noexcept { return static_cast<std::size_t>(top - bottom); }
    [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::size_t>(end - top); }
    /// Only while it is not empty.
    [[nodiscard]] Block pop() noexcept { return *--top; }
    /// Only while it is not full.
    void push(Block block) noexcept { *top++ = block; }

    /// The first `count` of the magazine's places hold blocks.
    void load(Block* magazine, std::size_t count) noexcept {
        bottom = magazine;
        top = magazine + count;
        end = magazine + magazine_blocks;
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
};

}  // namespace millpond::memory::detail
