// From a replay to the live events.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include <millpond/core/clock.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/socket_address.hpp>

#include "tests/gateway/json_lines/replay_fixture.hpp"

namespace millpond::gateway::replay_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <class Kind>
class ReplayLiveTest : public ReplayTest<Kind> {};
TYPED_TEST_SUITE(ReplayLiveTest, ReplayKinds, ReplayKindName);

TYPED_TEST(ReplayLiveTest, AReplayThatCannotReachAnOfferBeforeTheLogGoesOnGetsAnother) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& witnessed = this->open_sink();
    auto& sink = this->open_sink([](auto& s) { s.backlog = 64; });
    const auto witness = this->witness(witnessed);
    this->open_feed();
    const auto publish = [&](int groups) {
        for (int i = 0; i < groups; ++i) {
            this->publish();
            this->run_until({&witnessed}, {witness.get()}, [] { return true; });
        }
        this->journal_all();
    };
    publish(300);
    const auto late = this->connect(sink, kFromTheStart, true);
    // Every round reads more than the log holds, so that the line that was offered before it is gone.
    for (int i = 0; i < 40 && !late->recorder.is_live; ++i) {
        publish(60);
        sink.round();
        late->receive();
    }
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.is_live; }));
    publish(5);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()},
                                [&] { return late->recorder.events.back() == witness->recorder.events.back(); }));
    EXPECT_EQ(late->recorder.missed_of_client, 0U);
    EXPECT_GT(this->expect_same(late->recorder, witness->recorder), 50U);
    this->expect_account_closes(sink, *late);
}

TYPED_TEST(ReplayLiveTest, WhileAReplayWaitsForTheJournalTheClientGetsNoLiveEvent) {
    this->start_ring(512);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto witness = this->connect(sink, R"({"subscribe":["*"],"mode":"every","account":true})");
    ASSERT_TRUE(this->run_until({&sink}, {witness.get()}, [&] { return !witness->recorder.accounts.empty(); }));
    this->open_feed();
    const auto publish = [&](int groups) {
        for (int i = 0; i < groups; ++i) {
            this->publish();
            this->run_until({&sink}, {witness.get()}, [] { return true; });
        }
    };
    publish(50);
    this->journal_all();
    publish(300);  // laps the journal, which lags
    // All events and no books: what the sink sends to many clients at once.
    const auto late = this->connect(sink, R"({"subscribe":["*"],"from":{"record":1}})", true);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return !late->recorder.events.empty(); }));
    for (int i = 0; i < 50; ++i) {
        publish(1);
        late->receive();
    }
    EXPECT_FALSE(late->recorder.is_live);
    EXPECT_LT(late->recorder.events.back().first, 50U * 10U);
    this->journal_all();
    ASSERT_TRUE(this->run_until({&sink}, {late.get(), witness.get()}, [&] { return late->recorder.is_live; }));
    publish(10);
    ASSERT_TRUE(this->run_until({&sink}, {late.get(), witness.get()},
                                [&] { return late->recorder.events.back() == witness->recorder.events.back(); }));
    EXPECT_EQ(late->recorder.missed.size(), 1U);
    this->expect_same(late->recorder, witness->recorder);
    this->expect_account_closes(sink, *late);
}

TYPED_TEST(ReplayLiveTest, AClientMayReplayAgainOnceItIsLive) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto witness = this->witness(sink);
    this->open_feed();
    const auto publish = [&](int groups) {
        for (int i = 0; i < groups; ++i) {
            this->publish();
            this->run_until({&sink}, {witness.get()}, [] { return true; });
        }
        this->journal_all();
    };
    publish(200);
    const auto late = this->connect(sink, kFromTheStart, true);
    for (int lives = 1; lives <= 3; ++lives) {
        ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.lives == lives; }));
        publish(20);
        ASSERT_TRUE(this->run_until({&sink}, {late.get()},
                                    [&] { return late->recorder.events.back() == witness->recorder.events.back(); }));
        EXPECT_GT(this->expect_same(late->recorder, witness->recorder), 10U);
        this->expect_account_closes(sink, *late);
        late->send(lives == 1 ? R"({"subscribe":["*"],"depth":4,"from":{"record":300}})" : kFromTheStart);
    }
    EXPECT_TRUE(late->recorder.errors.empty());
}

TYPED_TEST(ReplayLiveTest, AQuoteThatTheSinkHasAsIncompleteIsIncompleteForTheClientToo) {
    this->start_ring(64);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto publish = [&](feed::InstrumentId id) {
        auto quote = market::quote_of(id, 0, ++this->value_);
        quote.flags = feed::kLast;
        ASSERT_TRUE(this->ring_->publish(quote));
    };
    publish(0);
    sink.round();
    for (int i = 0; i < 200; ++i) {  // laps the sink, not the journal
        publish(2);
        this->journal_all();
    }
    const auto late = this->connect(sink, R"({"subscribe":["S0"],"from":{"record":1}})", true);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.is_live; }));
    publish(2);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.incomplete_quotes == 1; }));
    EXPECT_EQ(late->recorder.events.size(), 1U);
    EXPECT_EQ(late->recorder.missed.size(), 0U);
    this->expect_account_closes(sink, *late);
}

