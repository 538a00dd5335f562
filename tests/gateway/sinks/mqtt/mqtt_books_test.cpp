// The best levels of instruments on book_topic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/market/books.hpp>
#include <millpond/market/ring_reader.hpp>

#include "gateway/sinks/mqtt/mqtt_sink.hpp"
#include "tests/gateway/json_lines/stream_socket.hpp"
#include "tests/gateway/sinks/mqtt/mosquitto_broker.hpp"
#include "tests/gateway/sinks/mqtt/mqtt_sink_fixture.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"

namespace millpond::gateway::mqtt {
namespace {

using feed::Side;
using test::MosquittoBroker;
using test::MosquittoSubscriber;
using ::testing::HasSubstr;

constexpr std::uint32_t kFeedDepth = 4;
constexpr std::int64_t kIntervalNs = std::chrono::nanoseconds{kBookInterval}.count();

feed::Level level(feed::InstrumentId id, Side side, feed::Price price, std::uint64_t size,
                  std::uint16_t flags = feed::kLast) {
    feed::Level event;
    event.instrument = id;
    event.side = side;
    event.price = price;
    event.size = size;
    event.orders = size == 0 ? 0 : 1;
    event.flags = flags;
    return event;
}

template <class Levels>
std::string json_of_side(const Levels& levels, std::size_t depth) {
    std::string text;
    for (const auto& one : levels | std::views::take(depth)) {
        text += fmt::format(R"({}{{"price":{}.0000,"size":{},"count":{}}})", text.empty() ? "" : ",",
                            one.price / 1'000'000'000, one.size, one.orders);
    }
    return '[' + text + ']';
}

/// A ring whose channel 0 sends levels.
struct RingWithLevels : TestRing {
    explicit RingWithLevels(std::string_view what, std::uint64_t capacity = 1'024)
        : TestRing(what, capacity, kFeedDepth) {
        writer.set_depth(0, {.depth = kFeedDepth});
    }
};

class MqttBooks : public MqttSinkTest {
protected:
    static Settings with_books(const MosquittoBroker& broker, std::uint32_t depth = 2,
                               Delivery mode = Delivery::conflate) {
        auto settings = to(broker, mode);
        settings.book_topic = "book/{symbol}";
        settings.book_depth = depth;
        return settings;
    }
    /// Opens the sink and begins a session.
    std::unique_ptr<SinkThread> begin(RingWithLevels& ring, const Settings& settings) {
        auto sink = open(ring, settings);
        ring.writer.publish(feed::Clear{});
        return sink;
    }
    /// Runs the sink at this time until `reached` returns true; false after a timeout.
    template <class Reached>
    static bool work_at(std::int64_t at_ns, SinkThread& sink, Reached&& reached) {
        const auto until = core::monotonic_nanos() + test::kPatienceNs;
        for (; !reached(); ::poll(nullptr, 0, 1)) {
            if (core::monotonic_nanos() > until) return false;
            sink.round(at_ns);
        }
        return true;
    }
};

TEST_F(MqttBooks, ALateSubscriberGetsTheBestLevelsAsTheyAre) {
    const MosquittoBroker broker{folder_};
    RingWithLevels ring{"mqttb1"};
    auto sink = begin(ring, with_books(broker));
    ring.writer.publish(level(0, Side::bid, 10'000'000'000, 5, 0));
    ring.writer.publish(level(0, Side::bid, 9'000'000'000, 7, 0));
    ring.writer.publish(level(0, Side::bid, 8'000'000'000, 8, 0));
    ring.writer.publish(level(0, Side::ask, 11'000'000'000, 6));
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink) && is_idle(*sink); }));
    MosquittoSubscriber late{broker};
    ASSERT_TRUE(late.until([&] { return !late.newest("book/AAPL").empty(); }));
    EXPECT_TRUE(late.received.back().retained);
    EXPECT_THAT(
        late.newest("book/AAPL"),
        HasSubstr(R"("sequence":5,"bids":[{"price":10.0000,"size":5,"count":1},{"price":9.0000,"size":7,"count":1}],)"
                  R"("asks":[{"price":11.0000,"size":6,"count":1}],"incomplete":false})"));
    EXPECT_THAT(late.newest("book/AAPL"), HasSubstr(R"({"type":"book","symbol":"AAPL","channel":0,)"));
    EXPECT_EQ(late.newest("book/MSFT"), "") << "it has no book";
    const auto account = sink->account();
    EXPECT_EQ(account.published, 5U);
    EXPECT_EQ(account.filtered, 1U) << "the clear, before which there were no books";
    EXPECT_EQ(account.conflated, 3U);
    EXPECT_EQ(account.delivered, 1U);
    EXPECT_TRUE(account.closes());
}

TEST_F(MqttBooks, AnInstrumentIsSentOnceInAnInterval) {
    const MosquittoBroker broker{folder_};
    RingWithLevels ring{"mqttb2"};
    auto sink = begin(ring, with_books(broker));
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink) && is_idle(*sink); }));
    MosquittoSubscriber subscriber{broker};
    const auto books = [&] {
        return std::ranges::count(subscriber.received, "book/AAPL", &MosquittoSubscriber::Received::topic);
    };
    auto now = core::monotonic_nanos() + 10 * kIntervalNs;
    ring.writer.publish(level(0, Side::bid, 10'000'000'000, 1));
    ASSERT_TRUE(work_at(now, *sink, [&] { return sink->account().delivered == 1; }));
    for (std::uint64_t interval = 1; interval <= 3; ++interval) {
        for (std::uint64_t i = 1; i <= 50; ++i)
            ring.writer.publish(level(0, Side::bid, 10'000'000'000, 100 * interval + i));
        for (int round = 0; round < 10; ++round) sink->round(now + kIntervalNs - 1);
        EXPECT_EQ(sink->account().queued, 50U);
        EXPECT_EQ(sink->account().delivered, interval);
        now += kIntervalNs;
        ASSERT_TRUE(work_at(now, *sink, [&] { return is_idle(*sink); }));
        EXPECT_EQ(sink->account().delivered, interval + 1);
        EXPECT_EQ(sink->account().conflated, 49 * interval);
        EXPECT_TRUE(sink->account().closes());
        const auto newest = fmt::format("\"size\":{},", 100 * interval + 50);
        ASSERT_TRUE(subscriber.until([&] { return subscriber.newest("book/AAPL").find(newest) != std::string::npos; }));
        EXPECT_EQ(books(), static_cast<std::ptrdiff_t>(interval) + 1);
    }
}

TEST_F(MqttBooks, AQuoteThatIsConflatedEndsTheGroupOfItsLevels) {
    const MosquittoBroker broker{folder_};
    RingWithLevels ring{"mqttb3"};
    auto sink = begin(ring, with_books(broker));
    for (std::uint64_t n = 1; n <= 10; ++n) {
        ring.writer.publish(level(0, Side::bid, 10'000'000'000, n, 0));
        auto quote = quote_of(0, 10'000'000'000, n);
        quote.flags = feed::kLast;
        ring.writer.publish(quote);
    }
    ring.writer.publish(level(1, Side::bid, 20'000'000'000, 3, 0));
    auto trade = trade_of(1, 20'000'000'000);
    trade.flags = feed::kLast;
    ring.writer.publish(trade);
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink) && is_idle(*sink); }));
    EXPECT_TRUE(reaches(broker, *sink, "book/AAPL", R"("size":10,"count":1}],"asks":[],"incomplete":false})"));
    EXPECT_TRUE(reaches(broker, *sink, "book/MSFT", R"("size":3,"count":1}],"asks":[],"incomplete":false})"));
    EXPECT_TRUE(reaches(broker, *sink, "bbo/AAPL", R"("shares":10})"));
    EXPECT_TRUE(sink->account().closes());
}

TEST_F(MqttBooks, AnOpenGroupIsNotSent) {
    const MosquittoBroker broker{folder_};
    RingWithLevels ring{"mqttb4"};
    auto sink = begin(ring, with_books(broker));
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink) && is_idle(*sink); }));
    auto now = core::monotonic_nanos();
    ring.writer.publish(level(0, Side::bid, 10'000'000'000, 1));
    ring.writer.publish(level(0, Side::ask, 11'000'000'000, 1));
    ASSERT_TRUE(work_at(now += kIntervalNs, *sink, [&] { return is_idle(*sink); }));
    ring.writer.publish(level(0, Side::bid, 11'000'000'000, 1, 0));  // crossed until the next event
    ring.writer.heartbeat(1);
    for (int round = 0; round < 10; ++round) sink->round(now += kIntervalNs);
    EXPECT_EQ(sink->account().queued, 1U);
    ring.writer.publish(level(0, Side::ask, 11'000'000'000, 0));
    ASSERT_TRUE(work_at(now += kIntervalNs, *sink, [&] { return is_idle(*sink); }));
    MosquittoSubscriber late{broker};
    ASSERT_TRUE(late.until([&] { return !late.newest("book/AAPL").empty(); }));
    EXPECT_THAT(late.newest("book/AAPL"), HasSubstr(R"("bids":[{"price":11.0000,"size":1,"count":1},)"));
    EXPECT_THAT(late.newest("book/AAPL"), HasSubstr(R"("asks":[],"incomplete":false})"));
}

TEST_F(MqttBooks, AClearEmptiesTheRetainedBookOfItsInstrumentOrChannel) {
    const MosquittoBroker broker{folder_};
    RingWithLevels ring{"mqttb5"};
    auto sink = begin(ring, with_books(broker));
    for (const feed::InstrumentId id : {0U, 1U}) ring.writer.publish(level(id, Side::bid, 10'000'000'000, 1));
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink) && is_idle(*sink); }));
    ring.writer.publish(feed::Clear{.instrument = 0});
    EXPECT_TRUE(reaches(broker, *sink, "book/AAPL", R"("sequence":4,"bids":[],"asks":[],"incomplete":false})"));
    EXPECT_TRUE(reaches(broker, *sink, "book/MSFT", R"("bids":[{"price":10.0000,)"));
    ring.writer.publish(feed::Clear{.channel = 1});
    ring.writer.publish(feed::Clear{.flags = feed::kIncomplete});
    EXPECT_TRUE(reaches(broker, *sink, "book/MSFT", R"("sequence":6,"bids":[],"asks":[],"incomplete":true})"));
    ASSERT_TRUE(work(*sink, [&] { return is_idle(*sink); }));
    EXPECT_EQ(sink->account().filtered, 2U) << "the first clear, and that of channel 1";
    EXPECT_TRUE(sink->account().closes());
}

TEST_F(MqttBooks, AGapMarksTheRetainedBooksUntilASnapshot) {
    const MosquittoBroker broker{folder_};
    RingWithLevels ring{"mqttb6"};
    auto sink = begin(ring, with_books(broker));
    ring.writer.publish(level(0, Side::bid, 10'000'000'000, 1));
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink) && is_idle(*sink); }));
    ring.writer.publish(feed::Gap{.channel = 1});
    ring.writer.publish(feed::Gap{});
    EXPECT_TRUE(reaches(broker, *sink, "book/AAPL",
                        R"("bids":[{"price":10.0000,"size":1,"count":1}],"asks":[],"incomplete":true})"));
    ring.writer.publish(level(0, Side::bid, 10'000'000'000, 2));
    EXPECT_TRUE(reaches(broker, *sink, "book/AAPL", R"("size":2,"count":1}],"asks":[],"incomplete":true})"));
    ring.writer.publish(level(0, Side::none, 0, 0, feed::kSnapshot));
    ring.writer.publish(level(0, Side::bid, 10'000'000'000, 3, feed::kSnapshot | feed::kLast));
    EXPECT_TRUE(reaches(broker, *sink, "book/AAPL", R"("size":3,"count":1}],"asks":[],"incomplete":false})"));
    EXPECT_TRUE(sink->account().closes());
}

TEST_F(MqttBooks, MissedEntriesMarkTheBookAndTheBoardRestoresIt) {
    constexpr std::uint64_t kCapacity = 64;
    const MosquittoBroker broker{folder_};
    RingWithLevels ring{"mqttb7", kCapacity};
    auto sink = begin(ring, with_books(broker));
    MosquittoSubscriber subscriber{broker};
    ring.writer.publish(level(0, Side::bid, 10'000'000'000, 1));
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink) && is_idle(*sink); }));
    for (std::uint64_t n = 1; n <= 4 * kCapacity; ++n) ring.writer.publish(level(0, Side::bid, 9'000'000'000, n));
    EXPECT_TRUE(reaches(broker, *sink, "book/AAPL",
                        R"("bids":[{"price":10.0000,"size":1,"count":1},{"price":9.0000,"size":256,"count":1}],)"
                        R"("asks":[],"incomplete":false})"));
    ASSERT_TRUE(work(*sink, [&] { return is_idle(*sink); }));
    EXPECT_GT(sink->account().missed, 0U);
    EXPECT_TRUE(sink->account().closes());
}

TEST_F(MqttBooks, RetainedBooksOfAnEarlierRunDoNotLookGood) {
    const MosquittoBroker broker{folder_};
    {
        RingWithLevels ring{"mqttb8"};
        auto sink = begin(ring, with_books(broker, kFeedDepth));
        for (feed::Price price = 1; price <= 4; ++price)
            ring.writer.publish(level(0, Side::bid, price, ~std::uint64_t{0}));
        ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink) && is_idle(*sink); }));
        ASSERT_TRUE(reaches(broker, *sink, "book/AAPL", R"("incomplete":false)"));
    }
    MosquittoSubscriber live{broker};
    RingWithLevels ring{"mqttb9"};
    auto sink = begin(ring, with_books(broker, kFeedDepth));
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink); }));
    ASSERT_TRUE(live.until([&] { return live.newest("millpond/mqtt") == kOnline; }));
    EXPECT_THAT(live.newest("book/AAPL"), HasSubstr(R"("incomplete":true)")) << "before the sink is online";
}

TEST_F(MqttBooks, ABrokerThatRestartsGetsTheCurrentBooksAgain) {
    MosquittoBroker broker{folder_};
    RingWithLevels ring{"mqttb10"};
    auto sink = begin(ring, with_books(broker));
    ring.writer.publish(level(0, Side::bid, 10'000'000'000, 1));
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink) && is_idle(*sink); }));
    broker.kill_now();
    ASSERT_TRUE(work(*sink, [&] { return !is_connected(*sink); }));
    broker.start();
    ASSERT_TRUE(work(*sink, [&] { return counters(*sink).connects.read() == 2; }));
    EXPECT_TRUE(reaches(broker, *sink, "book/AAPL", R"("bids":[{"price":10.0000,)"));
    EXPECT_EQ(sink->account().delivered, 1U) << "what is repeated is no event";
}

TEST_F(MqttBooks, LevelsOfAFeedWithFewerAreFiltered) {
    const MosquittoBroker broker{folder_};
    RingWithLevels ring{"mqttb11"};
    auto sink = begin(ring, with_books(broker, kFeedDepth + 1));
    ring.writer.publish(level(0, Side::bid, 10'000'000'000, 1));
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink) && is_idle(*sink); }));
    EXPECT_EQ(sink->account().filtered, 2U);
    MosquittoSubscriber late{broker};
    ASSERT_TRUE(late.until([&] { return late.newest("millpond/mqtt") == kOnline; }));
    EXPECT_EQ(late.newest("book/AAPL"), "");
}

TEST_F(MqttBooks, AfterAnyEventsTheRetainedBooksAreThoseOfAReaderFromTheStart) {
    const MosquittoBroker broker{folder_};
    RingWithLevels ring{"mqttb12", 256};
    market::RingReader reader{{.name = ring.name}};
    market::Books books{{.max_instruments = 16}, [&](std::uint16_t channel) { return reader.depth(channel); }};
    reader.seek(1);
    std::mt19937 random{7};  // NOLINT(cert-msc51-cpp): the same events in each run
    for (const auto mode : {Delivery::every, Delivery::conflate}) {
        auto sink = begin(ring, with_books(broker, 2, mode));
        for (int round = 0; round < 400; ++round) {
            for (auto events = random() % 12; events != 0; --events) {
                const auto id = static_cast<feed::InstrumentId>(random() % 2);
                const auto kind = random() % 40;
                const auto side = random() % 2 == 0 ? Side::bid : Side::ask;
                const auto price =
                    static_cast<feed::Price>(random() % 6 + (side == Side::bid ? 1 : 10)) * 1'000'000'000;
                const auto flags = static_cast<std::uint16_t>(random() % 3 == 0 ? 0 : feed::kLast);
                if (kind == 0) {
                    ring.writer.publish(feed::Clear{.instrument = random() % 2 == 0 ? id : feed::kNoInstrument});
                } else if (kind == 1) {
                    ring.writer.publish(feed::Gap{});
                } else if (kind == 2) {
                    ring.writer.publish(level(id, Side::none, 0, 0, feed::kSnapshot | feed::kLast));
                } else if (kind < 10) {
                    auto quote = quote_of(id, price);
                    quote.flags = flags;
                    ring.writer.publish(quote);
                } else {
                    ring.writer.publish(level(id, side, price, random() % 4, flags));
                }
            }
            reader.poll(books, 4'096);
            if (random() % 4 != 0) sink->round(core::monotonic_nanos());
        }
        for (const feed::InstrumentId id : {0U, 1U}) {
            ring.writer.publish(level(id, Side::none, 0, 0, feed::kSnapshot));
            for (const feed::Price price : {1, 2, 3})
                ring.writer.publish(level(id, Side::bid, price * 1'000'000'000, random() % 1'000 + 1, 0));
            ring.writer.publish(level(id, Side::ask, 9'000'000'000, random() % 1'000 + 1));
        }
        reader.poll(books, 4'096);
        for (const feed::InstrumentId id : {0U, 1U}) {
            const auto& book = *books.find(id);
            EXPECT_TRUE(reaches(broker, *sink, id == 0 ? "book/AAPL" : "book/MSFT",
                                fmt::format(R"("bids":{},"asks":{},"incomplete":false}})", json_of_side(book.bids(), 2),
                                            json_of_side(book.asks(), 2))));
        }
        ASSERT_TRUE(work(*sink, [&] { return is_idle(*sink); }));
        EXPECT_TRUE(sink->account().closes());
    }
}

}  // namespace
}  // namespace millpond::gateway::mqtt
