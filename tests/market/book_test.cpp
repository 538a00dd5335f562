#include <millpond/market/book.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millpond::market {
namespace {

using feed::OrderAction;
using feed::Side;
using testing::ElementsAre;
using testing::IsEmpty;

struct Shown {
    feed::Price price;
    std::uint64_t size;
    std::uint32_t orders;
    friend bool operator==(const Shown&, const Shown&) = default;
};

template <class Levels>
std::vector<Shown> shown(const Levels& levels) {
    std::vector<Shown> result;
    for (const auto& level : levels) result.push_back({level.price, level.size, level.orders});
    return result;
}

feed::Level level(Side side, feed::Price price, std::uint64_t size, std::uint16_t flags = feed::kLast,
                  std::uint32_t orders = 1) {
    feed::Level event;
    event.side = side;
    event.price = price;
    event.size = size;
    event.orders = orders;
    event.flags = flags;
    return event;
}

feed::Order order(OrderAction action, std::uint64_t id, Side side, feed::Price price, std::uint64_t size,
                  std::uint64_t left, std::uint16_t flags = feed::kLast) {
    feed::Order event;
    event.action = action;
    event.order_id = id;
    event.side = side;
    event.price = price;
    event.size = size;
    event.size_left = left;
    event.flags = flags;
    return event;
}
feed::Order added(std::uint64_t id, Side side, feed::Price price, std::uint64_t size,
                  std::uint16_t flags = feed::kLast) {
    return order(OrderAction::add, id, side, price, size, size, flags);
}

std::vector<std::uint64_t> queue_of(const Book& book, const Book::Level& level) {
    std::vector<std::uint64_t> ids;
    book.visit_orders(level, [&](const Book::Order& order) { ids.push_back(order.id); });
    return ids;
}

class LevelBook : public testing::Test {
protected:
    LevelBook() { book_.apply(feed::Clear{}); }
    Book book_{{.depth = 2, .levels = 4}};
};

TEST_F(LevelBook, ShowsTheBestLevelsOfASideFirst) {
    book_.apply(level(Side::bid, 100, 5));
    book_.apply(level(Side::bid, 101, 6, feed::kLast, 3));
    book_.apply(level(Side::ask, 104, 7));
    book_.apply(level(Side::ask, 103, 8));
    EXPECT_THAT(shown(book_.bids()), ElementsAre(Shown{101, 6, 3}, Shown{100, 5, 1}));
    EXPECT_THAT(shown(book_.asks()), ElementsAre(Shown{103, 8, 1}, Shown{104, 7, 1}));
    EXPECT_TRUE(book_.complete());
}

TEST_F(LevelBook, IsTrimmedAtTheEndOfAGroupAndNotBefore) {
    book_.apply(level(Side::bid, 100, 5));
    book_.apply(level(Side::bid, 101, 5));
    EXPECT_FALSE(book_.apply(level(Side::bid, 102, 5, 0)));
    EXPECT_FALSE(book_.complete());
    // Within the group the third level is still known: when the second goes, it is shown.
    EXPECT_TRUE(book_.apply(level(Side::bid, 101, 0)));
    EXPECT_THAT(shown(book_.bids()), ElementsAre(Shown{102, 5, 1}, Shown{100, 5, 1}));
    book_.apply(level(Side::bid, 103, 5));
    book_.apply(level(Side::bid, 103, 0));
    EXPECT_THAT(shown(book_.bids()), ElementsAre(Shown{102, 5, 1}));
}

TEST_F(LevelBook, IsIncompleteUntilAClearOrASnapshot) {
    Book fresh{{.depth = 2, .levels = 4}};
    fresh.apply(level(Side::bid, 100, 5));
    EXPECT_FALSE(fresh.complete());
    fresh.apply(level(Side::none, 0, 0, feed::kSnapshot));
    fresh.apply(level(Side::bid, 99, 1, feed::kSnapshot));
    EXPECT_FALSE(fresh.complete());
    fresh.apply(level(Side::ask, 105, 2, feed::kSnapshot | feed::kLast));
    EXPECT_TRUE(fresh.complete());
    EXPECT_THAT(shown(fresh.bids()), ElementsAre(Shown{99, 1, 1}));
}

TEST_F(LevelBook, AClearOfBooksThatMayLackOrdersLeavesItIncomplete) {
    feed::Clear clear;
    clear.flags = feed::kIncomplete;
    book_.apply(clear);
    EXPECT_FALSE(book_.complete());
    book_.apply(feed::Clear{});
    EXPECT_TRUE(book_.complete());
}

TEST_F(LevelBook, EachLossMakesItIncompleteForGood) {
    const std::vector<std::function<void(Book&)>> losses{
        [](Book& book) { book.apply(feed::Gap{}); }, [](Book& book) { book.apply(queue::MissedRange{3, 4}); },
        [](Book& book) { book.apply(level(Side::bid, 100, 5, feed::kLast | feed::kIncomplete)); },
        [](Book& book) {
            feed::Quote quote;
            quote.flags = feed::kLast | feed::kIncomplete;
            book.apply(quote);
        },
        [](Book& book) {
            for (feed::Price price = 1; price <= 5; ++price) book.apply(level(Side::bid, price, 1, 0));
            book.apply(level(Side::bid, 1, 0));
        }};
    for (const auto& loss : losses) {
        Book book{{.depth = 2, .levels = 4}};
        book.apply(feed::Clear{});
        loss(book);
        EXPECT_FALSE(book.complete());
        book.apply(level(Side::bid, 100, 5));
        EXPECT_FALSE(book.complete());
        book.apply(feed::Clear{});
        EXPECT_TRUE(book.complete());
    }
}

TEST_F(LevelBook, AnOpenGroupEndsWithAClearAGapOrALoss) {
    book_.apply(level(Side::bid, 100, 5, 0));
    EXPECT_TRUE(book_.is_open());
    EXPECT_TRUE(book_.apply(feed::Clear{}));
    EXPECT_TRUE(book_.complete());
    EXPECT_THAT(shown(book_.bids()), IsEmpty());
    book_.apply(level(Side::bid, 100, 5, 0));
    EXPECT_TRUE(book_.apply(feed::Gap{}));
    EXPECT_FALSE(book_.is_open());
    book_.apply(level(Side::bid, 100, 5, 0));
    EXPECT_TRUE(book_.apply(queue::MissedRange{3, 4}));
    EXPECT_FALSE(book_.is_open());
    EXPECT_EQ(book_.faults().gaps, 1U);
    EXPECT_EQ(book_.faults().missed, 1U);
}

TEST_F(LevelBook, ATradeOrAQuoteMayEndTheGroup) {
    EXPECT_FALSE(book_.apply(level(Side::bid, 100, 5, 0)));
    EXPECT_FALSE(book_.apply(feed::Trade{}));
    feed::Quote quote;
    quote.flags = feed::kLast;
    EXPECT_TRUE(book_.apply(quote));
    EXPECT_TRUE(book_.complete());
}

TEST_F(LevelBook, ALockedOrCrossedBookIsCountedAtTheEndOfTheGroup) {
    book_.apply(level(Side::bid, 100, 5));
    book_.apply(level(Side::ask, 100, 5, 0));
    EXPECT_EQ(book_.faults().crossed, 0U);
    book_.apply(level(Side::ask, 99, 5));
    EXPECT_EQ(book_.faults().crossed, 1U);
}

TEST_F(LevelBook, NegativePricesAreOrderedAsOthers) {
    book_.apply(level(Side::bid, -200, 5));
    book_.apply(level(Side::bid, -100, 6));
    book_.apply(level(Side::ask, -50, 7));
    book_.apply(level(Side::ask, 10, 8));
    EXPECT_THAT(shown(book_.bids()), ElementsAre(Shown{-100, 6, 1}, Shown{-200, 5, 1}));
    EXPECT_THAT(shown(book_.asks()), ElementsAre(Shown{-50, 7, 1}, Shown{10, 8, 1}));
}

TEST_F(LevelBook, AnUnknownLevelThatGoesChangesNothing) {
    book_.apply(level(Side::bid, 100, 0));
    EXPECT_TRUE(book_.complete());
    EXPECT_THAT(shown(book_.bids()), IsEmpty());
}

class OrderBook : public testing::Test {
protected:
    OrderBook() { book_.apply(feed::Clear{}); }
    Book book_{{.depth = 2, .levels = 8, .orders = 4}};
};

TEST_F(OrderBook, KeepsTheOrdersOfALevelInTheOrderOfTheirPriority) {
    book_.apply(added(1, Side::bid, 100, 10));
    book_.apply(added(2, Side::bid, 100, 20));
    book_.apply(added(3, Side::bid, 100, 30));
    EXPECT_THAT(queue_of(book_, book_.bids()[0]), ElementsAre(1, 2, 3));
    book_.apply(order(OrderAction::execute, 1, Side::bid, 100, 4, 6));
    EXPECT_THAT(queue_of(book_, book_.bids()[0]), ElementsAre(1, 2, 3));
    EXPECT_THAT(shown(book_.bids()), ElementsAre(Shown{100, 56, 3}));
    book_.apply(order(OrderAction::modify, 2, Side::bid, 100, 5, 5));
    EXPECT_THAT(queue_of(book_, book_.bids()[0]), ElementsAre(1, 2, 3));
    book_.apply(order(OrderAction::modify, 1, Side::bid, 100, 9, 9, feed::kLast | feed::kPriorityLost));
    EXPECT_THAT(queue_of(book_, book_.bids()[0]), ElementsAre(2, 3, 1));
    book_.apply(order(OrderAction::modify, 3, Side::bid, 101, 7, 7));
    EXPECT_THAT(shown(book_.bids()), ElementsAre(Shown{101, 7, 1}, Shown{100, 14, 2}));
    book_.apply(order(OrderAction::cancel, 2, Side::bid, 100, 5, 0));
    book_.apply(order(OrderAction::remove, 1, Side::bid, 100, 9, 0));
    EXPECT_THAT(shown(book_.bids()), ElementsAre(Shown{101, 7, 1}));
    EXPECT_EQ(book_.live_orders(), 1U);
    ASSERT_NE(book_.order(3), nullptr);
    EXPECT_EQ(book_.order(3)->size, 7U);
    EXPECT_EQ(book_.order(1), nullptr);
    EXPECT_TRUE(book_.complete());
}

TEST_F(OrderBook, ShowsNoMoreThanItsDepthAndForgetsNothingBehindIt) {
    for (std::uint64_t id = 1; id <= 4; ++id) book_.apply(added(id, Side::ask, 100 + feed::Price(id), 1));
    EXPECT_THAT(shown(book_.asks()), ElementsAre(Shown{101, 1, 1}, Shown{102, 1, 1}));
    book_.apply(order(OrderAction::remove, 1, Side::ask, 101, 1, 0));
    book_.apply(order(OrderAction::remove, 2, Side::ask, 102, 1, 0));
    EXPECT_THAT(shown(book_.asks()), ElementsAre(Shown{103, 1, 1}, Shown{104, 1, 1}));
}

TEST_F(OrderBook, EachContradictionMakesItIncompleteAndIsCounted) {
    const auto contradicted = [](const feed::Order& event, auto counter) {
        Book book{{.depth = 2, .levels = 2, .orders = 3}};
        book.apply(feed::Clear{});
        book.apply(added(1, Side::bid, 100, 10));
        book.apply(added(2, Side::bid, 101, 10));
        EXPECT_TRUE(book.complete());
        book.apply(event);
        EXPECT_FALSE(book.complete());
        return book.faults().*counter;
    };
    EXPECT_EQ(contradicted(order(OrderAction::cancel, 9, Side::bid, 100, 1, 1), &Book::Faults::unknown_orders), 1U);
    EXPECT_EQ(contradicted(added(1, Side::bid, 100, 1), &Book::Faults::wrong_orders), 1U);
    EXPECT_EQ(contradicted(added(3, Side::none, 100, 1), &Book::Faults::wrong_orders), 1U);
    EXPECT_EQ(contradicted(added(3, Side::bid, 100, 0), &Book::Faults::wrong_orders), 1U);
    EXPECT_EQ(contradicted(added(3, Side::bid, 100, ~std::uint64_t{0}), &Book::Faults::wrong_orders), 1U);
    EXPECT_EQ(contradicted(added(3, Side::bid, 102, 1), &Book::Faults::refused_levels), 1U);
    EXPECT_EQ(contradicted(order(OrderAction::execute, 1, Side::bid, 100, 11, 0), &Book::Faults::wrong_orders), 1U);
    EXPECT_EQ(contradicted(order(OrderAction::execute, 1, Side::bid, 100, 3, 3), &Book::Faults::wrong_orders), 1U);
    EXPECT_EQ(contradicted(order(OrderAction::modify, 1, Side::ask, 100, 3, 3), &Book::Faults::wrong_orders), 1U);
    Book full{{.depth = 2, .levels = 2, .orders = 1}};
    full.apply(feed::Clear{});
    full.apply(added(1, Side::bid, 100, 10));
    full.apply(added(2, Side::bid, 100, 10));
    EXPECT_EQ(full.faults().refused_orders, 1U);
    EXPECT_FALSE(full.complete());
}

TEST_F(OrderBook, ASnapshotOfOrdersReplacesThem) {
    book_.apply(added(1, Side::bid, 100, 10));
    book_.apply(feed::Gap{});
    book_.apply(order(OrderAction::clear, 0, Side::none, 0, 0, 0, feed::kSnapshot));
    book_.apply(added(7, Side::bid, 99, 5, feed::kSnapshot));
    EXPECT_FALSE(book_.complete());
    book_.apply(added(8, Side::ask, 101, 5, feed::kSnapshot | feed::kLast));
    EXPECT_TRUE(book_.complete());
    EXPECT_THAT(shown(book_.bids()), ElementsAre(Shown{99, 5, 1}));
    EXPECT_EQ(book_.live_orders(), 2U);
}

TEST(Book, RefusesOptionsOutOfTheirRange) {
    EXPECT_THROW(Book({.depth = 0, .levels = 1}), std::invalid_argument);
    EXPECT_THROW(Book({.depth = 10, .levels = 9}), std::invalid_argument);
    EXPECT_THROW(Book({.depth = feed::kFullDepth, .levels = 0}), std::invalid_argument);
    EXPECT_NO_THROW(Book({.depth = feed::kFullDepth, .levels = 1, .orders = 1}));
}

/// A venue's book of ordered maps, and the events that it sends to readers of a depth.
class Venue {
public:
    struct Order {
        Side side;
        feed::Price price;
        std::uint64_t size;
    };
    using Ladder = std::vector<Shown>;

