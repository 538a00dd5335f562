// Replays that equal what a client got that was there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/journal/catalog.hpp>

#include "tests/gateway/json_lines/replay_fixture.hpp"

namespace millpond::gateway::replay_test {
namespace {

TYPED_TEST_SUITE(ReplayTest, ReplayKinds, ReplayKindName);

TYPED_TEST(ReplayTest, AClientThatReplaysFromTheStartGetsWhatTheWitnessGotAndGoesLive) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto witness = this->witness(sink);
    this->open_feed();
    for (int i = 0; i < 800; ++i) {
        this->publish();
        this->run_until({&sink}, {witness.get()}, [] { return true; });
        if (i == 400) {  // rotation: a new session starts a new segment
            this->journal_all();
            this->publish([&](auto& feed) { feed.clear(0, feed::kNoInstrument, 0); });
        }
    }
    this->journal_all();
    EXPECT_GE(this->ended_segments(), 1);
    const auto late = this->connect(sink, kFromTheStart, true);
    ASSERT_TRUE(this->run_until({&sink}, {witness.get(), late.get()}, [&] { return late->recorder.is_live; }));
    for (int i = 0; i < 200; ++i) {
        this->publish();
        this->run_until({&sink}, {witness.get(), late.get()}, [] { return true; });
    }
    ASSERT_TRUE(this->run_until({&sink}, {witness.get(), late.get()},
                                [&] { return late->recorder.events.back() == witness->recorder.events.back(); }));
    EXPECT_EQ(late->recorder.first, 1U);
    EXPECT_GT(this->expect_same(late->recorder, witness->recorder), 50U);
    EXPECT_EQ(late->recorder.missed.size(), 0U);
    EXPECT_EQ(late->recorder.missed_of_client, 0U);
    this->expect_account_closes(sink, *late);
    EXPECT_EQ(sink.metric("replays"), 0U);
    EXPECT_EQ(sink.metric("replays_total"), 1U);
}

/// Journals, laps the ring, rotates, and lets clients come, be slow and go, at random.
TYPED_TEST(ReplayTest, AtRandomEveryReplayEqualsTheWitnessWithoutTheRangesReportedAsLost) {
    std::uint64_t compared = 0;
    std::uint64_t missed = 0;
    std::uint64_t live = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE(seed);
        this->close_sinks();
        this->journal_.reset();
        std::filesystem::remove_all(this->folder_);
        std::mt19937_64 random{seed};
        const auto pick = [&](std::uint64_t bound) { return random() % bound; };
        const bool laps = seed % 2 == 0;
        this->start_ring(laps ? 512 : 1U << 14U, seed);
        this->open_journal();
        auto& witnessed = this->open_sink();
        auto& sink = this->open_sink();
        const auto witness = this->witness(witnessed);
        this->open_feed();
        std::vector<std::unique_ptr<typename TestFixture::Client>> clients;
        const auto is_replaying = [](const auto& client) {
            return client->recorder.lives < client->requests && client->recorder.errors.empty();
        };
        const auto from_anywhere = [&] {
            this->journal_all();
            std::uint64_t next = 1;
            for (const auto& segment : millpond::journal::describe_segments(this->folder_)) {
                next = std::max(next, segment.next_record);
            }
            return R"({"subscribe":["*"],"depth":4,"from":{"record":)" + std::to_string(1 + pick(next - 1)) + "}}";
        };
        for (int step = 0; step < 500; ++step) {
            for (auto groups = 1 + pick(4); groups != 0; --groups) {
                this->publish();
                this->run_until({&witnessed}, {witness.get()}, [] { return true; });
            }
            if (pick(4) != 0) this->journal_->round(core::monotonic_nanos());
            if (laps && pick(60) == 0) {  // the journal and the sink fall behind together, or one of them
                const auto which = pick(3);
                for (int i = 0; i < 200; ++i) {
                    this->publish();
                    this->run_until({&witnessed}, {witness.get()}, [] { return true; });
                    if (which == 0) this->journal_->round(core::monotonic_nanos());
                    if (which == 1) sink.round();
                }
            }
            if (pick(3) != 0) sink.round();
            if (step > 20 && std::ranges::count_if(clients, is_replaying) < 4 && pick(12) == 0) {
                if (!clients.empty() && pick(3) == 0 && !is_replaying(clients.front())) {
                    ++clients.front()->requests;
                    clients.front()->send(from_anywhere());
                } else {
                    clients.push_back(this->connect(sink, from_anywhere(), true, pick(2) == 0 ? 4'096 : 0));
                }
            }
            for (const auto& client : clients) {
                if (pick(3) != 0) client->receive();
            }
            if (!clients.empty() && pick(100) == 0) {
                clients[pick(clients.size())]->socket->leave();
            }
            std::erase_if(clients, [](const auto& client) {
                client->receive();
                return client->socket->over();
            });
        }
        this->journal_all();
        std::vector<typename TestFixture::Client*> all;
        for (const auto& client : clients) all.push_back(client.get());
        const auto has_all = [&](const typename TestFixture::Client* client) {
            return !client->recorder.errors.empty() ||
                   (client->recorder.lives == client->requests && !client->recorder.events.empty() &&
                    client->recorder.events.back().first >= witness->recorder.events.back().first);
        };
        ASSERT_TRUE(this->run_until({&sink}, all, [&] { return std::ranges::all_of(all, has_all); }));
        for (auto* client : all) {
            EXPECT_TRUE(client->recorder.errors.empty()) << client->recorder.errors.front();
            EXPECT_EQ(client->recorder.missed_of_client, 0U);
            compared += this->expect_same(client->recorder, witness->recorder);
            this->expect_account_closes(sink, *client);
            missed += client->recorder.missed_count();
            live += client->recorder.is_live ? 1U : 0U;
            ASSERT_FALSE(this->HasFailure());
        }
        EXPECT_EQ(sink.metric("replays"), 0U);
    }
    EXPECT_GT(compared, 1'000U);
    EXPECT_GT(missed, 100U);
    EXPECT_GT(live, 10U);
}

TYPED_TEST(ReplayTest, OnlyTheSubscribedInstrumentsAreReplayed) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto of_one = [](const ReplayRecorder& recorder) {
        std::vector<std::pair<std::uint64_t, std::string>> events;
        for (const auto& event : recorder.events) {
            const auto symbol = text_in(event.second, "symbol");
            if (symbol.empty() || symbol == "null" || symbol == "\"S1\"") events.push_back(event);
        }
        return events;
    };
    const auto witness = this->witness(sink);
    this->open_feed();
    for (int i = 0; i < 500; ++i) {
        this->publish();
        this->run_until({&sink}, {witness.get()}, [] { return true; });
    }
    this->journal_all();
    const auto late = this->connect(sink, R"({"subscribe":["S1"],"from":{"record":1}})", true);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.is_live; }));
    for (int i = 0; i < 100; ++i) this->publish();
    ASSERT_TRUE(this->run_until({&sink}, {late.get(), witness.get()}, [&] {
        return of_one(late->recorder) == of_one(witness->recorder) && sink.thread->account().queued == 0;
    }));
    EXPECT_EQ(late->recorder.events.size(), of_one(late->recorder).size());
    EXPECT_TRUE(late->recorder.books.empty());
    this->expect_account_closes(sink, *late);
}

