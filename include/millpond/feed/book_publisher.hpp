#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <type_traits>
#include <utility>

#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/detail/book_changes.hpp>
#include <millpond/feed/detail/book_entry.hpp>
#include <millpond/feed/detail/instrument_state.hpp>
#include <millpond/feed/detail/order_list.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/order_books.hpp>

namespace millpond::feed {

/// The order books of one channel, and how their changes become events: a Quote of each change of an instrument's best
/// bid or offer or of its flags; if wanted, an Order of each change of an order and a Level of each change of a level
/// within the depth, for handlers that have functions for them. Classes that read a venue's messages derive from it.
///
/// The events of a message are then a group: orders, levels, trade, quote; kLast marks the last one. The first group of
/// a complete book is a snapshot. Books that readers have lost are sent again, each as one group (`renew_snapshots`).
/// Orders of such a snapshot are in the order of their numbers, which is that of their priority if the numbers of an
/// instrument count up; if they do not, they are marked incomplete.
///
/// Books: the instruments by the venue's key, with a BookEntry for each; ItchBooks is one. Context: a message's
/// `sequence`, `arrival` and exchange_utc_ns(). Venue prices are in 1/10000.
///
/// Threads: one; counters() may be read on any.
/// Memory:  OrderBooks, Books and, if orders are sent, OrderList, allocated and touched once in the constructor.
template <class Books>
class BookPublisher {
public:
    /// depth: levels of a side that are sent; 0: none, kFullDepth: all. sends_orders: order events are sent, and
    /// executions that are not printable as trades.
    BookPublisher(InstrumentTable& instruments, const Venue& venue, const OrderBooks::Options& order_books,
                  std::uint32_t depth, bool sends_orders, std::pmr::memory_resource* memory)
        : depth_(depth),
          sends_orders_(sends_orders),
          order_books_(order_books, memory),
          books_(instruments, venue, order_books.books, memory),
          order_list_(order_books.books, sends_orders && order_books.growth == 1 ? order_books.orders : 0, memory) {}

    /// True if orders and their levels no longer fit in the processor's caches, so that prefetching pays.
    [[nodiscard]] bool has_many_orders() const noexcept { return order_books_.live_orders() >= kManyOrders; }

    /// Empties all books and publishes a Clear. The states of halted instruments become unknown, and with a new session
    /// the state of the channel too. complete: the next message is the first one of a session.
    template <class Handler>
    void clear(ClearReason reason, bool complete, const Arrival& arrival, Handler& handler);
    /// Empties all books and forgets all states, without an event. Counters keep their values.
    void reset() noexcept;

    /// Starts a new session. complete: the following messages begin with its first one.
    void begin_session(bool complete) noexcept {
        complete_ = complete;
        sender_restarted_ = false;
    }
    /// The sender restarted within the session: its later messages cannot make the books complete.
    void restart_sender() noexcept {
        complete_ = false;
        sender_restarted_ = true;
    }
    /// The following messages are a snapshot: orders may come in any order, their numbers give their priority.
    void begin_snapshot() noexcept { in_snapshot_ = true; }
    void end_snapshot() noexcept { in_snapshot_ = false; }
    void mark_incomplete() noexcept { complete_ = false; }
    void mark_complete() noexcept {
        if (std::exchange(complete_, true)) return;
        ++snapshot_;
        next_snapshot_ = kNoSnapshot;
    }
    [[nodiscard]] bool is_complete() const noexcept { return complete_; }
    [[nodiscard]] bool has_sender_restarted() const noexcept { return sender_restarted_; }

