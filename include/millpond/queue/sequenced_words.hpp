#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// Sequence lock: a record of 64-bit words that one thread replaces and that readers in any process copy whole or not
/// at all.
///
/// Record number n = 1, 2, ... has a sequence word: 0 before the first, 2n - 1 while n is being written, 2n when n is
/// complete. Numbers only grow.
///
///     writer of n                              reader that wants n
///     W1  sequence = 2n - 1                    R1  sequence == 2n ?   acquire
///     W2  words    = ...      release each     R2  copy the words     acquire each
///     W3  sequence = 2n       release          R3  sequence == 2n ?   relaxed
///
/// No fence is needed. R1 reads what W3 of n wrote, so every word of n was stored before it was loaded in R2: no
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
/// Number of the record that a mark is for, whether complete or being written; 0 for mark 0.
[[nodiscard]] constexpr std::uint64_t marked_number(std::uint64_t mark) noexcept { return (mark + 1) / 2; }

/// Default step: does nothing. Tests give writers and readers a step of their own, which is called between any two
/// accesses to shared words.
struct NoStep {
    void operator()() const noexcept {}
};

/// W1: marks the record as being written. Writer's thread only; numbers only grow.
inline void mark_writing(Word& sequence, std::uint64_t number) noexcept {
    sequence.store(writing_mark(number),
                   std::memory_order_release);  // sync "n started": the previous record is overwritten
}

/// W2: copies the words of `value` one by one, so that none is read wider than it was written.
template <class T, class Step = NoStep>
    requires(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(Word) == 0)
inline void store_words(Word* words, const T& value, Step&& step = {}) noexcept {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < sizeof(T) / sizeof(Word); ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, reinterpret_cast<const std::byte*>(&value) + i * sizeof word, sizeof word);
        words[i].store(word, std::memory_order_release);  // sync "n started": the loads in load_words
        step();
    }
}

/// W3: marks the record as complete.
inline void mark_complete(Word& sequence, std::uint64_t number) noexcept {
    sequence.store(complete_mark(number), std::memory_order_release);  // sync "n complete": R1
}

/// R2: copies words into `value`, which is valid only if `still_marked` confirms it.
template <class T, class Step = NoStep>
    requires(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(Word) == 0)
inline void load_words(const Word* words, T& value, Step&& step = {}) noexcept {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < sizeof(T) / sizeof(Word); ++i) {
        const auto word = words[i].load(std::memory_order_acquire);  // sync "n started": the stores in store_words
        std::memcpy(reinterpret_cast<std::byte*>(&value) + i * sizeof word, &word, sizeof word);
        step();
    }
}

/// R3: true if all words copied since the mark was read belong to that record.
[[nodiscard]] inline bool still_marked(const Word& sequence, std::uint64_t mark) noexcept {
    return sequence.load(std::memory_order_relaxed) == mark;
}

}  // namespace millpond::queue
