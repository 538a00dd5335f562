#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <millpond/net/udp_receiver.hpp>
#include <millpond/net/udp_sender.hpp>

#include "apps/millpond/traffic/transmitter.hpp"
#include "tests/apps/list_source.hpp"

namespace millpond::traffic {
namespace {

using test::ListSource;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;

/// A clock that advances only during waits; each wait returns `oversleep` late.
class StillClock final : public Clock {
public:
    [[nodiscard]] std::int64_t now() override { return now_; }
    void wait_until(std::int64_t time) override {
        waits.push_back(time);
        now_ = time + oversleep;
        if (stop_at_wait == waits.size()) stop = true;
    }

    std::int64_t oversleep{0};
    std::vector<std::int64_t> waits;
    std::size_t stop_at_wait{0};
    std::atomic<bool> stop{false};

private:
    std::int64_t now_{1000 * kMs};
};

class TransmitterTest : public ::testing::Test {
protected:
    /// Datagrams received so far.
    std::vector<std::string> received() {
        std::vector<std::string> texts;
        for (auto datagrams = receiver_.poll(); !datagrams.empty(); datagrams = receiver_.poll()) {
            for (const auto& each : datagrams)
                texts.emplace_back(reinterpret_cast<const char*>(each.bytes.data()), each.bytes.size());
        }
        return texts;
    }

