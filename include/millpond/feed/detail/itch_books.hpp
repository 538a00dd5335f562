#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/prefetch.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/name_text.hpp>
#include <millpond/feed/order_books.hpp>

namespace millpond::feed {

/// Maps the stock locates of an ITCH channel to instruments and their books, with the last published state.
///
/// Threads: one.
/// Memory:  128 KiB and 64 bytes per book, taken once in the constructor.
class ItchBooks {
public:
    static constexpr std::uint16_t kNone = 0xFFFF;

    struct alignas(core::kCacheLine) Entry {
        InstrumentId instrument{kNoInstrument};
        std::uint16_t locate{0};
        std::uint16_t flags{0};         ///< Of the last published quote.
        char action{'\0'};              ///< State of the last trading action; '\0' before the first.
        core::FixedString<4> reason{};  ///< Of that action.
        bool halted_here{false};        ///< By an operational halt of this market.
        bool published{false};
        OrderBooks::Top top{};  ///< The last published.

        /// A halt of all markets takes precedence over one of this market; trading if neither is known.
        [[nodiscard]] TradingState state() const noexcept {
            switch (action) {
                case 'H': return TradingState::halted;
                case 'P': return TradingState::paused;
                case 'Q': return TradingState::quotation_only;
                default: return halted_here ? TradingState::operational_halt : TradingState::trading;
            }
        }
        [[nodiscard]] bool is_halted() const noexcept {
            return halted_here || action == 'H' || action == 'P' || action == 'Q';
        }
    };

    ItchBooks(InstrumentTable& instruments, const Venue& venue, std::size_t books, std::pmr::memory_resource* memory)
        : instruments_(&instruments),
          venue_(venue),
          of_locate_(std::size_t{kNone} + 1, kNone, memory),
          entries_(memory) {
        entries_.reserve(books);
    }

    /// The book's number; kNone if the locate has no name yet.
    [[nodiscard]] std::uint16_t find(std::uint16_t locate) const noexcept { return of_locate_[locate]; }

    /// The same; a new one gets the name in eight characters of a message. kNone if the name is not printable or there
    /// is no room for it; a full table counts it.
    [[nodiscard]] std::uint16_t find_or_name(std::uint16_t locate, const std::byte* stock) noexcept {
        if (of_locate_[locate] != kNone) return of_locate_[locate];
        const auto symbol = padded_name<Symbol::capacity()>({stock, 8});
        if (!symbol) return kNone;
        const auto id = instruments_->find_or_add(venue_, *symbol);
        if (id == kNoInstrument || entries_.size() == entries_.capacity() || entries_.size() == kNone) return kNone;
        of_locate_[locate] = static_cast<std::uint16_t>(entries_.size());
        entries_.push_back({.instrument = id, .locate = locate});  // never allocates: reserved in the constructor
        return of_locate_[locate];
    }

    /// Prefetches a book's entry.
    void prefetch(std::uint16_t book) const noexcept { core::prefetch_for_write(&entries_[book]); }

    [[nodiscard]] std::span<Entry> entries() noexcept { return entries_; }

    /// The number here of an instrument of `other`; kNoInstrument if there is no room for it.
    [[nodiscard]] InstrumentId translate(const ItchBooks& other, InstrumentId instrument) noexcept {
        return instruments_->find_or_add(venue_, other.instruments_->symbol(instrument));
    }
    /// Swaps entries and locates; instruments keep their numbers in their own tables. Both must use the same memory
    /// resource. O(1).
    void swap_entries(ItchBooks& other) noexcept {
        std::swap(of_locate_, other.of_locate_);
        std::swap(entries_, other.entries_);
    }

    [[nodiscard]] Entry& operator[](std::uint16_t book) noexcept { return entries_[book]; }

    /// A new session: locates may mean other stocks, and nothing has been published. O(books).
    void clear() noexcept {
        for (const auto& entry : entries_) of_locate_[entry.locate] = kNone;
        entries_.clear();
    }

private:
    InstrumentTable* instruments_;
    Venue venue_;
    std::pmr::vector<std::uint16_t> of_locate_;
    std::pmr::vector<Entry> entries_;
};

}  // namespace millpond::feed
