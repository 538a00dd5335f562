#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/tally.hpp>

namespace millpond::memory::detail {

/// Where the blocks of a pool are, and which pointer is which.
///
/// Source: exact division by multiplication with the inverse modulo 2^64: Granlund and Montgomery 1994, section 9.
struct BlockGrid {
    std::byte* first{nullptr};
    std::uint64_t stride{1};
    std::uint64_t inverse{1};  ///< Of the stride's odd part, modulo 2^64.
    int shift{0};              ///< The stride is its odd part times 2^shift.
    std::uint32_t count{0};

    BlockGrid() noexcept = default;
    BlockGrid(std::byte* first_block, std::size_t stride_bytes, std::uint32_t blocks) noexcept
        : first(first_block), stride(stride_bytes), shift(std::countr_zero(stride_bytes)), count(blocks) {
        const auto odd = stride >> shift;
        // Newton's iteration doubles the right bits: odd * odd == 1 modulo 8 gives 3, then 6, 12, 24, 48, 96.
        inverse = odd;
        for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
    }

    [[nodiscard]] std::byte* block(std::uint32_t index) const noexcept { return first + index * stride; }

    /// The index of the block at `pointer`; `count` or more for every pointer that is no block's.
    [[nodiscard]] std::uint64_t index_of(const void* pointer) const noexcept {
        const auto distance = reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(first);
        return std::rotr(distance * inverse, shift);
    }
};

/// One thread's blocks: a magazine that it pops from and pushes to, and a spare one, which is full or empty.
///
/// Threads: its owner's; the counts may be read by others.
/// Memory:  the first line holds all that an acquire or a release touches, besides the magazine.
struct alignas(core::kFalseSharingRange) BlockCache {
    std::uint32_t* loaded{nullptr};  ///< Indices of free blocks; the first `level` are there.
    std::uint32_t level{0};
    std::uint32_t magazine_blocks{0};
    BlockGrid grid;
    core::Tally acquired;

    alignas(core::kCacheLine) core::Tally released;
    std::uint32_t* spare{nullptr};
    bool spare_is_full{false};
    bool taken{false};        ///< Under the pool's mutex.
    std::uint32_t single{0};  ///< Stands for the magazine where there are none.
    core::Tally refused;
    core::Tally exchanges;

    /// Index of a free block; only while level > 0.
    [[nodiscard]] std::uint32_t pop() noexcept { return loaded[--level]; }
    /// Only while level < magazine_blocks.
    void push(std::uint32_t index) noexcept { loaded[level++] = index; }

    [[nodiscard]] bool use_full_spare() noexcept {
        if (!spare_is_full) return false;
        std::swap(loaded, spare);
        level = magazine_blocks;
        spare_is_full = false;
        return true;
    }
    [[nodiscard]] bool use_empty_spare() noexcept {
        if (spare_is_full) return false;
        std::swap(loaded, spare);
        level = 0;
        spare_is_full = true;
        return true;
    }
};

}  // namespace millpond::memory::detail
