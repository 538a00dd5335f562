#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>

#include <millpond/core/endian.hpp>
#include <millpond/feed/book_publisher.hpp>
#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/detail/itch_books.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/exchange_day.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_fault.hpp>
#include <millpond/feed/itch_layout.hpp>
#include <millpond/feed/order_books.hpp>

namespace millpond::feed {

/// Applies the messages of a NASDAQ TotalView-ITCH 5.0 channel (itch_layout.hpp) to its order books, whose changes
/// become events as BookPublisher says. It also makes a Trade of each printable execution and cross, a TradeBreak of
/// each broken trade, and a Status of each trading action, operational halt, system event and circuit breaker. For
/// handlers that have functions for them it makes a Definition of each directory entry, an Imbalance of each imbalance,
/// and a Band of each auction collar and short sale restriction. Trades of hidden orders do not change the book. A
/// replacement is a cancel of the old order and an add of the new one. Sessions and lost messages are the caller's
/// responsibility (ItchDecoder): it reports them with `clear`, `begin_session` and `mark_incomplete`.
///
/// An instrument is halted while its last trading action is not "trading", or during an operational halt of this
/// market; halts of the other Nasdaq markets are ignored. The venue's name identifies the market: XBOS is BX, XPSX is
/// PSX, every other is Nasdaq.
///
/// A message of an unknown type, of a wrong length or with a stock that is not printable ASCII or has another locate
/// makes all books incomplete and a Gap. A change of an unknown order, an order that does not fit or has impossible
/// contents, and a message with another stock than its locate's or with a time of 24 hours or more make their own book
/// incomplete. So does a new order with the number of another stock's order, or with another stock; the other stock's
/// book is then incomplete too.
///
/// Optional functions of a handler:
/// - on_fault(message, sequence, ItchFault): called for each message that was not applied, or not in full, after the
///   events of the message.
/// - on_order_added(order, is_stored): called for each new order; is_stored is false if it did not fit.
/// - on_order_reduced(order, shares): called for each order that loses shares, with its state before the change.
///   Both are called after the Trade of the message and before its Quote. A replacement calls both.
///
/// Threads: one; counters() may be read on any.
/// Memory:  BookPublisher and ItchBooks, allocated and touched once in the constructor.
class ItchBookBuilder : public BookPublisher<ItchBooks> {
public:
    struct Options {
        Venue venue{"XNAS"};
        OrderBooks::Options order_books{};
        std::uint32_t depth{0};  ///< Levels of a side that are sent; 0: none, kFullDepth: all.
        bool orders{false};      ///< Order events are sent, and executions that are not printable as trades.
    };

    ItchBookBuilder(InstrumentTable& instruments, const Options& options,
                    std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : BookPublisher(instruments, options.venue, options.order_books, options.depth, options.orders, memory),
          market_(market_of(options.venue)) {}

    /// Sets the midnight from which message times count (ExchangeDay). Exchange times are 0 without it.
    void set_midnight(std::int64_t utc_ns, bool nearest = false) noexcept { day_.set_midnight(utc_ns, nearest); }

    /// Applies one message without framing. `sequence` goes into its events.
    template <EventHandler Handler>
    void apply(std::span<const std::byte> message, std::uint64_t sequence, const Arrival& arrival, Handler& handler);

    /// Applies messages without framing, the first with the sequence number `first`. Equivalent to `apply` for each,
    /// but prefetches the scattered memory of the following messages.
    template <EventHandler Handler>
    void apply_all(std::span<const std::span<const std::byte>> messages, std::uint64_t first, const Arrival& arrival,
                   Handler& handler);

    static constexpr std::size_t kBatch = 32;
    /// Applies up to kBatch messages whose orders and books were prefetched (`prefetch`).
    template <class Handler>
    void apply_prefetched(std::span<const std::span<const std::byte>> messages, std::uint64_t first,
                          const Arrival& arrival, Handler& handler);

    /// Prefetches the order, the book and its entry that the message needs.
    void prefetch(std::span<const std::byte> message) const noexcept;

    /// The symbol of a stock locate; empty if it has no name yet.
    [[nodiscard]] Symbol stock_of(std::uint16_t locate) const noexcept { return books_.name_of(locate); }
    /// The stock locate of an order's book.
    [[nodiscard]] std::uint16_t locate_of_book(std::uint16_t book) const noexcept { return books_[book].locate; }

    /// Calls visit(name, help, tally) for each counter that is not in counters().
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        BookPublisher::visit_counters(visitor);
        visitor("times_invalid", "Messages with a time of 24 hours or more.", bad_times_);
    }

private:
    using Bytes = const std::byte*;
    /// A message and its numbers.
    struct Context {
        std::uint64_t sequence;
        const Arrival& arrival;
        Bytes message;
        const ExchangeDay& day;