    [[nodiscard]] Ladder ladder(Side side) const {
        std::map<feed::Price, Shown> levels;
        for (const auto& [id, order] : orders_) {
            if (order.side != side) continue;
            auto& level = levels.try_emplace(order.price, Shown{order.price, 0, 0}).first->second;
            level.size += order.size;
            ++level.orders;
        }
        Ladder result;
        for (const auto& [price, level] : levels) result.push_back(level);
        if (side == Side::bid) std::ranges::reverse(result);
        return result;
    }
    [[nodiscard]] Ladder best(Side side, std::size_t depth) const {
        auto all = ladder(side);
        all.resize(std::min(all.size(), depth));
        return all;
    }
    [[nodiscard]] const std::list<std::uint64_t>& queue(Side side, feed::Price price) const {
        return queues_.at({side, price});
    }

    /// A change of the book at random; the order events of one group.
    std::vector<feed::Order> change(std::mt19937_64& random) {
        const auto pick = [&](std::uint64_t bound) { return random() % bound; };
        const auto price = [&](Side side) {
            return side == Side::bid ? -feed::Price(pick(40)) : 1 + feed::Price(pick(40));
        };
        std::vector<feed::Order> events;
        const auto insert = [&](std::uint64_t id, Side side, std::uint16_t flags) {
            const Order fresh{side, price(side), 1 + pick(50)};
            events.push_back(added(id, side, fresh.price, fresh.size, flags));
            enter(id, fresh);
        };
        if (orders_.size() < 5 || (orders_.size() < 90 && pick(2) == 0)) {
            insert(++newest_, pick(2) == 0 ? Side::bid : Side::ask, 0);
            return events;
        }
        auto found = std::next(orders_.begin(), std::ptrdiff_t(pick(orders_.size())));
        const auto id = found->first;
        const auto before = found->second;
        switch (pick(5)) {
            case 0: {
                events.push_back(order(OrderAction::remove, id, before.side, before.price, before.size, 0, 0));
                leave(id);
                break;
            }
            case 1:
            case 2: {
                const auto action = pick(2) == 0 ? OrderAction::cancel : OrderAction::execute;
                const auto taken = 1 + pick(before.size);
                const auto left = before.size - taken;
                events.push_back(order(action, id, before.side, before.price, taken, left, 0));
                found->second.size = left;
                if (left == 0) leave(id);
                break;
            }
            case 3: {
                events.push_back(order(OrderAction::cancel, id, before.side, before.price, before.size, 0, 0));
                leave(id);
                insert(++newest_, before.side, feed::kPriorityLost);
                break;
            }
            default: {
                auto after = before;
                after.size = 1 + pick(50);
                const bool moves = pick(2) == 0;
                if (moves) after.price = price(before.side);
                const bool loses = moves || pick(2) == 0;
                events.push_back(order(OrderAction::modify, id, before.side, after.price, after.size, after.size,
                                       loses ? feed::kPriorityLost : 0));
                if (loses) {
                    leave(id);
                    enter(id, after);
                } else {
                    found->second = after;
                }
            }
        }
        return events;
    }

