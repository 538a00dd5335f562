// Requests for replays: what they are answered, refusals, and replays that fail.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/journal/catalog.hpp>
#include <millpond/journal/journal_writer.hpp>

#include "tests/gateway/json_lines/replay_fixture.hpp"

namespace millpond::gateway::replay_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

template <class Kind>
class ReplayRequestTest : public ReplayTest<Kind> {};
TYPED_TEST_SUITE(ReplayRequestTest, ReplayKinds, ReplayKindName);

TYPED_TEST(ReplayRequestTest, WhatTheJournalDoesNotHaveIsAPreciseError) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink();
    auto& other = this->open_sink([](auto& s) {
        s.journal.clear();
        s.ring = "alone";
    });
    this->open_feed();
    for (int i = 0; i < 50; ++i) this->publish();
    const auto refusal = [&](auto& of, std::string_view from, std::string_view more = "") {
        const auto client =
            this->connect(of, R"({"subscribe":["S0"],)" + std::string{more} + R"("from":)" + std::string{from} + "}");
        EXPECT_TRUE(this->run_until({&of}, {client.get()}, [&] { return !client->recorder.errors.empty(); }));
        // It is a live client still, of everything.
        EXPECT_TRUE(this->run_until({&of}, {client.get()}, [&] {
            if (client->recorder.events.empty()) this->publish();
            return !client->recorder.events.empty();
        }));
        return client->recorder.errors.front();
    };
    this->journal_.reset();
    std::filesystem::remove_all(this->folder_);
    EXPECT_THAT(refusal(other, R"({"record":1})"), HasSubstr("ring 'alone' has no [[journal]]"));
    EXPECT_THAT(refusal(sink, R"({"record":1})"), HasSubstr("No such file"));
    this->open_journal();
    // The journal continues with what the ring has; then it has records 1 to N.
    this->journal_all();
    std::uint64_t next = 0;
    for (const auto& segment : millpond::journal::describe_segments(this->folder_)) {
        next = std::max(next, segment.next_record);
    }
    EXPECT_THAT(refusal(sink, R"({"record":99999999})"),
                HasSubstr("record 99999999 does not exist; the journal's newest is " + std::to_string(next - 1)));
    EXPECT_THAT(refusal(sink, R"("1969-12-31T23:59:59Z")"),
                HasSubstr("1969-12-31T23:59:59.000000000Z is before the journal's first event, of 1970-01-01T"));
    EXPECT_THAT(refusal(sink, R"("2260-01-01")"), HasSubstr("2260-01-01T00:00:00.000000000Z is in the future; it is "));
    EXPECT_THAT(refusal(sink, R"({"record":1})", R"("mode":"conflate",)"), HasSubstr("'from' needs the mode"));
    EXPECT_EQ(sink.metric("replays"), 0U);
}

TYPED_TEST(ReplayRequestTest, OneReplayTooManyIsRefusedByNameUntilAnotherClientLeaves) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink([](auto& s) { s.send_buffer = 4'096; });
    this->open_feed();
    for (int i = 0; i < 8'000; ++i) {
        this->publish();
        if (i % 100 == 0) this->journal_all();
    }
    this->journal_all();
    this->catch_up(sink);
    std::vector<std::unique_ptr<typename TestFixture::Client>> clients;
    for (std::uint64_t i = 1; i <= 4; ++i) {  // none of them reads
        clients.push_back(this->connect(sink, kFromTheStart, true, 4'096));
        ASSERT_TRUE(this->run_until({&sink}, {}, [&] { return sink.metric("replays") == i; }));
    }
    const auto fifth = this->connect(sink, kFromTheStart, true);
    ASSERT_TRUE(this->run_until({&sink}, {fifth.get()}, [&] { return !fifth->recorder.errors.empty(); }));
    EXPECT_THAT(fifth->recorder.errors.front(), HasSubstr("4 replays are in progress, of max_replays = 4"));
    EXPECT_EQ(sink.metric("replays_refused_total"), 1U);
    clients.front()->socket->leave();
    ASSERT_TRUE(this->run_until({&sink}, {fifth.get()}, [&] { return sink.metric("replays") == 3; }));
    fifth->send(kFromTheStart);
    ASSERT_TRUE(this->run_until({&sink}, {fifth.get()}, [&] { return fifth->recorder.is_live; }));
    EXPECT_EQ(fifth->recorder.first, 1U);
    // The sink stops while the others replay.
    EXPECT_EQ(sink.metric("replays"), 3U);
    this->close_sinks();
    for (const auto& client : clients) {
        if (client != clients.front()) client->receive();
    }
}

TYPED_TEST(ReplayRequestTest, ARequestDuringAReplayIsRefusedButForItsAccount) {
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
    const auto client = this->connect(sink, kFromTheStart, true, 4'096);
    ASSERT_TRUE(this->run_until({&sink}, {}, [&] { return sink.metric("replays") == 1; }));
    // The replay is running; most of it waits for the client.
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return client->recorder.has_begun(); }));
    for (const auto* request : {R"({"subscribe":["S1"]})", R"({"unsubscribe":["*"]})", R"({"mode":"conflate"})",
                                R"({"subscribe":["S1"],"from":{"record":2}})"}) {
        client->send(request);
    }
    client->send(R"({"account":true,"echo":7})");
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return !client->recorder.accounts.empty(); }));
    ASSERT_EQ(client->recorder.errors.size(), 4U);
    for (const auto& error : client->recorder.errors) EXPECT_THAT(error, HasSubstr("a replay is in progress"));
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return client->recorder.is_live; }));
    // The echo answers for what was published before it, so not before the replay is over.
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return client->recorder.echoes == 1; }));
    EXPECT_TRUE(client->recorder.echoed_live);
    client->send(R"({"unsubscribe":["*"],"account":true})");
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return client->recorder.accounts.size() == 2; }));
    EXPECT_EQ(client->recorder.errors.size(), 4U);
}

