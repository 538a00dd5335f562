#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/feed/event.hpp>
#include <millpond/journal/journal_writer.hpp>
#include <millpond/market/books.hpp>
#include <millpond/queue/broadcast_reader.hpp>

namespace millpond::journal {

/// Changes of a few instruments' books at random, with the books that they make according to a simple model. Channel 0
/// sends orders and kDepth levels, channel 1 all levels, channel 2 orders.
class OrderDay {
public:
    static constexpr feed::InstrumentId kInstruments = 9;
    static constexpr std::uint16_t kChannels = 3;
    static constexpr std::uint32_t kDepth = 3;
    using Event = std::variant<feed::Order, feed::Level, feed::Trade, feed::Quote, feed::Clear, feed::Gap>;

    /// The books of an instrument as text. Empty: no such book, or incomplete.
    struct State {
        std::string orders;
        std::string levels;
        friend bool operator==(const State&, const State&) = default;
    };

    static constexpr std::uint16_t channel_of(feed::InstrumentId id) {
        return static_cast<std::uint16_t>(id % kChannels);
    }
    static market::ChannelDepth depth_of(std::uint16_t channel) {
        switch (channel) {
            case 0: return {.depth = kDepth, .orders = true};
            case 1: return {.depth = feed::kFullDepth};
            case 2: return {.orders = true};
            default: return {};
        }
    }

    explicit OrderDay(std::uint64_t seed) : random_(seed) {}

    /// Clears of all channels; then each call returns the next group, Clear or Gap.
    std::vector<Event> next() {
        if (opened_ < kChannels) return {clear(opened_++, feed::kNoInstrument, 0)};
        const auto id = static_cast<feed::InstrumentId>(pick(kInstruments));
        switch (pick(400)) {
            case 0: return {clear(channel_of(id), feed::kNoInstrument, pick(3) == 0 ? feed::kIncomplete : 0)};
            case 1: return {clear(channel_of(id), id, 0)};
            case 2: return {gap(channel_of(id))};
            case 3:
            case 4:
            case 5: return snapshot(id);
            default: return change(id);
        }
    }
    /// The orders and levels of an instrument, as a snapshot.
    std::vector<Event> snapshot(feed::InstrumentId id) {
        std::vector<Event> group;
        auto& book = books_[id];
        const auto depth = depth_of(channel_of(id));
        if (depth.orders) {
            feed::Order event;
            event.action = feed::OrderAction::clear;
            group.emplace_back(of(id, event));
            for (const auto& order : book.orders) group.emplace_back(of(id, added(order)));
        }
        if (depth.depth != 0) {
            group.emplace_back(of(id, feed::Level{}));
            for (const auto side : {feed::Side::bid, feed::Side::ask}) {
                for (const auto& level : levels(book, side, depth.depth)) group.emplace_back(of(id, level));
            }
        }
        for (auto& event : group) mark(event, feed::kSnapshot);
        book.orders_complete = depth.orders;
        book.levels_complete = depth.depth != 0;
        return ended(std::move(group));
    }
    /// Only the levels, as the ring's board has them.
    std::vector<feed::Level> board(feed::InstrumentId id) {
        std::vector<feed::Level> found;
        const auto depth = depth_of(channel_of(id)).depth;
        if (depth == 0) return found;
        found.push_back(of(id, feed::Level{}));
        for (const auto side : {feed::Side::bid, feed::Side::ask}) {
            for (const auto& level : levels(books_[id], side, depth)) found.push_back(of(id, level));
        }
        for (auto& level : found) level.flags |= feed::kSnapshot;
        found.back().flags |= feed::kLast;
        books_[id].levels_complete = true;
        return found;
    }
    /// Events are lost to all readers.
    void lose() {
        for (auto& book : books_) book.orders_complete = book.levels_complete = false;
    }
    [[nodiscard]] State state(feed::InstrumentId id) const {
        const auto& book = books_[id];
        const auto depth = depth_of(channel_of(id));
        State found;
        for (const auto side : {feed::Side::bid, feed::Side::ask}) {
            for (const auto& level : levels(book, side, feed::kFullDepth)) {
                found.orders += std::to_string(level.price) + ":";
                for (const auto& order : book.orders) {
                    if (order.side == side && order.price == level.price)
                        found.orders += " " + std::to_string(order.id) + "x" + std::to_string(order.size);
                }
                found.orders += '\n';
            }
            for (const auto& level : levels(book, side, depth.depth)) found.levels += text(level);
            found.orders += "-\n";
            found.levels += "-\n";
        }
        if (!book.orders_complete) found.orders.clear();
        if (!book.levels_complete) found.levels.clear();
        return found;
    }
    template <class Level>
    static std::string text(const Level& level) {
        return std::to_string(level.price) + ": " + std::to_string(level.size) + " of " + std::to_string(level.orders) +
               "\n";
    }
    [[nodiscard]] std::uint64_t pick(std::uint64_t bound) { return random_() % bound; }

private:
    struct Order {
        std::uint64_t id;
        feed::Side side;
        feed::Price price;
        std::uint64_t size;
    };
    struct Book {
        std::vector<Order> orders;  // by priority
        bool orders_complete{false};
        bool levels_complete{false};
    };

