#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace millpond::memory::detail {

using TwoPointers [[gnu::vector_size(2 * sizeof(std::uint64_t))]] = std::uint64_t;
using FourPointers [[gnu::vector_size(4 * sizeof(std::uint64_t))]] = std::uint64_t;
using TwoPairs [[gnu::vector_size(sizeof(TwoPointers))]] = std::uint32_t;
using FourPairs [[gnu::vector_size(sizeof(FourPointers))]] = std::uint32_t;

/// Whether the processor has registers for four. Without them, compilers split the vector through the stack.
#ifdef __AVX2__
inline constexpr bool kFourAtOnce = true;
#else
inline constexpr bool kFourAtOnce = false;
#endif

/// Copies `count` pointers and calls visit(FourPointers) or visit(TwoPointers) for them; a pointer may be visited
/// twice. Each place is written once: a processor passes a store on to a later load only if the one store has all that
/// the load reads, and batches that a thread acquires and releases in turn are such loads and stores.
template <bool kFours = kFourAtOnce, class Visit>
[[gnu::always_inline]] inline void copy_pointers(void* __restrict to, const void* __restrict from, std::size_t count,
                                                 Visit&& visit) noexcept {
    auto* out = static_cast<std::byte*>(to);
    const auto* in = static_cast<const std::byte*>(from);
    FourPointers four;
    TwoPointers two;
    std::uint64_t one = 0;
    const auto copy = [&](auto& pointers) __attribute__((always_inline)) {
        std::memcpy(&pointers, in, sizeof pointers);
        std::memcpy(out, &pointers, sizeof pointers);
        in += sizeof pointers;
        out += sizeof pointers;
        if constexpr (sizeof pointers == sizeof(std::uint64_t)) {
            visit(TwoPointers{pointers, pointers});
        } else {
            visit(pointers);
        }
    };
    if constexpr (kFours) {
        for (auto eights = count / 8; eights != 0; --eights) {
            copy(four);
            copy(four);
        }
        if ((count & 4U) != 0) copy(four);
    } else {
        for (auto fours = count / 4; fours != 0; --fours) {
            copy(two);
            copy(two);
        }
    }
    if ((count & 2U) != 0) copy(two);
    if ((count & 1U) != 0) copy(one);
}

/// Maps pointers to block indices and back.
///
/// Source: exact division by multiplication with the inverse modulo 2^64: Granlund and Montgomery 1994, section 9.
class BlockGrid {
public:
    using Block = std::byte*;

    BlockGrid() noexcept = default;
    BlockGrid(std::byte* first_block, std::size_t stride_bytes, std::uint32_t blocks) noexcept
        : first_(first_block),
          count_and_shift_((std::uint64_t{blocks} << kShiftBits) |
                           static_cast<std::uint64_t>(std::countr_zero(stride_bytes))),
          stride_(stride_bytes) {
        const auto odd = stride_ >> shift();
        // Newton's iteration doubles the right bits: odd * odd == 1 modulo 8 gives 3, then 6, 12, 24, 48, 96.
        inverse_ = odd;
        for (int i = 0; i < 5; ++i) inverse_ *= 2 - odd * inverse_;
    }

    [[nodiscard]] Block block(std::uint32_t index) const noexcept { return first_ + index * stride_; }
    [[nodiscard]] std::uint64_t count() const noexcept { return count_and_shift_ >> kShiftBits; }

    /// Index of the block at `pointer`; count() or more if no block starts there.
    [[nodiscard]] std::uint64_t index_of(const void* pointer) const noexcept {
        return std::rotr(distance_to(pointer) * inverse_, static_cast<int>(shift()));
    }
    [[nodiscard]] bool holds(const void* pointer) const noexcept { return index_of(pointer) < count(); }

    /// Copies `count` pointers. False if one of them is not a block.
    template <bool kFours = kFourAtOnce>
    [[nodiscard, gnu::always_inline]] bool copy(Block* __restrict to, void* const* __restrict from,
                                                std::size_t count) const noexcept;

private:
    static constexpr std::uint32_t kShiftBits = 6;

    [[nodiscard]] bool copy_beyond_4_gib(Block* __restrict to, void* const* __restrict from,
                                         std::size_t count) const noexcept;
    [[nodiscard]] std::uint64_t shift() const noexcept { return count_and_shift_ % (1U << kShiftBits); }
    [[nodiscard]] std::uint64_t distance_to(const void* pointer) const noexcept {
        return reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(first_);
    }

    std::byte* first_{nullptr};
    std::uint64_t inverse_{1};          // Inverse of the stride's odd part, modulo 2^64.
    std::uint64_t count_and_shift_{0};  // The stride is its odd part times 2^shift.
    std::uint64_t stride_{1};
};

/// Properties of the distances of a batch's pointers from the first block, for each lane of a register.
template <class Pointers, class Halves>
struct LanesOfBatch {
    Pointers bits{};   ///< Union of their bits.
    Halves highest{};  ///< Maximum of their products with the inverse, modulo 2^32; only the low halves are used.

    void add(const Pointers& distances, std::uint32_t inverse) noexcept {
        join(distances, reinterpret_cast<const Halves&>(distances) * inverse);
    }
    void join(const Pointers& more_bits, const Halves& products) noexcept {
        bits |= more_bits;
        highest = products > highest ? products : highest;
    }
};

inline bool BlockGrid::copy_beyond_4_gib(Block* __restrict to, void* const* __restrict from,
                                         std::size_t count) const noexcept {
    std::uint64_t highest = 0;
    for (std::size_t i = 0; i < count; ++i) {
        highest = std::max(highest, index_of(from[i]));
        to[i] = static_cast<Block>(from[i]);
    }
    return highest < this->count();
}

template <bool kFours>
inline bool BlockGrid::copy(Block* __restrict to, void* const* __restrict from, std::size_t count) const noexcept {
    constexpr std::uint64_t kHalf = std::numeric_limits<std::uint32_t>::max();
    if (this->count() * stride_ > kHalf) [[unlikely]]
        return copy_beyond_4_gib(to, from, count);
    // The same division modulo 2^32, which loses no bit of a distance: more of them fit into a register.
    const auto first = reinterpret_cast<std::uintptr_t>(first_);
    const auto inverse = static_cast<std::uint32_t>(inverse_);
    LanesOfBatch<FourPointers, FourPairs> fours;
    LanesOfBatch<TwoPointers, TwoPairs> twos;
    copy_pointers<kFours>(to, from, count, [&](const auto& pointers) {
        if constexpr (sizeof pointers == sizeof(FourPointers)) {
            fours.add(pointers - first, inverse);
        } else {
            twos.add(pointers - first, inverse);
        }
    });
    twos.join(__builtin_shufflevector(fours.bits, fours.bits, 0, 1),
              __builtin_shufflevector(fours.highest, fours.highest, 0, 1, 2, 3));
    twos.join(__builtin_shufflevector(fours.bits, fours.bits, 2, 3),
              __builtin_shufflevector(fours.highest, fours.highest, 4, 5, 6, 7));
    const auto never = ~kHalf | ((std::uint64_t{1} << shift()) - 1);
    const auto at_most = reinterpret_cast<TwoPairs>(TwoPointers{} + (~kHalf | ((this->count() << shift()) - 1)));
    const auto allowed = twos.highest > at_most ? at_most : twos.highest;
    const auto faults = (twos.bits & never) | reinterpret_cast<TwoPointers>(twos.highest ^ allowed);
    return (faults[0] | faults[1]) == 0;
}

}  // namespace millpond::memory::detail