TYPED_TEST(ReplayLiveTest, AtLiveTheNewestStatesAndQuotesCountAlsoIfTheSinkLacksThem) {
    this->start_ring(64);
    this->open_journal();
    auto& sink = this->open_sink();
    sink.round();
    const auto state = [&](feed::InstrumentId id, feed::TradingState to) {
        feed::Status status;
        status.instrument = id;
        status.state = to;
        status.feed_sequence = ++this->value_;
        ASSERT_TRUE(this->ring_->publish(status));
    };
    const auto quote = [&](feed::InstrumentId id) {
        auto one = market::quote_of(id, 0, ++this->value_);
        one.flags = feed::kLast;
        EXPECT_TRUE(this->ring_->publish(one));
        return this->ring_->newest();
    };
    quote(0);
    quote(1);
    state(0, feed::TradingState::halted);
    state(feed::kNoInstrument, feed::TradingState::halted);
    this->journal_all();
    // The journal misses these, and the sink does not.
    const auto only_in_sink = quote(1);
    state(1, feed::TradingState::halted);
    for (int i = 0; i < 100; ++i) {
        quote(2);
        sink.round();
    }
    this->journal_all();
    // The sink misses these, and the journal does not.
    const auto only_in_journal = quote(0);
    const auto unknown_to_sink = quote(3);
    state(0, feed::TradingState::trading);
    state(feed::kNoInstrument, feed::TradingState::trading);
    for (int i = 0; i < 200; ++i) {
        this->journal_all();
        quote(2);
    }
    this->journal_all();
    const auto late = this->connect(sink, R"({"subscribe":["S0","S1","S3"],"from":{"record":1}})", true);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.is_live; }));
    late->send(R"({"echo":1})");
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.echoes == 1; }));
    EXPECT_THAT(late->recorder.older, ::testing::IsEmpty());
    const auto newest = [&](const char* key) { return late->recorder.newest[key]; };
    const auto is = [](std::uint64_t number) { return HasSubstr("\"sequence\":" + std::to_string(number) + ","); };
    EXPECT_THAT(newest("\"status\"\"S0\""), HasSubstr("trading"));
    EXPECT_THAT(newest("\"status\"0"), HasSubstr("trading"));
    EXPECT_THAT(newest("\"status\"\"S1\""), HasSubstr("halted"));
    // The next gap sends none of these again.
    EXPECT_THAT(newest("\"quote\"\"S0\""), AllOf(is(only_in_journal), HasSubstr("\"incomplete\":true")));
    EXPECT_THAT(newest("\"quote\"\"S1\""), AllOf(is(only_in_sink), HasSubstr("\"incomplete\":true")));
    EXPECT_THAT(newest("\"quote\"\"S3\""), AllOf(is(unknown_to_sink), HasSubstr("\"incomplete\":true")));
    this->expect_account_closes(sink, *late);
}

/// Passes a ring's events to a sink as SinkThread does.
template <class Sink>
struct Feeder {
    Sink& sink;
    market::RingReader& ring;
    feed::InstrumentId named{0};
    bool joins{true};

    template <class Event>
    void on(const Event& event) {
        if constexpr (requires { event.instrument; }) {
            for (; event.instrument != feed::kNoInstrument && named <= event.instrument; ++named) {
                const auto* const instrument = ring.instrument(named);
                sink.name(named, instrument->venue, instrument->symbol, instrument->decimals);
            }
        }
        if (!joins) {
            sink.on(event, ring.current());
        } else if constexpr (requires { sink.board(event, 1U); }) {
            sink.board(event, ring.account().since - 1);
        }
    }
    void on(const queue::MissedRange& missed) { sink.missed(missed.first, missed.last); }
};

