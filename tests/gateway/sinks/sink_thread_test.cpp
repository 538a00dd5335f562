#include "gateway/sinks/sink_thread.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/market/book.hpp>
#include <millpond/queue/broadcast_reader.hpp>

#include "gateway/sinks/account.hpp"
#include "gateway/sinks/conflator.hpp"
#include "gateway/sinks/sink_idle.hpp"
#include "tests/gateway/sinks/events.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"

namespace millpond::gateway {
namespace {

using ::testing::ElementsAre;

const service::LogFunction kSilent = [](service::Severity, std::string_view, const std::string&) {};

/// A sink that records its events and whose capacity the test sets.
class Recorder final : public Sink {
public:
    explicit Recorder(Delivery mode) : mode_(mode) {}

    [[nodiscard]] std::size_t available() const noexcept override { return available_now; }
    [[nodiscard]] Delivery mode() const noexcept override { return mode_; }
    [[nodiscard]] bool needs_orders() const noexcept override { return needs; }
    void name(feed::InstrumentId, const feed::Venue&, const feed::Symbol& symbol, unsigned) override {
        names.emplace_back(symbol.view());
    }
    void board(const feed::Quote& quote, std::uint64_t) override { board_bids.push_back(quote.bid_price); }
    void board(const feed::Status& status, std::uint64_t) override { board_states.push_back(status); }
    void board(const feed::Level& level, std::uint64_t) override {
        board_levels.push_back(level.instrument);
        if (level.instrument == 0) book.apply(level);
        if (bytes_per_level != 0) available_now -= bytes_per_level;
    }
    Admission on(const feed::Quote& quote, std::uint64_t number) override {
        bids.push_back(quote.bid_price);
        flags.push_back(quote.flags);
        numbers.push_back(number);
        if (at_quote) at_quote();
        return Admission::kept;
    }
    Admission on(const feed::Trade&, std::uint64_t) override { return Admission::filtered; }
    Admission on(const feed::TradeBreak&, std::uint64_t) override { return Admission::filtered; }
    Admission on(const feed::Level& level, std::uint64_t) override {
        if (level.instrument == 0) book.apply(level);
        return Admission::kept;
    }
    Admission on(const feed::Status&, std::uint64_t) override { return Admission::filtered; }
    Admission on(const feed::Gap&, std::uint64_t) override { return Admission::filtered; }
    Admission on(const feed::Clear&, std::uint64_t) override { return Admission::kept; }
    void missed(std::uint64_t first, std::uint64_t last) override {
        lost += last - first + 1;
        book.apply(queue::MissedRange{first, last});
    }
    void step(std::int64_t) override {}
    void finish() override { finished = true; }
    void wait(std::chrono::nanoseconds max_wait) override {
        if (max_wait.count() != 0) {
            shortest_sleep_ns = std::min(shortest_sleep_ns.load(), max_wait.count());
            ++sleeps;
            sleeps.notify_all();
        }
        Sink::wait(max_wait);
    }
    [[nodiscard]] std::uint64_t held() const noexcept override { return held_now; }
    [[nodiscard]] std::string_view type() const noexcept override { return "recorder"; }
    void visit_metrics(const MetricVisitor&) const override {}
    [[nodiscard]] SinkHealth health() const noexcept override { return {}; }

