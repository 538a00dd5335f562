#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/journal/segment_reader.hpp>

namespace millpond::journal {

/// The part of a book that the record holds; nullopt if it is not valid.
[[nodiscard]] std::optional<BookPart> book_part(const RecordView& view) noexcept;

/// Collects the parts of a book, which are consecutive records, and passes on whole books only.
class BookAssembler {
public:
    /// Passes `handler`, with the last part of a book, the events of a snapshot of the book, or with the state of a
    /// channel its Clear; see pass_book. Returns true if it did.
    template <class Handler>
    bool add(const BookPart& part, Handler& handler);

private:
    [[nodiscard]] bool follows(const BookHead& head) const noexcept {
        if (parts_.empty()) return false;
        const auto& before = parts_.back().head;
        return head.instrument == before.instrument && std::uint64_t{head.cells} + head.cells_left == before.cells_left;
    }

    std::vector<BookPart> parts_;
};

/// Passes `handler` the events of a book's snapshot, or the Clear of a channel. They have no times.
template <class Handler>
void pass_book(const BookPart& part, Handler& handler) {
    const auto& head = part.head;
    const auto incomplete = static_cast<std::uint16_t>((head.flags & kBookIncomplete) != 0 ? feed::kIncomplete : 0);
    if (head.instrument == feed::kNoInstrument) {
        handler.on(feed::Clear{.channel = head.channel, .flags = incomplete});
        return;
    }
    const auto pass = [&]<class Event>(Event event, auto clear, auto set) {
        if constexpr (feed::HandlerOf<Handler, Event>) {
            event.instrument = head.instrument;
            event.channel = head.channel;
            const auto pass_one = [&](bool is_last) {
                event.flags = static_cast<std::uint16_t>(feed::kSnapshot | incomplete);
                if (is_last && head.cells_left == 0 && (head.flags & kBookOpen) == 0) event.flags |= feed::kLast;
                handler.on(std::as_const(event));
            };
            clear(event);
            if ((head.flags & kBookBegins) != 0) pass_one(head.cells == 0);
            for (std::uint8_t i = 0; i < head.cells; ++i) {
                event.side = (head.asks >> i & 1U) != 0 ? feed::Side::ask : feed::Side::bid;
                set(event, part.cells[i]);
                pass_one(i + 1 == head.cells);
            }
        }
    };
    if ((head.flags & kBookOfOrders) != 0) {
        pass(
            feed::Order{}, [](feed::Order& order) { order.action = feed::OrderAction::clear; },
            [](feed::Order& order, const BookCell& cell) {
                order.action = feed::OrderAction::add;
                order.order_id = cell.id;
                order.price = cell.price;
                order.size = order.size_left = cell.size;
            });
    } else {
        pass(
            feed::Level{}, [](feed::Level&) {},
            [](feed::Level& level, const BookCell& cell) {
                level.orders = static_cast<std::uint32_t>(cell.id);
                level.price = cell.price;
                level.size = cell.size;
            });
    }
}

template <class Handler>
bool BookAssembler::add(const BookPart& part, Handler& handler) {
    const bool begins = (part.head.flags & kBookBegins) != 0;
    if (!begins && !follows(part.head)) {
        parts_.clear();
        return false;
    }
    if (begins) parts_.clear();
    parts_.push_back(part);
    if (part.head.cells_left != 0) return false;
    for (const auto& each : parts_) pass_book(each, handler);
    parts_.clear();
    return true;
}

}  // namespace millpond::journal