    /// Makes publish_snapshots send all books, because readers of orders or levels have lost some. Orders are listed
    /// first; from then on a book that changes before its turn is sent with that change. A book for whose new orders
    /// the list had no room is not sent until they have been listed again. O(1). Not with OrderBooks::Options::growth.
    void renew_snapshots() noexcept;
    /// True if publish_snapshots has something to send.
    [[nodiscard]] bool has_snapshots_due() const noexcept { return complete_ && next_snapshot_ != kNoSnapshot; }
    /// Lists some orders, or publishes books, each as a group that is a snapshot, until `events` or more were sent or
    /// none is left: of the last book at most 2 + its orders + its levels too many. sequence: number of the last
    /// message applied. Returns the number of events.
    template <EventHandler Handler>
    std::size_t publish_snapshots(std::size_t events, std::uint64_t sequence, const Arrival& arrival, Handler& handler);
    /// Lists all orders, for the takeover of these books by another publisher; more messages may follow. O(capacity of
    /// the books + orders x log orders).
    void prepare_to_move() noexcept;

    /// Swaps the books with those of `rebuilt`, which must be complete and at the same message, number `sequence`.
    /// Publishes `newest.quotes` and `newest.states` of every instrument, indexed by its number in `rebuilt`, and
    /// `newest.channel`; of the states only those that differ from the published ones. Instruments with a published
    /// quote of which `rebuilt` has none are empty. on_moved(from, to): called for each book of which this has one too,
    /// before its quote is published; `from` is the book's former number. Readers of orders or levels get all books
    /// from publish_snapshots. Returns false, with nothing changed, if an instrument does not fit, or if orders are
    /// sent and `prepare_to_move` was not called. O(books), without allocation.
    template <class Newest, EventHandler Handler, class OnMoved>
    [[nodiscard]] bool adopt(BookPublisher& rebuilt, Newest& newest, std::uint64_t sequence, const Arrival& arrival,
                             Handler& handler, OnMoved&& on_moved);

    [[nodiscard]] const OrderBooks& order_books() const noexcept { return order_books_; }
    [[nodiscard]] DecodeCounters& counters() noexcept { return counters_; }
    [[nodiscard]] const DecodeCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] const core::Tally& unknown_orders() const noexcept { return unknown_orders_; }
    [[nodiscard]] const core::Tally& live_orders() const noexcept { return live_orders_; }
    /// Books that were crossed or locked while their instrument traded in market hours; only with depth or orders.
    [[nodiscard]] const core::Tally& crossed_books() const noexcept { return crossed_; }
    /// Updates incomplete_books(); call it a few times a second.
    void count_incomplete() noexcept;
    /// Books that are incomplete, or that are to be resent.
    [[nodiscard]] const core::Tally& incomplete_books() const noexcept { return incomplete_books_; }
    /// True if readers may get levels or orders.
    [[nodiscard]] bool has_depth() const noexcept { return depth_ != 0 || sends_orders_; }
    /// Orders and price levels that did not fit.
    [[nodiscard]] const core::Tally& refused_orders() const noexcept { return refused_orders_; }
    /// Orders and levels with prices that books cannot hold.
    [[nodiscard]] const core::Tally& refused_prices() const noexcept { return refused_prices_; }
    [[nodiscard]] const core::Tally& inconsistent_orders() const noexcept { return inconsistent_; }
    /// Calls visit(name, help, tally) for each counter that is not in counters().
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        visitor("orders_unknown", "Changes of orders that are not in the book.", unknown_orders_);
        visitor("orders_refused", "Orders or price levels that did not fit.", refused_orders_);
        visitor("orders_inconsistent", "Orders added twice, and executions of more shares than an order has.",
                inconsistent_);
        visitor("stocks_contradicted", "Messages whose stock is not that of its locate or order.", other_stocks_);
        visitor("orders_unsorted",
                "Orders with a lower number than an earlier one of their stock; rebuilt books with such orders.",
                unsorted_);
        visitor("books_crossed", "Books that were crossed or locked while their instrument traded.", crossed_);
        visitor("books_incomplete", "Books that are incomplete, or that are to be resent.", incomplete_books_);
        visitor("orders_live", "Orders in the books.", live_orders_);
    }