TYPED_TEST(ReplayRequestTest, WhatARequestForAReplayIsAnsweredFollowsItsBegin) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink();
    this->open_feed();
    for (int i = 0; i < 100; ++i) this->publish();
    this->journal_all();
    this->catch_up(sink);
    // An interval that does not end in this test: neither does it delay the replay.
    const auto client = this->connect(sink, R"({"interval_ms":60000,"account":true})", true);
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return !client->recorder.accounts.empty(); }));
    client->recorder.types.clear();
    client->send(R"({"subscribe":["S0","NONE"],"depth":4,"from":{"record":1},"echo":1})");
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return client->recorder.is_live; }));
    const auto& types = client->recorder.types;
    ASSERT_GT(types.size(), 3U);
    EXPECT_EQ(types[0], "\"replay\"");
    EXPECT_EQ(types[1], "\"unknown\"");
    const auto live = std::ranges::find(types, "\"live\"");
    EXPECT_EQ(std::count(types.begin(), live, "\"echo\""), 0);
    client->send(R"({"interval_ms":0})");
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return client->recorder.echoes == 1; }));
    EXPECT_TRUE(client->recorder.echoed_live);
}

TYPED_TEST(ReplayRequestTest, AReplayThatFailsIsCountedAndLogged) {
    this->start_ring(1U << 12U);
    this->open_journal();
    auto& sink = this->open_sink();
    this->open_feed();
    this->journal_all();
    const auto client = this->connect(sink, R"({"subscribe":["*"],"from":{"record":99999999}})");
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return !client->recorder.errors.empty(); }));
    EXPECT_EQ(sink.metric("replays_failed_total"), 1U);
    EXPECT_EQ(sink.metric("replays"), 0U);
    EXPECT_EQ(sink.thread->health().replays_failed, 1U);
    EXPECT_THAT(
        this->said_,
        Contains(HasSubstr(R"(sink 'sink': a replay from {"record":99999999} failed: 'from': record 99999999)")));
    EXPECT_THAT(this->warned_, ::testing::IsEmpty()) << "the request is wrong, not the sink";
}