TYPED_TEST(ReplayTest, AnEarlierRunOfTheGatewayIsReplayedTooAndTheNextOneBegins) {
    this->start_ring(1U << 14U, 5);
    this->open_journal();
    ReplayRecorder first{kDepth};
    std::vector<std::uint64_t> ends_of_first;
    {
        auto& sink = this->open_sink();
        const auto witness = this->witness(sink);
        this->open_feed();
        for (int i = 0; i < 300; ++i) {
            this->publish();
            this->run_until({&sink}, {witness.get()}, [] { return true; });
        }
        first = witness->recorder;
        ends_of_first = this->ends_;
    }
    const auto last_of_first = this->ring_->newest();
    this->journal_all();
    this->close_sinks();
    this->journal_.reset();
    this->start_ring(1U << 14U, 6);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto witness = this->witness(sink);
    this->open_feed();
    for (int i = 0; i < 300; ++i) {
        this->publish();
        this->run_until({&sink}, {witness.get()}, [] { return true; });
    }
    this->journal_all();
    const auto late = this->connect(sink, kFromTheStart, true);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.is_live; }));
    ASSERT_EQ(late->recorder.earlier.size(), 1U);
    EXPECT_EQ(late->recorder.last_of_earlier, last_of_first);
    EXPECT_GT(this->expect_same(late->recorder.earlier.front(), first, ends_of_first), 50U);
    EXPECT_GT(this->expect_same(late->recorder, witness->recorder), 50U);
    this->expect_account_closes(sink, *late);
}

TYPED_TEST(ReplayTest, ATimeBeginsWithItsFirstEventAlsoIfThatIsYetToCome) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    constexpr std::int64_t kNoon = 1'764'504'000 * kSecond;  // 2025-11-30T12:00:00Z
    this->start_ring(1U << 12U);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto publish = [&](std::int64_t receive_utc_ns) {
        auto quote = market::quote_of(0, 0, ++this->value_);
        quote.receive_utc_ns = receive_utc_ns;
        quote.flags = feed::kLast;  // readers see a group when it ends
        ASSERT_TRUE(this->ring_->publish(quote));
    };
    for (int i = 0; i < 10; ++i) publish(kNoon + i * kSecond);
    this->journal_all();
    const auto within = this->connect(sink, R"({"subscribe":["S0"],"from":"2025-11-30T12:00:07Z"})", true);
    const auto after = this->connect(sink, R"({"subscribe":["S0"],"from":"2025-11-30T12:00:09.000000001Z"})", true);
    ASSERT_TRUE(this->run_until({&sink}, {within.get(), after.get()},
                                [&] { return within->recorder.is_live && after->recorder.is_live; }));
    EXPECT_EQ(within->recorder.events.size(), 3U);
    // What it knows of the quote comes from the board.
    EXPECT_EQ(after->recorder.events.size(), 1U);
    publish(kNoon + 60 * kSecond);
    ASSERT_TRUE(this->run_until({&sink}, {within.get(), after.get()}, [&] {
        return within->recorder.events.size() == 4 && after->recorder.events.size() == 2;
    }));
    EXPECT_EQ(within->recorder.events.back(), after->recorder.events.back());
}

