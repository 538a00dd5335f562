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

/// Numbers the instruments of all feeds of one thread, in the order in which they are first seen: 0, 1, 2, ...; and
/// keeps their names and the decimals of their prices.
///
/// Threads: one, the receiving one; refused() may be read on any.
/// Memory:  about 57 bytes per instrument, allocated once from `memory` in the constructor. Instruments are never
/// removed.
/// Source:  open addressing with linear probing (Knuth, TAOCP 3, 6.4), at most half full, so O(1).
class InstrumentTable {
public:
    /// capacity: instruments, 1..2^30. Throws std::invalid_argument otherwise.
    explicit InstrumentTable(std::size_t capacity,
                             std::pmr::memory_resource* memory = std::pmr::get_default_resource());
    InstrumentTable(const InstrumentTable&) = delete;
    InstrumentTable& operator=(const InstrumentTable&) = delete;

    /// Returns the instrument's number, a new one for a new instrument. If the table is full and the instrument is not
    /// in it, returns kNoInstrument and increments refused(). decimals: of a new instrument, at most kPriceDecimals; a
    /// known one keeps its own.
    [[nodiscard, gnu::always_inline]] InstrumentId find_or_add(const Venue& venue, const Symbol& symbol,
                                                               unsigned decimals = kDefaultDecimals) noexcept;

    /// Returns kNoInstrument if the instrument is not in the table.
    [[nodiscard]] InstrumentId find(const Venue& venue, const Symbol& symbol) const noexcept;

    [[nodiscard]] const Venue& venue(InstrumentId id) const noexcept { return names_[checked(id)].venue; }
    [[nodiscard]] const Symbol& symbol(InstrumentId id) const noexcept { return names_[checked(id)].symbol; }
    /// Decimals that text has at least.
    [[nodiscard]] unsigned decimals(InstrumentId id) const noexcept { return decimals_[checked(id)]; }

    [[nodiscard]] std::size_t size() const noexcept { return names_.size(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

    /// Number of find_or_add calls that failed because the table was full. Repeated calls for an instrument count
    /// again.
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

    /// Apart from find_or_add, so that decoders inline the search.
    [[gnu::cold]] void add(Slot& slot, std::uint32_t hash, const Name& name, unsigned decimals) noexcept;
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
    std::pmr::vector<std::uint8_t> decimals_;
    core::Tally refused_;
};

inline std::size_t InstrumentTable::checked_capacity(std::size_t capacity) {
    constexpr std::size_t kMax = std::size_t{1} << 30;
    if (capacity == 0 || capacity > kMax) {
        throw std::invalid_argument("instrument table: capacity " + std::to_string(capacity) + " is not in 1.." +
                                    std::to_string(kMax));
    }
    return capacity;
}

inline InstrumentTable::InstrumentTable(std::size_t capacity, std::pmr::memory_resource* memory)
    : capacity_(checked_capacity(capacity)),
      mask_(std::bit_ceil(capacity * 2) - 1),
      slots_(mask_ + 1, Slot{0, kNoInstrument}, memory),
      names_(memory),
      decimals_(memory) {
    names_.reserve(capacity);
    decimals_.reserve(capacity);
}

inline InstrumentId InstrumentTable::find_or_add(const Venue& venue, const Symbol& symbol, unsigned decimals) noexcept {
    const auto hash = hash_of(venue, symbol);
    auto& slot = slots_[place_of(venue, symbol, hash)];
    if (slot.id == kNoInstrument) [[unlikely]]
        add(slot, hash, {venue, symbol}, decimals);
    return slot.id;
}

inline void InstrumentTable::add(Slot& slot, std::uint32_t hash, const Name& name, unsigned decimals) noexcept {
    assert(decimals <= kPriceDecimals);
    if (names_.size() == capacity_) return refused_.add();
    slot = {hash, static_cast<InstrumentId>(names_.size())};
    names_.push_back(name);  // never allocates: reserved in the constructor
    decimals_.push_back(static_cast<std::uint8_t>(decimals));
}

inline InstrumentId InstrumentTable::find(const Venue& venue, const Symbol& symbol) const noexcept {
    return slots_[place_of(venue, symbol, hash_of(venue, symbol))].id;
}

inline std::uint32_t InstrumentTable::hash_of(const Venue& venue, const Symbol& symbol) noexcept {
    constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15;  // 2^64 / golden ratio, as in Fibonacci hashing
    const auto words = std::bit_cast<std::array<std::uint64_t, 4>>(symbol);
    auto hash = std::bit_cast<std::uint64_t>(venue) * kOdd;
    for (const auto word : words) {
        if (word == 0) break;  // names are padded with zeros, so the rest is zero too
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
