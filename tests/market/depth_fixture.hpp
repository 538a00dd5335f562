#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/feed/event.hpp>
#include <millpond/market/books.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>
#include "tests/market/ring_fixture.hpp"
#include "tests/market/rung.hpp"

namespace millpond::market {

/// A ring with depth slots of `depth` levels, whose channels 0 and 1 send that depth and orders.
[[nodiscard]] inline std::unique_ptr<RingWriter> deep_writer(const std::string& name, std::uint32_t depth,
                                                             std::uint64_t capacity = 1U << 15U) {
    auto options = small_ring(name);
    options.capacity = capacity;
    options.depth = depth;
    auto writer = std::make_unique<RingWriter>(options);
    for (const auto channel : {std::uint16_t{0}, std::uint16_t{1}})
        EXPECT_TRUE(writer->set_depth(channel, {.depth = depth, .orders = true}));
    return writer;
}

/// A reader with the picture of quotes and the books of levels that it makes of its events.
class Subscriber {
public:
    explicit Subscriber(const std::string& name)
        : reader_({.name = name}),
          books_({.max_instruments = 8}, [this](std::uint16_t channel) { return reader_.depth(channel); }) {}
    Subscriber(const Subscriber&) = delete;
    Subscriber& operator=(const Subscriber&) = delete;
    ~Subscriber() = default;

    template <class Event>
    void on(const Event& event) {
        if constexpr (feed::HandlerOf<Picture, Event>) picture_.on(event);
        books_.on(event);
    }
    template <class Step = queue::NoStep>
    void join(Step&& step = {}) {
        reader_.join(*this, step);
    }
    void poll() {
        while (reader_.poll(*this, 64) != 0) {
        }
    }

    [[nodiscard]] const Picture& picture() const { return picture_; }
    [[nodiscard]] RingReader& reader() { return reader_; }
    [[nodiscard]] bool complete(feed::InstrumentId id) const {
        const auto* const book = books_.find(id);
        return book != nullptr && book->complete();
    }
    [[nodiscard]] bool has_book(feed::InstrumentId id) const { return books_.find(id) != nullptr; }
    [[nodiscard]] std::vector<Rung> bids(feed::InstrumentId id) const {
        return has_book(id) ? rungs_of(books_.find(id)->bids()) : std::vector<Rung>{};
    }
    [[nodiscard]] std::vector<Rung> asks(feed::InstrumentId id) const {
        return has_book(id) ? rungs_of(books_.find(id)->asks()) : std::vector<Rung>{};
    }

private:
    RingReader reader_;
    Books books_;
    Picture picture_;
};

/// Publishes the groups, Clears, Gaps and losses of six instruments on two channels at random, and keeps their books.
class DepthFeed {
public:
    static constexpr std::uint32_t kInstruments = 6;
    static constexpr std::uint16_t channel_of(feed::InstrumentId id) { return id % 2; }

    DepthFeed(RingWriter& writer, std::uint32_t depth, std::uint64_t seed)
        : writer_(writer), depth_(depth), random_(seed) {}

    /// Called between the writer's accesses to shared memory.
    std::function<void()> step = [] {};

    /// Clears both channels: what follows is everything.
    void open() {
        for (const auto channel : {std::uint16_t{0}, std::uint16_t{1}}) clear(channel, feed::kNoInstrument, 0);
    }

    void publish() {
        const auto id = static_cast<feed::InstrumentId>(pick(kInstruments));
        switch (pick(40)) {
            case 0: return clear(channel_of(id), feed::kNoInstrument, pick(3) == 0 ? feed::kIncomplete : 0);
            case 1: return clear(channel_of(id), id, pick(3) == 0 ? feed::kIncomplete : 0);
            case 2: return send_gap(channel_of(id));
            case 3: return send(status(id));
            case 4:
            case 5:
            case 6: return send_all(snapshot(id));
            case 7: {
                auto group = change(id);
                std::visit([](auto& event) { event.flags |= feed::kIncomplete; }, group[pick(group.size())]);
                return send_all(group);
            }
            case 8: return interrupt(change(id));
            default: return send_all(change(id));
        }
    }
    [[nodiscard]] std::uint64_t pick(std::uint64_t bound) { return random_() % bound; }

    /// The best levels of a side as of the last group.
    [[nodiscard]] std::vector<Rung> best(feed::InstrumentId id, feed::Side side) const {
        std::vector<Rung> rungs;
        const auto append = [&](const auto& entry) {
            if (rungs.size() < depth_) rungs.push_back({entry.first, entry.second.first, entry.second.second});
        };
        const auto& ladder = ladders_[id][side == feed::Side::ask];
        if (side == feed::Side::bid) {
            std::for_each(ladder.rbegin(), ladder.rend(), append);
        } else {
            std::for_each(ladder.begin(), ladder.end(), append);
        }
        return rungs;
    }

    /// Sends a group of a change of an instrument.
    void send_change(feed::InstrumentId id) { send_all(change(id)); }
    void send_snapshot(feed::InstrumentId id) { send_all(snapshot(id)); }
    void send_gap(std::uint16_t channel) { send(feed::Gap{.channel = channel, .first = ++value_}); }
    void clear(std::uint16_t channel, feed::InstrumentId id, std::uint16_t flags) {
        for (feed::InstrumentId each = 0; each < kInstruments; ++each) {
            if (channel_of(each) != channel || (id != feed::kNoInstrument && id != each)) continue;
            for (auto& ladder : ladders_[each]) ladder.clear();
        }
        feed::Clear event;
        event.instrument = id;
        event.channel = channel;
        event.flags = flags;
        send(event);
    }

private:
    using Ladder = std::map<feed::Price, std::pair<std::uint64_t, std::uint32_t>>;
    using Group = std::vector<GroupEntry>;

