#pragma once

#include <millpond/feed/book_publisher.hpp>

/// How BookPublisher publishes the group of a message.
namespace millpond::feed {

template <class Books>
template <class Handler>
void BookPublisher<Books>::report_added(OrderBooks::Outcome outcome, const OrderStore::Order& order, Handler& handler,
                                        Changes<Handler>& changes, bool replaces) {
    using enum OrderBooks::Outcome;
    if constexpr (kHandlesBooks<Handler>) {
        if (outcome == done) {
            changes.add(order, replaces);
            if (sends_orders_) list_added(order);
        }
    }
    if constexpr (requires { handler.on_order_added(order, true); }) {
        if (outcome == done || outcome == full) handler.on_order_added(order, outcome == done);
    }
}

template <class Books>
template <class Handler>
void BookPublisher<Books>::report_reduced(OrderAction action, const OrderStore::Order& before, std::uint32_t shares,
                                          Handler& handler, Changes<Handler>& changes, std::uint64_t trade_id) const {
    if constexpr (kHandlesBooks<Handler>) changes.reduce(action, before, shares, trade_id);
    if constexpr (requires { handler.on_order_reduced(before, shares); }) handler.on_order_reduced(before, shares);
}

/// Counts the outcome of a change of an order and publishes the quote.
template <class Books>
template <class Context, class Handler>
void BookPublisher<Books>::settle(OrderBooks::Outcome outcome, std::uint16_t book, const Changes<Handler>& changes,
                                  const Context& context, Handler& handler) {
    using enum OrderBooks::Outcome;
    live_orders_.set(order_books_.live_orders());
    if (outcome != done) [[unlikely]] {
        order_books_.mark_incomplete(book);
        switch (outcome) {
            case unknown_order: unknown_orders_.add(); break;
            case full: refused_orders_.add(); break;
            case price_too_high: refused_prices_.add(); break;
            default: inconsistent_.add();
        }
    }
    const bool was_applied = outcome == done || outcome == too_many_shares;
    const bool was_refused = outcome == full || outcome == price_too_high;
    (was_applied ? counters_.applied : was_refused ? counters_.refused : counters_.rejected).add();
    if constexpr (kHandlesBooks<Handler>) {
        publish_group(book, changes, context, handler);
    } else {
        publish_top(book, context, handler);
    }
}

/// Returns the best prices and flags of a book, and whether they differ from the published ones. A book without a quote
/// differs only if readers of orders or levels must learn that it is incomplete.
template <class Books>
template <class Handler>
inline typename BookPublisher<Books>::TopOfBook BookPublisher<Books>::top_of_book(std::uint16_t book) const noexcept {
    const auto& entry = books_[book];
    const auto top = order_books_.top(book);
    const auto flags = flags_of(book);
    const bool same = top == entry.top && (flags == entry.flags || (!entry.published && !sends_books<Handler>()));
    return {top, flags, !same};
}

/// Publishes the book's top if it or its flags have changed.
template <class Books>
template <class Context, class Handler>
void BookPublisher<Books>::publish_top(std::uint16_t book, const Context& context, Handler& handler) {
    const auto current = top_of_book<Handler>(book);
    if (current.changed) publish_quote(books_[book], current, last_flag<Handler>(), context, handler);
}

/// last: kLast if the quote ends a group.
template <class Books>
template <class Context, class Handler>
void BookPublisher<Books>::publish_quote(BookEntry& entry, const TopOfBook& current, std::uint16_t last,
                                         const Context& context, Handler& handler) {
    const auto& [top, flags, changed] = current;
    // Field by field: `top` stays in registers, and no load has to wait for smaller stores.
    entry.top.bid_price = top.bid_price;
    entry.top.ask_price = top.ask_price;
    entry.top.bid_size = top.bid_size;
    entry.top.ask_size = top.ask_size;
    entry.flags = flags;
    entry.published = true;
    auto quote = start_event<Quote>(context);
    quote.instrument = entry.instrument;
    quote.flags = static_cast<std::uint16_t>(flags | last);
    quote.bid_price = price_of(top.bid_price);
    quote.ask_price = price_of(top.ask_price);
    quote.bid_size = top.bid_size;
    quote.ask_size = top.ask_size;
    emit(counters_, handler, quote);
}

template <class Books>
void BookPublisher<Books>::reset() noexcept {
    order_books_.clear();
    books_.forget();
    live_orders_.set(0);
    next_snapshot_ = kNoSnapshot;
    lists_all_ = false;
    in_market_hours_ = false;
    complete_ = false;
    in_snapshot_ = false;
    sender_restarted_ = false;
    has_channel_state_ = false;
}

template <class Books>
template <class Handler>
void BookPublisher<Books>::clear(ClearReason reason, bool complete, const Arrival& arrival, Handler& handler) {
    auto clear = make_clear(arrival, reason);
    if (!complete) clear.flags = kIncomplete;
    emit(counters_, handler, clear);
    forget_states<BookEntry>(books_.entries(), has_channel_state_, reason, arrival, counters_, handler);
    order_books_.clear();
    books_.clear();
    live_orders_.set(0);
    next_snapshot_ = kNoSnapshot;
    lists_all_ = false;
    in_market_hours_ = false;
}

/// Passes the events of a group on; the last one is marked.
template <class Books>
template <class Handler>
class BookPublisher<Books>::Group {
public:
    /// events: their number. flags: of every order and level.
    Group(DecodeCounters& counters, Handler& handler, std::size_t events, std::uint16_t flags)
        : counters_(counters), handler_(handler), left_(events), flags_(flags) {}

