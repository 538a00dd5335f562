#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/core/prefetch.hpp>
#include <millpond/feed/detail/book_entry.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/name_text.hpp>

namespace millpond::feed {

/// Maps the stock locates of an ITCH channel to instruments and their books, with the last published state.
///
/// Threads: one.
/// Memory:  128 KiB, 64 bytes per book and 2 per instrument, allocated once in the constructor.
class ItchBooks {
public:
    static constexpr std::uint16_t kNone = 0xFFFF;       ///< The locate has no name, and the table is full.
    static constexpr std::uint16_t kNoName = 0xFFFE;     ///< The name is not printable ASCII, or is another locate's.
    static constexpr std::uint16_t kOtherName = 0xFFFD;  ///< The locate has another name.
    static constexpr std::uint16_t kMaxBooks = kOtherName;

    using Entry = BookEntry;

    ItchBooks(InstrumentTable& instruments, const Venue& venue, std::size_t books, std::pmr::memory_resource* memory)
        : instruments_(&instruments),
          venue_(venue),
          of_locate_(std::size_t{kNone} + 1, kNone, memory),
          of_instrument_(instruments.capacity(), kNone, memory),
          entries_(memory) {
        entries_.reserve(books);
    }

    /// The book's number; kNone if the locate has no name yet.
    [[nodiscard]] std::uint16_t find(std::uint16_t locate) const noexcept { return of_locate_[locate]; }

    /// The book of the stock with the eight characters at `stock`; kNone if there is none.
    [[nodiscard]] std::uint16_t find_stock(const std::byte* stock) const noexcept {
        const auto symbol = padded_name<Symbol::capacity()>({stock, 8});
        const auto id = symbol ? instruments_->find(venue_, *symbol) : kNoInstrument;
        return id == kNoInstrument ? kNone : of_instrument_[id];
    }
    /// Returns the book of the locate of a message; a locate without a name gets the eight characters at `stock` as its
    /// name. A result of kMaxBooks or more is not a book: kNone, counted as a full table, kNoName or kOtherName.
    [[nodiscard]] std::uint16_t find_or_name(std::uint16_t locate, const std::byte* stock) noexcept {
        const auto book = of_locate_[locate];
        const auto name = core::load_le<std::uint64_t>(stock);
        if (book != kNone) [[likely]]
            return entries_[book].stock == name ? book : kOtherName;
        return name_locate(locate, stock);
    }
    /// Returns an empty symbol if the locate has no name yet.
    [[nodiscard]] Symbol name_of(std::uint16_t locate) const noexcept {
        const auto book = find(locate);
        return book == kNone ? Symbol{} : Symbol{instruments_->symbol(entries_[book].instrument).view()};
    }

    /// Prefetches a book's entry.
    void prefetch(std::uint16_t book) const noexcept { core::prefetch_for_write(&entries_[book]); }

    [[nodiscard]] std::span<Entry> entries() noexcept { return entries_; }

    /// Translates an instrument's number in `other` to its number here; kNoInstrument if the table is full.
    [[nodiscard]] InstrumentId translate(const ItchBooks& other, InstrumentId instrument) noexcept {
        return instruments_->find_or_add(venue_, other.instruments_->symbol(instrument));
    }
    /// Swaps entries and locates; instruments keep their numbers in their own tables. Both must use the same memory
    /// resource. O(1).
    void swap_entries(ItchBooks& other) noexcept {
        std::swap(of_locate_, other.of_locate_);
        std::swap(entries_, other.entries_);
    }
    /// Finds the books of instruments again, after the instruments of entries have changed. O(instruments).
    void list_instruments() noexcept {
        std::ranges::fill(of_instrument_, kNone);
        for (std::size_t book = 0; book < entries_.size(); ++book)
            of_instrument_[entries_[book].instrument] = static_cast<std::uint16_t>(book);
    }

    /// Number of entries that can be added.
    [[nodiscard]] std::size_t room() const noexcept {
        return std::min<std::size_t>(entries_.capacity(), kMaxBooks) - entries_.size();
    }
    /// Adds the locate, name and instrument of another table's entry. Null if one of them is here or there is no room.
    [[nodiscard]] Entry* add_same(const Entry& other) noexcept {
        const bool is_here = of_locate_[other.locate] != kNone || of_instrument_[other.instrument] != kNone;
        if (is_here || room() == 0) return nullptr;
        return append({.instrument = other.instrument, .locate = other.locate, .stock = other.stock});
    }
    /// The entry of the stock locate of another table's entry; null if there is none.
    [[nodiscard]] const Entry* find_same(const Entry& other) const noexcept {
        const auto book = find(other.locate);
        return book == kNone ? nullptr : &entries_[book];
    }

    [[nodiscard]] Entry& operator[](std::uint16_t book) noexcept { return entries_[book]; }
    [[nodiscard]] const Entry& operator[](std::uint16_t book) const noexcept { return entries_[book]; }

    /// Starts a new session: locates may stand for other stocks, and no state has been published. O(instruments).
    void clear() noexcept {
        for (const auto& entry : entries_) of_locate_[entry.locate] = kNone;
        entries_.clear();
        std::ranges::fill(of_instrument_, kNone);
    }

    void forget() noexcept { clear(); }

private:
    [[nodiscard]] Entry* append(const Entry& entry) noexcept {
        of_instrument_[entry.instrument] = of_locate_[entry.locate] = static_cast<std::uint16_t>(entries_.size());
        return &entries_.emplace_back(entry);  // never allocates: reserved in the constructor
    }

    /// The rest of find_or_name, for a locate without a name: out of line, which spares each message the registers.
    [[nodiscard, gnu::cold, gnu::noinline]] std::uint16_t name_locate(std::uint16_t locate,
                                                                      const std::byte* stock) noexcept {
        const auto symbol = padded_name<Symbol::capacity()>({stock, 8});
        if (!symbol) return kNoName;
        const auto id = instruments_->find_or_add(venue_, *symbol);
        if (id == kNoInstrument || room() == 0) return kNone;
        if (of_instrument_[id] != kNone) return kNoName;
        static_cast<void>(append({.instrument = id, .locate = locate, .stock = core::load_le<std::uint64_t>(stock)}));
        return of_locate_[locate];
    }

    InstrumentTable* instruments_;
    Venue venue_;
    std::pmr::vector<std::uint16_t> of_locate_;
    std::pmr::vector<std::uint16_t> of_instrument_;
    std::pmr::vector<Entry> entries_;
};

}  // namespace millpond::feed
