#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <millpond/core/cache_line.hpp>

namespace millpond::engine {

/// Set of the numbers that were signalled since the last `drain`.
///
/// Threads: signal on any; drain on one; any on any.
/// Memory:  one bit per number, in place.
class ReadySet {
public:
    static constexpr std::size_t kNumbers = 1024;

    /// Adds a number, below kNumbers. The draining thread sees the caller's earlier writes.
    void signal(std::size_t number) noexcept {
        // sync "signalled": the exchange in drain. Always a read-modify-write: a bit that is seen set may be cleared
        // before the caller's writes are seen.
        words_[number / kBits].fetch_or(std::uint64_t{1} << (number % kBits), std::memory_order_seq_cst);
    }

    /// Clears all numbers and calls visit(number) for each. Returns whether there were any.
    template <class Visit>
    bool drain(Visit&& visit) {
        bool found = false;
        for (std::size_t word = 0; word < words_.size(); ++word) {
            if (words_[word].load(std::memory_order_relaxed) == 0) continue;
            auto bits = words_[word].exchange(0, std::memory_order_seq_cst);  // sync "signalled": signal
            found = found || bits != 0;
            for (; bits != 0; bits &= bits - 1) visit(word * kBits + static_cast<std::size_t>(std::countr_zero(bits)));
        }
        return found;
    }

    [[nodiscard]] bool any() const noexcept {
        for (const auto& word : words_) {
            if (word.load(std::memory_order_seq_cst) != 0) return true;
        }
        return false;
    }

private:
    static constexpr std::size_t kBits = 64;
    alignas(core::kFalseSharingRange) std::array<std::atomic<std::uint64_t>, kNumbers / kBits> words_{};
};

}  // namespace millpond::engine