    template <class Event>
    void pass(Event& event, std::uint16_t flags) {
        event.flags = static_cast<std::uint16_t>(event.flags | flags | (--left_ == 0 ? kLast : 0));
        emit(counters_, handler_, event);
    }
    [[nodiscard]] std::uint16_t flags() const noexcept { return flags_; }

private:
    DecodeCounters& counters_;
    Handler& handler_;
    std::size_t left_;
    std::uint16_t flags_;
};

template <class Books>
template <class Context, class Handler>
void BookPublisher<Books>::publish_group(std::uint16_t book, const BookChanges& changes, const Context& context,
                                         Handler& handler) {
    auto& entry = books_[book];
    const auto current = top_of_book<Handler>(book);
    // The first group of a book that is complete is a snapshot, from which on readers have a complete book too.
    const bool is_first = (current.flags & kIncomplete) == 0 && entry.snapshot != snapshot_ &&
                          !changes.steps().empty() && (!has_snapshots_due() || has_listed(book));
    if (is_first) entry.snapshot = snapshot_;
    count_crossed(current);
    // A book that was empty before has only the orders of this message.
    const bool is_listed = is_first && has_snapshots_due();

    std::size_t events = (changes.trade() ? 1U : 0U) + (current.changed ? 1U : 0U);
    if (sends_orders<Handler>() && !is_listed) events += changes.steps().size() + (is_first ? 1U : 0U);
    BookChanges::Levels levels;
    if (is_first) {
        events += snapshot_events<Handler>(book, is_listed);
    } else if (sends_levels<Handler>()) {
        levels = changes.levels(order_books_, book, depth_);
        events += levels.all().size();
    }

    Group group{counters_, handler, events, current.flags};
    if constexpr (HandlerOf<Handler, Order>) {
        if (sends_orders_) {
            auto event = start_event<Order>(context);
            event.instrument = entry.instrument;
            if (is_listed) {
                pass_listed_orders(book, event, group);
            } else {
                pass_orders(changes, is_first, event, group);
            }
        }
    }
    if constexpr (HandlerOf<Handler, Level>) {
        if (!levels.all().empty() || (is_first && depth_ != 0)) {
            auto event = start_event<Level>(context);
            event.instrument = entry.instrument;
            if (is_first) pass_all_levels(book, event, group);
            for (const auto& level : levels.all()) {
                set_level(event, changes.is_bid(), level);
                group.pass(event, group.flags());
            }
        }
    }
    if (changes.trade()) {
        auto trade = *changes.trade();
        group.pass(trade, 0);
    }
    if (current.changed) publish_quote(entry, current, kLast, context, handler);
}

template <class Books>
void BookPublisher<Books>::set_level(Level& event, bool is_bid, const OrderBooks::Level& level) noexcept {
    event.flags = 0;
    event.side = is_bid ? Side::bid : Side::ask;
    event.orders = level.orders;
    event.price = price_of(level.price);
    event.size = level.shares;
}

template <class Books>
template <class Handler>
void BookPublisher<Books>::pass_orders(const BookChanges& changes, bool clears, Order event, Group<Handler>& group) {
    if (clears) {
        event.action = OrderAction::clear;
        group.pass(event, static_cast<std::uint16_t>(group.flags() | kSnapshot));
    }
    for (const auto& step : changes.steps()) {
        event.flags = 0;
        event.action = step.action;
        event.side = step.is_bid ? Side::bid : Side::ask;
        event.order_id = step.order_id;
        event.price = price_of(step.price);
        event.size = step.size;
        event.size_left = step.size_left;
        event.trade_id = step.trade_id;
        group.pass(event, static_cast<std::uint16_t>(group.flags() | step.flags));
    }
}

template <class Books>
template <class Handler>
std::size_t BookPublisher<Books>::snapshot_events(std::uint16_t book, bool with_orders) noexcept {
    std::size_t events = 0;
    if (sends_orders<Handler>() && with_orders) {
        order_list_.sort(book);
        ++events;
        visit_listed(book, [&](const OrderStore::Order&) { ++events; });
    }
    if (sends_levels<Handler>()) events += 1 + shown_levels(book, true) + shown_levels(book, false);
    return events;
}

template <class Books>
template <class Handler>
void BookPublisher<Books>::pass_listed_orders(std::uint16_t book, Order event, Group<Handler>& group) {
    const auto flags =
        static_cast<std::uint16_t>(group.flags() | kSnapshot | (books_[book].is_unsorted ? kIncomplete : 0));
    event.action = OrderAction::clear;
    group.pass(event, flags);
    event.action = OrderAction::add;
    visit_listed(book, [&](const OrderStore::Order& order) {
        event.flags = 0;
        event.side = order.is_bid ? Side::bid : Side::ask;
        event.order_id = order.number;
        event.price = price_of(order.price);
        event.size = event.size_left = order.shares;
        group.pass(event, flags);
    });
    order_list_.remove(book);
}

template <class Books>
template <class Handler>
void BookPublisher<Books>::pass_all_levels(std::uint16_t book, Level event, Group<Handler>& group) {
    const auto flags = static_cast<std::uint16_t>(group.flags() | kSnapshot);
    event.side = Side::none;
    group.pass(event, flags);
    for (const bool is_bid : {true, false}) {
        order_books_.visit_levels(
            book, is_bid,
            [&](const OrderBooks::Level& level) {
                set_level(event, is_bid, level);
                group.pass(event, flags);
            },
            depth_);
    }
}

template <class Books>
template <class Visitor>
void BookPublisher<Books>::visit_listed(std::uint16_t book, Visitor&& visitor) const {
    // A number that was used again is listed again, perhaps for another book.
    std::uint64_t before = 0;
    bool is_first = true;
    order_list_.visit(book, [&](std::uint64_t number) {
        if (!std::exchange(is_first, false) && number == before) return;
        before = number;
        const auto* const order = order_books_.find(number);
        if (order != nullptr && order->book == book) visitor(*order);
    });
}

template <class Books>
bool BookPublisher<Books>::has_listed(std::uint16_t book) const noexcept {
    return !sends_orders_ || (!order_list_.is_listing() && order_list_.is_whole(book));
}

template <class Books>
std::size_t BookPublisher<Books>::shown_levels(std::uint16_t book, bool is_bid) const noexcept {
    return std::min<std::size_t>(order_books_.levels(book, is_bid), depth_);
}

template <class Books>
void BookPublisher<Books>::list_added(const OrderStore::Order& order) noexcept {
    auto& entry = books_[order.book];
    if (order.number > entry.newest_order) [[likely]] {
        entry.newest_order = order.number;
    } else if (!in_snapshot_) {
        mark_unsorted(order.book);
    }
    list_put(order.book, order.number);
}

template <class Books>
void BookPublisher<Books>::list_put(std::uint16_t book, std::uint64_t number) noexcept {
    const bool is_due = has_snapshots_due() && books_[book].snapshot != snapshot_;
    if (lists_all_ || (is_due && order_books_.is_complete(book))) order_list_.add(book, number);
}

template <class Books>
void BookPublisher<Books>::count_incomplete() noexcept {
    const auto books = books_.entries().size();
    incomplete_books_.set(complete_ ? order_books_.incomplete() + (has_snapshots_due() ? books - next_snapshot_ : 0)
                                    : books);
}

template <class Books>
void BookPublisher<Books>::renew_snapshots() noexcept {
    if (!complete_ || !has_depth()) return;
    ++snapshot_;
    next_snapshot_ = 0;
    missed_snapshot_ = kNoSnapshot;
    if (sends_orders_) begin_list();
}

template <class Books>
void BookPublisher<Books>::begin_list() noexcept {
    order_list_.begin(order_books_);
}

template <class Books>
void BookPublisher<Books>::prepare_to_move() noexcept {
    if (!sends_orders_) return;
    begin_list();
    order_list_.list(order_books_, order_books_.order_slots(), [](std::uint16_t) { return true; });
    for (std::size_t book = 0; book < books_.entries().size(); ++book)
        order_list_.sort(static_cast<std::uint16_t>(book));
    lists_all_ = true;
}

template <class Books>
void BookPublisher<Books>::move_cursor() noexcept {
    if (++next_snapshot_ < books_.entries().size()) return;
    next_snapshot_ = std::exchange(missed_snapshot_, kNoSnapshot);
    if (next_snapshot_ != kNoSnapshot) begin_list();
}

template <class Books>
template <EventHandler Handler>
std::size_t BookPublisher<Books>::publish_snapshots(std::size_t events, std::uint64_t sequence, const Arrival& arrival,
                                                    Handler& handler) {
    std::size_t sent = 0;
    if (!has_snapshots_due()) return sent;
    if (order_list_.is_listing()) {
        order_list_.list(order_books_, kListedSlots,
                         [this](std::uint16_t book) { return books_[book].snapshot != snapshot_; });
        return sent;
    }
    const auto fill = [&](auto& event, InstrumentId instrument) {
        event.instrument = instrument;
        event.channel = arrival.channel;
        event.receive_utc_ns = arrival.receive_utc_ns;
        event.receive_ticks = arrival.receive_ticks;
        event.feed_sequence = sequence;
    };
    if (next_snapshot_ >= books_.entries().size()) next_snapshot_ = kNoSnapshot;
    for (; has_snapshots_due() && !order_list_.is_listing() && sent < events; move_cursor()) {
        const auto book = static_cast<std::uint16_t>(next_snapshot_);
        auto& entry = books_[book];
        if (entry.snapshot == snapshot_ || !order_books_.is_complete(book)) continue;
        if (!has_listed(book)) {
            missed_snapshot_ = std::min(missed_snapshot_, next_snapshot_);
            continue;
        }
        entry.snapshot = snapshot_;
        const auto all = snapshot_events<Handler>(book, true);
        Group group{counters_, handler, all, static_cast<std::uint16_t>(entry.trading.is_halted() ? kHalted : 0)};
        if constexpr (HandlerOf<Handler, Order>) {
            Order event;
            fill(event, entry.instrument);
            if (sends_orders_) pass_listed_orders(book, event, group);
        }
        if constexpr (HandlerOf<Handler, Level>) {
            Level event;
            fill(event, entry.instrument);
            if (depth_ != 0) pass_all_levels(book, event, group);
        }
        sent += all;
    }
    return sent;
}

template <class Books>
template <class Context, class Handler>
void BookPublisher<Books>::lose(core::Tally& counter, const Context& context, Handler& handler) {
    counter.add();
    // Quotes published while the books were incomplete are already marked.
    if (!std::exchange(complete_, false)) return;
    const auto number = context.sequence;
    emit(counters_, handler, make_gap(context.arrival, number, number, GapReason::rejected));
}

template <class Books>
template <class Context, class Handler>
void BookPublisher<Books>::reject(std::uint16_t book, const Context& context, Handler& handler) {
    counters_.rejected.add();
    order_books_.mark_incomplete(book);
    publish_top(book, context, handler);
}

template <class Books>
template <class Context, class Handler>
void BookPublisher<Books>::contradict(std::uint16_t other, std::uint16_t book, const Context& context,
                                      Handler& handler) {
    if (other == book || !order_books_.is_complete(other)) return;
    order_books_.mark_incomplete(other);
    publish_top(other, context, handler);
}

template <class Books>
template <class Context, class Handler>
void BookPublisher<Books>::publish_empty(std::uint16_t book, const Context& context, Handler& handler) {
    const auto current = top_of_book<Handler>(book);
    if constexpr (kHandlesBooks<Handler>) {
        auto& entry = books_[book];
        if ((current.flags & kIncomplete) == 0) entry.snapshot = snapshot_;
        const auto events = (sends_orders<Handler>() ? 1U : 0U) + (sends_levels<Handler>() ? 1U : 0U);
        Group group{counters_, handler, events + (current.changed ? 1U : 0U), current.flags};
        if constexpr (HandlerOf<Handler, Order>) {
            auto event = start_event<Order>(context);
            event.instrument = entry.instrument;
            event.action = OrderAction::clear;
            if (sends_orders_) group.pass(event, static_cast<std::uint16_t>(group.flags() | kSnapshot));
        }
        if constexpr (HandlerOf<Handler, Level>) {
            auto event = start_event<Level>(context);
            event.instrument = entry.instrument;
            if (depth_ != 0) pass_all_levels(book, event, group);
        }
    }
    if (current.changed) publish_quote(books_[book], current, last_flag<Handler>(), context, handler);
}

}  // namespace millpond::feed
