#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string_view>

#include <millpond/core/endian.hpp>
#include <millpond/feed/detail/iex_books.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/iex_decoder.hpp>
#include <millpond/feed/iex_layout.hpp>
#include <millpond/feed/order_books.hpp>

namespace millpond::feed {

/// Applies the messages of IEX DEEP+ to the order books of a channel, whose changes become events as BookPublisher
/// says.
///
/// A modification keeps the order's number; without the flag that keeps its priority it is behind all others at its
/// price. An execution is a Trade at its own price and reduces the order. Trades between orders that are not displayed
/// are Trades with the flag kHidden and change no book. A number may be used again once its order is gone. A change of
/// an order that is not known makes the message's instrument incomplete; a message with the number of an order of
/// another symbol makes both incomplete. Its trade counts nevertheless.
///
/// Threads: one; counters() may be read on any.
/// Memory:  BookPublisher and IexInstruments, allocated and touched once in the constructor.
class IexDeepPlus : public IexBooks<IexDeepPlus> {
public:
    static constexpr std::uint16_t kProtocol = iex_layout::kDeepPlus;

    IexDeepPlus(InstrumentTable& instruments, const Options& options, std::pmr::memory_resource* memory)
        : IexBooks(instruments, options, memory) {}

    /// Prefetches the order that the message needs.
    void prefetch(std::span<const std::byte> message) const noexcept {
        constexpr auto kOrderAt = iex_layout::order::kOrderAt;
        if (message.size() >= kOrderAt + sizeof(std::uint64_t))
            order_books_.prefetch(core::load_le<std::uint64_t>(message.data() + kOrderAt));
    }

    /// Minimum bytes of a message that changes books; 0 for other types.
    [[nodiscard]] static constexpr std::size_t own_bytes(char type) noexcept {
        switch (type) {
            case 'a':
            case 'M': return iex_layout::order::kBytes;
            case 'R': return iex_layout::order::kRemovedBytes;
            case 'L': return iex_layout::order::kExecutedBytes;
            case 'C': return iex_layout::kWithSymbolBytes;
            default: return 0;
        }
    }

    [[nodiscard]] static constexpr bool is_in_snapshots(char type) noexcept { return type == 'a'; }
    /// Source: DEEP+ SNAP 1.05, page 13.
    [[nodiscard]] std::string_view snapshot_fault(std::uint16_t, const IexMessage& message) const noexcept {
        const auto number = static_cast<std::uint64_t>(message.number(iex_layout::order::kOrderAt));
        return order_books_.find(number) == nullptr ? "" : "the same order twice";
    }

private:
    friend class IexBooks<IexDeepPlus>;
    friend class IexAnnouncements<IexDeepPlus>;

    /// Trades of their own are between orders that are not displayed.
    static constexpr std::uint16_t kTradeFlags = kHidden;

