// Planted states of a gateway: the samples and events that are made of them.
#include "gateway/health/recorder.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/sinks/client_list.hpp"
#include "service/event_log.hpp"
#include "service/history.hpp"
#include "tests/support/allocation_counter.hpp"

namespace millpond::gateway::health {
namespace {

using service::EventKind;
using service::EventRecord;
using service::History;
using ::testing::ElementsAre;
using ::testing::IsNan;

constexpr std::int64_t kPlantedSecondNs = 1'000'000'000;
constexpr std::int64_t kPlantedBegin = 20'000 * 86'400;

State state_with(std::size_t feeds, std::size_t lines, std::size_t rings, std::size_t sinks) {
    State state;
    for (std::size_t i = 0; i < feeds; ++i) {
        auto& feed = state.feeds.emplace_back();
        feed.name = fmt::format("feed-{}", i);
        for (std::size_t n = 0; n < lines; ++n) feed.lines.push_back({.name = n == 0 ? "a" : "b", .listen = "x"});
    }
    for (std::size_t i = 0; i < rings; ++i) state.rings.emplace_back().name = fmt::format("ring-{}", i);
    for (std::size_t i = 0; i < sinks; ++i) {
        auto& sink = state.sinks.emplace_back();
        sink.name = fmt::format("sink-{}", i);
        sink.since = static_cast<std::int64_t>(i) + 1;
    }
    return state;
}

class RecorderTest : public testing::Test {
protected:
    explicit RecorderTest(State first = state_with(1, 2, 1, 1)) : state(std::move(first)) {
        for (auto& feed : state.feeds) feed.last_datagram = 1;
        update(0);
    }
    /// Updates with a state that was counted `seconds` after the beginning, and 30 ms into that second.
    void update(double seconds) {
        state.now = static_cast<std::int64_t>(seconds * 1e9) + 5 * kPlantedSecondNs + 30'000'000;
        state.utc_offset_ns = kPlantedBegin * kPlantedSecondNs - 5 * kPlantedSecondNs;
        state.counted = state.now;
        recorder.update(state);
    }
    [[nodiscard]] std::vector<float> series(std::string_view kind, std::string_view name, std::string_view wanted,
                                            std::size_t samples, std::int64_t from = 0) const {
        std::vector<float> values;
        history.visit(
            {.from = kPlantedBegin + from, .step = 1, .samples = samples},
            [&](const History::View& view) { return view.kind->name == kind && view.name == name; },
            [&](const History::View& view) {
                for (std::size_t i = 0; i < view.series.size(); ++i) {
                    if (view.kind->series[i].name == wanted) values = view.series[i];
                }
            });
        return values;
    }
    [[nodiscard]] std::vector<std::string> logged() const {
        std::vector<std::string> lines;
        for (const auto& event : events.select({})) {
            lines.push_back(fmt::format("{}{} {}: {}{}", to_string(event.kind), event.ended ? " ended" : "",
                                        event.source(), event.stage().empty() ? "" : fmt::format("{}: ", event.stage()),
                                        event.text()));
        }
        return lines;
    }

