#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/iex_layout.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/name_text.hpp>
#include <millpond/feed/wire_key_index.hpp>

namespace millpond::feed {

/// Maps the symbols of an IEX channel to instruments, with an Entry for each. Entries are numbered from 0.
///
/// Threads: one.
/// Memory:  a WireKeyIndex and the entries, allocated once in the constructor.
template <class Entry>
class IexInstruments {
public:
    static constexpr std::uint16_t kNone = 0xFFFF;    ///< The table is full.
    static constexpr std::uint16_t kNoName = 0xFFFE;  ///< The symbol is not printable ASCII.
    static constexpr std::uint16_t kMaxBooks = kNoName;

    IexInstruments(InstrumentTable& instruments, const Venue& venue, std::size_t entries,
                   std::pmr::memory_resource* memory)
        : instruments_(&instruments), venue_(venue), index_(entries, memory), entries_(memory) {
        entries_.reserve(entries);
    }

    /// The number of the symbol's entry; kNone if there is none.
    [[nodiscard]] std::uint16_t find(const std::byte* symbol) const noexcept {
        const auto number = index_.find(core::load_le<std::uint64_t>(symbol));
        return number == kNoInstrument ? kNone : static_cast<std::uint16_t>(number);
    }
    /// The number of the symbol's entry, a new one for a new symbol. A result of kMaxBooks or more is kNone or kNoName.
    [[nodiscard]] std::uint16_t find_or_name(const std::byte* symbol) noexcept {
        const auto key = core::load_le<std::uint64_t>(symbol);
        const auto number = index_.find(key);
        if (number != kNoInstrument) [[likely]]
            return static_cast<std::uint16_t>(number);
        return add(key, symbol);
    }

    [[nodiscard]] std::span<Entry> entries() noexcept { return entries_; }
    [[nodiscard]] Entry& operator[](std::uint16_t number) noexcept { return entries_[number]; }
    [[nodiscard]] const Entry& operator[](std::uint16_t number) const noexcept { return entries_[number]; }

    /// Forgets all states. Symbols keep their numbers. O(entries).
    void clear() noexcept {
        for (auto& entry : entries_) entry = start(entry.instrument, key_of(entry));
    }
    /// Forgets all symbols too. O(entries and their capacity).
    void forget() noexcept {
        index_.clear();
        entries_.clear();
    }

    /// Translates an instrument's number in `other` to its number here; kNoInstrument if the table is full.
    [[nodiscard]] InstrumentId translate(const IexInstruments& other, InstrumentId instrument) noexcept {
        return instruments_->find_or_add(venue_, other.instruments_->symbol(instrument));
    }
    /// Swaps symbols and entries; instruments keep their numbers in their own tables. Both must use the same memory
    /// resource. O(1).
    void swap_entries(IexInstruments& other) noexcept {
        std::swap(index_, other.index_);
        std::swap(entries_, other.entries_);
    }
    /// Number of entries that can be added.
    [[nodiscard]] std::size_t room() const noexcept {
        return std::min<std::size_t>(entries_.capacity(), kMaxBooks) - entries_.size();
    }
    /// Adds the symbol and instrument of another table's entry. Null if the symbol is here or there is no room.
    [[nodiscard]] Entry* add_same(const Entry& other) noexcept {
        if (room() == 0 || find_same(other) != nullptr) return nullptr;
        return append(other.instrument, key_of(other));
    }
    /// The entry of the symbol of another table's entry; null if there is none.
    [[nodiscard]] const Entry* find_same(const Entry& other) const noexcept {
        const auto number = index_.find(key_of(other));
        return number == kNoInstrument ? nullptr : &entries_[number];
    }

private:
    static constexpr bool kKeepsKeys = requires(Entry entry) { entry.stock; };

    [[nodiscard]] static Entry start(InstrumentId instrument, std::uint64_t key) noexcept {
        Entry entry{.instrument = instrument};
        if constexpr (kKeepsKeys) entry.stock = key;
        return entry;
    }
    [[nodiscard]] static std::uint64_t key_of(const Entry& entry) noexcept {
        if constexpr (kKeepsKeys) return entry.stock;
        return 0;
    }
    [[gnu::cold]] std::uint16_t add(std::uint64_t key, const std::byte* symbol) noexcept {
        const auto name = padded_name<Symbol::capacity()>({symbol, iex_layout::kSymbolBytes});
        if (!name) return kNoName;
        if (room() == 0) return kNone;
        const auto id = instruments_->find_or_add(venue_, *name);
        if (id == kNoInstrument) return kNone;
        static_cast<void>(append(id, key));
        return static_cast<std::uint16_t>(entries_.size() - 1);
    }
    [[nodiscard]] Entry* append(InstrumentId instrument, std::uint64_t key) noexcept {
        static_cast<void>(index_.add(key, static_cast<std::uint32_t>(entries_.size())));
        return &entries_.emplace_back(start(instrument, key));  // never allocates: reserved in the constructor
    }

    InstrumentTable* instruments_;
    Venue venue_;
    WireKeyIndex index_;
    std::pmr::vector<Entry> entries_;
};

}  // namespace millpond::feed