        [[nodiscard]] std::int64_t exchange_utc_ns() const noexcept {
            return day.utc_ns(itch_layout::load_time(message), arrival.receive_utc_ns);
        }
    };

    /// Number of messages with each fault; a message with two counts for the first of these.
    struct Faults {
        std::uint64_t other_stock, unknown_order, inconsistent, refused, invalid;
    };
    [[nodiscard]] Faults faults() const noexcept {
        return {other_stocks_.read(), unknown_orders_.read(), inconsistent_.read(), counters_.refused.read(),
                counters_.unknown.read() + counters_.rejected.read()};
    }
    [[nodiscard]] std::optional<ItchFault> fault_since(const Faults& before) const noexcept;

    void prefetch_levels(std::span<const std::span<const std::byte>> messages) noexcept;
    template <class Handler>
    void apply_message(std::size_t size, const Context& context, Handler& handler);
    template <class Handler>
    void on_order_added(const Context& context, Handler& handler);
    template <class Handler>
    void on_order_changed(const Context& context, Handler& handler);
    template <class Handler>
    void refuse_change(std::uint16_t book, const Context& context, Handler& handler);
    template <class Handler>
    [[gnu::cold]] void miss_order(Bytes stock, const Context& context, Handler& handler);
    template <class Handler>
    void on_execution(const OrderStore::Order& order, const Context& context, Handler& handler,
                      Changes<Handler>& changes);
    template <class Handler>
    void on_trade(const Context& context, Handler& handler);
    template <class Handler>
    void on_trading_action(const Context& context, Handler& handler);
    template <class Handler>
    void on_operational_halt(const Context& context, Handler& handler);
    template <class Event, class Handler, class Fill>
    void announce(std::uint16_t book, const Context& context, Handler& handler, Fill&& fill);
    template <class Handler>
    void on_directory(const Context& context, Handler& handler);
    template <class Handler>
    void on_imbalance(const Context& context, Handler& handler);
    template <class Handler>
    void on_collar(const Context& context, Handler& handler);
    template <class Handler>
    void on_short_sale(const Context& context, Handler& handler);
    template <class Handler>
    void on_broken_trade(const Context& context, Handler& handler);
    template <class Handler>
    void on_circuit_breaker(const Context& context, Handler& handler);
    template <class Handler>
    void on_system_event(const Context& context, Handler& handler);
    /// Handles a message whose stock has no book. `found`: the result of ItchBooks::find_or_name.
    template <class Handler>
    void refuse(std::uint16_t book, const Context& context, Handler& handler);
    template <class Handler>
    void on_bad_time(const Context& context, Handler& handler);
    template <class Handler>
    void publish_state(std::uint16_t book, const Context& context, Handler& handler);
    [[nodiscard]] static std::uint16_t locate_of(Bytes message) noexcept {
        return core::load_be<std::uint16_t>(message + itch_layout::kLocateAt);
    }
    [[nodiscard]] static char market_of(const Venue& venue) noexcept;

