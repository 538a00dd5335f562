#include "gateway/sinks/journal/journal_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/journal_reader.hpp>

#include "gateway/sinks/sink_thread.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/market/depth_fixture.hpp"

namespace millpond::gateway::journal {
namespace {

using millpond::journal::JournalReader;
using millpond::journal::LostRecord;

/// Bids and losses that a reader of the journal gets.
struct Read {
    void on(const feed::Quote& quote) { bids.push_back(quote.bid_price); }
    void on(const feed::Trade&) { ++others; }
    void on(const feed::TradeBreak&) { ++others; }
    void on(const feed::Status&) { ++others; }
    void on(const feed::Gap&) { ++others; }
    void on(const feed::Clear&) { ++others; }
    void on(const LostRecord& record) { lost.push_back(record); }
    std::vector<feed::Price> bids;
    std::vector<LostRecord> lost;
    std::uint64_t others{0};
};

class JournalSinkTest : public ::testing::Test {
protected:
    ~JournalSinkTest() override { std::filesystem::remove_all(folder_); }

    std::unique_ptr<SinkThread> open(const TestRing& ring) {
        const service::LogFunction log = [this](service::Severity, std::string_view, const std::string& text) {
            said_.push_back(text);
        };
        return std::make_unique<SinkThread>(
            SinkThread::Options{.ring = ring.name, .name = "journal"},
            std::make_unique<JournalSink>(
                "journal",
                millpond::journal::WriterOptions{.folder = folder_, .ring = ring.name, .segment_bytes = 1U << 20U},
                log),
            log);
    }
    static void drain(SinkThread& sink) {
        while (sink.account().queued != 0 || sink.round(core::monotonic_nanos()) != 0) {
            sink.round(core::monotonic_nanos());
        }
    }
    [[nodiscard]] Read read() const {
        JournalReader reader{folder_};
        Read read;
        reader.poll(read, SIZE_MAX);
        return read;
    }
    static void expect_bids(const Read& read, std::uint64_t last) {
        ASSERT_EQ(read.bids.size(), last);
        for (std::uint64_t i = 0; i < last; ++i) ASSERT_EQ(read.bids[i], static_cast<feed::Price>(i + 1));
    }