    template <class Event>
    void send(const Event& event) {
        ASSERT_TRUE(writer_.publish(event, step));
    }
    void send_all(const Group& group) {
        for (const auto& entry : group) std::visit([&](const auto& event) { send(event); }, entry);
    }
    /// Publishes something else in the middle of a group.
    void interrupt(const Group& group) {
        const auto cut = pick(group.size());
        for (std::size_t i = 0; i < group.size(); ++i) {
            if (i == cut) {
                const auto other = static_cast<feed::InstrumentId>(pick(kInstruments));
                switch (pick(3)) {
                    case 0: send(status(other)); break;
                    case 1: writer_.heartbeat(1); break;
                    default: {
                        const auto& first = group.front();
                        if (std::visit([&](const auto& event) { return event.instrument == other; }, first)) break;
                        send_all(change(other));
                    }
                }
            }
            std::visit([&](const auto& event) { send(event); }, group[i]);
        }
    }
    feed::Status status(feed::InstrumentId id) {
        feed::Status event;
        event.instrument = id;
        event.channel = channel_of(id);
        event.state = pick(2) == 0 ? feed::TradingState::halted : feed::TradingState::trading;
        return event;
    }
    feed::Level level(feed::InstrumentId id, feed::Side side, const Rung& rung, std::uint16_t flags = 0) {
        feed::Level event;
        event.instrument = id;
        event.channel = channel_of(id);
        event.flags = flags;
        event.side = side;
        event.price = rung.price;
        event.size = rung.size;
        event.orders = rung.orders;
        return event;
    }

    /// The level events of a few random changes, in random order, between an order, a trade and a quote.
    Group change(feed::InstrumentId id) {
        Group group;
        if (pick(3) == 0) {
            feed::Order order;
            order.instrument = id;
            order.channel = channel_of(id);
            order.order_id = ++value_;
            group.emplace_back(order);
        }
        for (const auto side : {feed::Side::bid, feed::Side::ask}) {
            const auto before = best(id, side);
            auto& ladder = ladders_[id][side == feed::Side::ask];
            for (auto n = pick(4); n != 0; --n) {
                const auto away = static_cast<feed::Price>(pick(depth_ + 3));
                const auto price = side == feed::Side::bid ? 1'000 - away : 1'001 + away;
                if (pick(2) == 0) {
                    ladder.erase(price);
                } else {
                    ladder[price] = {1 + pick(9), static_cast<std::uint32_t>(1 + pick(3))};
                }
            }
            const auto after = best(id, side);
            for (const auto& rung : before) {
                if (!ladder.contains(rung.price)) group.emplace_back(level(id, side, {rung.price, 0, 0}));
            }
            for (const auto& rung : after) {
                if (std::ranges::find(before, rung) == before.end()) group.emplace_back(level(id, side, rung));
            }
        }
        std::ranges::shuffle(group, random_);
        if (pick(4) == 0) {
            feed::Trade trade;
            trade.instrument = id;
            trade.channel = channel_of(id);
            trade.trade_id = ++value_;
            group.emplace_back(trade);
        }
        if (group.empty() || pick(2) == 0) group.emplace_back(quote_of(id, channel_of(id), ++value_));
        return ended(std::move(group));
    }
    Group snapshot(feed::InstrumentId id) {
        Group group;
        group.emplace_back(level(id, feed::Side::none, {}, feed::kSnapshot));
        for (const auto side : {feed::Side::bid, feed::Side::ask}) {
            for (const auto& rung : best(id, side)) group.emplace_back(level(id, side, rung, feed::kSnapshot));
        }
        return ended(std::move(group));
    }
    static Group ended(Group group) {
        std::visit([](auto& event) { event.flags |= feed::kLast; }, group.back());
        return group;
    }

    RingWriter& writer_;
    std::uint32_t depth_;
    std::mt19937_64 random_;
    std::array<std::array<Ladder, 2>, kInstruments> ladders_;
    std::uint64_t value_{0};
};

/// Both have read all. The books of one that joined equal those of one that was there from the start, or say that they
/// are incomplete. One may have a book without levels where the other has none yet. Returns how many are complete.
inline int expect_same_or_incomplete(const Subscriber& joined, const Subscriber& first) {
    int complete = 0;
    for (feed::InstrumentId id = 0; id < DepthFeed::kInstruments; ++id) {
        if (!joined.complete(id)) continue;
        ++complete;
        EXPECT_TRUE(first.complete(id) || !first.has_book(id)) << "instrument " << id;
        EXPECT_EQ(joined.bids(id), first.bids(id)) << "instrument " << id;
        EXPECT_EQ(joined.asks(id), first.asks(id)) << "instrument " << id;
    }
    EXPECT_EQ(joined.picture().sequences(), first.picture().sequences());
    EXPECT_EQ(joined.picture().incomplete(), first.picture().incomplete());
    EXPECT_EQ(joined.picture().states.size(), first.picture().states.size());
    return complete;
}

}  // namespace millpond::market