    char market_;  // this market's code in operational halts
    ExchangeDay day_;
    core::Tally bad_times_;
};

template <EventHandler Handler>
void ItchBookBuilder::apply(std::span<const std::byte> message, std::uint64_t sequence, const Arrival& arrival,
                            Handler& handler) {
    if constexpr (kHandlesBooks<Handler>) {
        if (!sends_books<Handler>()) {
            WithoutBooks<Handler> other{handler};
            return apply(message, sequence, arrival, other);
        }
    }
    const Context context{sequence, arrival, message.data(), day_};
    if constexpr (requires { handler.on_fault(message, sequence, ItchFault{}); }) {
        const auto before = faults();
        apply_message(message.size(), context, handler);
        if (const auto fault = fault_since(before)) handler.on_fault(message, sequence, *fault);
    } else {
        apply_message(message.size(), context, handler);
    }
}

template <class Handler>
void ItchBookBuilder::apply_message(std::size_t size, const Context& context, Handler& handler) {
    const auto* const message = context.message;
    counters_.messages.add();
    const char type = size == 0 ? '\0' : static_cast<char>(message[0]);
    const auto expected = itch_layout::message_bytes(type);
    if (expected == 0) return lose(counters_.unknown, context, handler);
    if (size != expected) return lose(counters_.rejected, context, handler);
    if (!itch_layout::is_time_of_day(message)) [[unlikely]]
        return on_bad_time(context, handler);
    switch (type) {
        case 'A':
        case 'F': return on_order_added(context, handler);
        case 'E':
        case 'C':
        case 'X':
        case 'D':
        case 'U': return on_order_changed(context, handler);
        case 'P':
        case 'Q': return on_trade(context, handler);
        case 'H': return on_trading_action(context, handler);
        case 'h': return on_operational_halt(context, handler);
        case 'B': return on_broken_trade(context, handler);
        case 'W': return on_circuit_breaker(context, handler);
        case 'S': return on_system_event(context, handler);
        case 'R': return on_directory(context, handler);
        case 'I': return on_imbalance(context, handler);
        case 'J': return on_collar(context, handler);
        case 'Y': return on_short_sale(context, handler);
        default: return counters_.ignored.add();
    }
}

template <class Handler>
void ItchBookBuilder::on_order_added(const Context& context, Handler& handler) {
    const auto* const message = context.message;
    namespace at = itch_layout::order_added;
    const auto book = books_.find_or_name(locate_of(message), message + at::kStockAt);
    if (book >= ItchBooks::kMaxBooks) [[unlikely]] {
        refuse(book, context, handler);
        if (book == ItchBooks::kOtherName) miss_order(message + at::kStockAt, context, handler);
        return;
    }
    const char side = static_cast<char>(message[at::kSideAt]);
    const auto shares = core::load_be<std::uint32_t>(message + at::kSharesAt);
    if (shares == 0 || (side != 'B' && side != 'S')) return reject(book, context, handler);
    const auto number = core::load_be<std::uint64_t>(message + at::kOrderAt);
    const auto price = core::load_be<std::uint32_t>(message + at::kPriceAt);
    auto changes = changes_of<Handler>(side == 'B');
    const auto outcome = order_books_.add(book, number, side == 'B', shares, price);
    report_added(outcome, {number, price, shares, 0, book, side == 'B'}, handler, changes);
    settle(outcome, book, changes, context, handler);
    if (outcome == OrderBooks::Outcome::duplicate_order) [[unlikely]]
        contradict(order_books_.find(number)->book, book, context, handler);
}

template <class Handler>
void ItchBookBuilder::on_order_changed(const Context& context, Handler& handler) {
    const auto* const message = context.message;
    using enum OrderBooks::Outcome;
    const auto number = core::load_be<std::uint64_t>(message + itch_layout::order_deleted::kOrderAt);
    auto* const order = order_books_.find(number);
    if (order == nullptr) [[unlikely]] {
        const auto book = books_.find(locate_of(message));
        if (book == ItchBooks::kNone) {
            unknown_orders_.add();
            return counters_.refused.add();
        }
        return settle(unknown_order, book, Changes<Handler>{}, context, handler);
    }
    const auto book = order->book;
    if (books_[book].locate != locate_of(message)) [[unlikely]]
        return refuse_change(book, context, handler);
    const auto before = *order;
    auto changes = changes_of<Handler>(before.is_bid);
    auto outcome = done;
    switch (static_cast<char>(message[0])) {
        case 'D':
            outcome = order_books_.remove(*order);
            report_reduced(OrderAction::remove, before, before.shares, handler, changes);
            break;
        case 'U': {
            namespace at = itch_layout::order_replaced;
            const auto shares = core::load_be<std::uint32_t>(message + at::kSharesAt);
            if (shares == 0) return reject(book, context, handler);
            const auto new_number = core::load_be<std::uint64_t>(message + at::kNewOrderAt);
            const auto price = core::load_be<std::uint32_t>(message + at::kPriceAt);
            outcome = order_books_.replace(*order, new_number, shares, price);
            if (outcome != duplicate_order)
                report_reduced(OrderAction::cancel, before, before.shares, handler, changes);
            report_added(outcome, {new_number, price, shares, 0, book, before.is_bid}, handler, changes, true);
            break;
        }
        case 'X': {
            const auto shares = core::load_be<std::uint32_t>(message + itch_layout::order_reduced::kSharesAt);
            outcome = order_books_.reduce(*order, shares);
            report_reduced(OrderAction::cancel, before, shares, handler, changes);
            break;
        }
        default: {
            namespace at = itch_layout::order_executed;
            on_execution(*order, context, handler, changes);
            const auto shares = core::load_be<std::uint32_t>(message + at::kSharesAt);
            outcome = order_books_.reduce(*order, shares);
            report_reduced(OrderAction::execute, before, shares, handler, changes,
                           core::load_be<std::uint64_t>(message + at::kMatchAt));
        }
    }
    settle(outcome, book, changes, context, handler);
    if (outcome == duplicate_order) [[unlikely]] {
        const auto* const other =
            order_books_.find(core::load_be<std::uint64_t>(message + itch_layout::order_replaced::kNewOrderAt));
        contradict(other->book, book, context, handler);
    }
}

/// Refuses a change whose locate is not that of the order's book: one of the two stocks lacks it.
template <class Handler>
void ItchBookBuilder::refuse_change(std::uint16_t book, const Context& context, Handler& handler) {
    other_stocks_.add();
    contradict(book, ItchBooks::kNone, context, handler);
    const auto named = books_.find(locate_of(context.message));
    if (named == ItchBooks::kNone) return counters_.rejected.add();
    reject(named, context, handler);
}

/// The stock of a new order that was refused because of its locate may lack the order.
template <class Handler>
void ItchBookBuilder::miss_order(Bytes stock, const Context& context, Handler& handler) {
    const auto book = books_.find(locate_of(context.message));
    const auto other = books_.find_stock(stock);
    if (other != ItchBooks::kNone) contradict(other, book, context, handler);
}

template <class Handler>
void ItchBookBuilder::on_execution(const OrderStore::Order& order, const Context& context, Handler& handler,
                                   Changes<Handler>& changes) {
    const auto* const message = context.message;
    namespace at = itch_layout::order_executed;
    const bool has_price = static_cast<char>(message[0]) == 'C';
    const bool is_printable = !has_price || static_cast<char>(message[at::kPrintableAt]) == 'Y';
    if (!is_printable && !sends_orders<Handler>()) return;  // another message reports the trade
    auto trade = start_event<Trade>(context);
    trade.instrument = books_[order.book].instrument;
    trade.price = price_from<itch_layout::kVenueScale>(has_price ? core::load_be<std::uint32_t>(message + at::kPriceAt)
                                                                 : order.price);
    trade.size = core::load_be<std::uint32_t>(message + at::kSharesAt);
    trade.trade_id = core::load_be<std::uint64_t>(message + at::kMatchAt);
    if constexpr (kHandlesBooks<Handler>) {
        if (!is_printable) trade.flags = kNotPrintable;
        changes.set(trade);
    } else {
        emit(counters_, handler, trade);
    }
}

template <class Handler>
void ItchBookBuilder::on_trade(const Context& context, Handler& handler) {
    const auto* const message = context.message;
    const bool is_cross = static_cast<char>(message[0]) == 'Q';
    const auto stock_at = is_cross ? itch_layout::cross::kStockAt : itch_layout::hidden_trade::kStockAt;
    const auto book = books_.find_or_name(locate_of(message), message + stock_at);
    if (book >= ItchBooks::kMaxBooks) return refuse(book, context, handler);
    auto trade = start_event<Trade>(context);
    trade.instrument = books_[book].instrument;
    trade.flags = static_cast<std::uint16_t>((is_cross ? kCross : kHidden) | last_flag<Handler>());
    if (is_cross) {
        namespace at = itch_layout::cross;
        trade.size = core::load_be<std::uint64_t>(message + at::kSharesAt);
        trade.price = price_from<itch_layout::kVenueScale>(core::load_be<std::uint32_t>(message + at::kPriceAt));
        trade.trade_id = core::load_be<std::uint64_t>(message + at::kMatchAt);
    } else {
        namespace at = itch_layout::hidden_trade;
        trade.size = core::load_be<std::uint32_t>(message + at::kSharesAt);
        trade.price = price_from<itch_layout::kVenueScale>(core::load_be<std::uint32_t>(message + at::kPriceAt));
        trade.trade_id = core::load_be<std::uint64_t>(message + at::kMatchAt);
    }
    if (trade.size == 0) return counters_.ignored.add();  // a cross without trades
    counters_.applied.add();
    emit(counters_, handler, trade);
}

template <EventHandler Handler>
void ItchBookBuilder::apply_all(std::span<const std::span<const std::byte>> messages, std::uint64_t first,
                                const Arrival& arrival, Handler& handler) {
    const auto prefetch_batch = [&] {
        for (const auto message : messages.first(std::min(kBatch, messages.size()))) prefetch(message);
    };
    prefetch_batch();
    while (!messages.empty()) {
        const auto now = messages.first(std::min(kBatch, messages.size()));
        messages = messages.subspan(now.size());
        prefetch_batch();
        apply_prefetched(now, first, arrival, handler);
        first += now.size();
    }
}

template <class Handler>
void ItchBookBuilder::apply_prefetched(std::span<const std::span<const std::byte>> messages, std::uint64_t first,
                                       const Arrival& arrival, Handler& handler) {
    prefetch_levels(messages);
    for (const auto message : messages) apply(message, first++, arrival, handler);
}

inline void ItchBookBuilder::prefetch(std::span<const std::byte> message) const noexcept {
    constexpr auto kOrderAt = itch_layout::order_added::kOrderAt;
    if (message.size() < kOrderAt + sizeof(std::uint64_t)) return;
    order_books_.prefetch(core::load_be<std::uint64_t>(message.data() + kOrderAt));
    const auto book = books_.find(locate_of(message.data()));
    if (book == ItchBooks::kNone) return;
    order_books_.prefetch_book(book);
    books_.prefetch(book);
}

/// The book locates its levels; the message or its order determines which of them will change.
inline void ItchBookBuilder::prefetch_levels(std::span<const std::span<const std::byte>> messages) noexcept {
    namespace at = itch_layout::order_added;
    std::array<OrderBooks::LevelAhead, kBatch> levels;
    std::size_t count = 0;
    for (const auto message : messages) {
        if (message.size() < at::kOrderAt + sizeof(std::uint64_t)) continue;
        const auto* const bytes = message.data();
        const char type = static_cast<char>(bytes[0]);
        if (message.size() >= at::kBytes && (type == 'A' || type == 'F')) {
            const auto book = books_.find(locate_of(bytes));
            if (book == ItchBooks::kNone) continue;
            levels[count] = order_books_.prefetch_keys(book, static_cast<char>(bytes[at::kSideAt]) == 'B',
                                                       core::load_be<std::uint32_t>(bytes + at::kPriceAt));
        } else if (const auto* const order = order_books_.find(core::load_be<std::uint64_t>(bytes + at::kOrderAt))) {
            levels[count] = order_books_.prefetch_keys(order->book, order->is_bid, order->price);
        }
        if (levels[count].side != nullptr) ++count;
    }
    for (const auto& level : std::span{levels}.first(count)) order_books_.prefetch_totals(level);
}

inline char ItchBookBuilder::market_of(const Venue& venue) noexcept {
    namespace at = itch_layout::operational_halt;
    if (venue.view() == "XBOS") return at::kBx;
    return venue.view() == "XPSX" ? at::kPsx : at::kNasdaq;
}

inline std::optional<ItchFault> ItchBookBuilder::fault_since(const Faults& before) const noexcept {
    const auto now = faults();
    if (now.other_stock != before.other_stock) return ItchFault::other_stock;
    if (now.unknown_order != before.unknown_order) return ItchFault::unknown_order;
    if (now.inconsistent != before.inconsistent) return ItchFault::inconsistent;
    if (now.refused != before.refused) return ItchFault::refused;
    if (now.invalid != before.invalid) return ItchFault::invalid;
    return std::nullopt;
}

template <class Handler>
void ItchBookBuilder::refuse(std::uint16_t book, const Context& context, Handler& handler) {
    const auto* const message = context.message;
    switch (book) {
        case ItchBooks::kOtherName:
            other_stocks_.add();
            return reject(books_.find(locate_of(message)), context, handler);
        // The stock is unknown: its locate may get a name later.
        case ItchBooks::kNoName: return lose(counters_.rejected, context, handler);
        default: counters_.refused.add();
    }
}

template <class Handler>
void ItchBookBuilder::on_bad_time(const Context& context, Handler& handler) {
    const auto* const message = context.message;
    bad_times_.add();
    const auto book = books_.find(locate_of(message));
    if (book == ItchBooks::kNone) return lose(counters_.rejected, context, handler);
    const auto day = std::exchange(day_, {});  // the quote is published without an exchange time
    reject(book, context, handler);
    day_ = day;
}

}  // namespace millpond::feed

#include <millpond/feed/detail/itch_announcements_impl.hpp>
#include <millpond/feed/detail/itch_states_impl.hpp>
