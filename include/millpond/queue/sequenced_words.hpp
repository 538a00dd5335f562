#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

/// A record of 64-bit words that one thread replaces and others copy whole or not at all, in any process.
///
/// Record number n = 1, 2, ... has a sequence word: 0 before the first, 2n - 1 while n is being written, 2n when n is
/// complete. Numbers only grow.
///
///     writer of n                              reader that wants n
///     W1  sequence = 2n - 1                    R1  sequence == 2n ?   acquire
///     W2  words    = ...      release each     R2  copy the words     acquire each
///     W3  sequence = 2n       release          R3  sequence == 2n ?   relaxed
///
/// Why no fence is needed. R1 reads what W3 of n wrote, so every word of n was stored before it was loaded in R2: no
/// word is older than n. Were a word newer, of some m > n, then its acquire load would have read a release store that
/// comes after W1 of m; hence W1 of m happens before R3, and R3, later in the only order that the sequence's values
/// have, can read nothing below 2m - 1. So when R3 still reads 2n, every word is of n.
///
/// Source: H. Boehm, "Can seqlocks get along with programming language memory models?", MSPC 2012.
namespace millpond::queue {

using Word = std::atomic<std::uint64_t>;
static_assert(sizeof(Word) == 8 && alignof(Word) == 8 && Word::is_always_lock_free);
static_assert(std::endian::native == std::endian::little, "shared layouts are little-endian");

[[nodiscard]] constexpr std::uint64_t writing_mark(std::uint64_t number) noexcept { return 2 * number - 1; }
[[nodiscard]] constexpr std::uint64_t complete_mark(std::uint64_t number) noexcept { return 2 * number; }
[[nodiscard]] constexpr bool is_complete(std::uint64_t mark) noexcept { return mark != 0 && mark % 2 == 0; }
/// The number that a mark speaks of, whether complete or being written; 0 of 0.
[[nodiscard]] constexpr std::uint64_t marked_number(std::uint64_t mark) noexcept { return (mark + 1) / 2; }

/// Does nothing. A test gives writers and readers a step of its own instead and is called between any two accesses to
/// shared words.
struct NoStep {
    void operator()() const noexcept {}
};

/// W1 to W3. Writer's thread only; `number` is above every number that the record had.
template <class Step = NoStep>
inline void store_sequenced(Word& sequence, Word* words, const std::uint64_t* values, std::size_t count,
                            std::uint64_t number, Step&& step = {}) noexcept {
    sequence.store(writing_mark(number), std::memory_order_release);  // sync "n begun": says the record before is gone
    step();
#pragma GCC unroll 16
    for (std::size_t i = 0; i < count; ++i) {
        words[i].store(values[i], std::memory_order_release);  // sync "n begun": the loads in load_words
        step();
    }
    sequence.store(complete_mark(number), std::memory_order_release);  // sync "n complete": the load before load_words
    step();
}

/// R2: copies words; what they are worth is known only after `still_marked`.
template <class Step = NoStep>
inline void load_words(const Word* words, std::uint64_t* into, std::size_t count, Step&& step = {}) noexcept {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < count; ++i) {
        into[i] = words[i].load(std::memory_order_acquire);  // sync "n begun": the stores in store_sequenced
        step();
    }
}

/// R3: true when everything copied since the mark was read belongs to it.
[[nodiscard]] inline bool still_marked(const Word& sequence, std::uint64_t mark) noexcept {
    return sequence.load(std::memory_order_relaxed) == mark;
}

}  // namespace millpond::queue
