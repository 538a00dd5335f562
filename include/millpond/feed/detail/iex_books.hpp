#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/core/endian.hpp>
#include <millpond/feed/book_publisher.hpp>
#include <millpond/feed/detail/iex_announcements.hpp>
#include <millpond/feed/detail/iex_instruments.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/iex_layout.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/name_text.hpp>
#include <millpond/feed/order_books.hpp>

namespace millpond::feed {

/// What DEEP and DEEP+ share: books of an IEX channel, and the events of IexAnnouncements.
///
/// Books are complete if message 1 of the session, or its start-of-messages event before the first level and while no
/// order was known, has been seen and no message has been missed since. A message of the feed's own types that is too
/// short or has no valid symbol makes all books incomplete and a Gap. Prices that do not fit in 32 bits of 1/10000,
/// above 429,496.7295, make their instrument incomplete. An instrument that was halted before a loss stays halted until
/// a message says otherwise: levels and orders do not say that they may trade.
///
/// Derived has own_bytes(type), the minimum bytes of a type that changes books, or 0,
/// apply_own(type, book, message, handler), forget_open(), which drops what waits for more messages,
/// move_open(rebuilt, from, to), which compares what waits of a book with that of a rebuilt one, swap_open(other,
/// utc_ns), which swaps that with another object's, and is_empty(), which is true while a start-of-messages event may
/// make the books complete. Of snapshots: is_in_snapshots(type), whether they have messages of a type that changes
/// books, and snapshot_fault(book, message), what they do not have; `book` is a number as of IexInstruments::find.
template <class Derived>
class IexBooks : public BookPublisher<IexInstruments<BookEntry>>, public IexAnnouncements<Derived> {
public:
    struct Options {
        Venue venue{"IEXG"};
        OrderBooks::Options order_books{};
        std::uint32_t depth{0};  ///< Levels of a side that are sent; 0: none, kFullDepth: all.
        bool orders{false};      ///< Order events are sent.
    };

    /// Applies one message without framing.
    template <EventHandler Handler>
    void apply(std::span<const std::byte> message, std::uint64_t sequence, const Arrival& arrival, Handler& handler);

    /// Applies a message of a snapshot, whose levels or orders are all in the book, and once. Returns what no snapshot
    /// has, and with what the message is then not applied or rejected; empty: nothing.
    template <EventHandler Handler>
    [[nodiscard]] std::string apply_snapshot(std::span<const std::byte> message, const Arrival& arrival,
                                             Handler& handler);

    template <class Handler>
    void clear(ClearReason reason, bool complete, const Arrival& arrival, Handler& handler) {
        self().forget_open();
        BookPublisher::clear(reason, complete, arrival, handler);
    }
    void mark_incomplete() noexcept {
        self().forget_open();
        BookPublisher::mark_incomplete();
    }
    /// Empties all books and forgets all states, without an event.
    void reset() noexcept {
        self().forget_open();
        ended_ = false;
        BookPublisher::reset();
    }
    /// Swaps the books with those of `rebuilt`, as BookPublisher::adopt.
    template <class Newest, EventHandler Handler>
    [[nodiscard]] bool adopt(Derived& rebuilt, Newest& newest, std::uint64_t sequence, const Arrival& arrival,
                             Handler& handler) {
        const auto on_moved = [&](std::uint16_t from, std::uint16_t to) { self().move_open(rebuilt, from, to); };
        if (!BookPublisher::adopt(rebuilt, newest, sequence, arrival, handler, on_moved)) return false;
        self().swap_open(rebuilt, arrival.receive_utc_ns);
        return true;
    }
    /// Calls visit(name, help, tally) for each counter that is not in counters().
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        BookPublisher::visit_counters(visitor);
        visitor("prices_refused", "Orders or price levels with prices above 429,496.7295, which books cannot hold.",
                refused_prices());
    }
    /// True once the session's last message was applied; then false until the next one.
    [[nodiscard]] bool take_end() noexcept { return std::exchange(ended_, false); }

protected:
    friend class IexAnnouncements<Derived>;
    using Instruments = IexInstruments<BookEntry>;