    [[nodiscard]] bool is_empty() const noexcept { return order_books_.live_orders() == 0; }
    static void forget_open() noexcept {}
    static void move_open(const IexDeepPlus&, std::uint16_t, std::uint16_t) noexcept {}
    static void swap_open(const IexDeepPlus&, std::int64_t) noexcept {}
    template <class Handler>
    void apply_own(char type, std::uint16_t book, const IexMessage& message, Handler& handler);
    template <class Handler>
    void on_added(std::uint16_t book, const IexMessage& message, Handler& handler);
    template <class Handler>
    void on_executed(std::uint16_t book, const IexMessage& message, OrderBooks::Found* order, Handler& handler);
    template <class Handler>
    void on_modified(std::uint16_t book, const IexMessage& message, OrderBooks::Found& order, Handler& handler);
    template <class Handler>
    void on_cleared(std::uint16_t book, const IexMessage& message, Handler& handler);
    void remove_all(std::uint16_t book) noexcept;
};

using IexDeepPlusDecoder = IexDecoder<IexDeepPlus>;

template <class Handler>
void IexDeepPlus::apply_own(char type, std::uint16_t book, const IexMessage& message, Handler& handler) {
    if (type == 'a') return on_added(book, message, handler);
    if (type == 'C') return on_cleared(book, message, handler);
    auto* const order = order_books_.find(static_cast<std::uint64_t>(message.number(iex_layout::order::kOrderAt)));
    if (order != nullptr && order->book != book) [[unlikely]] {
        other_stocks_.add();
        type == 'L' ? on_executed(book, message, nullptr, handler) : reject(book, message, handler);
        return contradict(order->book, book, message, handler);
    }
    if (type == 'L') return on_executed(book, message, order, handler);
    if (order == nullptr) [[unlikely]]
        return settle(OrderBooks::Outcome::unknown_order, book, Changes<Handler>{}, message, handler);
    if (type == 'M') return on_modified(book, message, *order, handler);
    const auto before = *order;
    auto changes = changes_of<Handler>(before.is_bid);
    const auto outcome = order_books_.remove(*order);
    report_reduced(OrderAction::remove, before, before.shares, handler, changes);
    settle(outcome, book, changes, message, handler);
}

template <class Handler>
void IexDeepPlus::on_added(std::uint16_t book, const IexMessage& message, Handler& handler) {
    namespace at = iex_layout::order;
    const char side = message.code();
    const auto shares = message.size(at::kSizeAt);
    const auto price = message.number(at::kPriceAt);
    if (shares == 0 || (side != at::kBuy && side != at::kSell)) return reject(book, message, handler);
    if (!fits(price)) return settle(OrderBooks::Outcome::price_too_high, book, Changes<Handler>{}, message, handler);
    const auto number = static_cast<std::uint64_t>(message.number(at::kOrderAt));
    const OrderStore::Order order{number, static_cast<std::uint32_t>(price), shares, 0, book, side == at::kBuy};
    auto changes = changes_of<Handler>(order.is_bid);
    const auto outcome = order_books_.add(book, number, order.is_bid, shares, order.price);
    report_added(outcome, order, handler, changes);
    settle(outcome, book, changes, message, handler);
    if (outcome == OrderBooks::Outcome::duplicate_order) [[unlikely]]
        contradict(order_books_.find(number)->book, book, message, handler);
}

template <class Handler>
void IexDeepPlus::on_modified(std::uint16_t book, const IexMessage& message, OrderBooks::Found& order,
                              Handler& handler) {
    namespace at = iex_layout::order;
    const auto shares = message.size(at::kSizeAt);
    const auto price = message.number(at::kPriceAt);
    if (shares == 0) return reject(book, message, handler);
    const auto before = order;
    auto changes = changes_of<Handler>(before.is_bid);
    if (!fits(price)) {
        static_cast<void>(order_books_.remove(order));
        report_reduced(OrderAction::remove, before, before.shares, handler, changes);
        return settle(OrderBooks::Outcome::price_too_high, book, changes, message, handler);
    }
    const bool keeps_priority = (message.flags() & at::kKeepsPriority) != 0;
    const auto now = static_cast<std::uint32_t>(price);
    const auto outcome = order_books_.replace(order, before.number, shares, now);
    if (outcome != OrderBooks::Outcome::done) {
        report_reduced(OrderAction::remove, before, before.shares, handler, changes);
    } else if constexpr (kHandlesBooks<Handler>) {
        changes.modify(before, shares, now, keeps_priority);
        if (!keeps_priority && sends_orders_) mark_unsorted(book);
        // The replacement may have moved the order to slots that have been listed.
        if (order_list_.is_listing()) list_put(book, before.number);
    }
    settle(outcome, book, changes, message, handler);
}

/// order: null if it is not known.
template <class Handler>
void IexDeepPlus::on_executed(std::uint16_t book, const IexMessage& message, OrderBooks::Found* order,
                              Handler& handler) {
    namespace at = iex_layout::order;
    using enum OrderBooks::Outcome;
    const auto price = message.number(at::kPriceAt);
    if (!is_iex_price(price)) return reject(book, message, handler);
    auto trade = start_event<Trade>(message);
    trade.instrument = books_[book].instrument;
    trade.flags = (message.flags() & iex_layout::trade::kSinglePriceCross) != 0 ? std::uint16_t{kCross} : 0;
    trade.price = iex_price(price);
    trade.size = message.size(at::kSizeAt);
    trade.trade_id = static_cast<std::uint64_t>(message.number(at::kTradeIdAt));
    auto changes = order != nullptr ? changes_of<Handler>(order->is_bid) : Changes<Handler>{};
    if constexpr (kHandlesBooks<Handler>) {
        changes.set(trade);
    } else {
        emit(counters_, handler, trade);
    }
    auto outcome = unknown_order;
    if (order != nullptr) [[likely]] {
        const auto before = *order;
        const auto shares = message.size(at::kSizeAt);
        outcome = order_books_.reduce(*order, shares);
        report_reduced(OrderAction::execute, before, shares, handler, changes, trade.trade_id);
    }
    settle(outcome, book, changes, message, handler);
}

/// Publishes the empty book as a snapshot. O(max_orders) unless the book is empty: the store finds orders by number
/// only.
template <class Handler>
void IexDeepPlus::on_cleared(std::uint16_t book, const IexMessage& message, Handler& handler) {
    remove_all(book);
    live_orders_.set(order_books_.live_orders());
    counters_.applied.add();
    order_books_.mark_complete(book);
    books_[book].is_unsorted = false;
    books_[book].newest_order = 0;
    publish_empty(book, message, handler);
}

inline void IexDeepPlus::remove_all(std::uint16_t book) noexcept {
    constexpr std::size_t kSlots = 512;
    std::array<std::uint64_t, 2 * kSlots> numbers;
    std::size_t count = 0;
    std::size_t orders = 0;
    for (const bool is_bid : {true, false})
        order_books_.visit_levels(book, is_bid, [&](const OrderBooks::Level& level) { orders += level.orders; });
    // Orders for which `numbers` has no room are left to the next round.
    while (orders != 0) {
        for (auto left = order_books_.order_slots(); left != 0 && orders != 0;) {
            left = order_books_.visit_orders(left, kSlots, [&](const OrderStore::Order& order) {
                if (order.book == book && count != numbers.size()) numbers[count++] = order.number;
            });
            while (count != 0) {
                // An order may have been visited twice, and is then unknown.
                if (order_books_.remove(numbers[--count]) == OrderBooks::Outcome::done) --orders;
            }
        }
    }
}

}  // namespace millpond::feed
