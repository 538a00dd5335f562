#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>

namespace millpond::feed {

/// Numbers the instruments of all feeds of one thread, in the order in which they are first seen: 0, 1, 2, ...
///
/// Threads: one, the receiving one; refused() may be read on any.
/// Memory:  about 56 bytes per instrument, taken once from `memory` in the constructor. An instrument never leaves.
/// Source:  open addressing with linear probing (Knuth, TAOCP 3, 6.4), at most half full, so O(1).
class InstrumentTable {
public:
    /// capacity: instruments, 1..2^30. Throws std::invalid_argument otherwise.
    explicit InstrumentTable(std::size_t capacity,
                             std::pmr::memory_resource* memory = std::pmr::get_default_resource());
    InstrumentTable(const InstrumentTable&) = delete;
    InstrumentTable& operator=(const InstrumentTable&) = delete;

    /// The instrument's number; a new one when it is seen for the first time. kNoInstrument when the table is full and
    /// the instrument is not in it: then refused() grows by one.
    [[nodiscard]] InstrumentId find_or_add(const Venue& venue, const Symbol& symbol) noexcept;

    /// kNoInstrument when it is not in the table.
    [[nodiscard]] InstrumentId find(const Venue& venue, const Symbol& symbol) const noexcept;

    [[nodiscard]] const Venue& venue(InstrumentId id) const noexcept { return names_[checked(id)].venue; }
    [[nodiscard]] const Symbol& symbol(InstrumentId id) const noexcept { return names_[checked(id)].symbol; }

    [[nodiscard]] std::size_t size() const noexcept { return names_.size(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

    /// Times that find_or_add had no room. The same instrument is counted at each call.
    [[nodiscard]] const core::Tally& refused() const noexcept { return refused_; }

private:
    struct Name {
        Venue venue;
        Symbol symbol;
    };
    [[nodiscard]] static bool is_same(const Name& a, const Name& b) noexcept {
        using Words = std::array<std::uint64_t, sizeof(Name) / sizeof(std::uint64_t)>;
        const auto left = std::bit_cast<Words>(a);
        const auto right = std::bit_cast<Words>(b);
        std::uint64_t difference = 0;
        for (std::size_t i = 0; i < left.size(); ++i) difference |= left[i] ^ right[i];
        return difference == 0;
    }
    struct Slot {
        std::uint32_t hash;
        InstrumentId id;
    };

    [[nodiscard]] static std::uint32_t hash_of(const Venue& venue, const Symbol& symbol) noexcept;
    [[nodiscard]] std::size_t place_of(const Venue& venue, const Symbol& symbol, std::uint32_t hash) const noexcept;
    [[nodiscard]] static std::size_t checked_capacity(std::size_t capacity);
    [[nodiscard]] InstrumentId checked(InstrumentId id) const noexcept {
        assert(id < names_.size());
        return id;
    }

    std::size_t capacity_;
    std::size_t mask_;
    std::pmr::vector<Slot> slots_;
    std::pmr::vector<Name> names_;
    core::Tally refused_;
};

inline std::size_t InstrumentTable::checked_capacity(std::size_t capacity) {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    if (capacity == 0 || capacity > kMost) {
        throw std::invalid_argument("instrument table: capacity " + std::to_string(capacity) + " is not in 1.." +
                                    std::to_string(kMost));
    }
    return capacity;
}

inline InstrumentTable::InstrumentTable(std::size_t capacity, std::pmr::memory_resource* memory)
    : capacity_(checked_capacity(capacity)),
      mask_(std::bit_ceil(capacity * 2) - 1),
      slots_(mask_ + 1, Slot{0, kNoInstrument}, memory),
      names_(memory) {
    names_.reserve(capacity);
}

inline InstrumentId InstrumentTable::find_or_add(const Venue& venue, const Symbol& symbol) noexcept {
    const auto hash = hash_of(venue, symbol);
    auto& slot = slots_[place_of(venue, symbol, hash)];
    if (slot.id != kNoInstrument) return slot.id;
    if (names_.size() == capacity_) {
        refused_.add();
        return kNoInstrument;
    }
    slot = {hash, static_cast<InstrumentId>(names_.size())};
    names_.push_back({venue, symbol});  // never allocates: reserved in the constructor
    return slot.id;
}

inline InstrumentId InstrumentTable::find(const Venue& venue, const Symbol& symbol) const noexcept {
    return slots_[place_of(venue, symbol, hash_of(venue, symbol))].id;
}

inline std::uint32_t InstrumentTable::hash_of(const Venue& venue, const Symbol& symbol) noexcept {
    constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15;  // 2^64 / golden ratio, as in Fibonacci hashing
    const auto words = std::bit_cast<std::array<std::uint64_t, 4>>(symbol);
    auto hash = std::bit_cast<std::uint64_t>(venue) * kOdd;
    for (const auto word : words) {
        if (word == 0) break;  // a name is padded with zeros, so nothing follows
        hash = (hash ^ word) * kOdd;
        hash ^= hash >> 32;
    }
    return static_cast<std::uint32_t>(hash);
}

inline std::size_t InstrumentTable::place_of(const Venue& venue, const Symbol& symbol,
                                             std::uint32_t hash) const noexcept {
    for (std::size_t place = hash & mask_;; place = (place + 1) & mask_) {
        const auto& slot = slots_[place];
        if (slot.id == kNoInstrument) return place;
        if (slot.hash == hash && is_same(names_[slot.id], {venue, symbol})) return place;
    }
}

}  // namespace millpond::feed
