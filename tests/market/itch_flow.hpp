#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/price.hpp>
#include <millpond/market/book.hpp>

#include "tests/market/rung.hpp"

/// ITCH messages at random, and the books that they make.
namespace millpond::market {

using feed::Side;
using Message = std::span<const std::byte>;

using Ladder = std::vector<Rung>;

/// The books of a channel as its messages make them, by the specification's offsets.
class Oracle {
public:
    void apply(Message message) {
        const auto* const at = message.data();
        const auto u16 = [&](std::size_t offset) { return core::load_be<std::uint16_t>(at + offset); };
        const auto u32 = [&](std::size_t offset) { return core::load_be<std::uint32_t>(at + offset); };
        const auto u64 = [&](std::size_t offset) { return core::load_be<std::uint64_t>(at + offset); };
        switch (static_cast<char>(at[0])) {
            case 'A':
            case 'F':
                enter(u64(11), {u16(1), static_cast<char>(at[19]) == 'B' ? Side::bid : Side::ask, u32(32), u32(20)});
                break;
            case 'E':
            case 'C':
            case 'X': reduce(u64(11), u32(19)); break;
            case 'D': reduce(u64(11), orders_.at(u64(11)).shares); break;
            case 'U': {
                auto order = orders_.at(u64(11));
                reduce(u64(11), order.shares);
                order.shares = u32(27);
                order.price = u32(31);
                enter(u64(19), order);
                break;
            }
            default: break;
        }
    }
    [[nodiscard]] Ladder best(std::uint16_t locate, Side side, std::size_t depth) const {
        Ladder ladder;
        const auto found = levels_.find({locate, side});
        if (found == levels_.end()) return ladder;
        const auto append = [&](const auto& entry) {
            if (ladder.size() == depth) return;
            Rung rung{entry.first * (feed::kPriceScale / 10'000), 0, 0};
            for (const auto id : entry.second) {
                rung.size += orders_.at(id).shares;
                ++rung.orders;
            }
            ladder.push_back(rung);
        };
        if (side == Side::bid) {
            std::for_each(found->second.rbegin(), found->second.rend(), append);
        } else {
            std::for_each(found->second.begin(), found->second.end(), append);
        }
        return ladder;
    }
    [[nodiscard]] std::vector<std::uint64_t> queue(std::uint16_t locate, Side side, feed::Price price) const {
        const auto& queue = levels_.at({locate, side}).at(price / (feed::kPriceScale / 10'000));
        return {queue.begin(), queue.end()};
    }

private:
    struct Order {
        std::uint16_t locate;
        Side side;
        std::int64_t price;
        std::uint32_t shares;
    };
    void enter(std::uint64_t id, const Order& order) {
        orders_[id] = order;
        levels_[{order.locate, order.side}][order.price].push_back(id);
    }
    void reduce(std::uint64_t id, std::uint32_t shares) {
        auto& order = orders_.at(id);
        order.shares -= shares;
        if (order.shares != 0) return;
        auto& levels = levels_.at({order.locate, order.side});
        auto& queue = levels.at(order.price);
        queue.remove(id);
        if (queue.empty()) levels.erase(order.price);
        orders_.erase(id);
    }

    std::map<std::uint64_t, Order> orders_;
    std::map<std::pair<std::uint16_t, Side>, std::map<std::int64_t, std::list<std::uint64_t>>> levels_;
};

inline Ladder ladder_of(const Book& book, Side side) { return rungs_of(side == Side::bid ? book.bids() : book.asks()); }

inline void expect_queues(const Oracle& oracle, std::uint16_t locate, Side side, const Book& book) {
    for (const auto& level : side == Side::bid ? book.bids() : book.asks()) {
        std::vector<std::uint64_t> queue;
        book.visit_orders(level, [&](const Book::Order& order) { queue.push_back(order.id); });
        ASSERT_EQ(queue, oracle.queue(locate, side, level.price));
    }
}

/// A flow of orders of a few stocks at random, never contradictory.
class Flow {
public:
    static constexpr std::uint16_t kStocks = 4;

    explicit Flow(std::uint64_t seed) : random_(seed) {}

    Message next() {
        const auto pick = [&](std::uint64_t bound) { return random_() % bound; };
        const auto locate = static_cast<std::uint16_t>(1 + pick(kStocks));
        encoder_.set_head(locate, ++nanos_);
        auto& live = live_[locate - 1U];
        const auto stock = std::string{"S"} + std::to_string(locate);
        const auto shares = static_cast<std::uint32_t>(1 + pick(500));
        const auto price = [&](bool is_bid) {
            const auto step = static_cast<std::uint32_t>(pick(pick(4) == 0 ? 400 : 20));
            return is_bid ? 1'000'000 - step * 100 : 1'000'100 + step * 100;
        };
        const auto what = pick(100);
        if (what < 2) return encoder_.hidden_trade(shares, stock, price(true), ++match_);
        if (what < 3) return encoder_.cross(shares, stock, price(true), ++match_);
        const bool deep = nanos_ / 1'500 % 2 == 0;  // books grow, then shrink
        if (live.empty() || what < (deep ? 55U : 30U)) {
            const bool is_bid = pick(2) == 0;
            live.push_back({++newest_, is_bid, shares});
            return encoder_.order_added(newest_, is_bid ? 'B' : 'S', shares, stock, price(is_bid), pick(2) == 0);
        }
        const auto chosen = pick(live.size());
        auto& order = live[chosen];
        const auto id = order.id;
        const auto is_bid = order.is_bid;
        if (what < 70) {
            forget(live, chosen);
            return encoder_.order_deleted(id);
        }
        if (what < 80) {
            const auto old = id;
            order = {++newest_, is_bid, shares};
            return encoder_.order_replaced(old, newest_, shares, price(is_bid));
        }
        const auto taken = static_cast<std::uint32_t>(1 + pick(order.shares));
        order.shares -= taken;
        if (order.shares == 0) forget(live, chosen);
        if (what < 85) return encoder_.order_reduced(id, taken);
        if (what < 95) return encoder_.order_executed(id, taken, ++match_);
        return encoder_.order_executed_at(id, taken, ++match_, pick(2) == 0, price(is_bid));
    }

private:
    struct Order {
        std::uint64_t id;
        bool is_bid;
        std::uint32_t shares;
    };
    static void forget(std::vector<Order>& live, std::size_t at) {
        live[at] = live.back();
        live.pop_back();
    }

    std::mt19937_64 random_;
    feed::ItchEncoder encoder_;
    std::array<std::vector<Order>, kStocks> live_;
    std::uint64_t newest_{0};
    std::uint64_t match_{0};
    std::int64_t nanos_{0};
};

}  // namespace millpond::market
