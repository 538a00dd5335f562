#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/feed/order_books.hpp>

namespace millpond::feed {
namespace {

using Outcome = OrderBooks::Outcome;

TEST(OrderStore, FindsWhatWasPutAndNothingAfterErasingInAnyOrder) {
    constexpr std::size_t kCapacity = 1'000;
    OrderStore store{kCapacity};
    std::mt19937_64 random{11};
    std::unordered_map<std::uint64_t, std::uint32_t> model;
    for (int i = 0; i < 200'000; ++i) {
        const auto number = random() % 3'000;
        if (random() % 2 == 0) {
            const auto shares = static_cast<std::uint32_t>(random() % 1'000 + 1);
            const bool expected = model.size() < kCapacity && !model.contains(number);
            ASSERT_EQ(store.put({.number = number, .shares = shares}), expected);
            if (expected) model[number] = shares;
        } else if (auto* const order = store.find(number)) {
            ASSERT_EQ(order->shares, model.at(number));
            store.erase(order);
            model.erase(number);
        } else {
            ASSERT_FALSE(model.contains(number));
        }
        ASSERT_EQ(store.size(), model.size());
    }
    for (std::uint64_t number = 0; number < 3'000; ++number) {
        ASSERT_EQ(store.find(number) != nullptr, model.contains(number));
    }
    store.clear();
    for (std::uint64_t number = 0; number < 3'000; ++number) ASSERT_EQ(store.find(number), nullptr);
    EXPECT_THROW(OrderStore{0}, std::invalid_argument);
}

TEST(OrderStore, AVisitInPartsMeetsEveryOrderThatExistsFromItsStartToItsEnd) {
    std::mt19937_64 random{12};
    std::size_t checked = 0;
    for (int round = 0; round < 2'000; ++round) {
        OrderStore store{24};
        std::set<std::uint64_t> staying;
        const auto draw = [&] { return random() % 1'000; };
        while (store.size() < 20) {
            const auto number = draw();
            if (store.put({.number = number, .shares = 1})) staying.insert(number);
        }
        std::set<std::uint64_t> visited;
        auto left = store.slots();
        while (left != 0) {
            left = store.visit(left, 5, [&](const OrderStore::Order& order) { visited.insert(order.number); });
            for (int i = 0; i < 2; ++i) {
                static_cast<void>(store.put({.number = draw(), .shares = 1}));
                const auto gone = std::next(staying.begin(), static_cast<std::ptrdiff_t>(random() % staying.size()));
                if (staying.size() < 5) continue;
                store.erase(store.find(*gone));
                staying.erase(gone);
            }
        }
        for (const auto number : staying) ASSERT_TRUE(visited.contains(number)) << "round " << round;
        checked += staying.size();
    }
    EXPECT_GT(checked, 2'000U);
}

TEST(OrderStore, GrowsWithEveryOrderInItsPlaceAndRefusesWhatIsTooLarge) {
    OrderStore store{2};
    std::uint64_t put = 0;
    for (std::size_t capacity = 2; capacity < 5'000; capacity *= 3) {
        ASSERT_TRUE(store.try_grow(capacity));
        ASSERT_EQ(store.capacity(), capacity);
        while (put < capacity) {
            ASSERT_TRUE(store.put({.number = put * 977, .shares = static_cast<std::uint32_t>(put + 1)}));
            ++put;
        }
        ASSERT_FALSE(store.put({.number = 3, .shares = 1}));
        for (std::uint64_t i = 0; i < put; ++i) ASSERT_EQ(store.find(i * 977)->shares, i + 1);
    }
    EXPECT_FALSE(store.try_grow((std::size_t{1} << 28U) + 1));
    EXPECT_TRUE(store.try_grow(1));
    EXPECT_EQ(store.size(), put);
    store.erase(store.find(977));
    EXPECT_EQ(store.find(977), nullptr);
}

TEST(PriceLevels, ReportThatTheyAreFullAndHoldAtLeastOneThousandFiveHundredLevels) {
    for (const int pattern : {0, 1, 2}) {
        LevelPool pool{1'000};
        PriceLevels levels;
        std::mt19937 random{5};
        std::uint32_t added = 0;
        std::map<std::uint32_t, std::uint64_t> model;
        while (added < 10'000) {
            const auto key = pattern == 0   ? added
                             : pattern == 1 ? 20'000 - added
                                            : static_cast<std::uint32_t>(random());
            if (model.contains(key)) continue;
            if (!levels.add(pool, key, key + 1)) break;
            model[key] = key + 1;
            ++added;
        }
        EXPECT_GE(added, 1'536U);
        EXPECT_LE(added, 4'096U);
        auto expected = model.rbegin();
        levels.visit(pool, [&](const PriceLevels::Level& level) {
            ASSERT_EQ(level.key, expected->first);
            ASSERT_EQ(level.total, expected->second);
            ++expected;
        });
        EXPECT_EQ(expected, model.rend());
        for (const auto& [key, shares] : model) ASSERT_TRUE(levels.reduce(pool, key, shares));
        EXPECT_EQ(levels.best().total, 0U);
        EXPECT_FALSE(levels.reduce(pool, 1, 1));
    }
}

TEST(PriceLevels, GiveTheirChunksBackWhenAPriceWanders) {
    LevelPool pool{3};  // two for the levels, one while they split
    PriceLevels levels;
    for (std::uint32_t price = 1; price < 100'000; ++price) {
        ASSERT_TRUE(levels.add(pool, price, 1));
        if (price > 40) {
            ASSERT_TRUE(levels.reduce(pool, price - 40, 1));
        }
    }
    EXPECT_EQ(levels.best().key, 99'999U);
}

TEST(PriceLevels, RefuseALevelWhenThePoolIsEmptyAndKeepTheOthers) {
    LevelPool pool{1};
    PriceLevels levels;
    constexpr std::uint32_t kBest = LevelChunk::kLevels;  // the best level needs no place in the chunk
    for (std::uint32_t price = 0; price <= kBest; ++price) ASSERT_TRUE(levels.add(pool, price, 1));
    EXPECT_FALSE(levels.add(pool, 1'000, 1));
    EXPECT_TRUE(levels.add(pool, kBest, 5));  // an existing level needs no capacity
    EXPECT_TRUE(levels.add(pool, kBest - 1, 6));
    EXPECT_EQ(levels.best().key, kBest);
    EXPECT_EQ(levels.best().total, 6U);
    std::uint32_t visited = 0;
    levels.visit(pool, [&](const PriceLevels::Level& level) {
        EXPECT_EQ(level.key, kBest - visited);
        EXPECT_EQ(level.total, visited == 0 ? 6U : visited == 1 ? 7U : 1U);
        ++visited;
    });
    EXPECT_EQ(visited, kBest + 1);
}

TEST(PriceLevels, OneLevelASideNeedsNoChunk) {
    LevelPool pool{0};
    PriceLevels levels;
    EXPECT_TRUE(levels.add(pool, 7, 1));
    EXPECT_FALSE(levels.add(pool, 8, 1));
    EXPECT_FALSE(levels.add(pool, 6, 1));
    EXPECT_EQ(levels.best().key, 7U);
    EXPECT_FALSE(levels.reduce(pool, 8, 1));
    EXPECT_FALSE(levels.reduce(pool, 6, 1));
    EXPECT_TRUE(levels.reduce(pool, 7, 1));
    EXPECT_EQ(levels.best().total, 0U);
    EXPECT_TRUE(levels.add(pool, 6, 1));
}

TEST(PriceLevels, SidesThatShareAPoolAgreeWithAMapAndGiveEverythingBack) {
    constexpr std::size_t kSides = 4;
    constexpr std::size_t kChunks = 40;
    LevelPool pool{kChunks};
    std::array<PriceLevels, kSides> sides;
    std::array<std::map<std::uint32_t, std::uint64_t>, kSides> models;
    std::mt19937 random{17};
    std::size_t refused = 0;
    for (int step = 0; step < 200'000; ++step) {
        const auto which = random() % kSides;
        auto& model = models[which];
        const std::uint32_t span = step % 20'000 < 10'000 ? 2'000 : 60;  // deep books, then shallow ones
        const auto key = static_cast<std::uint32_t>(random() % span);
        const std::uint64_t shares = random() % 3 + 1;
        if (random() % 2 == 0) {
            if (sides[which].add(pool, key, shares)) {
                model[key] += shares;
            } else {
                ASSERT_FALSE(model.contains(key));
                ++refused;
            }
        } else {
            const auto at = model.lower_bound(key);
            ASSERT_EQ(sides[which].reduce(pool, key, shares), at != model.end() && at->first == key);
            const auto victim = at == model.end() || at->first != key ? model.end() : at;
            if (victim != model.end() && (victim->second -= std::min(victim->second, shares)) == 0) model.erase(victim);
        }
        ASSERT_EQ(sides[which].best().total, model.empty() ? 0 : model.rbegin()->second);
        if (step % 1'000 != 0) continue;
        auto expected = model.rbegin();
        sides[which].visit(pool, [&](const PriceLevels::Level& level) {
            ASSERT_NE(expected, model.rend());
            ASSERT_EQ(level.key, expected->first);
            ASSERT_EQ(level.total, expected->second);
            ++expected;
        });
        ASSERT_EQ(expected, model.rend());
    }
    EXPECT_GT(refused, 0U);
    for (std::size_t which = 0; which < kSides; ++which) {
        for (const auto& [key, shares] : models[which]) ASSERT_TRUE(sides[which].reduce(pool, key, shares));
        ASSERT_EQ(sides[which].best().total, 0U);
    }
    for (std::size_t i = 0; i < kChunks; ++i) ASSERT_NE(pool.acquire(), LevelPool::kNone);
    for (std::size_t i = 0; i < kChunks / 2; ++i) ASSERT_NE(pool.acquire_directory(), LevelPool::kNone);
}

// The model: orders in a hash map, levels in ordered maps.
class Model {
public:
    Outcome add(std::uint16_t book, std::uint64_t number, bool is_bid, std::uint32_t shares, std::uint32_t price) {
        if (orders_.contains(number)) return Outcome::duplicate_order;
        orders_[number] = {book, is_bid, shares, price};
        levels(book, is_bid)[price] += shares;
        return Outcome::done;
    }
    Outcome reduce(std::uint64_t number, std::uint32_t shares) {
        const auto found = orders_.find(number);
        if (found == orders_.end()) return Outcome::unknown_order;
        auto& order = found->second;
        const bool too_many = shares > order.shares;
        shares = std::min(shares, order.shares);
        auto& side = levels(order.book, order.is_bid);
        side[order.price] -= shares;
        if (side[order.price] == 0) side.erase(order.price);
        order.shares -= shares;
        if (order.shares == 0) orders_.erase(found);
        return too_many ? Outcome::too_many_shares : Outcome::done;
    }
    Outcome remove(std::uint64_t number) {
        return orders_.contains(number) ? reduce(number, orders_[number].shares) : Outcome::unknown_order;
    }
    Outcome replace(std::uint64_t number, std::uint64_t new_number, std::uint32_t shares, std::uint32_t price) {
        if (!orders_.contains(number)) return Outcome::unknown_order;
        if (number != new_number && orders_.contains(new_number)) return Outcome::duplicate_order;
        const auto old = orders_[number];
        remove(number);
        return add(old.book, new_number, old.is_bid, shares, price);
    }
    OrderBooks::Top top(std::uint16_t book) {
        OrderBooks::Top top;
        if (const auto& bids = levels(book, true); !bids.empty()) {
            top.bid_price = bids.rbegin()->first;
            top.bid_size = bids.rbegin()->second;
        }
        if (const auto& asks = levels(book, false); !asks.empty()) {
            top.ask_price = asks.begin()->first;
            top.ask_size = asks.begin()->second;
        }
        return top;
    }
    std::map<std::uint32_t, std::uint64_t>& levels(std::uint16_t book, bool is_bid) { return levels_[{book, is_bid}]; }
    [[nodiscard]] std::size_t live_orders() const { return orders_.size(); }

private:
    struct Order {
        std::uint16_t book;
        bool is_bid;
        std::uint32_t shares;
        std::uint32_t price;
    };
    std::unordered_map<std::uint64_t, Order> orders_;
    std::map<std::pair<std::uint16_t, bool>, std::map<std::uint32_t, std::uint64_t>> levels_;
};

TEST(OrderBooks, AgreesWithAPlainModelOverRandomOrders) {
    for (const std::uint32_t prices : {20U, 3'000U}) {
        std::mt19937 random{prices};
        OrderBooks books{{.books = 3, .orders = 50'000, .level_chunks = 600}};
        Model model;
        for (std::uint64_t i = 1; i <= 150'000; ++i) {
            const auto number = random() % i % 40'000;
            const auto other = random() % 40'000;
            const auto price = static_cast<std::uint32_t>(1 + random() % prices);
            const auto shares = static_cast<std::uint32_t>(1 + random() % 500);
            const auto which = static_cast<std::uint16_t>(random() % 3);
            const bool is_bid = random() % 2 == 0;
            switch (random() % 5) {
                case 0:
                case 1:
                    ASSERT_EQ(books.add(which, other, is_bid, shares, price),
                              model.add(which, other, is_bid, shares, price));
                    break;
                case 2: ASSERT_EQ(books.reduce(number, shares), model.reduce(number, shares)); break;
                case 3: ASSERT_EQ(books.remove(number), model.remove(number)); break;
                default:
                    ASSERT_EQ(books.replace(number, other, shares, price), model.replace(number, other, shares, price));
            }
            ASSERT_EQ(books.top(which), model.top(which));
            ASSERT_EQ(books.live_orders(), model.live_orders());
        }
        for (std::uint16_t which = 0; which < 3; ++which) {
            using Levels = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
            Levels bids;
            Levels asks;
            const auto list = [&](bool is_bid, Levels& levels) {
                books.visit_levels(which, is_bid, [&](const OrderBooks::Level& level) {
                    EXPECT_EQ(books.level(which, is_bid, level.price).orders, level.orders);
                    EXPECT_EQ(books.level_at(which, is_bid, levels.size()).shares, level.shares);
                    levels.emplace_back(level.price, level.shares);
                });
                EXPECT_EQ(books.levels(which, is_bid), levels.size());
                EXPECT_EQ(books.level_at(which, is_bid, levels.size()).shares, 0U);
            };
            list(true, bids);
            list(false, asks);
            const auto& model_bids = model.levels(which, true);
            const auto& model_asks = model.levels(which, false);
            EXPECT_EQ(bids, (Levels{model_bids.rbegin(), model_bids.rend()}));
            EXPECT_EQ(asks, (Levels{model_asks.begin(), model_asks.end()}));
        }
    }
}

TEST(OrderBooks, RefusesAnOrderThatDoesNotFitAndKeepsTheOthers) {
    OrderBooks books{{.books = 1, .orders = 2, .level_chunks = 4}};
    EXPECT_EQ(books.add(0, 1, true, 10, 100), Outcome::done);
    EXPECT_EQ(books.add(0, 2, true, 10, 100), Outcome::done);
    EXPECT_EQ(books.add(0, 3, true, 10, 200), Outcome::full);
    EXPECT_EQ(books.top(0).bid_price, 100U);
    EXPECT_EQ(books.top(0).bid_size, 20U);
    EXPECT_EQ(books.remove(3), Outcome::unknown_order);
    EXPECT_EQ(books.remove(1), Outcome::done);
    EXPECT_EQ(books.add(0, 3, true, 10, 200), Outcome::done);
}

TEST(OrderBooks, AnOrderWhoseLevelDoesNotFitIsNotKeptSoThatNoSharesAreSubtractedTwice) {
    OrderBooks books{{.books = 1, .orders = 10, .level_chunks = 1}};
    EXPECT_EQ(books.add(0, 1, true, 10, 100), Outcome::done);
    EXPECT_EQ(books.add(0, 2, true, 10, 99), Outcome::done);
    EXPECT_EQ(books.add(0, 3, false, 10, 102), Outcome::done);
    for (const std::uint32_t price : {101U, 103U}) {  // the asks have no chunk
        EXPECT_EQ(books.add(0, 4, false, 10, price), Outcome::full);
        EXPECT_EQ(books.remove(4), Outcome::unknown_order);
        EXPECT_EQ(books.top(0).ask_price, 102U);
        EXPECT_EQ(books.top(0).ask_size, 10U);
    }
    EXPECT_EQ(books.live_orders(), 3U);
    EXPECT_EQ(books.replace(2, 2, 10, 101), Outcome::done);  // frees the chunk and allocates it again
    EXPECT_EQ(books.top(0).bid_price, 101U);
    EXPECT_EQ(books.remove(1), Outcome::done);
    EXPECT_EQ(books.add(0, 4, false, 10, 101), Outcome::done);
}

TEST(OrderBooks, ALevelHasTheSharesAndTheNumberOfItsOrders) {
    OrderBooks books{{.books = 1, .orders = 10, .level_chunks = 4}};
    EXPECT_EQ(books.add(0, 1, true, 10, 100), Outcome::done);
    EXPECT_EQ(books.add(0, 2, true, 20, 100), Outcome::done);
    EXPECT_EQ(books.add(0, 3, true, 5, 90), Outcome::done);
    EXPECT_EQ(books.level(0, true, 100).orders, 2U);
    EXPECT_EQ(books.level(0, true, 100).shares, 30U);
    EXPECT_EQ(books.reduce(1, 4), Outcome::done);
    EXPECT_EQ(books.level(0, true, 100).orders, 2U);
    EXPECT_EQ(books.reduce(1, 6), Outcome::done);
    EXPECT_EQ(books.level(0, true, 100).orders, 1U);
    EXPECT_EQ(books.level_at(0, true, 1).price, 90U);
    EXPECT_EQ(books.remove(2), Outcome::done);
    EXPECT_EQ(books.level(0, true, 100).shares, 0U);
    EXPECT_EQ(books.level_at(0, true, 0).price, 90U);
    EXPECT_EQ(books.levels(0, true), 1U);
}

TEST(OrderBooks, RefusesAnOrderWithWhichTheTotalOfALevelWouldNotFit) {
    constexpr std::uint32_t kShares = 0xFFFF'FFFF;
    constexpr std::uint64_t kFit = 2'048;  // a total has less than 2^43 shares
    OrderBooks books{{.books = 1, .orders = 5'000, .level_chunks = 4}};
    for (const std::uint32_t best : {0U, 1U}) {  // the level at the best price, then behind it
        for (std::uint64_t number = 1; number <= kFit; ++number)
            ASSERT_EQ(books.add(0, number, true, kShares, 100), Outcome::done);
        EXPECT_EQ(books.add(0, 5'000, true, kShares, 100), Outcome::full);
        EXPECT_EQ(books.level(0, true, 100).shares, kFit * kShares);
        EXPECT_EQ(books.level(0, true, 100).orders, kFit);
        EXPECT_EQ(books.remove(5'000), Outcome::unknown_order);
        books.clear();
        if (best == 0) {
            ASSERT_EQ(books.add(0, 9'999, true, 1, 200), Outcome::done);
        }
    }
}

TEST(OrderBooks, GrowingBooksKeepEveryOrderUpToTheirBound) {
    OrderBooks fixed{{.books = 3, .orders = 4'096, .level_chunks = 512}};
    OrderBooks growing{{.books = 3, .orders = 4, .level_chunks = 2, .growth = 256}};
    std::mt19937 random{7};
    std::vector<std::uint64_t> live;
    std::uint64_t next = 1;
    for (int step = 0; step < 20'000; ++step) {
        const auto what = random() % 8;
        if (live.empty() || (what < 5 && live.size() < 1'024)) {
            const auto book = static_cast<std::uint16_t>(random() % 3);
            const bool is_bid = random() % 2 == 0;
            const auto price = static_cast<std::uint32_t>(1'000 + random() % 500);
            ASSERT_EQ(fixed.add(book, next, is_bid, 10, price), Outcome::done);
            ASSERT_EQ(growing.add(book, next, is_bid, 10, price), Outcome::done);
            live.push_back(next++);
        } else {
            const auto at = random() % live.size();
            if (what == 7) {
                const auto price = static_cast<std::uint32_t>(1'000 + random() % 500);
                ASSERT_EQ(fixed.replace(live[at], next, 5, price), Outcome::done);
                ASSERT_EQ(growing.replace(live[at], next, 5, price), Outcome::done);
                live[at] = next++;
            } else {
                ASSERT_EQ(fixed.remove(live[at]), Outcome::done);
                ASSERT_EQ(growing.remove(live[at]), Outcome::done);
                live[at] = live.back();
                live.pop_back();
            }
        }
        for (std::uint16_t book = 0; book < 3; ++book) ASSERT_EQ(growing.top(book), fixed.top(book));
    }
    while (growing.live_orders() < 1'024) ASSERT_EQ(growing.add(0, next++, true, 1, 1'000), Outcome::done);
    EXPECT_EQ(growing.add(0, next, true, 1, 1'000), Outcome::full);
    for (const auto number : live) EXPECT_NE(growing.find(number), nullptr);
}

TEST(OrderBooks, GrowingBooksAddLevels) {
    OrderBooks books{{.books = 1, .orders = 2'000, .level_chunks = 2, .growth = 64}};
    std::uint64_t number = 1;
    while (number < 1'500) {
        ASSERT_EQ(books.add(0, number, true, 1, static_cast<std::uint32_t>(number)), Outcome::done);
        ++number;
    }
    std::uint32_t levels = 0;
    books.visit_levels(0, true, [&](const OrderBooks::Level& level) {
        ASSERT_EQ(level.price, 1'499 - levels);
        ASSERT_EQ(level.shares, 1U);
        ASSERT_EQ(books.level_at(0, true, levels).price, level.price);
        ASSERT_EQ(books.level(0, true, level.price).orders, 1U);
        ++levels;
    });
    EXPECT_EQ(levels, 1'499U);
    EXPECT_EQ(books.levels(0, true), levels);
    EXPECT_EQ(books.level(0, true, 1'500).shares, 0U);
    std::uint32_t visited = 0;
    books.visit_levels(0, true, [&](const OrderBooks::Level&) { ++visited; }, 10);
    EXPECT_EQ(visited, 10U);
    books.clear();
    EXPECT_EQ(books.add(0, 1, false, 1, 5), Outcome::done);
}

TEST(OrderBooks, AClearEmptiesEveryBookAndMakesItComplete) {
    OrderBooks books{{.books = 2, .orders = 10, .level_chunks = 4}};
    EXPECT_EQ(books.add(1, 1, true, 10, 100), Outcome::done);
    books.mark_incomplete(1);
    EXPECT_FALSE(books.is_complete(1));
    EXPECT_TRUE(books.is_complete(0));
    books.clear();
    EXPECT_TRUE(books.is_complete(1));
    EXPECT_EQ(books.top(1), OrderBooks::Top{});
    EXPECT_EQ(books.live_orders(), 0U);
    EXPECT_EQ(books.add(1, 1, false, 5, 50), Outcome::done);
    EXPECT_EQ(books.top(1).bid_size, 0U);
    EXPECT_EQ(books.top(1).ask_price, 50U);
}

TEST(OrderBooks, RefusesSizesThatCannotBe) {
    EXPECT_THROW(OrderBooks({.books = 0}), std::invalid_argument);
    EXPECT_THROW(OrderBooks({.books = 65'537}), std::invalid_argument);
}

}  // namespace
}  // namespace millpond::feed
