#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include <millpond/feed/event.hpp>

namespace millpond::feed {

/// Combines the two sides of each instrument's quote for feeds that send one side at a time.
///
/// A side is current if it was updated since the last gap and the last clear. A side last updated before a gap keeps
/// its price but makes the quote incomplete; a clear empties all sides. Both cost O(1): each side stores the generation
/// in which it was updated.
///
/// Threads: one.
/// Memory:  72 bytes per instrument, allocated once from `memory` in the constructor.
class TwoSidedQuotes {
public:
    struct Side {
        Price price{0};
        std::uint64_t size{0};
        std::uint16_t flags{0};  ///< kHalted, kNotFirm: set for the quote if either side has them.
    };

    explicit TwoSidedQuotes(std::size_t capacity, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : slots_(capacity, Slot{}, memory) {}

    void set_bid(std::size_t slot, const Side& side) noexcept { slots_[slot].bid = {side, generation_}; }
    void set_ask(std::size_t slot, const Side& side) noexcept { slots_[slot].ask = {side, generation_}; }

    /// Sets prices, sizes and flags of the quote.
    void fill(std::size_t slot, Quote& quote) const noexcept;

    /// Marks all sides as not current.
    void gap() noexcept { ++generation_; }
    /// Empties all sides.
    void clear() noexcept { cleared_ = ++generation_; }
    /// Changes with each gap and each clear.
    [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }

private:
    struct Seen {
        Side side{};
        std::uint32_t generation{0};  // 0: never updated
    };
    struct Slot {
        Seen bid;
        Seen ask;
    };

    std::pmr::vector<Slot> slots_;
    std::uint32_t generation_{1};
    std::uint32_t cleared_{1};
};

inline void TwoSidedQuotes::fill(std::size_t slot, Quote& quote) const noexcept {
    const auto& [bid, ask] = slots_[slot];
    const auto set = [this](const Seen& seen, Price& price, std::uint64_t& size) {
        if (seen.generation < cleared_ || seen.side.size == 0) return;  // the quote's side was initialized as empty
        price = seen.side.price;
        size = seen.side.size;
    };
    set(bid, quote.bid_price, quote.bid_size);
    set(ask, quote.ask_price, quote.ask_size);
    const bool current = bid.generation == generation_ && ask.generation == generation_;
    quote.flags =
        static_cast<std::uint16_t>((current ? 0 : kIncomplete) | (bid.generation >= cleared_ ? bid.side.flags : 0) |
                                   (ask.generation >= cleared_ ? ask.side.flags : 0));
}

}  // namespace millpond::feed