    template <class E>
    static E of(feed::InstrumentId id, E event) {
        event.instrument = id;
        event.channel = channel_of(id);
        return event;
    }
    static feed::Order added(const Order& order) {
        feed::Order event;
        event.action = feed::OrderAction::add;
        event.side = order.side;
        event.order_id = order.id;
        event.price = order.price;
        event.size = event.size_left = order.size;
        return event;
    }
    /// The best levels of a side, the best one first.
    static std::vector<feed::Level> levels(const Book& book, feed::Side side, std::size_t depth) {
        std::map<feed::Price, feed::Level> found;  // by price from the best one
        for (const auto& order : book.orders) {
            if (order.side != side) continue;
            auto& level = found[side == feed::Side::bid ? -order.price : order.price];
            level.side = side;
            level.price = order.price;
            level.size += order.size;
            ++level.orders;
        }
        std::vector<feed::Level> best;
        for (const auto& [key, level] : found) {
            if (best.size() < depth) best.push_back(level);
        }
        return best;
    }
    static void mark(Event& event, std::uint16_t flag) {
        std::visit(
            [flag](auto& each) {
                if constexpr (requires { each.flags; }) each.flags |= flag;
            },
            event);
    }
    static std::vector<Event> ended(std::vector<Event> group) {
        mark(group.back(), feed::kLast);
        return group;
    }
    Event clear(std::uint16_t channel, feed::InstrumentId only, std::uint16_t flags) {
        for (feed::InstrumentId id = 0; id < kInstruments; ++id) {
            if (channel_of(id) != channel || (only != feed::kNoInstrument && only != id)) continue;
            const auto depth = depth_of(channel);
            const bool is_complete = flags == 0;
            books_[id].orders.clear();
            books_[id].orders_complete = is_complete && depth.orders;
            books_[id].levels_complete = is_complete && depth.depth != 0;
        }
        return feed::Clear{.instrument = only, .channel = channel, .flags = flags};
    }
    Event gap(std::uint16_t channel) {
        for (feed::InstrumentId id = 0; id < kInstruments; ++id) {
            if (channel_of(id) == channel) books_[id].orders_complete = books_[id].levels_complete = false;
        }
        return feed::Gap{.channel = channel};
    }
    std::vector<Event> change(feed::InstrumentId id) {
        auto& book = books_[id];
        const auto depth = depth_of(channel_of(id));
        const std::array before{levels(book, feed::Side::bid, depth.depth), levels(book, feed::Side::ask, depth.depth)};
        std::vector<Event> group;
        for (auto steps = 1 + pick(2); steps != 0; --steps) {
            const auto event = step(book);
            if (depth.orders) group.emplace_back(of(id, event));
        }
        for (const auto side : {feed::Side::bid, feed::Side::ask}) {
            const auto& old = before[side == feed::Side::ask];
            const auto now = levels(book, side, depth.depth);
            const auto has = [](const auto& all, const feed::Level& level, bool same) {
                return std::ranges::any_of(all, [&](const auto& each) {
                    return each.price == level.price &&
                           (!same || (each.size == level.size && each.orders == level.orders));
                });
            };
            for (const auto& level : now) {
                if (!has(old, level, true)) group.emplace_back(of(id, level));
            }
            for (auto level : old) {
                // Levels behind the depth vanish without an event, or with one.
                if (has(now, level, false)) continue;
                const auto is_there = std::ranges::any_of(
                    book.orders, [&](const auto& order) { return order.side == side && order.price == level.price; });
                if (is_there && pick(2) == 0) continue;
                level.size = level.orders = 0;
                group.emplace_back(of(id, level));
            }
        }
        if (group.empty() || pick(3) == 0) {
            feed::Quote quote;
            group.emplace_back(of(id, quote));
        }
        return ended(std::move(group));
    }
    /// Changes an order of the book.
    feed::Order step(Book& book) {
        using Action = feed::OrderAction;
        if (book.orders.empty() || (book.orders.size() < 30 && pick(2) == 0)) {
            const auto side = pick(2) == 0 ? feed::Side::bid : feed::Side::ask;
            const auto away = static_cast<feed::Price>(pick(7));
            const auto price = side == feed::Side::bid ? 1'000 - away : 1'001 + away;
            book.orders.push_back({.id = ++ids_, .side = side, .price = price, .size = 1 + pick(9)});
            return added(book.orders.back());
        }
        const auto place = static_cast<std::ptrdiff_t>(pick(book.orders.size()));
        auto& order = book.orders[static_cast<std::size_t>(place)];
        auto event = added(order);
        const auto part = 1 + pick(order.size);
        switch (pick(4)) {
            case 0: event.action = Action::remove; break;
            case 1: {
                event.action = Action::modify;
                order.size = event.size = event.size_left = 1 + pick(9);
                if (pick(2) == 0) return event;
                event.flags |= feed::kPriorityLost;
                std::rotate(book.orders.begin() + place, book.orders.begin() + place + 1, book.orders.end());
                return event;
            }
            default:
                event.action = pick(2) == 0 ? Action::cancel : Action::execute;
                event.size = part;
                event.size_left = order.size - part;
                order.size -= part;
                if (order.size != 0) return event;
        }
        event.size_left = 0;
        book.orders.erase(book.orders.begin() + place);
        return event;
    }