TYPED_TEST(ReplayRequestTest, AReplayWhoseJournalHasStoppedEndsAndFreesItsPlace) {
    this->start_ring(512);
    this->open_journal();
    auto& sink = this->open_sink([](auto& s) {
        s.journal_patience = std::chrono::milliseconds{20};
        s.max_replays = 1;
    });
    this->open_feed();
    const auto publish = [&](int groups) {
        for (int i = 0; i < groups; ++i) {
            this->publish();
            sink.round();
        }
    };
    publish(50);
    this->journal_all();
    publish(300);  // laps the journal, which has stopped
    const auto late = this->connect(sink, kFromTheStart, true);
    ASSERT_TRUE(this->run_until({&sink}, {late.get()}, [&] { return late->socket->over(); }));
    EXPECT_FALSE(late->recorder.is_live);
    EXPECT_FALSE(late->recorder.events.empty());
    ASSERT_EQ(late->recorder.errors.size(), 1U);
    EXPECT_THAT(late->recorder.errors.front(), HasSubstr("the journal has stopped: entry "));
    EXPECT_EQ(sink.metric("replays"), 0U);
    EXPECT_EQ(sink.metric("replays_failed_total"), 1U);
    EXPECT_THAT(this->warned_, Contains(HasSubstr("the journal has stopped")));
    this->journal_all();
    const auto next = this->connect(sink, kFromTheStart, true);
    ASSERT_TRUE(this->run_until({&sink}, {next.get()}, [&] { return next->recorder.is_live; }));
    EXPECT_EQ(next->recorder.missed.size(), 1U);
    this->expect_account_closes(sink, *next);
}

TYPED_TEST(ReplayRequestTest, AJournalThatIsRemovedDuringAReplayEndsIt) {
    this->start_ring(1U << 14U);
    this->open_journal();
    auto& sink = this->open_sink([](auto& s) { s.send_buffer = 4'096; });
    this->open_feed();
    for (int i = 0; i < 3'000; ++i) {
        this->publish();
        if (i % 100 == 0) this->journal_all();
        if (i == 1'500) this->publish([&](auto& feed) { feed.clear(0, feed::kNoInstrument, 0); });
    }
    this->journal_all();
    this->catch_up(sink);
    const auto client = this->connect(sink, kFromTheStart, true, 4'096);
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return client->recorder.has_begun(); }));
    this->journal_.reset();
    std::filesystem::remove_all(this->folder_);
    ASSERT_TRUE(this->run_until({&sink}, {client.get()}, [&] { return client->socket->over(); }));
    ASSERT_EQ(client->recorder.errors.size(), 1U);
    EXPECT_THAT(client->recorder.errors.front(), HasSubstr("the journal cannot be read: No such file"));
    EXPECT_EQ(sink.metric("replays"), 0U);
    EXPECT_EQ(sink.metric("replays_failed_total"), 1U);
}

TYPED_TEST(ReplayRequestTest, SegmentsOfAnotherRingAreNotReplayed) {
    const auto write_other = [&](std::uint64_t epoch) {
        millpond::journal::JournalWriter writer{{.folder = this->folder_, .ring = "other", .segment_bytes = 1U << 20U},
                                                1};
        writer.set_epoch(epoch);
        writer.name(0, {feed::Venue{"X"}, feed::Symbol{"OTHER"}});
        for (std::uint64_t number = 1; number <= 20; ++number) {
            auto quote = market::quote_of(0, 0, number);
            quote.receive_utc_ns = 1;
            ASSERT_TRUE(writer.append(quote, number));
        }
    };
    write_other(1);
    this->start_ring(1U << 12U);
    this->open_journal();
    auto& sink = this->open_sink();
    const auto witness = this->witness(sink);
    this->open_feed();
    this->journal_all();
    this->journal_.reset();
    write_other(2);
    this->open_journal();
    this->publish();
    this->journal_all();
    std::uint64_t first = 0;
    int others = 0;
    for (const auto& segment : millpond::journal::describe_segments(this->folder_)) {
        if (segment.ring == "other") ++others;
        if (segment.ring == this->name_ && first == 0) first = segment.first_record;
    }
    ASSERT_EQ(others, 2);
    ASSERT_GT(first, 1U);
    const auto before = this->connect(sink, R"({"subscribe":["*"],"from":{"record":1}})");
    ASSERT_TRUE(this->run_until({&sink}, {before.get()}, [&] { return !before->recorder.errors.empty(); }));
    EXPECT_THAT(before->recorder.errors.front(),
                HasSubstr("record 1 is not there any more; the journal's first is " + std::to_string(first)));
    const auto late =
        this->connect(sink, R"({"subscribe":["*"],"depth":4,"from":{"record":)" + std::to_string(first) + "}}", true);
    ASSERT_TRUE(this->run_until({&sink}, {late.get(), witness.get()}, [&] { return late->recorder.is_live; }));
    EXPECT_TRUE(late->recorder.earlier.empty());
    EXPECT_EQ(late->recorder.newest.count("\"quote\"\"OTHER\""), 0U);
    this->expect_same(late->recorder, witness->recorder);
    this->expect_account_closes(sink, *late);
}

}  // namespace
}  // namespace millpond::gateway::replay_test