TYPED_TEST(ReplayLiveTest, WhatTheBoardHadBeforeTheSinkReadItIsReplayed) {
    this->start_ring(1U << 12U);
    this->open_journal();
    auto& witnessed = this->open_sink();
    const auto witness = this->witness(witnessed);
    this->open_feed();
    for (int i = 0; i < 100; ++i) {
        this->publish();
        this->run_until({&witnessed}, {witness.get()}, [] { return true; });
    }
    for (feed::InstrumentId id = 0; id < DepthFeed::kInstruments; ++id)
        this->publish([&](auto& feed) { feed.send_snapshot(id); });

    auto settings = test::settings_with<typename TypeParam::Settings>([&](auto& s) {
        s.name = "sink";
        s.ring = this->name_;
        s.listen = net::SocketAddress::parse("127.0.0.1:0");
        s.mode = Delivery::every;
        s.journal = this->folder_;
    });
    const auto sink = TypeParam::make(settings, this->log_);
    market::RingReader ring{{.name = this->name_}};
    sink->open(ring);
    Feeder<typename TypeParam::Sink> feeder{*sink, ring};
    // Changes of the last instrument while the sink copies the board: its levels include them.
    int steps = 0;
    ring.join(feeder, [&] {
        if (++steps == 3) {
            for (int i = 0; i < 20; ++i) {
                this->publish([&](auto& feed) { feed.send_change(DepthFeed::kInstruments - 1); });
                this->run_until({&witnessed}, {witness.get()}, [] { return true; });
            }
        }
    });
    feeder.joins = false;
    this->journal_all();
    const auto round = [&] {
        while (ring.poll(feeder, 64) != 0) {
        }
        sink->wait(std::chrono::nanoseconds{0});
        sink->step(core::monotonic_nanos());
        this->run_until({&witnessed}, {witness.get()}, [] { return true; });
    };
    typename TestFixture::Client late{sink->address().port(), true, 0};
    const auto run_until = [&](const auto& done) {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (!done() && core::monotonic_nanos() < deadline) {
            round();
            late.receive();
        }
        return done();
    };
    ASSERT_TRUE(run_until([&] { return TypeParam::is_open(*late.socket); }));
    late.send(kFromTheStart);
    ASSERT_TRUE(run_until([&] { return late.recorder.is_live; }));
    for (int i = 0; i < 60; ++i) {
        this->publish([&](auto& feed) { feed.send_change(DepthFeed::kInstruments - 1); });
        round();
    }
    ASSERT_TRUE(run_until([&] { return late.recorder.events.back() == witness->recorder.events.back(); }));
    EXPECT_GT(this->expect_same(late.recorder, witness->recorder), 50U);
}

TYPED_TEST(ReplayLiveTest, ASlowReplayDelaysNoLiveClientAndBuffersLittle) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink([](auto& s) { s.send_buffer = 4'096; });
    const auto witness = this->witness(sink);
    this->open_feed();
    const auto publish = [&](int groups) {
        for (int i = 0; i < groups; ++i) {
            this->publish();
            ASSERT_TRUE(this->run_until({&sink}, {witness.get()}, [&] { return true; }));
            if (i % 100 == 0) this->journal_all();
        }
        this->journal_all();
    };
    publish(4'000);
    const auto slow = this->connect(sink, kFromTheStart, true, 4'096);
    ASSERT_TRUE(this->run_until({&sink}, {}, [&] { return sink.metric("replays") == 1; }));
    // It reads nothing meanwhile; the live client gets every event.
    publish(4'000);
    ASSERT_TRUE(this->run_until({&sink}, {witness.get()}, [&] {
        return witness->recorder.events.back().first == this->ring_->newest() || sink.thread->account().queued == 0;
    }));
    EXPECT_EQ(witness->recorder.missed_of_client, 0U);
    EXPECT_EQ(sink.metric("replays"), 1U);
    EXPECT_FALSE(slow->recorder.is_live);
    ASSERT_TRUE(this->run_until({&sink}, {slow.get(), witness.get()}, [&] { return slow->recorder.is_live; }));
    publish(3);
    ASSERT_TRUE(this->run_until({&sink}, {slow.get(), witness.get()},
                                [&] { return slow->recorder.events.back() == witness->recorder.events.back(); }));
    EXPECT_GT(this->expect_same(slow->recorder, witness->recorder), 50U);
    this->expect_account_closes(sink, *slow);
}

TYPED_TEST(ReplayLiveTest, ASinkStopsInTheMiddleOfAReplay) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink([](auto& s) { s.send_buffer = 4'096; });
    this->open_feed();
    for (int i = 0; i < 4'000; ++i) {
        this->publish();
        if (i % 100 == 0) this->journal_all();
    }
    this->journal_all();
    this->catch_up(sink);
    const auto live = this->witness(sink);
    const auto client = this->connect(sink, kFromTheStart, true, 4'096);
    ASSERT_TRUE(this->run_until({&sink}, {live.get(), client.get()}, [&] { return client->recorder.has_begun(); }));
    sink.thread->start();
    sink.thread->stop();
    this->close_sinks();
    ASSERT_TRUE(this->run_until({}, {live.get(), client.get()},
                                [&] { return client->socket->over() && live->socket->over(); }));
    EXPECT_FALSE(client->recorder.is_live);
    // The replay takes no time from the others' last message.
    ASSERT_EQ(live->recorder.errors.size(), 1U);
    EXPECT_THAT(live->recorder.errors.front(), HasSubstr("the gateway is stopping"));
}

}  // namespace
}  // namespace millpond::gateway::replay_test
