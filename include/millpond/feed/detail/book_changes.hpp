#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <millpond/feed/event.hpp>
#include <millpond/feed/itch_fault.hpp>
#include <millpond/feed/order_books.hpp>
#include <millpond/feed/order_store.hpp>

namespace millpond::feed {

/// Collects the changes that one message makes to one side of a book, for the events of its group.
class BookChanges {
public:
    /// A change of an order.
    struct Step {
        OrderAction action;
        bool is_bid;
        std::uint16_t flags;
        std::uint32_t price;
        std::uint64_t order_id;
        std::uint64_t size;
        std::uint64_t size_left;
        std::uint64_t trade_id;
    };

    explicit BookChanges(bool is_bid = false) noexcept : is_bid_(is_bid) {}

    /// replaces: the order takes the place of one that was reduced before.
    void add(const OrderStore::Order& order, bool replaces) noexcept {
        const auto flags = static_cast<std::uint16_t>(replaces ? kPriorityLost : 0);
        if (!replaces) from_price_ = order.price;
        steps_[count_++] = {OrderAction::add, order.is_bid, flags,        order.price,
                            order.number,     order.shares, order.shares, 0};
    }
    void reduce(OrderAction action, const OrderStore::Order& before, std::uint32_t shares,
                std::uint64_t trade_id) noexcept {
        const auto taken = std::min(shares, before.shares);
        from_price_ = before.price;
        steps_[count_++] = {action, before.is_bid,         0,       before.price, before.number,
                            taken,  before.shares - taken, trade_id};
    }
    /// before: the order before it got this number of shares and this price.
    void modify(const OrderStore::Order& before, std::uint32_t shares, std::uint32_t price,
                bool keeps_priority) noexcept {
        const auto flags = static_cast<std::uint16_t>(keeps_priority ? 0 : kPriorityLost);
        from_price_ = before.price;
        steps_[count_++] = {OrderAction::modify, before.is_bid, flags, price, before.number, shares, shares, 0};
    }
    void set(const Trade& trade) noexcept { trade_ = trade; }

    [[nodiscard]] std::span<const Step> steps() const noexcept { return std::span{steps_}.first(count_); }
    [[nodiscard]] const std::optional<Trade>& trade() const noexcept { return trade_; }
    [[nodiscard]] bool is_bid() const noexcept { return is_bid_; }

    /// The levels that a reader of this depth must learn, after the change; those without shares are gone.
    class Levels {
    public:
        [[nodiscard]] std::span<const OrderBooks::Level> all() const noexcept {
            return std::span{levels_}.first(count_);
        }

    private:
        friend class BookChanges;
        /// Field by field: no load has to wait for smaller stores.
        void put(std::uint32_t price, const OrderBooks::Level& level) noexcept {
            auto& put = levels_[count_++];
            put.price = price;
            put.orders = level.orders;
            put.shares = level.shares;
        }

        std::array<OrderBooks::Level, 3> levels_;
        std::size_t count_{0};
    };
    [[nodiscard]] Levels levels(const OrderBooks& books, std::uint16_t book, std::uint32_t depth) const noexcept;

private:
    [[nodiscard]] bool is_better(std::uint32_t price, std::uint32_t other) const noexcept {
        return is_bid_ ? price > other : price < other;
    }
    /// The levels of an order that moved to another price.
    [[nodiscard]] Levels levels_of_move(const OrderBooks& books, std::uint16_t book,
                                        std::uint32_t depth) const noexcept;

    std::array<Step, 2> steps_;
    std::size_t count_{0};
    std::optional<Trade> trade_;
    std::uint32_t from_price_{0};  // of the order before the change
    bool is_bid_;
};

inline auto BookChanges::levels(const OrderBooks& books, std::uint16_t book, std::uint32_t depth) const noexcept
    -> Levels {
    Levels levels;
    if (count_ == 0) return levels;
    const auto price = from_price_;
    if (steps_[count_ - 1].price != price) return levels_of_move(books, book, depth);
    // Most changes of a deep book. A price that is inside the depth now was inside before, and the other way round.
    if (depth != kFullDepth && books.is_behind(book, is_bid_, price, depth)) return levels;
    const auto level = books.level(book, is_bid_, price);
    levels.put(price, level);
    if (level.shares != 0 || depth == kFullDepth) return levels;
    // A level that was behind the last place is there now.
    if (const auto last = books.level_at(book, is_bid_, depth - 1); last.shares != 0) levels.put(last.price, last);
    return levels;
}

inline auto BookChanges::levels_of_move(const OrderBooks& books, std::uint16_t book, std::uint32_t depth) const noexcept
    -> Levels {
    Levels levels;
    const auto from = from_price_;
    const auto to = steps_[count_ - 1].price;
    const auto left = books.level(book, is_bid_, from);
    const auto made = books.level(book, is_bid_, to);
    if (depth == kFullDepth) {
        levels.put(from, left);
        levels.put(to, made);
        return levels;
    }
    // A level that lost shares is sent if it was inside the depth before: a better one that the order made has pushed
    // it a place back. One that got shares is sent if it is inside now.
    const bool is_new = made.orders == 1;
    const bool has_from = !books.is_behind(book, is_bid_, from, depth + (is_new && is_better(to, from) ? 1U : 0U));
    const bool has_to = !books.is_behind(book, is_bid_, to, depth);
    if (has_from) levels.put(from, left);
    if (has_to) levels.put(to, made);
    // A level that was behind the last place is there now, if one before it is gone and none came.
    if (!has_from || left.shares != 0 || (has_to && is_new)) return levels;
    const auto last = books.level_at(book, is_bid_, depth - 1);
    if (last.shares != 0 && last.price != to && is_better(from, last.price)) levels.put(last.price, last);
    return levels;
}

/// A handler as one without functions for orders and levels, so that what is off compiles to the code without it.
template <class Handler>
class WithoutBooks {
public:
    explicit WithoutBooks(Handler& handler) noexcept : handler_(handler) {}

    template <class Event>
        requires(!std::same_as<Event, Order> && !std::same_as<Event, Level> && HandlerOf<Handler, Event>)
    void on(const Event& event) {
        handler_.on(event);
    }
    void on_fault(std::span<const std::byte> message, std::uint64_t sequence, ItchFault fault)
        requires requires(Handler& handler) { handler.on_fault(message, sequence, fault); }
    {
        handler_.on_fault(message, sequence, fault);
    }
    void on_order_added(const OrderStore::Order& order, bool is_stored)
        requires requires(Handler& handler) { handler.on_order_added(order, is_stored); }
    {
        handler_.on_order_added(order, is_stored);
    }
    void on_order_reduced(const OrderStore::Order& order, std::uint32_t shares)
        requires requires(Handler& handler) { handler.on_order_reduced(order, shares); }
    {
        handler_.on_order_reduced(order, shares);
    }

private:
    Handler& handler_;
};

/// Stands for BookChanges where a handler has functions for neither orders nor levels.
struct NoBookChanges {};

}  // namespace millpond::feed