    net::UdpReceiver receiver_{{.local = net::SocketAddress::parse("127.0.0.1:0")}};
    net::UdpSender sender_{{.to = receiver_.report().local}};
    StillClock clock_;
};

TEST_F(TransmitterTest, SendsEachDatagramAtItsTime) {
    ListSource source{{{0, "a"}, {5 * kMs, "b"}, {5 * kMs, "c"}, {7 * kMs, "d"}}};
    Transmitter transmitter{sender_, clock_, {}};
    EXPECT_TRUE(transmitter.run(source, clock_.stop));
    EXPECT_THAT(clock_.waits, ElementsAre(1005 * kMs, 1007 * kMs));
    EXPECT_THAT(received(), ElementsAre("a", "b", "c", "d"));
    EXPECT_EQ(transmitter.sent().datagrams, 4U);
    EXPECT_EQ(transmitter.sent().messages, 4U);
    EXPECT_EQ(transmitter.sent().bytes, 4U);
    EXPECT_EQ(transmitter.sent().late, 0U);
    EXPECT_EQ(transmitter.sent().elapsed_ns, 7 * kMs);
}

TEST_F(TransmitterTest, SpeedDividesTheDistances) {
    ListSource source{{{0, "a"}, {10 * kMs, "b"}, {30 * kMs, "c"}}};
    Transmitter transmitter{sender_, clock_, {.speed = 2.5}};
    EXPECT_TRUE(transmitter.run(source, clock_.stop));
    EXPECT_THAT(clock_.waits, ElementsAre(1004 * kMs, 1012 * kMs));
}

TEST_F(TransmitterTest, ALongWaitIsReportedBeforeItBegins) {
    ListSource source{{{0, "a"}, {9'000 * kMs, "b"}, {61'209'000 * kMs, "c"}, {61'209'001 * kMs, "d"}}};
    Transmitter transmitter{sender_, clock_, {}};
    std::vector<std::int64_t> reported;
    transmitter.on_long_wait([&](std::int64_t wait_ns) {
        reported.push_back(wait_ns);
        EXPECT_EQ(clock_.now(), 10'000 * kMs);
    });
    EXPECT_TRUE(transmitter.run(source, clock_.stop));
    EXPECT_THAT(reported, ElementsAre(61'200'000 * kMs));
}

TEST_F(TransmitterTest, SpeedZeroNeverWaits) {
    ListSource source{{{0, "a"}, {3600'000 * kMs, "b"}}};
    Transmitter transmitter{sender_, clock_, {.speed = 0.0}};
    EXPECT_TRUE(transmitter.run(source, clock_.stop));
    EXPECT_THAT(clock_.waits, ElementsAre());
    EXPECT_THAT(received(), ElementsAre("a", "b"));
    EXPECT_EQ(transmitter.sent().late, 0U);
}

TEST_F(TransmitterTest, WhatIsBehindLeavesInABurstAndIsReported) {
    ListSource source{{{0, "a"}, {2 * kMs, "b"}, {3 * kMs, "c"}, {6 * kMs, "d"}, {20 * kMs, "e"}}};
    clock_.oversleep = 4 * kMs;
    Transmitter transmitter{sender_, clock_, {}};
    EXPECT_TRUE(transmitter.run(source, clock_.stop));
    // The transmitter wakes at 6 instead of 2, when b, c and d are due; then it follows the schedule again.
    EXPECT_THAT(clock_.waits, ElementsAre(1002 * kMs, 1020 * kMs));
    EXPECT_THAT(received(), ElementsAre("a", "b", "c", "d", "e"));
    EXPECT_EQ(transmitter.sent().late, 3U);  // b is late by 4, c by 3, e by 4; d is on time
    EXPECT_EQ(transmitter.sent().max_late_ns, 4 * kMs);
}

TEST_F(TransmitterTest, AStopEndsAWait) {
    ListSource source{{{0, "a"}, {5 * kMs, "b"}, {9 * kMs, "c"}}};
    clock_.stop_at_wait = 2;
    Transmitter transmitter{sender_, clock_, {}};
    EXPECT_FALSE(transmitter.run(source, clock_.stop));
    EXPECT_THAT(received(), ElementsAre("a", "b"));
    EXPECT_EQ(transmitter.sent().datagrams, 2U);
}

TEST_F(TransmitterTest, CountsOverSeveralRunsEachOnAScheduleOfItsOwn) {
    Transmitter transmitter{sender_, clock_, {}};
    for (int round = 0; round < 2; ++round) {
        ListSource source{{{0, "a"}, {5 * kMs, "b"}}};
        EXPECT_TRUE(transmitter.run(source, clock_.stop));
    }
    EXPECT_THAT(clock_.waits, ElementsAre(1005 * kMs, 1010 * kMs));
    EXPECT_EQ(transmitter.sent().datagrams, 4U);
    EXPECT_EQ(transmitter.sent().elapsed_ns, 10 * kMs);
}

TEST_F(TransmitterTest, ADatagramThatTheKernelRefusesForGoodIsCountedAndTheNextIsSent) {
    ListSource source{{{0, "a"}, {0, std::string(70'000, 'x')}, {0, "b"}}};
    Transmitter transmitter{sender_, clock_, {}};
    EXPECT_TRUE(transmitter.run(source, clock_.stop));
    EXPECT_THAT(received(), ElementsAre("a", "b"));
    EXPECT_EQ(transmitter.sent().failed, 1U);
    EXPECT_EQ(transmitter.sent().datagrams, 2U);
}

TEST_F(TransmitterTest, SendsMoreThanABatchInOrder) {
    std::vector<ListSource::Item> items;
    std::vector<std::string> texts;
    for (int i = 0; i < 100; ++i) {
        texts.push_back(std::to_string(i));
        items.push_back({0, texts.back()});
    }
    ListSource source{items};
    Transmitter transmitter{sender_, clock_, {.batch = 7}};
    EXPECT_TRUE(transmitter.run(source, clock_.stop));
    EXPECT_EQ(received(), texts);
}

TEST_F(TransmitterTest, ReportsItsProgressAtMostEveryTenthOfASecondAndAtTheEnd) {
    std::vector<ListSource::Item> items;
    for (int i = 0; i <= 100; ++i) items.push_back({i * 10 * kMs, "x"});
    ListSource source{items};
    Transmitter transmitter{sender_, clock_, {}};
    std::vector<std::uint64_t> reports;
    transmitter.on_progress([&](const Sent& sent) { reports.push_back(sent.datagrams); });
    EXPECT_TRUE(transmitter.run(source, clock_.stop));
    EXPECT_GE(reports.size(), 10U);
    EXPECT_LE(reports.size(), 13U);
    EXPECT_EQ(reports.back(), 101U);
}

TEST_F(TransmitterTest, OptionsOutOfRangeAreRefused) {
    const auto refusal = [&](const Transmitter::Options& options) -> std::string {
        try {
            const Transmitter transmitter{sender_, clock_, options};
            return "accepted";
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
    };
    EXPECT_THAT(refusal({.speed = -1.0}), HasSubstr("speed is -1"));
    EXPECT_THAT(refusal({.speed = std::numeric_limits<double>::infinity()}), HasSubstr("speed is inf"));
    EXPECT_THAT(refusal({.batch = 0}), HasSubstr("batch is 0; it must be 1 to 1024"));
}

TEST(MonotonicClock, WaitsUntilTheTimeUnlessItIsFarAway) {
    for (const bool spin : {false, true}) {
        MonotonicClock clock{spin};
        const auto start = clock.now();
        clock.wait_until(start + kMs);
        EXPECT_GE(clock.now(), start + kMs);
        clock.wait_until(start - kMs);
        clock.wait_until(std::numeric_limits<std::int64_t>::max());
        EXPECT_GE(clock.now(), start + Clock::kMaxWait);
    }
}

}  // namespace
}  // namespace millpond::traffic
