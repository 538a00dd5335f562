#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>

#include "bench/feed/input.hpp"

/// A seeded flow of orders as ITCH in MoldUDP64, three messages per datagram: adds, deletes and executions in the
/// proportions of a real stock's day, with some replacements and reductions. Books are never crossed.
namespace millpond::bench {

inline constexpr std::size_t kBooks = 64;
inline constexpr std::uint32_t kMinPrice = 1'000'000;
inline constexpr std::uint32_t kPriceStep = 100;
inline constexpr std::uint32_t kPriceSteps = 128;  // bids in the lower half, asks in the upper half

inline constexpr std::size_t kItchMessagesEach = 3;

/// The number of instruments, the minimum number of live orders of each, and the number of messages after these exist.
struct OrderShape {
    std::size_t books{kBooks};
    std::size_t live_each{16};
    bool fill_first{false};  ///< Whether the orders of all books are added before any other message.
    std::size_t measured{0};
    std::size_t most_each{std::numeric_limits<std::size_t>::max()};  ///< Live orders of an instrument.

    /// Number of messages that are not timed: the directory and, with fill_first, the orders; else 3,000.
    [[nodiscard]] constexpr std::size_t warm() const {
        const auto filling = fill_first ? books * (1 + live_each) : 3'000;
        return filling / kItchMessagesEach * kItchMessagesEach;
    }
    [[nodiscard]] constexpr std::size_t messages() const { return warm() + measured; }
};

class OrderFlow {
public:
    explicit OrderFlow(const OrderShape& shape = {}) : shape_(shape), live_(shape.books) {}

    struct Order {
        std::uint64_t id;
        std::uint32_t shares;
        bool is_bid;
    };

    /// The next message, valid until the next call.
    feed::ItchEncoder::Message next() {
        if (directory_ < shape_.books) {
            encoder_.set_head(static_cast<std::uint16_t>(++directory_), 0);
            return encoder_.directory(stock(directory_ - 1).view());
        }
        const bool fills = shape_.fill_first && last_id_ < shape_.books * shape_.live_each;
        const auto book = fills ? last_id_ % shape_.books : random_() % shape_.books;
        auto& live = live_[book];
        encoder_.set_head(static_cast<std::uint16_t>(book + 1), static_cast<std::int64_t>(++nanos_));
        constexpr std::uint64_t kAdds = 480;
        constexpr std::uint64_t kDeletes = 890;
        constexpr std::uint64_t kExecutions = 980;
        constexpr std::uint64_t kReductions = 990;
        const auto what = random_() % 1'000;
        if (live.size() < shape_.live_each || (what < kAdds && live.size() < shape_.most_each)) {
            const bool is_bid = random_() % 2 == 0;
            live.push_back({++last_id_, shares(), is_bid});
            return encoder_.order_added(last_id_, is_bid ? 'B' : 'S', live.back().shares, stock(book).view(),
                                        price(is_bid));
        }
        auto& order = live[random_() % live.size()];
        if (what < kDeletes) {
            const auto id = order.id;
            forget(live, order);
            return encoder_.order_deleted(id);
        }
        if (what < kExecutions) {
            const auto [id, reduced] = reduce(live, order);
            return encoder_.order_executed(id, reduced, ++last_match_);
        }
        if (what < kReductions) {
            const auto [id, reduced] = reduce(live, order);
            return encoder_.order_reduced(id, reduced);
        }
        const auto old = std::exchange(order.id, ++last_id_);
        order.shares = shares();
        return encoder_.order_replaced(old, order.id, order.shares, price(order.is_bid));
    }

    [[nodiscard]] std::uint64_t last_id() const { return last_id_; }

private:
    // The first kInstruments have the names of the other benches; others get a digit.
    static feed::Symbol stock(std::size_t book) {
        const auto name = symbol_of(book % kInstruments);
        if (book < kInstruments) return name;
        return feed::Symbol{std::string(name.view()) + std::to_string(book / kInstruments)};
    }
    std::uint32_t shares() { return 100 * (1 + static_cast<std::uint32_t>(random_() % 10)); }
    std::uint32_t price(bool is_bid) {
        // Dense near the middle: the smaller of two random numbers.
        const auto away = static_cast<std::uint32_t>(std::min(random_() % 64, random_() % 64));
        const auto step = is_bid ? kPriceSteps / 2 - 1 - away : kPriceSteps / 2 + away;
        return kMinPrice + step * kPriceStep;
    }
    static void forget(std::vector<Order>& live, Order& order) {
        order = live.back();
        live.pop_back();
    }
    // Reduces the order by 100 shares or all of them. Returns its id and that number.
    std::pair<std::uint64_t, std::uint32_t> reduce(std::vector<Order>& live, Order& order) {
        const auto id = order.id;
        const auto reduced = order.shares > 100 && random_() % 2 == 0 ? 100 : order.shares;
        order.shares -= reduced;
        if (order.shares == 0) forget(live, order);
        return {id, reduced};
    }

    OrderShape shape_;
    std::mt19937_64 random_{5};
    feed::ItchEncoder encoder_;
    std::vector<std::vector<Order>> live_;
    std::size_t directory_{0};
    std::uint64_t last_id_{0};
    std::uint64_t last_match_{0};
    std::uint64_t nanos_{0};
};

inline std::vector<std::vector<std::byte>> itch_datagrams(std::size_t messages, const OrderShape& shape = {}) {
    OrderFlow flow{shape};
    feed::MoldUdp64Encoder encoder("BENCH");
    std::array<std::byte, 256> buffer;
    std::vector<std::vector<std::byte>> datagrams;
    for (std::size_t i = 0; i < messages; i += kItchMessagesEach) {
        encoder.begin(buffer);
        for (std::size_t j = 0; j < kItchMessagesEach; ++j) {
            if (!encoder.add(flow.next())) throw std::logic_error("a datagram is too small for its messages");
        }
        const auto bytes = encoder.finish();
        datagrams.emplace_back(bytes.begin(), bytes.end());
    }
    return datagrams;
}

}  // namespace millpond::bench
