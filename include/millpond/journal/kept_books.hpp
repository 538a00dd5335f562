#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include <millpond/feed/event.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/market/books.hpp>
#include <millpond/queue/broadcast_reader.hpp>

namespace millpond::journal {

/// The books of all instruments of a journal: those of levels, and those of orders. Of a feed that sends both, each
/// instrument has both, since one may be complete without the other.
///
/// Threads: one.
/// Memory:  market::Books' twice.
class KeptBooks {
public:
    /// depth_of: what the feed of a channel sends.
    explicit KeptBooks(const market::Books::DepthOf& depth_of);

    /// Applies an event. Without memory for it, the books that it concerns are incomplete.
    template <class Event>
    void on(const Event& event) noexcept {
        apply(levels_, event);
        apply(orders_, event);
        if constexpr (requires { event.channel; }) end_channel_ = std::max(end_channel_, event.channel + 1U);
    }
    /// Applies a level of the ring's board, after a loss.
    void on_board(const feed::Level& level) noexcept { apply(levels_, level); }
    void reset() noexcept;

    /// Larger than the ids of all instruments with books.
    [[nodiscard]] feed::InstrumentId end_id() const noexcept { return std::max(levels_.end_id(), orders_.end_id()); }
    /// Calls visit(part) with the state of each channel that sends books, until it returns false. Returns what the last
    /// call returned.
    template <class Visitor>
    bool visit_channels(Visitor&& visit) const;
    /// Likewise with the parts of the instrument's books. Returns true if it has none. An incomplete book comes first:
    /// a reader whose other book its events mark incomplete gets that one afterwards.
    template <class Visitor>
    bool visit_books(feed::InstrumentId id, Visitor&& visit) const {
        const auto* const levels = levels_.find(id);
        if (levels == nullptr || !levels->is_incomplete())
            return visit_book(orders_, id, kBookOfOrders, visit) && visit_book(levels_, id, 0, visit);
        return visit_book(levels_, id, 0, visit) && visit_book(orders_, id, kBookOfOrders, visit);
    }
    /// Calls visit(cells) for each book of the instrument.
    template <class Visitor>
    void visit_sizes(feed::InstrumentId id, Visitor&& visit) const {
        if (const auto* const book = orders_.find(id)) visit(book->live_orders());
        if (const auto* const book = levels_.find(id))
            visit(book->kept(feed::Side::bid).size() + book->kept(feed::Side::ask).size());
    }

private:
    template <class Event>
    static void apply(market::Books& books, const Event& event) noexcept {
        try {
            static_cast<void>(books.on(event));
        } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): `on` has marked the book
        }
    }

    template <class Visitor>
    static bool visit_book(const market::Books& books, feed::InstrumentId id, std::uint16_t flags, Visitor& visit);

    market::Books::DepthOf depth_of_;
    market::Books levels_;
    market::Books orders_;
    std::uint32_t end_channel_{0};
};

template <class Visitor>
bool KeptBooks::visit_channels(Visitor&& visit) const {
    for (std::uint32_t number = 0; number < end_channel_; ++number) {
        const auto channel = static_cast<std::uint16_t>(number);
        const auto depth = depth_of_(channel);
        if (!depth.is_on()) continue;
        const bool is_cleared =
            (depth.depth == 0 || levels_.is_cleared(channel)) && (!depth.orders || orders_.is_cleared(channel));
        BookPart part{.head = {.channel = channel, .flags = kBookBegins}};
        if (!is_cleared) part.head.flags |= kBookIncomplete;
        if (!visit(std::as_const(part))) return false;
    }
    return true;
}

template <class Visitor>
bool KeptBooks::visit_book(const market::Books& books, feed::InstrumentId id, std::uint16_t flags, Visitor& visit) {
    const auto* const book = books.find(id);
    if (book == nullptr) return true;
    const auto bids = book->kept(feed::Side::bid);
    const auto asks = book->kept(feed::Side::ask);
    BookPart part{.head = {.instrument = id, .channel = books.channel_of(id), .flags = flags}};
    if (book->is_incomplete()) part.head.flags |= kBookIncomplete;
    if (book->is_open()) part.head.flags |= kBookOpen;
    part.head.flags |= kBookBegins;
    auto left = flags == kBookOfOrders ? book->live_orders() : bids.size() + asks.size();
    if (left == 0) return visit(std::as_const(part));
    bool is_wanted = true;
    const auto add = [&](const BookCell& cell, bool is_ask) {
        auto& head = part.head;
        if (is_ask) head.asks |= static_cast<std::uint8_t>(1U << head.cells);
        part.cells[head.cells++] = cell;
        if (head.cells != kMaxBookCells && head.cells != left) return;
        left -= head.cells;
        head.cells_left = static_cast<std::uint32_t>(left);
        is_wanted = is_wanted && visit(std::as_const(part));
        head.flags &= static_cast<std::uint16_t>(~kBookBegins);
        head.cells = head.asks = 0;
    };
    for (const bool is_ask : {false, true}) {
        for (const auto& level : is_ask ? asks : bids) {
            if (!is_wanted) return false;
            if (flags == kBookOfOrders) {
                book->visit_orders(level, [&](const market::Book::Order& order) {
                    add({.id = order.id, .price = order.price, .size = order.size}, is_ask);
                });
            } else {
                add({.id = level.orders, .price = level.price, .size = level.size}, is_ask);
            }
        }
    }
    return is_wanted;
}

}  // namespace millpond::journal