    std::mt19937_64 random_;
    std::uint16_t opened_{0};
    std::uint64_t ids_{0};
    std::array<Book, kInstruments> books_;
};

/// Books of levels and of orders that a reader makes of events.
class DayBooks {
public:
    explicit DayBooks(const market::Books::DepthOf& depth_of)
        : levels_({.max_instruments = OrderDay::kInstruments},
                  [depth_of](std::uint16_t channel) { return market::ChannelDepth{.depth = depth_of(channel).depth}; }),
          orders_({.max_instruments = OrderDay::kInstruments, .orders = 1'000}, [depth_of](std::uint16_t channel) {
              return market::ChannelDepth{.orders = depth_of(channel).orders};
          }) {}

    /// True if a group ends with the event.
    template <class Event>
    bool on(const Event& event) {
        const bool ends = levels_.on(event);
        return orders_.on(event) || ends;
    }
    void reset() {
        levels_.reset();
        orders_.reset();
    }
    [[nodiscard]] OrderDay::State state(feed::InstrumentId id) const {
        OrderDay::State found;
        if (const auto* const book = orders_.find(id); book != nullptr && book->complete()) {
            const auto append = [&](market::Book::Levels levels) {
                for (const auto& level : levels) {
                    found.orders += std::to_string(level.price) + ":";
                    book->visit_orders(level, [&](const market::Book::Order& order) {
                        found.orders += " " + std::to_string(order.id) + "x" + std::to_string(order.size);
                    });
                    found.orders += '\n';
                }
                found.orders += "-\n";
            };
            append(book->bids());
            append(book->asks());
        }
        if (const auto* const book = levels_.find(id); book != nullptr && book->complete()) {
            const auto append = [&](market::Book::Levels levels) {
                for (const auto& level : levels) found.levels += OrderDay::text(level);
                found.levels += "-\n";
            };
            append(book->bids());
            append(book->asks());
        }
        return found;
    }

private:
    market::Books levels_;
    market::Books orders_;
};

}  // namespace millpond::journal