TYPED_TEST(ReplayTest, BooksOfOrdersAreReplayedInTheOrderOfTheirPriority) {
    this->start_ring(1U << 12U);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto witness = this->connect(sink, R"({"subscribe":["S0"],"orders":true,"account":true})");
    ASSERT_TRUE(this->run_until({&sink}, {witness.get()}, [&] { return !witness->recorder.accounts.empty(); }));
    this->open_feed();
    std::mt19937_64 random{3};
    std::vector<feed::Order> live;
    const auto step = [&] {
        feed::Order order;
        order.instrument = 0;
        if (live.size() < 5 || random() % 2 == 0) {
            order.order_id = ++this->value_;
            order.side = random() % 2 == 0 ? feed::Side::bid : feed::Side::ask;
            order.price = (order.side == feed::Side::bid ? 100 : 101) * feed::kPriceScale;
            order.size = order.size_left = 1 + random() % 9;
            live.push_back(order);
        } else {
            const auto at = random() % live.size();
            order = live[at];
            order.action = feed::OrderAction::cancel;
            order.size = order.size_left;
            order.size_left = 0;
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
        }
        order.flags = feed::kLast;
        ASSERT_TRUE(this->ring_->publish(order));
        this->run_until({&sink}, {witness.get()}, [] { return true; });
    };
    for (int i = 0; i < 200; ++i) step();
    this->journal_all();
    const auto whole = this->connect(sink, R"({"subscribe":["S0"],"orders":true,"from":{"record":1}})", true);
    const auto part = this->connect(sink, R"({"subscribe":["S0"],"orders":true,"from":{"record":150}})", true);
    ASSERT_TRUE(this->run_until({&sink}, {whole.get(), part.get()},
                                [&] { return whole->recorder.is_live && part->recorder.is_live; }));
    // Half of the orders are unknown to a replay from the middle: its book is complete only with that of the sink.
    EXPECT_EQ(std::ranges::count_if(part->recorder.books.at("\"S0\"").states,
                                    [](const auto& one) { return one.second.back().complete; }),
              1);
    for (int i = 0; i < 50; ++i) step();
    ASSERT_TRUE(this->run_until({&sink}, {whole.get(), part.get()}, [&] {
        const auto newest = [](const auto& client) {
            const auto& [now, states] = *client->recorder.books.at("\"S0\"").states.rbegin();
            return std::pair{now, states.back()};
        };
        return newest(whole) == newest(witness) && newest(part) == newest(witness);
    }));
    EXPECT_GT(this->expect_same(whole->recorder, witness->recorder), 40U);
    EXPECT_GT(this->expect_same(part->recorder, witness->recorder), 40U);
}

TYPED_TEST(ReplayTest, SegmentsThatAreRemovedBeforeTheReplayReadsThemAreARangeThatItReportsAsMissed) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& witnessed = this->open_sink();
    auto& sink = this->open_sink([](auto& s) { s.send_buffer = 4'096; });
    const auto witness = this->witness(witnessed);
    this->open_feed();
    for (int segment = 0; segment < 3; ++segment) {
        for (int i = 0; i < 1'000; ++i) {
            this->publish();
            this->run_until({&witnessed}, {witness.get()}, [] { return true; });
        }
        this->journal_all();
        this->publish(
            [&](auto& feed) { feed.clear(0, feed::kNoInstrument, 0); });  // a new session, which starts a new segment
    }
    this->journal_all();
    this->catch_up(sink);
    ASSERT_GE(this->ended_segments(), 3);
    const auto late = this->connect(sink, kFromTheStart, true, 4'096);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->recorder.has_begun(); }));
    // It reads nothing more meanwhile: the replay is in the first segment.
    for (const auto& segment : millpond::journal::describe_segments(this->folder_)) {
        if (segment.state == millpond::journal::SegmentState::ended) std::filesystem::remove(segment.file.path);
    }
    ASSERT_TRUE(this->run_until({&sink, &witnessed}, {late.get(), witness.get()},
                                [&] { return late->recorder.is_live || !late->recorder.errors.empty(); }));
    this->publish();
    ASSERT_TRUE(this->run_until({&sink, &witnessed}, {late.get(), witness.get()}, [&] {
        return late->recorder.events.back().first == witness->recorder.events.back().first &&
               witnessed.thread->account().queued == 0;
    }));
    EXPECT_GE(late->recorder.missed.size(), 1U);  // it may read on between two removals
    EXPECT_GT(this->expect_same(late->recorder, witness->recorder), 50U);
    this->expect_account_closes(sink, *late);
}

}  // namespace
}  // namespace millpond::gateway::replay_test
