#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include <millpond/feed/event.hpp>

namespace millpond::feed {

/// Maps the 64-bit key by which a wire format identifies an instrument (a product number, eight characters) to its
/// number in the InstrumentTable, without building and hashing its whole name for each message.
///
/// Threads: one.
/// Memory:  32 to 64 bytes per key, allocated once from `memory` in the constructor.
class WireKeyIndex {
public:
    /// capacity: maximum number of keys, that of the InstrumentTable.
    explicit WireKeyIndex(std::size_t capacity, std::pmr::memory_resource* memory = std::pmr::get_default_resource());

    /// Returns kNoInstrument if the key was never added.
    [[nodiscard]] InstrumentId find(std::uint64_t key) const noexcept;

    /// Returns false if the index is full. The key must not exist yet, and `id` must not be kNoInstrument.
    bool add(std::uint64_t key, InstrumentId id) noexcept;

    /// Removes all keys. O(capacity).
    void clear() noexcept {
        std::ranges::fill(slots_, Slot{0, kNoInstrument});
        size_ = 0;
    }

private:
    struct Slot {
        std::uint64_t key;
        InstrumentId id;
    };

    [[nodiscard]] std::size_t home_of(std::uint64_t key) const noexcept {
        constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15;  // 2^64 / golden ratio, as in Fibonacci hashing
        return static_cast<std::size_t>(key * kOdd >> shift_);
    }
    [[nodiscard]] std::size_t place_of(std::uint64_t key) const noexcept;

    std::size_t capacity_;
    std::size_t size_{0};
    std::size_t mask_;
    int shift_;
    std::pmr::vector<Slot> slots_;
};

// One slot more than the mask reaches, always free, so that `find` may read the slot after any home.
inline WireKeyIndex::WireKeyIndex(std::size_t capacity, std::pmr::memory_resource* memory)
    : capacity_(capacity),
      mask_(std::bit_ceil(capacity * 2 + 2) - 1),
      shift_(64 - std::countr_one(mask_)),
      slots_(mask_ + 2, Slot{0, kNoInstrument}, memory) {}

inline InstrumentId WireKeyIndex::find(std::uint64_t key) const noexcept {
    // Most keys are at home, most others one place further. Which of the two is unpredictable, so branch-free.
    auto place = home_of(key);
    place += static_cast<std::size_t>(slots_[place].key != key);
    if (slots_[place].key == key) [[likely]]
        return slots_[place].id;
    return slots_[place_of(key)].id;
}

inline bool WireKeyIndex::add(std::uint64_t key, InstrumentId id) noexcept {
    if (size_ == capacity_) return false;
    slots_[place_of(key)] = {key, id};
    ++size_;
    return true;
}

inline std::size_t WireKeyIndex::place_of(std::uint64_t key) const noexcept {
    auto place = home_of(key);
    while (slots_[place].id != kNoInstrument && slots_[place].key != key) place = (place + 1) & mask_;
    return place;
}

}  // namespace millpond::feed