    std::filesystem::path folder_{std::filesystem::path{::testing::TempDir()} /
                                  ("millpond_journal_sink_" + std::to_string(getpid()))};
    std::vector<std::string> said_;
};

TEST_F(JournalSinkTest, WhatWasInTheRingBeforeItIsWrittenDownToo) {
    TestRing ring{"journal1"};
    ring.publish_quotes(100);
    auto sink = open(ring);
    drain(*sink);
    ring.publish_quotes(50);
    drain(*sink);
    EXPECT_TRUE(sink->account().closes());
    EXPECT_EQ(sink->account().delivered, 150U);
    expect_bids(read(), 150);
}

TEST_F(JournalSinkTest, ASecondOneGoesOnWhereTheFirstStopped) {
    TestRing ring{"journal2"};
    ring.publish_quotes(10);
    {
        auto sink = open(ring);
        drain(*sink);
    }
    ring.publish_quotes(20);
    auto sink = open(ring);
    drain(*sink);
    EXPECT_EQ(sink->account().delivered, 20U);
    const auto got = read();
    expect_bids(got, 30);
    EXPECT_TRUE(got.lost.empty());
}

TEST_F(JournalSinkTest, WhatTheRingLostIsALostRecordInItsPlace) {
    TestRing ring{"journal3", 256};
    auto sink = open(ring);
    ring.publish_quotes(10);
    drain(*sink);
    ring.publish_quotes(1'000);
    drain(*sink);
    const auto account = sink->account();
    EXPECT_TRUE(account.closes());
    EXPECT_GT(account.missed, 700U);
    const auto got = read();
    ASSERT_EQ(got.lost.size(), 1U);
    EXPECT_EQ(got.lost[0].first, 11U);
    EXPECT_EQ(got.lost[0].count(), account.missed);
    EXPECT_EQ(got.bids.size() + got.lost[0].count(), 1'010U);
    EXPECT_EQ(got.bids[10], static_cast<feed::Price>(got.lost[0].last + 1));
    ASSERT_FALSE(said_.empty());
    EXPECT_THAT(said_.back(), ::testing::HasSubstr("ring entries 11 to"));
}

TEST_F(JournalSinkTest, ANewSessionBeginsASegmentOfItsOwnAndNothingIsLost) {
    TestRing ring{"journal5"};
    auto sink = open(ring);
    for (int session = 0; session < 4; ++session) {
        ring.publish_quotes(10);
        ring.writer.publish(new_session_of());
    }
    ring.publish_quotes(10);
    drain(*sink);
    EXPECT_TRUE(sink->account().closes());
    sink.reset();  // ends the open segment
    const auto got = read();
    expect_bids(got, 50);
    EXPECT_EQ(got.others, 4U);
    EXPECT_TRUE(got.lost.empty());
    EXPECT_TRUE(said_.empty()) << said_.front();
    const auto segments = millpond::journal::describe_segments(folder_);
    ASSERT_GE(segments.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(segments[i].session, i + 1);
        JournalReader reader{segments[i].file.path};
        Read of_session;
        reader.poll(of_session, SIZE_MAX);
        ASSERT_EQ(of_session.bids.size(), 10U);
        EXPECT_EQ(of_session.bids.front(), static_cast<feed::Price>(i * 10 + 1));
        EXPECT_EQ(of_session.others, i == 0 ? 0U : 1U);
    }
}

TEST_F(JournalSinkTest, NamesAreThereForEveryEvent) {
    TestRing ring{"journal4"};
    ring.publish_quotes(3);
    auto sink = open(ring);
    drain(*sink);
    JournalReader reader{folder_};
    Read read;
    EXPECT_EQ(reader.poll(read, SIZE_MAX), 3U);
    ASSERT_NE(reader.instrument(1), nullptr);
    EXPECT_EQ(reader.instrument(1)->symbol, feed::Symbol{"MSFT"});
    EXPECT_EQ(reader.ring(), ring.name);
}

/// The channel's depth at each level.
struct DepthsOfLevels {
    void on(const feed::Level& level) { depths.push_back(reader.depth(level.channel)); }
    void on(const feed::Quote&) {}
    void on(const feed::Trade&) {}
    void on(const feed::TradeBreak&) {}
    void on(const feed::Status&) {}
    void on(const feed::Gap&) {}
    void on(const feed::Clear&) {}
    void on(const LostRecord&) {}
    JournalReader& reader;
    std::vector<market::ChannelDepth> depths{};
};

TEST_F(JournalSinkTest, TheDepthOfAChannelIsThereForItsLevels) {
    TestRing ring{"journal6", 1'024, 10};
    const auto publish_level = [&](std::uint16_t channel) {
        ring.writer.publish(feed::Level{.instrument = 0,
                                        .channel = channel,
                                        .flags = feed::kLast,
                                        .side = feed::Side::bid,
                                        .price = 1'000,
                                        .size = 5});
    };
    ring.publish_quotes(3);
    ASSERT_TRUE(ring.writer.set_depth(2, {.depth = 10, .orders = true}));
    publish_level(2);
    auto sink = open(ring);
    drain(*sink);
    ASSERT_TRUE(ring.writer.set_depth(1, {.depth = 5}));
    publish_level(1);
    drain(*sink);
    ring.writer.publish(new_session_of());
    publish_level(2);
    publish_level(1);
    drain(*sink);
    sink.reset();
    JournalReader reader{folder_};
    DepthsOfLevels levels{reader};
    reader.poll(levels, SIZE_MAX);
    const market::ChannelDepth orders{.depth = 10, .orders = true};
    const market::ChannelDepth few{.depth = 5, .orders = false};
    EXPECT_EQ(levels.depths, (std::vector{orders, few, orders, few}));
    for (const auto& segment : millpond::journal::describe_segments(folder_)) {
        if (segment.state != millpond::journal::SegmentState::ended) continue;
        JournalReader alone{segment.file.path};
        DepthsOfLevels of_segment{alone};
        alone.poll(of_segment, SIZE_MAX);
        EXPECT_EQ(of_segment.depths.size(), 2U);
        EXPECT_EQ(of_segment.depths, (std::vector{orders, few}));
    }
    EXPECT_TRUE(said_.empty()) << said_.front();
}

/// The parts of the books of all checkpoints.
struct Parts {
    static constexpr bool kReadsCheckpoints = true;

    template <class Event>
    void on(const Event&) {}
    void on(const millpond::journal::BookPart& part) { parts.push_back(part); }
    std::vector<millpond::journal::BookPart> parts{};
};

TEST_F(JournalSinkTest, ASinkThatReplacesAnotherContinuesItsBooks) {
    TestRing ring{"journal7", 1'024, 2};
    ASSERT_TRUE(ring.writer.set_depth(0, {.depth = 2, .orders = true}));
    std::uint64_t orders = 0;
    const auto publish_order = [&] {
        feed::Order order{.instrument = 1, .side = feed::Side::bid, .order_id = ++orders, .price = 1'000};
        order.size = order.size_left = 5;
        ring.writer.publish(order);
        ring.writer.publish(feed::Level{.instrument = 1,
                                        .flags = feed::kLast,
                                        .side = feed::Side::bid,
                                        .orders = static_cast<std::uint32_t>(orders),
                                        .price = 1'000,
                                        .size = 5 * orders});
    };
    ring.writer.publish(feed::Clear{});
    for (int run = 1; run <= 3; ++run) {
        publish_order();
        auto sink = open(ring);
        drain(*sink);
        sink->start();
        sink->stop();
        EXPECT_TRUE(sink->account().closes());
    }
    EXPECT_TRUE(said_.empty()) << said_.front();
    JournalReader reader{folder_};
    Parts read;
    reader.poll(read, SIZE_MAX);
    // Each sink wrote a checkpoint at its end: the channel, the orders and the levels.
    ASSERT_EQ(read.parts.size(), 9U);
    for (const auto& part : read.parts) EXPECT_EQ(part.head.flags & millpond::journal::kBookIncomplete, 0);
    EXPECT_EQ(read.parts[7].head.cells, 3U);
    EXPECT_EQ(read.parts[7].cells[2].id, 3U);
    EXPECT_EQ(read.parts[8].cells[0].size, 15U);
}

TEST_F(JournalSinkTest, TheLastCheckpointIsWrittenInSlicesBetweenWhichTheRingIsRead) {
    const auto name = market::fresh_name();
    const market::NameGuard guard{name};
    const auto ring = market::deep_writer(name, 4, 1U << 12U);
    market::name_instruments(*ring, market::DepthFeed::kInstruments);
    market::DepthFeed feed{*ring, 4, 1};
    const service::LogFunction log = [](service::Severity, std::string_view, const std::string&) {};
    auto made =
        std::make_unique<JournalSink>("journal",
                                      millpond::journal::WriterOptions{.folder = folder_,
                                                                       .ring = name,
                                                                       .segment_bytes = 1U << 20U,
                                                                       .checkpoint_interval = std::chrono::hours{1},
                                                                       .checkpoint_slice = std::chrono::nanoseconds{0}},
                                      log);
    auto& sink = *made;
    SinkThread thread{SinkThread::Options{.ring = name, .name = "journal"}, std::move(made), log};
    feed.open();
    for (int i = 0; i < 50; ++i) feed.publish();
    drain(thread);
    EXPECT_TRUE(sink.is_drained());
    sink.begin_drain();
    int rounds = 0;
    for (; !sink.is_drained(); ++rounds) {
        feed.publish();
        thread.round(core::monotonic_nanos());
        EXPECT_EQ(thread.account().queued, 0U);
    }
    EXPECT_GT(rounds, 1);
    EXPECT_EQ(sink.counters().checkpoints.read(), 1U);
    feed.publish();
    drain(thread);
    sink.finish();
    EXPECT_EQ(sink.counters().checkpoints.read(), 1U) << "the next writer reads the few events after it";
}

}  // namespace
}  // namespace millpond::gateway::journal