    State state;
    History history{Recorder::capacities(state)};
    service::EventLog events;
    Recorder recorder{history, events, state};
};

TEST_F(RecorderTest, SamplesHaveThePlantedRatesAndLossesOfTheirSecond) {
    auto& feed = state.feeds[0];
    for (int second = 1; second <= 3; ++second) {
        feed.datagrams += 1'000U * static_cast<unsigned>(second);
        feed.quotes += 50;
        feed.missing.count += second == 2 ? 7 : 0;
        feed.dropped.count += second == 3 ? 2 : 0;
        feed.undecodable.count += second == 1 ? 1 : 0;
        feed.lines[1].datagrams += 400;
        feed.lines[1].missing += 9;
        state.rings[0].published += 60;
        state.sinks[0].account.delivered += 55;
        state.sinks[0].account.missed += 4;
        state.sinks[0].account.queued = static_cast<unsigned>(second);
        state.sinks[0].lag_ns = 5'000 * second;
        update(second);
    }
    EXPECT_THAT(series("feed", "feed-0", "packets_per_second", 4), ElementsAre(1'000, 2'000, 3'000, IsNan()));
    EXPECT_THAT(series("feed", "feed-0", "quotes_per_second", 3), ElementsAre(50, 50, 50));
    EXPECT_THAT(series("feed", "feed-0", "missing", 3), ElementsAre(0, 7, 0));
    EXPECT_THAT(series("feed", "feed-0", "kernel_drops", 3), ElementsAre(0, 0, 2));
    EXPECT_THAT(series("feed", "feed-0", "undecodable", 3), ElementsAre(1, 0, 0));
    EXPECT_THAT(series("feed", "feed-0", "delay_ns", 3), ElementsAre(IsNan(), IsNan(), IsNan()));
    EXPECT_THAT(series("line", "b", "packets_per_second", 3), ElementsAre(400, 400, 400));
    EXPECT_THAT(series("line", "b", "missing", 3), ElementsAre(9, 9, 9));
    EXPECT_THAT(series("line", "a", "packets_per_second", 3), ElementsAre(0, 0, 0));
    EXPECT_THAT(series("ring", "ring-0", "published_per_second", 3), ElementsAre(60, 60, 60));
    EXPECT_THAT(series("sink", "sink-0", "delivered_per_second", 3), ElementsAre(55, 55, 55));
    EXPECT_THAT(series("sink", "sink-0", "missed", 3), ElementsAre(4, 4, 4));
    EXPECT_THAT(series("sink", "sink-0", "queued", 3), ElementsAre(1, 2, 3));
    EXPECT_THAT(series("sink", "sink-0", "lag_ns", 3), ElementsAre(5'000, 10'000, 15'000));
    EXPECT_THAT(series("sink", "sink-0", "clients", 3), ElementsAre(IsNan(), IsNan(), IsNan()));
}

TEST_F(RecorderTest, LatenciesAreMissingInASecondWithoutAnEvent) {
    state.rings[0].wire.newest = {.count = 10, .p50 = 5'000, .p99 = 90'000, .max = 100'000};
    state.rings[0].in_process.newest = {.count = 10, .p99 = 800};
    update(1);
    state.rings[0].wire.newest = {};
    state.rings[0].in_process.newest = {};
    update(2);
    EXPECT_THAT(series("ring", "ring-0", "wire_p50_ns", 2), ElementsAre(5'000, IsNan()));
    EXPECT_THAT(series("ring", "ring-0", "wire_p99_ns", 2), ElementsAre(90'000, IsNan()));
    EXPECT_THAT(series("ring", "ring-0", "wire_max_ns", 2), ElementsAre(100'000, IsNan()));
    EXPECT_THAT(series("ring", "ring-0", "in_process_p99_ns", 2), ElementsAre(800, IsNan()));
}

TEST_F(RecorderTest, SecondsInWhichNothingWasCountedAreMissingAndTheNextRateIsOfTheWholeTime) {
    state.feeds[0].datagrams += 100;
    update(1);
    state.feeds[0].datagrams += 400;
    update(5);
    EXPECT_THAT(series("feed", "feed-0", "packets_per_second", 5), ElementsAre(100, IsNan(), IsNan(), IsNan(), 100));
}

TEST_F(RecorderTest, ASinkThatAReloadReplacesContinuesItsSamplesAndARemovedOneKeepsThem) {
    state.sinks[0].account.delivered = 1'000;
    update(1);
    state.sinks[0] = {};
    state.sinks[0].name = "sink-0";
    state.sinks[0].since = 77;
    state.sinks[0].account.delivered = 30;
    update(2);
    EXPECT_THAT(series("sink", "sink-0", "delivered_per_second", 2), ElementsAre(1'000, 30));
    state.sinks.clear();
    update(3);
    EXPECT_THAT(series("sink", "sink-0", "delivered_per_second", 3), ElementsAre(1'000, 30, IsNan()));
}

TEST_F(RecorderTest, AFindingIsAnEventWhenItBeginsWhenItWorsensAndWhenItEnds) {
    auto& feed = state.feeds[0];
    feed.lines.clear();
    EXPECT_THAT(logged(), ElementsAre());
    feed.missing.update(3, state.now);
    update(1);
    feed.missing.update(8, state.now);
    update(2);
    EXPECT_THAT(logged(), ElementsAre("finding feed 'feed-0': gap: 3 sequence numbers are missing"));
    update(20);
    EXPECT_THAT(logged(), ElementsAre("finding feed 'feed-0': gap: 3 sequence numbers are missing",
                                      "finding ended feed 'feed-0': gap: 8 sequence numbers are missing"));
    const auto ended = *events.newest();
    EXPECT_EQ(ended.since, kPlantedBegin * kPlantedSecondNs + 30'000'000);
    EXPECT_EQ(ended.time, (kPlantedBegin + 20) * kPlantedSecondNs + 30'000'000);
    feed.last_datagram = 0;
    feed.listen = "x";
    feed.patience_ns = 5 * kPlantedSecondNs;
    feed.started = state.now;
    update(21);
    EXPECT_EQ(events.newest()->severity, service::Severity::warning);
    update(30);
    EXPECT_EQ(events.newest()->severity, service::Severity::error);
    EXPECT_FALSE(events.newest()->ended);
    EXPECT_EQ(events.newest()->stage(), "no datagrams");
    EXPECT_EQ(events.numbers().newest, 4U);
}

TEST_F(RecorderTest, LatencyAboveItsBoundIsAnEventOfItsOwnKind) {
    auto& ring = state.rings[0];
    ring.latency_warn_ns = 100'000;
    ring.wire.recent = {.count = 1'000, .p50 = 12'000, .p99 = 222'000'000, .max = 300'000'000};
    ring.slow.update(true, state.now);
    update(1);
    ring.slow.update(false, state.now);
    update(2);
    const std::string text =
        "ring 'ring-0': latency: p99 from receive timestamp to shared memory is 222 ms in the last 10 s, above 100 us; "
        "p50 is 12 us, the maximum 300 ms";
    EXPECT_THAT(logged(), ElementsAre("latency " + text, "latency ended " + text));
}

TEST_F(RecorderTest, ConnectionsAndClientsComeAndGo) {
    auto& feed = state.feeds[0];
    feed.listen = "10.0.0.1:9000";
    feed.session_over = true;  // no finding
    feed.disconnected.update(true, state.now);
    update(1);
    feed.disconnected.update(false, state.now);
    state.sinks[0].connected = true;
    state.sinks[0].clients = 0;
    state.sinks[0].client_list = std::make_shared<ClientList>();
    update(2);
    feed.disconnected.update(true, state.now);
    feed.connection_failure = "closed by the server";
    state.sinks[0].connected = false;
    state.sinks[0].last_error = "broken pipe";
    const ClientState desk{.id = 1, .peer = "10.0.0.2:5", .name = "desk"};
    state.sinks[0].clients_accepted = 6;
    state.sinks[0].clients = 6;
    ASSERT_TRUE(state.sinks[0].client_list->publish({desk,
                                                     {.id = 2, .peer = "10.0.0.2:6"},
                                                     {.id = 3, .peer = "10.0.0.2:7"},
                                                     {.id = 4, .peer = "10.0.0.2:8"},
                                                     {.id = 5, .peer = "10.0.0.2:9"}}));
    update(4);
    state.sinks[0].clients_departed = 5;
    state.sinks[0].clients = 1;
    update(5);  // who has left is not known yet
    ASSERT_TRUE(
        state.sinks[0].client_list->publish({{.id = 2, .peer = "10.0.0.2:6"}, {.id = 3, .peer = "10.0.0.2:7"}}));
    update(6);
    EXPECT_THAT(
        logged(),
        ElementsAre("connect feed 'feed-0': logged in at 10.0.0.1:9000", "connect sink 'sink-0': connected",
                    "disconnect feed 'feed-0': not logged in at 10.0.0.1:9000: closed by the server",
                    "disconnect sink 'sink-0': disconnected: broken pipe",
                    "connect sink 'sink-0': 6 clients connected: 10.0.0.2:5 'desk', 10.0.0.2:6, 10.0.0.2:7 and 2 "
                    "more; 6 connected now",
                    "disconnect sink 'sink-0': 5 clients disconnected: 10.0.0.2:5 'desk', 10.0.0.2:8, "
                    "10.0.0.2:9; 1 connected now"));
}

TEST_F(RecorderTest, FindingsThatAreOpenWhenTheRunEndsGetAnEnd) {
    state.feeds[0].link_down.update(true, state.now);
    state.sinks[0].ended = true;
    update(1);
    const auto open = events.select({});
    ASSERT_EQ(open.size(), 2U);
    const core::Moment end{.utc_ns = (kPlantedBegin + 9) * kPlantedSecondNs, .monotonic_ns = state.now + 8};
    recorder.finish(end);
    recorder.finish(end);
    events.flush_all(end);
    const auto all = events.select({});
    ASSERT_EQ(all.size(), 4U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_FALSE(all[i].ended);
        EXPECT_TRUE(all[i + 2].ended);
        EXPECT_EQ(all[i + 2].source(), all[i].source());
        EXPECT_EQ(all[i + 2].stage(), all[i].stage());
        EXPECT_EQ(all[i + 2].text(), fmt::format("the gateway stops; {}", all[i].text()));
        EXPECT_EQ(all[i + 2].time, end.utc_ns);
    }
}

TEST_F(RecorderTest, AClientThatTheSinkHasNotServedYetIsNotOneThatDisconnected) {
    state.sinks[0].clients = 0;
    state.sinks[0].client_list = std::make_shared<ClientList>();
    state.sinks[0].clients_accepted = 1;  // counted when it connects, and `clients` at the end of the sink's round
    update(1);
    state.sinks[0].clients = 1;
    update(2);
    events.flush_all({.utc_ns = kPlantedBegin * kPlantedSecondNs, .monotonic_ns = state.now});
    EXPECT_THAT(logged(), ElementsAre("connect sink 'sink-0': 1 client connected; 1 connected now"));
}

TEST_F(RecorderTest, FindingsOfTwoLinesOrCountersAreNotMixedUp) {
    auto& feed = state.feeds[0];
    for (auto& line : feed.lines) {
        line.apart.update(true, state.now);
        line.session = line.name;
    }
    feed.rejected.update(1, state.now);
    feed.ignored.update(1, state.now);
    feed.listen = "x";
    update(3);
    feed.lines[0].apart.update(false, state.now);
    feed.rejected = {};
    update(4);
    std::vector<std::string> ended;
    for (const auto& line : logged()) {
        if (line.starts_with("finding ended")) ended.push_back(line);
    }
    EXPECT_THAT(ended,
                testing::UnorderedElementsAre(
                    "finding ended feed 'feed-0': line: line a (x) brings session 'a' and is ignored: the feed is in "
                    "session ''",
                    "finding ended feed 'feed-0': rejected messages: 1 messages could not be read or contradict the "
                    "books"));
}

TEST_F(RecorderTest, AFindingLastedAsLongAsTheMonotonicClockSays) {
    auto& feed = state.feeds[0];
    feed.lines.clear();
    feed.missing.update(3, state.now);
    update(1);
    state.now += 20 * kPlantedSecondNs;
    state.utc_offset_ns += 3'600 * kPlantedSecondNs;  // the clock was set meanwhile
    state.counted = state.now;
    recorder.update(state);
    const auto ended = *events.newest();
    ASSERT_TRUE(ended.ended);
    EXPECT_EQ(ended.time - ended.since, 21 * kPlantedSecondNs);
}

TEST_F(RecorderTest, TheDelayIsOfASecondWithQuotesOnly) {
    auto& feed = state.feeds[0];
    feed.delay_ns = 5'000;
    feed.quotes += 10;
    update(1);
    update(2);
    EXPECT_THAT(series("feed", "feed-0", "delay_ns", 2), ElementsAre(5'000, IsNan()));
}

TEST_F(RecorderTest, ACountThatDecreasesHasNotGrown) {
    state.feeds[0].datagrams = 1'000;
    update(1);
    state.feeds[0].datagrams = 900;
    update(2);
    state.feeds[0].datagrams = 950;
    update(3);
    EXPECT_THAT(series("feed", "feed-0", "packets_per_second", 3), ElementsAre(1'000, 0, 50));
}

TEST_F(RecorderTest, ASinkWithoutRoomForItsSamplesIsNamed) {
    for (int i = 0; i < 9; ++i) {
        state.sinks.emplace_back().name = fmt::format("more-{}", i);
        update(i + 1);
    }
    EXPECT_THAT(logged(), ElementsAre("reload sink 'more-8': has no history: reloads added more than 8 sinks"));
}

class FullRecorder : public RecorderTest {
protected:
    FullRecorder() : RecorderTest(state_with(64, 2, 64, 64)) {}
};

TEST_F(FullRecorder, SixtyFourFeedsRingsAndSinksNeed32MiBAndASampleAllocatesNothing) {
    EXPECT_LE(history.bytes() + events.bytes(), std::size_t{32} << 20U);
    const millpond::test::AllocationCounter before_findings;
    static_cast<void>(findings(state, state.now));  // makes texts, which need memory until they are compared
    const auto of_findings = before_findings.allocations();
    update(1);
    const millpond::test::AllocationCounter counter;
    for (int second = 2; second < 130; ++second) update(second);
    const auto allocations = counter.allocations();
    EXPECT_EQ(allocations, 128 * of_findings);
    EXPECT_THAT(series("feed", "feed-63", "packets_per_second", 1, 100), ElementsAre(0));
    EXPECT_THAT(series("sink", "sink-63", "missed", 1, 100), ElementsAre(0));
}

}  // namespace
}  // namespace millpond::gateway::health
