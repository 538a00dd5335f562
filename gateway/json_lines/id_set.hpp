#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <millpond/feed/event.hpp>

namespace millpond::gateway::lines {

/// A set of instruments, a bit each.
///
/// Threads: one.
/// Memory:  a bit for every instrument up to the highest ever inserted.
class IdSet {
public:
    [[nodiscard]] bool contains(feed::InstrumentId id) const noexcept {
        const auto word = id / kBits;
        return word < words_.size() && (words_[word] >> (id % kBits) & 1U) != 0;
    }

    /// False when it was in already.
    bool insert(feed::InstrumentId id) {
        const auto word = id / kBits;
        if (word >= words_.size()) words_.resize(word + 1);
        const auto bit = std::uint64_t{1} << (id % kBits);
        const bool added = (words_[word] & bit) == 0;
        words_[word] |= bit;
        first_ = std::min(first_, word);
        return added;
    }

    /// False when it was not in.
    bool erase(feed::InstrumentId id) noexcept {
        if (!contains(id)) return false;
        words_[id / kBits] &= ~(std::uint64_t{1} << (id % kBits));
        return true;
    }

    /// The lowest one, kNoInstrument when empty. O(1) over a sequence of first() and erase().
    [[nodiscard]] feed::InstrumentId first() noexcept {
        for (; first_ < words_.size(); ++first_) {
            if (words_[first_] != 0) {
                return static_cast<feed::InstrumentId>(first_ * kBits +
                                                       static_cast<std::size_t>(std::countr_zero(words_[first_])));
            }
        }
        return feed::kNoInstrument;
    }

    void clear() noexcept {
        words_.clear();
        first_ = 0;
    }

private:
    static constexpr std::size_t kBits = 64;
    std::vector<std::uint64_t> words_;
    std::size_t first_{0};  // all words before it are 0
};

}  // namespace millpond::gateway::lines