    std::size_t available_now{1'000'000};
    bool needs{false};
    std::size_t bytes_per_level{0};
    std::uint64_t held_now{0};
    std::vector<std::string> names;
    std::vector<feed::Price> board_bids;
    std::vector<feed::Status> board_states;
    std::vector<feed::InstrumentId> board_levels;
    std::vector<feed::Price> bids;
    std::vector<std::uint16_t> flags;
    std::vector<std::uint64_t> numbers;
    std::uint64_t lost{0};
    market::Book book{{.depth = 3}};  // of the first instrument
    bool finished{false};
    std::function<void()> at_quote;
    std::atomic<std::int64_t> shortest_sleep_ns{1'000'000'000};
    std::atomic<int> sleeps{0};

private:
    Delivery mode_;
};

struct Reading {
    Reading(const TestRing& ring, Delivery mode, core::Poll poll = core::Poll::adaptive,
            std::optional<std::uint32_t> pin = std::nullopt, std::chrono::nanoseconds holds = {}) {
        auto made = std::make_unique<Recorder>(mode);
        sink = made.get();
        thread = std::make_unique<SinkThread>(SinkThread::Options{ring.name, "recorder", poll, pin, holds},
                                              std::move(made), kSilent);
    }
    /// Runs rounds until one reads no entries.
    void drain() const {
        while (thread->round(0) != 0) {
        }
    }
    Recorder* sink;
    std::unique_ptr<SinkThread> thread;
};

TEST(SinkThread, GetsNamesAndBoardAtJoiningAndEveryEventFromThereOn) {
    TestRing ring{"join"};
    ring.publish_quotes(5);
    Reading run{ring, Delivery::every};
    EXPECT_THAT(run.sink->names, ElementsAre("AAPL", "MSFT"));
    EXPECT_THAT(run.sink->board_bids, ElementsAre(4, 5));
    ring.publish_quotes(3);
    run.drain();
    EXPECT_THAT(run.sink->bids, ElementsAre(6, 7, 8));
    EXPECT_THAT(run.sink->numbers, ElementsAre(6U, 7U, 8U));
    EXPECT_EQ(run.thread->account(), (Account{.published = 3, .delivered = 3, .snapshot = 2}));
}

/// A ring with levels, of three instruments.
struct DeepRing : TestRing {
    explicit DeepRing(std::string_view what) : TestRing(what, 16, 3) {
        writer.name(2, feed::Venue{"X"}, feed::Symbol{"IBM"});
        writer.set_depth(0, {.depth = 3});
        writer.publish(new_session_of());
    }
    void publish_bid(feed::InstrumentId id, feed::Price price, std::uint64_t size) {
        feed::Level level;
        level.instrument = id;
        level.side = feed::Side::bid;
        level.price = price;
        level.size = size;
        level.flags = feed::kLast;
        writer.publish(level);
    }
    /// Laps readers with groups of the second instrument.
    void lap() {
        for (int i = 0; i < 40; ++i) publish_bid(1, 7, 3);
    }
};

TEST(SinkThread, AfterAMissedRangeTheLevelsOfTheBoardMakeBooksCompleteAgain) {
    DeepRing ring{"rejoin"};
    const auto bids = [](const Recorder& sink) {
        std::vector<std::pair<feed::Price, std::uint64_t>> all;
        for (const auto& level : sink.book.bids()) all.emplace_back(level.price, level.size);
        return all;
    };
    ring.publish_bid(0, 10, 1);
    Reading run{ring, Delivery::every};
    EXPECT_TRUE(run.sink->book.complete());
    ring.publish_bid(0, 9, 2);
    ring.lap();  // the sink loses the level above
    run.drain();
    EXPECT_NE(run.sink->lost, 0U);
    EXPECT_TRUE(run.sink->book.complete());
    EXPECT_THAT(bids(*run.sink), ElementsAre(std::pair{10, 1U}, std::pair{9, 2U}));
    ring.publish_bid(0, 10, 0);
    run.drain();
    EXPECT_THAT(bids(*run.sink), ElementsAre(std::pair{9, 2U}));
    EXPECT_TRUE(run.thread->account().closes());
}

TEST(SinkThread, AfterAMissedRangeAnInstrumentWithoutLevelsGetsThoseOfTheBoardWithItsFirstOnes) {
    DeepRing ring{"first"};
    Reading run{ring, Delivery::every};
    ring.lap();
    run.drain();
    EXPECT_NE(run.sink->lost, 0U);
    EXPECT_FALSE(run.sink->book.complete()) << "the Clear may have been lost";
    const auto snapshots = [&](feed::InstrumentId id) { return std::ranges::count(run.sink->board_levels, id); };
    EXPECT_EQ(snapshots(0), 0);
    ring.publish_bid(0, 10, 1);
    run.drain();
    EXPECT_TRUE(run.sink->book.complete());
    EXPECT_EQ(snapshots(0), 2) << "the beginning and a bid";
    ring.publish_bid(0, 10, 2);
    run.drain();
    EXPECT_EQ(snapshots(0), 2) << "once is enough";
}

TEST(SinkThread, LevelsOfTheBoardWaitWhileTheSinkHasNoRoom) {
    DeepRing ring{"room"};
    ring.publish_bid(0, 10, 1);
    ring.publish_bid(2, 10, 1);
    Reading run{ring, Delivery::every};
    ring.lap();
    run.sink->board_levels.clear();
    run.sink->available_now = 100;
    run.sink->bytes_per_level = 50;
    run.drain();
    EXPECT_EQ(run.sink->board_levels.size(), 2U) << "the beginning and the bid of one instrument";
    run.thread->round(0);
    EXPECT_EQ(run.sink->board_levels.size(), 2U);
    run.sink->available_now = 1'000;
    run.thread->round(0);
    EXPECT_EQ(run.sink->board_levels.size(), 6U);
}

TEST(SinkThread, GetsTheTradingStatesOfTheBoardAtJoining) {
    TestRing ring{"states"};
    ring.writer.publish(feed::Status{.channel = 3, .state = feed::TradingState::start_of_market_hours});
    ring.writer.publish(feed::Status{.instrument = 1, .state = feed::TradingState::trading});
    ring.writer.publish(feed::Status{.instrument = 1, .state = feed::TradingState::halted});
    Reading run{ring, Delivery::every};
    EXPECT_THAT(run.sink->names, ElementsAre("AAPL", "MSFT"));
    ASSERT_EQ(run.sink->board_states.size(), 2U);
    EXPECT_EQ(run.sink->board_states[0].channel, 3U);
    EXPECT_EQ(run.sink->board_states[0].instrument, feed::kNoInstrument);
    EXPECT_EQ(run.sink->board_states[1].state, feed::TradingState::halted);
    EXPECT_EQ(run.thread->account(), (Account{.published = 0, .snapshot = 2}));
}

TEST(SinkThread, InEveryPollModeItTakesWhatComesAndEnds) {
    for (const auto poll : {core::Poll::spin, core::Poll::block, core::Poll::adaptive}) {
        TestRing ring{"poll"};
        Reading run{ring, Delivery::every, poll};
        run.thread->start();
        for (std::uint64_t i = 1; i <= 20; ++i) {
            ring.publish_quotes(1);
            while (run.thread->account().delivered < i) std::this_thread::yield();
        }
        run.thread->stop();
        EXPECT_EQ(run.thread->account(), (Account{.published = 20, .delivered = 20}));
    }
}

TEST(SinkThread, AProcessorOnWhichItMayNotRunIsRefusedByNameOfTheSink) {
    TestRing ring{"pin"};
    Reading run{ring, Delivery::every, core::Poll::block, 1'000};
    try {
        run.thread->start();
        FAIL() << "no error";
    } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), ::testing::StartsWith("sink 'recorder': pin: this thread may not run on processor"));
    }
}

TEST(SinkThread, WhatASinkDoesNotTakeIsFiltered) {
    TestRing ring{"filter"};
    Reading run{ring, Delivery::every};
    ring.publish_quotes(2);
    ring.writer.publish(trade_of(0, 5));
    ring.writer.publish(feed::Gap{.channel = 1, .first = 1, .last = 2});
    run.drain();
    EXPECT_EQ(run.thread->account(), (Account{.published = 4, .delivered = 2, .filtered = 2}));
}

TEST(SinkThread, MeasuresTheLagOfEachEventThatItPassesOn) {
    TestRing ring{"lag"};
    Reading run{ring, Delivery::every};
    const auto publish = [&](std::uint64_t ticks) {
        auto quote = quote_of(0, 5);
        quote.receive_ticks = ticks;
        ring.writer.publish(quote);
    };
    constexpr std::uint64_t kTicks = 1'000'000'000;
    publish(core::ticks() - kTicks);
    publish(core::ticks());
    publish(0);  // unknown
    auto filtered = trade_of(0, 5);
    filtered.receive_ticks = core::ticks() - 1'000 * kTicks;
    ring.writer.publish(filtered);
    run.drain();
    const auto lag = run.thread->reset_max_lag();
    EXPECT_GE(lag, kTicks);
    EXPECT_LT(lag, 1'000 * kTicks) << "of an event that the sink does not accept";
    EXPECT_EQ(run.thread->reset_max_lag(), 0U);
}

TEST(SinkThread, RequestsTheBooksOfOrdersWhenItHasMissedSomeOrJoinsARingInUse) {
    for (const bool needs : {true, false}) {
        TestRing ring{"request", 64};
        int requests = 0;
        const auto read = [&] {
            auto made = std::make_unique<Recorder>(Delivery::every);
            made->needs = needs;
            return std::make_unique<SinkThread>(
                SinkThread::Options{.ring = ring.name, .name = "recorder", .request_books = [&] { ++requests; }},
                std::move(made), kSilent);
        };
        const auto first = read();
        EXPECT_EQ(requests, 0) << "nothing was published yet";
        ring.publish_quotes(100);
        while (first->round(0) != 0) {
        }
        EXPECT_EQ(requests, needs ? 1 : 0);
        const auto late = read();
        EXPECT_EQ(requests, needs ? 2 : 0);
    }
}

TEST(SinkThread, WithoutCapacityEventsWaitInTheRingAndOverwrittenOnesAreMissed) {
    TestRing ring{"lap", 256};
    Reading run{ring, Delivery::every};
    run.sink->available_now = 0;
    ring.publish_quotes(100);
    run.drain();
    EXPECT_EQ(run.thread->account(), (Account{.published = 100, .queued = 100}));
    ring.publish_quotes(900);
    const Account lapped{.published = 1'000, .missed = 744, .queued = 256};
    EXPECT_EQ(run.thread->account(), lapped) << "while its thread does nothing";
    run.thread->round(0);
    EXPECT_EQ(run.thread->account(), lapped);
    run.sink->available_now = 10;
    run.drain();
    const auto account = run.thread->account();
    EXPECT_TRUE(account.closes());
    EXPECT_EQ(account.published, 1'000U);
    EXPECT_EQ(account.queued, 0U);
    EXPECT_GT(account.missed, 700U);
    EXPECT_EQ(account.missed, run.sink->lost);
    EXPECT_EQ(account.delivered, run.sink->bids.size());
    EXPECT_EQ(run.sink->bids.back(), 1'000);
}

TEST(SinkThread, EntriesBeingReadAreNotMissedHoweverFarTheRingAdvances) {
    for (const auto mode : {Delivery::every, Delivery::conflate}) {
        TestRing ring{"midway", 256};
        Reading run{ring, mode};
        std::uint64_t before = 0;
        const auto look = [&] {
            const auto account = run.thread->account();
            EXPECT_TRUE(account.closes());
            EXPECT_GE(account.missed, before) << "lost events came back";
            before = account.missed;
        };
        int polls = 0;
        run.sink->at_quote = [&] {
            if (++polls < 400) ring.publish_quotes(1);  // once round the ring without a loss
            if (polls == 400) ring.publish_quotes(900);
            look();
        };
        ring.publish_quotes(2);
        run.drain();
        look();
        const auto account = run.thread->account();
        EXPECT_EQ(account.queued, 0U);
        EXPECT_EQ(account.missed, run.sink->lost);
        EXPECT_NE(account.missed, 0U);
    }
}

TEST(SinkThread, WhatASinkHoldsAndWhatItWasLappedByAddUpWhileItsThreadDoesNothing) {
    TestRing ring{"frozen", 256};
    Reading run{ring, Delivery::conflate};
    run.sink->available_now = 0;
    ring.publish_quotes(10);
    run.drain();
    EXPECT_EQ(run.thread->account(), (Account{.published = 10, .conflated = 8, .queued = 2}));
    ring.publish_quotes(256);
    EXPECT_EQ(run.thread->account(), (Account{.published = 266, .conflated = 8, .queued = 258}));
    ring.publish_quotes(4);
    EXPECT_EQ(run.thread->account(), (Account{.published = 270, .conflated = 8, .missed = 4, .queued = 258}));
}

TEST(SinkThread, QuotesThatWaitAreIncompleteOnceAGapOrALossHasPassedThem) {
    TestRing ring{"waitgap", 256};
    Reading run{ring, Delivery::conflate};
    run.sink->available_now = 0;
    ring.publish_quotes(2);
    ring.writer.publish(feed::Gap{.channel = 1});
    run.drain();
    ring.writer.publish(feed::Gap{.channel = 0});
    run.drain();
    ring.publish_quotes(1);
    run.drain();
    run.sink->available_now = 10;
    run.thread->round(0);
    EXPECT_THAT(run.sink->bids, ElementsAre(3, 2));
    EXPECT_THAT(run.sink->flags, ElementsAre(0, feed::kIncomplete));
    run.sink->available_now = 0;
    ring.publish_quotes(2);
    run.drain();
    for (int i = 0; i < 1'000; ++i) ring.writer.publish(trade_of(0, 1));
    run.drain();
    run.sink->available_now = 10;
    run.thread->round(0);
    EXPECT_THAT(run.sink->flags, ElementsAre(0, feed::kIncomplete, feed::kIncomplete, feed::kIncomplete));
}

TEST(SinkThread, WhatTheSinkHoldsIsQueuedUntilItHasGoneOut) {
    TestRing ring{"held"};
    Reading run{ring, Delivery::every};
    ring.publish_quotes(10);
    run.sink->held_now = 4;
    run.drain();
    EXPECT_EQ(run.thread->account(), (Account{.published = 10, .delivered = 6, .queued = 4}));
}

TEST(SinkThread, ConflatingItPassesOnTheNewestOfEachInstrument) {
    TestRing ring{"conflate"};
    Reading run{ring, Delivery::conflate};
    run.sink->available_now = 0;
    ring.publish_quotes(9);
    run.drain();
    EXPECT_EQ(run.thread->account(), (Account{.published = 9, .conflated = 7, .queued = 2}));
    run.sink->available_now = 10;
    run.thread->round(0);
    EXPECT_THAT(run.sink->bids, ElementsAre(9, 8));  // MSFT came first, so it has waited longest
    EXPECT_EQ(run.thread->account(), (Account{.published = 9, .delivered = 2, .conflated = 7}));
}

TEST(SinkThread, AClearVoidsTheQuotesThatWaitBeforeIt) {
    TestRing ring{"clear"};
    Reading run{ring, Delivery::conflate};
    run.sink->available_now = 0;
    ring.publish_quotes(4);
    ring.writer.publish(feed::Clear{.channel = 0});
    ring.publish_quotes(1);
    run.drain();
    run.sink->available_now = 10;
    run.thread->round(0);
    EXPECT_THAT(run.sink->bids, ElementsAre(5));
    EXPECT_EQ(run.thread->account(), (Account{.published = 6, .delivered = 2, .conflated = 4}));
}

TEST(SinkThread, TheAccountClosesAtEveryMomentForAnotherThread) {
    TestRing ring{"closes", 256};
    Reading run{ring, Delivery::every};
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> open_accounts{0};
    std::thread watcher{[&] {
        while (!over.load()) {
            if (!run.thread->account().closes()) open_accounts.fetch_add(1);
            std::this_thread::yield();
        }
    }};
    run.thread->start();
    for (int i = 0; i < 200; ++i) {
        ring.publish_quotes(100);
        std::this_thread::yield();
    }
    run.thread->stop();
    over.store(true);
    watcher.join();
    EXPECT_EQ(open_accounts.load(), 0U);
    const auto account = run.thread->account();
    EXPECT_EQ(account.published, 20'000U);
    EXPECT_EQ(account.queued, 0U);
    EXPECT_TRUE(account.closes());
    EXPECT_TRUE(run.sink->finished);
}

TEST(SinkThread, ABlockingSinkSleepsShortlyAfterAnEventUnlessItMayHoldEvents) {
    TestRing ring{"sleeps"};
    Reading prompt{ring, Delivery::every, core::Poll::block};
    Reading patient{ring, Delivery::every, core::Poll::block, std::nullopt, std::chrono::milliseconds{200}};
    prompt.thread->start();
    patient.thread->start();
    constexpr std::chrono::nanoseconds kLong = kLongSleep;
    constexpr int kMaxPolls = 5'000;  // a thread that is not scheduled for a while mistakes that for silence
    for (int i = 0; i < kMaxPolls && prompt.sink->shortest_sleep_ns >= kLong.count(); ++i) {
        ring.publish_quotes(1);
        for (auto* sink : {prompt.sink, patient.sink}) sink->sleeps.wait(sink->sleeps.load());
    }
    prompt.thread->stop();
    patient.thread->stop();
    EXPECT_LT(prompt.sink->shortest_sleep_ns, kLong.count());
    EXPECT_EQ(patient.sink->shortest_sleep_ns, kLong.count());
    EXPECT_EQ(patient.thread->account(), prompt.thread->account());
}

TEST(SinkThread, ASinkThatNeverTakesAnythingLeavesTheOthersAccountAndOrderAlone) {
    TestRing ring{"stuck", 256};
    Reading stuck{ring, Delivery::every};
    Reading good{ring, Delivery::every};
    stuck.sink->available_now = 0;
    for (int i = 0; i < 100; ++i) {
        ring.publish_quotes(100);
        good.drain();
        stuck.drain();
    }
    EXPECT_EQ(good.thread->account(), (Account{.published = 10'000, .delivered = 10'000}));
    for (std::size_t i = 0; i < good.sink->bids.size(); ++i) {
        ASSERT_EQ(good.sink->bids[i], static_cast<feed::Price>(i + 1));
    }
    EXPECT_EQ(stuck.thread->account(), (Account{.published = 10'000, .missed = 9'744, .queued = 256}));
}

TEST(Conflator, GivesWhatWaitedLongestFirstAndEachInstrumentOnce) {
    Conflator conflator;
    EXPECT_TRUE(conflator.push(quote_of(3, 1), 1));
    EXPECT_TRUE(conflator.push(quote_of(1, 2), 2));
    EXPECT_FALSE(conflator.push(quote_of(3, 3), 3));
    EXPECT_EQ(conflator.size(), 2U);
    Conflator::Waiting next;
    ASSERT_TRUE(conflator.pop(next));
    EXPECT_EQ(next.quote.bid_price, 3);
    EXPECT_EQ(next.number, 3U);
    ASSERT_TRUE(conflator.pop(next));
    EXPECT_EQ(next.quote.bid_price, 2);
    EXPECT_FALSE(conflator.pop(next));
}

TEST(SharedAccount, IsReadAsAWhole) {
    SharedAccount shared;
    std::atomic<bool> over{false};
    std::thread writer{[&] {
        for (std::uint64_t i = 1; i <= 20'000; ++i) {
            shared.write({.published = 5 * i, .delivered = i, .filtered = i, .conflated = i, .missed = i, .queued = i});
        }
        over.store(true);
    }};
    std::uint64_t torn = 0;
    while (!over.load()) {
        if (!shared.read().closes()) ++torn;
        std::this_thread::yield();
    }
    writer.join();
    EXPECT_EQ(torn, 0U);
    EXPECT_EQ(shared.read().delivered, 20'000U);
}

}  // namespace
}  // namespace millpond::gateway