protected:
    static constexpr std::size_t kManyOrders = 16'384;
    static constexpr std::size_t kNoSnapshot = ~std::size_t{0};
    static constexpr std::size_t kListedSlots = 512;  // 16 KiB of the order store, some microseconds

    template <class Handler>
    static constexpr bool kHandlesBooks = HandlerOf<Handler, Order> || HandlerOf<Handler, Level>;
    template <class Handler>
    using Changes = std::conditional_t<kHandlesBooks<Handler>, BookChanges, NoBookChanges>;
    template <class Handler>
    [[nodiscard]] bool sends_orders() const noexcept {
        return HandlerOf<Handler, Order> && sends_orders_;
    }
    template <class Handler>
    [[nodiscard]] bool sends_levels() const noexcept {
        return HandlerOf<Handler, Level> && depth_ != 0;
    }
    /// True if the events of a message are a group.
    template <class Handler>
    [[nodiscard]] bool sends_books() const noexcept {
        return sends_orders<Handler>() || sends_levels<Handler>();
    }
    template <class Handler>
    [[nodiscard]] std::uint16_t last_flag() const noexcept {
        return sends_books<Handler>() ? kLast : 0;
    }
    template <class Handler>
    [[nodiscard]] static Changes<Handler> changes_of(bool is_bid) noexcept {
        if constexpr (kHandlesBooks<Handler>) {
            return BookChanges{is_bid};
        } else {
            return {};
        }
    }

    /// Keeps what the state of the channel says of the books.
    void on_system_state(TradingState state) noexcept { on_system_state(state, order_books_.live_orders() == 0); }
    /// is_empty: no message of the session has changed a book yet, as far as the books show.
    void on_system_state(TradingState state, bool is_empty) noexcept {
        has_channel_state_ = true;
        if (state == TradingState::start_of_market_hours) in_market_hours_ = true;
        if (state == TradingState::end_of_market_hours) in_market_hours_ = false;
        // Before a restart is detected, its messages have been applied, and some may have been orders.
        const bool begins = state == TradingState::start_of_messages;
        if (begins && is_empty && !sender_restarted_) mark_complete();
    }
    template <class Handler>
    void report_added(OrderBooks::Outcome outcome, const OrderStore::Order& order, Handler& handler,
                      Changes<Handler>& changes, bool replaces = false);
    void list_added(const OrderStore::Order& order) noexcept;
    /// Lists an order that OrderList may not see, because it was put into the store since `begin`.
    void list_put(std::uint16_t book, std::uint64_t number) noexcept;
    template <class Handler>
    void report_reduced(OrderAction action, const OrderStore::Order& before, std::uint32_t shares, Handler& handler,
                        Changes<Handler>& changes, std::uint64_t trade_id = 0) const;
    struct TopOfBook {
        OrderBooks::Top top;
        std::uint16_t flags;
        bool changed;
    };
    /// Flags of a quote of the book.
    [[nodiscard]] std::uint16_t flags_of(std::uint16_t book) const noexcept {
        const bool incomplete = !complete_ || !order_books_.is_complete(book);
        return static_cast<std::uint16_t>((incomplete ? kIncomplete : 0) |
                                          (books_[book].trading.is_halted() ? kHalted : 0));
    }
    template <class Handler>
    [[nodiscard, gnu::always_inline]] TopOfBook top_of_book(std::uint16_t book) const noexcept;
    template <class Context, class Handler>
    void publish_quote(BookEntry& entry, const TopOfBook& current, std::uint16_t last, const Context& context,
                       Handler& handler);
    template <class Context, class Handler>
    void publish_top(std::uint16_t book, const Context& context, Handler& handler);
    template <class Context, class Handler>
    void settle(OrderBooks::Outcome outcome, std::uint16_t book, const Changes<Handler>& changes,
                const Context& context, Handler& handler);

    /// Handles a message that cannot be read, which may have changed any book.
    template <class Context, class Handler>
    void lose(core::Tally& counter, const Context& context, Handler& handler);
    /// Handles a message with impossible contents, which is lost to its book.
    template <class Context, class Handler>
    void reject(std::uint16_t book, const Context& context, Handler& handler);
    /// A message of `book` contradicts what is known of another book, which is incomplete too. Call it after the
    /// message's events. `other` may be `book`.
    template <class Context, class Handler>
    [[gnu::cold]] void contradict(std::uint16_t other, std::uint16_t book, const Context& context, Handler& handler);
    /// Counts a book that is crossed or locked while its instrument trades.
    void count_crossed(const TopOfBook& current) noexcept {
        const auto& top = current.top;
        const bool is_crossed = top.bid_size != 0 && top.ask_size != 0 && top.bid_price >= top.ask_price;
        if (is_crossed && in_market_hours_ && current.flags == 0) [[unlikely]]
            crossed_.add();
    }
    /// The orders of the book no longer have the priority of their numbers.
    void mark_unsorted(std::uint16_t book) noexcept {
        unsorted_.add();
        books_[book].is_unsorted = true;
    }

    template <class Handler>
    class Group;
    /// Publishes an empty book as a snapshot, and its quote if that changes.
    template <class Context, class Handler>
    void publish_empty(std::uint16_t book, const Context& context, Handler& handler);
    template <class Context, class Handler>
    void publish_group(std::uint16_t book, const BookChanges& changes, const Context& context, Handler& handler);
    template <class Handler>
    void pass_orders(const BookChanges& changes, bool clears, Order event, Group<Handler>& group);
    /// Number of events of a book's snapshot.
    template <class Handler>
    [[nodiscard]] std::size_t snapshot_events(std::uint16_t book, bool with_orders) noexcept;
    template <class Handler>
    void pass_listed_orders(std::uint16_t book, Order event, Group<Handler>& group);
    template <class Handler>
    void pass_all_levels(std::uint16_t book, Level event, Group<Handler>& group);
    /// Whether the orders of a book are listed, so that its snapshot can be sent.
    [[nodiscard]] bool has_listed(std::uint16_t book) const noexcept;
    void begin_list() noexcept;
    /// Whether the instruments of `rebuilt` and of these books fit in both tables, and its orders are listed.
    [[nodiscard]] bool has_room_for(BookPublisher& rebuilt) noexcept;
    /// Moves on to the next book of publish_snapshots, after the last one to the first one that was left out.
    void move_cursor() noexcept;
    /// Levels of a side within the depth.
    [[nodiscard]] std::size_t shown_levels(std::uint16_t book, bool is_bid) const noexcept;
    /// Calls visit(order) for the orders of a book that have been listed and exist.
    template <class Visitor>
    void visit_listed(std::uint16_t book, Visitor&& visitor) const;
    static void set_level(Level& event, bool is_bid, const OrderBooks::Level& level) noexcept;
    [[nodiscard]] static Price price_of(std::uint32_t price) noexcept { return price_from<10'000>(price); }

    std::uint32_t depth_;
    bool sends_orders_;
    bool has_channel_state_{false};
    bool in_market_hours_{false};
    bool complete_{false};
    bool in_snapshot_{false};
    bool sender_restarted_{false};  // the sender restarted at a lower number in this session
    std::uint32_t snapshot_{1};     // number of the snapshot that readers need; incremented when books become complete
    std::size_t next_snapshot_{kNoSnapshot};    // next book of publish_snapshots
    std::size_t missed_snapshot_{kNoSnapshot};  // first book that it left out, because not all orders were listed
    bool lists_all_{false};                     // orders that are added are listed until another publisher has them
    OrderBooks order_books_;
    Books books_;
    OrderList order_list_;
    DecodeCounters counters_;
    core::Tally unknown_orders_;
    core::Tally refused_orders_;
    core::Tally refused_prices_;
    core::Tally inconsistent_;
    core::Tally other_stocks_;
    core::Tally unsorted_;
    core::Tally crossed_;
    core::Tally incomplete_books_;
    core::Tally live_orders_;
};

}  // namespace millpond::feed

#include <millpond/feed/detail/adopted_books_impl.hpp>
#include <millpond/feed/detail/book_publisher_impl.hpp>
