#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <millpond/feed/event.hpp>

namespace millpond::gateway::json_lines {

/// A set of instruments, one bit for each, that are popped in turn: an instrument that is inserted repeatedly does not
/// delay the others.
///
/// Threads: one.
/// Memory:  a bit for every instrument up to the highest ever inserted.
class IdSet {
public:
    [[nodiscard]] bool contains(feed::InstrumentId id) const noexcept {
        const auto word = id / kBits;
        return word < words_.size() && (words_[word] & bit_of(id)) != 0;
    }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

    /// Inserts an instrument; false if it was in the set already.
    bool insert(feed::InstrumentId id) {
        const auto word = id / kBits;
        if (word >= words_.size()) words_.resize(word + 1);
        if ((words_[word] & bit_of(id)) != 0) return false;
        words_[word] |= bit_of(id);
        ++count_;
        return true;
    }

    /// Erases an instrument; false if it was not in the set.
    bool erase(feed::InstrumentId id) noexcept {
        if (!contains(id)) return false;
        words_[id / kBits] &= ~bit_of(id);
        --count_;
        return true;
    }

    /// Removes the lowest id above the last one removed, or else the lowest; kNoInstrument if empty.
    /// Amortized O(1).
    feed::InstrumentId pop_next() noexcept {
        if (count_ == 0) return feed::kNoInstrument;
        auto word = next_ / kBits % words_.size();
        auto left = words_[word] & (~std::uint64_t{0} << (next_ % kBits));
        while (left == 0) {
            word = (word + 1) % words_.size();
            left = words_[word];
        }
        const auto id = word * kBits + static_cast<std::size_t>(std::countr_zero(left));
        words_[word] &= ~bit_of(id);
        --count_;
        next_ = id + 1;
        return static_cast<feed::InstrumentId>(id);
    }

    void clear() noexcept {
        words_.clear();
        count_ = 0;
        next_ = 0;
    }

private:
    static constexpr std::size_t kBits = 64;

    static std::uint64_t bit_of(std::size_t id) noexcept { return std::uint64_t{1} << (id % kBits); }

    std::vector<std::uint64_t> words_;
    std::size_t count_{0};
    std::size_t next_{0};  // where pop_next continues
};

}  // namespace millpond::gateway::json_lines