    /// The level events of a change that has made the ladders `after` of `before`.
    static std::vector<feed::Level> levels_of(Side side, const Ladder& before, const Ladder& after, std::size_t depth) {
        std::vector<feed::Level> events;
        const auto find = [](const Ladder& ladder, feed::Price price, std::size_t most) -> const Shown* {
            for (std::size_t i = 0; i < std::min(most, ladder.size()); ++i) {
                if (ladder[i].price == price) return &ladder[i];
            }
            return nullptr;
        };
        for (std::size_t i = 0; i < std::min(depth, before.size()); ++i) {
            if (find(after, before[i].price, after.size()) == nullptr)
                events.push_back(level(side, before[i].price, 0, 0, 0));
        }
        for (std::size_t i = 0; i < std::min(depth, after.size()); ++i) {
            const auto* const old = find(before, after[i].price, depth);
            if (old == nullptr || *old != after[i])
                events.push_back(level(side, after[i].price, after[i].size, 0, after[i].orders));
        }
        return events;
    }

private:
    void enter(std::uint64_t id, const Order& order) {
        orders_[id] = order;
        queues_[{order.side, order.price}].push_back(id);
    }
    void leave(std::uint64_t id) {
        const auto found = orders_.find(id);
        queues_[{found->second.side, found->second.price}].remove(id);
        orders_.erase(found);
    }

