// A whole gateway: its history and event log over faults, reloads, restarts and steps of the clock.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/core/clock.hpp>

#include "gateway/health/findings.hpp"
#include "gateway/sinks/csv/settings.hpp"
#include "service/event_log.hpp"
#include "service/http/page.hpp"
#include "service/json.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/stepped_clock.hpp"
#include "tests/support/whole_body.hpp"

namespace millpond::gateway::health {
namespace {

using service::EventKind;
using test::RunningGateway;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kClockSecondNs = 1'000'000'000;

std::vector<service::EventRecord> events_of(RunningGateway& gateway, EventKind kind) {
    return gateway.gateway().events().select({.kinds = {kind}});
}

/// Texts of the events of a kind; those that have ended begin with "ended: ".
std::vector<std::string> texts_of(RunningGateway& gateway, EventKind kind) {
    std::vector<std::string> texts;
    for (const auto& event : events_of(gateway, kind)) {
        texts.push_back(fmt::format("{}{}", event.ended ? "ended: " : "", event.text()));
    }
    return texts;
}

Json::Value history_of(RunningGateway& gateway, const std::string& query = {}) {
    return service::parse_json(
        millpond::test::whole_body(gateway.gateway().page({.path = "/api/history", .query = query})));
}

/// Values of a series of the first source of this kind.
std::vector<Json::Value> series_of(const Json::Value& history, std::string_view kind, const char* series) {
    for (const auto& source : history["sources"]) {
        if (source["kind"].asString() != kind) continue;
        return {source["series"][series].begin(), source["series"][series].end()};
    }
    return {};
}

bool has_sample(RunningGateway& gateway, std::int64_t after_second) {
    return gateway.watch_until([&](const State&) { return gateway.gateway().history().newest() > after_second; });
}

TEST(GatewayHistory, EveryQuoteAndEveryLossIsInASample) {
    RunningGateway gateway{"history"};
    const auto begin = core::utc_nanos();
    ASSERT_TRUE(has_sample(gateway, begin / kClockSecondNs - 1));
    gateway.send_quote();
    gateway.lose(5);
    gateway.send_quote();
    ASSERT_TRUE(gateway.watch_until([](const State& state) { return state.feeds[0].missing.count == 5; }));
    ASSERT_TRUE(has_sample(gateway, gateway.gateway().history().newest() + 1));
    const auto history = history_of(gateway);
    double missing = 0;
    for (const auto& value : series_of(history, "feed", "missing")) missing += value.isNull() ? 0 : value.asDouble();
    EXPECT_EQ(missing, 5);
    double slowest = 0;
    for (const auto& value : series_of(history, "ring", "wire_max_ns")) {
        slowest = std::max(slowest, value.isNull() ? 0 : value.asDouble());
    }
    EXPECT_GT(slowest, 0);
    EXPECT_TRUE(series_of(history, "feed", "missing").front().isNull()) << "before the start";
}

TEST(GatewayHistory, AGapIsAnEventWithItsRangeAndANewSessionIsOne) {
    RunningGateway gateway{"events"};
    gateway.send_quote();
    gateway.lose(3);
    gateway.send_quote();
    ASSERT_TRUE(gateway.watch_until([&](const State&) { return !events_of(gateway, EventKind::gap).empty(); }));
    const auto gap = events_of(gateway, EventKind::gap)[0];
    EXPECT_EQ(gap.source(), "feed 'f'");
    EXPECT_EQ(gap.last - gap.first, 2U);
    EXPECT_EQ(gap.text(), fmt::format("sequence numbers {} to {} are missing", gap.first, gap.last));
    ASSERT_TRUE(gateway.watch_until([&](const State&) { return texts_of(gateway, EventKind::finding).size() > 1; }));
    EXPECT_THAT(texts_of(gateway, EventKind::finding), testing::Contains("3 sequence numbers are missing"));
    EXPECT_THAT(texts_of(gateway, EventKind::start), ElementsAre(HasSubstr("rings: 1, feeds: 1, sinks: 0")));
}

TEST(GatewayHistory, LatencyAboveTheRingsBoundIsAWarningEverywhere) {
    RunningGateway gateway{"latency",
                           [](Config& config) { config.rings[0].latency_warn = std::chrono::nanoseconds{1}; }};
    gateway.send_quote();
    const auto found = gateway.found(Stage::latency);
    EXPECT_EQ(found.of, fmt::format("ring '{}'", gateway.ring()));
    EXPECT_EQ(found.severity, service::Severity::warning);
    EXPECT_THAT(found.text, HasSubstr("in the last 10 s, above 1 ns"));
    const auto page = [&](std::string_view path) { return gateway.gateway().page({.path = path}); };
    EXPECT_TRUE(page("/health").good);
    EXPECT_THAT(page("/health").body, HasSubstr("good, but latency: ring"));
    EXPECT_THAT(page("/api/health").body, AllOf(HasSubstr(R"("stage":"latency")"), HasSubstr(R"("latency_warn":1)")));
    EXPECT_THAT(page("/metrics").body, HasSubstr(R"(severity="warning",stage="latency"} 1)"));
    ASSERT_TRUE(gateway.watch_until([&](const State&) { return !events_of(gateway, EventKind::latency).empty(); }));
    // Ten seconds later no event of the last ten is late, because there is none.
    ASSERT_TRUE(gateway.watch_until([&](const State&) { return events_of(gateway, EventKind::latency).size() == 2; }));
    EXPECT_TRUE(events_of(gateway, EventKind::latency)[1].ended);
    EXPECT_THAT(page("/health").body, testing::Not(HasSubstr("latency")));
}

TEST(GatewayHistory, AReloadIsAnEventAndKeepsTheSamples) {
    const auto path = std::filesystem::path{testing::TempDir()} / millpond::test::scratch_name("history.csv");
    Config with;
    RunningGateway gateway{"reload", [&](Config& config) {
                               config.add<csv::Settings>().path = path.string();
                               with = config;
                           }};
    const auto begin = core::utc_nanos() / kClockSecondNs;
    ASSERT_TRUE(has_sample(gateway, begin));
    complete(with);
    auto without = with;
    without.sinks.clear();
    static_cast<void>(gateway.gateway().reconfigure(without));
    ASSERT_TRUE(has_sample(gateway, gateway.gateway().history().newest() + 1));
    static_cast<void>(gateway.gateway().reconfigure(with));
    ASSERT_TRUE(has_sample(gateway, gateway.gateway().history().newest() + 1));
    EXPECT_THAT(texts_of(gateway, EventKind::reload), ElementsAre("sink 'csv' is closed", "sink 'csv' runs"));
    const auto queued = series_of(history_of(gateway), "sink", "queued");
    ASSERT_FALSE(queued.empty());
    EXPECT_FALSE(queued.back().isNull());
    const auto first = std::ranges::find_if(queued, [](const Json::Value& value) { return !value.isNull(); });
    EXPECT_TRUE(std::any_of(first, queued.end(), [](const Json::Value& value) { return value.isNull(); }))
        << "while it was closed";
    gateway.gateway().note_failed_reload("nothing was changed: x");
    EXPECT_EQ(texts_of(gateway, EventKind::reload).back(), "nothing was changed: x");
    std::filesystem::remove(path);
}

// The outage is two minutes of the system's clock.
TEST(GatewayHistory, ARestartLeavesAHoleAndTwoEvents) {
    const auto folder = std::filesystem::path{testing::TempDir()} / millpond::test::scratch_name("state");
    const auto with_state = [&](Config& config) { config.state = folder.string(); };
    std::int64_t last = 0;
    {
        RunningGateway gateway{"restart", with_state};
        ASSERT_TRUE(has_sample(gateway, core::utc_nanos() / kClockSecondNs));
        last = gateway.gateway().history().newest();
    }
    constexpr std::int64_t kOutage = 120;
    const millpond::test::ClockStep step{kOutage * kClockSecondNs};
    RunningGateway gateway{"restart", with_state};
    ASSERT_TRUE(has_sample(gateway, last));
    const auto history = history_of(gateway, fmt::format("from={}&step=1", last * kClockSecondNs));
    const auto values = series_of(history, "feed", "packets_per_second");
    ASSERT_GT(values.size(), static_cast<std::size_t>(kOutage));
    EXPECT_FALSE(values.front().isNull()) << "the last second of the first run";
    EXPECT_FALSE(values.back().isNull());
    EXPECT_GE(std::ranges::count_if(values, [](const Json::Value& value) { return value.isNull(); }), kOutage - 1);
    const auto all = gateway.gateway().events().select({});
    std::vector<std::string> kinds;
    for (const auto& event : all) {
        if (event.source() == "gateway") kinds.emplace_back(to_string(event.kind));
    }
    EXPECT_THAT(kinds, ElementsAre("start", "stop", "start"));
    EXPECT_THAT(texts_of(gateway, EventKind::start)[1], testing::Not(HasSubstr("did not stop in order")));
    EXPECT_THAT(gateway.logged(), testing::Not(HasSubstr("history")));
    std::filesystem::remove_all(folder);
}

// The notice of the gap is in the queue of the receive thread when the gateway stops.
TEST(GatewayHistory, WhatTheReceiveThreadsNotedBeforeAStopIsInTheLog) {
    const auto folder = std::filesystem::path{testing::TempDir()} / millpond::test::scratch_name("stopped");
    const auto with_state = [&](Config& config) { config.state = folder.string(); };
    {
        RunningGateway gateway{"stopped", with_state};
        gateway.send_quote();
        gateway.lose(3);
        gateway.send_quote();
        std::uint64_t datagrams = 0;
        const auto deadline = core::monotonic_nanos() + 40 * kClockSecondNs;
        while (datagrams < 2 && core::monotonic_nanos() < deadline) {
            gateway.gateway().pipelines().front()->for_each_feed(
                [&](const auto& feed) { datagrams = feed.receiver().counters().datagrams.read(); });
            std::this_thread::yield();
        }
        ASSERT_EQ(datagrams, 2U);
    }
    RunningGateway gateway{"stopped", with_state};
    const auto gaps = events_of(gateway, EventKind::gap);
    ASSERT_EQ(gaps.size(), 1U);
    EXPECT_EQ(gaps[0].last - gaps[0].first, 2U);
    std::filesystem::remove_all(folder);
}

class HistoryClock : public testing::TestWithParam<std::int64_t> {};

TEST_P(HistoryClock, SamplesFollowTheClock) {
    RunningGateway gateway{"history-clock"};
    const auto before = core::utc_nanos() / kClockSecondNs;
    ASSERT_TRUE(has_sample(gateway, before - 1));
    const millpond::test::ClockStep step{GetParam() * kClockSecondNs};
    const auto wanted = before + GetParam();
    ASSERT_TRUE(gateway.watch_until([&](const State&) {
        const auto newest = gateway.gateway().history().newest();
        return newest > wanted && newest < wanted + 600;
    }));
    const auto newest = gateway.gateway().history().newest();
    const auto history = history_of(gateway, fmt::format("from={}&step=1", newest * kClockSecondNs));
    EXPECT_FALSE(series_of(history, "feed", "missing").at(0).isNull());
}

INSTANTIATE_TEST_SUITE_P(OneHour, HistoryClock, testing::Values(3'600, -3'600),
                         [](const auto& step) { return step.param > 0 ? "Forward" : "Back"; });

}  // namespace
}  // namespace millpond::gateway::health