    [[nodiscard]] Derived& self() noexcept { return static_cast<Derived&>(*this); }
    [[nodiscard]] Instruments& instruments() noexcept { return books_; }
    /// No loss voids an entry.
    [[nodiscard]] BookEntry& current(std::uint16_t book) noexcept { return books_[book]; }
    void on_system_state(TradingState state) noexcept {
        BookPublisher::on_system_state(state, state == TradingState::start_of_messages && self().is_empty());
        ended_ = ended_ || state == TradingState::end_of_messages;
    }
    template <class Handler>
    void publish_halt(std::uint16_t book, const IexMessage& message, Handler& handler) {
        if (books_[book].published) publish_top(book, message, handler);
    }
    /// True if the price fits in the books.
    [[nodiscard]] static bool fits(std::int64_t price) noexcept {
        return price > 0 && price <= std::numeric_limits<std::uint32_t>::max();
    }

private:
    friend Derived;
    IexBooks(InstrumentTable& instruments, const Options& options, std::pmr::memory_resource* memory)
        : BookPublisher(instruments, options.venue, options.order_books, options.depth, options.orders, memory) {}

    /// Handles a message that cannot be read, which may have changed any book or open group.
    template <class Handler>
    void reject_all(const IexMessage& message, Handler& handler) {
        self().forget_open();
        lose(counters_.rejected, message, handler);
    }

    bool ended_{false};
};

template <class Derived>
template <EventHandler Handler>
void IexBooks<Derived>::apply(std::span<const std::byte> bytes, std::uint64_t sequence, const Arrival& arrival,
                              Handler& handler) {
    if constexpr (kHandlesBooks<Handler>) {
        if (!sends_books<Handler>()) {
            WithoutBooks<Handler> other{handler};
            return apply(bytes, sequence, arrival, other);
        }
    }
    counters_.messages.add();
    const char type = bytes.empty() ? '\0' : static_cast<char>(bytes[0]);
    const IexMessage message{bytes.data(), sequence, arrival};
    if (const auto least = Derived::own_bytes(type); least != 0) [[likely]] {
        if (bytes.size() < least) return reject_all(message, handler);
        const auto book = books_.find_or_name(message.bytes + iex_layout::kSymbolAt);
        if (book < Instruments::kMaxBooks) [[likely]]
            return self().apply_own(type, book, message, handler);
        if (book == Instruments::kNone) return counters_.refused.add();
        return reject_all(message, handler);
    }
    const auto least = this->shared_bytes(type);
    if (least == 0) return counters_.unknown.add();
    if (bytes.size() < least) return counters_.rejected.add();
    this->apply_shared(type, message, last_flag<Handler>(), handler);
}

template <class Derived>
template <EventHandler Handler>
std::string IexBooks<Derived>::apply_snapshot(std::span<const std::byte> bytes, const Arrival& arrival,
                                              Handler& handler) {
    const char type = bytes.empty() ? '\0' : static_cast<char>(bytes[0]);
    const auto of_symbol = [&](std::string_view what) {
        if (bytes.size() < iex_layout::kWithSymbolBytes || type == 'S') return std::string{what};
        const auto name =
            padded_name<Symbol::capacity()>(bytes.subspan(iex_layout::kSymbolAt, iex_layout::kSymbolBytes));
        return std::string{what} + " of '" + std::string{name ? name->view() : std::string_view{"?"}} + "'";
    };
    const auto of_type = [&](std::string_view what) { return of_symbol(std::string{what} + " of type " + type); };
    const auto least = Derived::own_bytes(type);
    if (type == 'T' || type == 'B' || type == 'A' || (least != 0 && !Derived::is_in_snapshots(type)))
        return of_type("a message");
    if (least != 0 && bytes.size() >= least) {
        const auto book = books_.find(bytes.data() + iex_layout::kSymbolAt);
        const auto fault = self().snapshot_fault(book, IexMessage{bytes.data(), 1, arrival});
        if (!fault.empty()) return of_symbol(fault);
    }
    const auto rejected = counters_.rejected.read();
    apply(bytes, 1, arrival, handler);
    return counters_.rejected.read() == rejected ? std::string{} : of_type("a damaged message");
}

}  // namespace millpond::feed