    std::map<std::uint64_t, Order> orders_;
    std::map<std::pair<Side, feed::Price>, std::list<std::uint64_t>> queues_;
    std::uint64_t newest_{0};
};

TEST(Book, OfOrdersAndOfLevelsEqualsAVenuesBookAtTheEndOfEachGroup) {
    for (const std::size_t depth : {1U, 3U, 10U, 50U}) {
        std::mt19937_64 random{depth};
        Venue venue;
        Book of_orders{{.depth = static_cast<std::uint32_t>(depth), .levels = 64, .orders = 128}};
        Book of_levels{{.depth = static_cast<std::uint32_t>(depth), .levels = 64}};
        of_orders.apply(feed::Clear{});
        of_levels.apply(feed::Clear{});
        for (int step = 0; step < 4'000; ++step) {
            const Venue::Ladder before[2]{venue.ladder(Side::bid), venue.ladder(Side::ask)};
            auto orders = venue.change(random);
            std::vector<feed::Level> levels;
            for (const auto side : {Side::bid, Side::ask}) {
                const auto more = Venue::levels_of(side, before[side == Side::ask], venue.ladder(side), depth);
                levels.insert(levels.end(), more.begin(), more.end());
            }
            std::ranges::shuffle(levels, random);
            orders.back().flags |= feed::kLast;
            for (const auto& event : orders) ASSERT_EQ(of_orders.apply(event), (event.flags & feed::kLast) != 0);
            if (!levels.empty()) levels.back().flags |= feed::kLast;
            for (const auto& event : levels) of_levels.apply(event);
            ASSERT_TRUE(of_orders.complete() && of_levels.complete()) << "step " << step;
            for (const auto side : {Side::bid, Side::ask}) {
                const auto expected = venue.best(side, depth);
                ASSERT_EQ(shown(side == Side::bid ? of_orders.bids() : of_orders.asks()), expected) << "step " << step;
                ASSERT_EQ(shown(side == Side::bid ? of_levels.bids() : of_levels.asks()), expected) << "step " << step;
                for (const auto& level : side == Side::bid ? of_orders.bids() : of_orders.asks()) {
                    const auto& queue = venue.queue(side, level.price);
                    ASSERT_EQ(queue_of(of_orders, level), std::vector(queue.begin(), queue.end())) << "step " << step;
                }
            }
        }
    }
}

}  // namespace
}  // namespace millpond::market
