// /api/events and /api/history of a FIX engine.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "fixd/history/engine_history.hpp"
#include "fixd/sessions/session_events.hpp"
#include "service/json.hpp"
#include "tests/engine/raw_client.hpp"
#include "tests/fixd/running_engine.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/whole_body.hpp"

namespace millpond::fixd {
namespace {

using engine::RawClient;
using service::EventKind;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kHistoryWeb = "[[web]]\nlisten = '127.0.0.1:0'\n";

std::vector<std::string> event_texts(RunningEngine& running, EventKind kind) {
    running.engine().watch();
    std::vector<std::string> texts;
    for (const auto& event : running.engine().events().select({.kinds = {kind}})) texts.emplace_back(event.text());
    return texts;
}

/// Waits until there is an event of this kind with this text in it.
[[nodiscard]] bool has_event(RunningEngine& running, EventKind kind, const std::string& text) {
    return comes_true([&] { return testing::Value(event_texts(running, kind), Contains(HasSubstr(text))); });
}

Json::Value history_page(RunningEngine& running, const std::string& path, const std::string& query = {}) {
    return service::parse_json(test::whole_body(running.engine().page({.path = path, .query = query})));
}

TEST(EngineHistory, TheLifeOfASessionIsInTheEventLog) {
    RunningEngine house{kHistoryWeb + kListen + waits_for("DESK")};
    RawClient desk{house.port()};
    desk.send(logon(1, "DESK"));
    EXPECT_TRUE(has_event(house, EventKind::logon, "logged on: 127.0.0.1:"));
    desk.send(fix44("3", 2, "DESK", "HOUSE", "45=1|58=wrong venue|"));
    EXPECT_TRUE(has_event(house, EventKind::reject, "rejected by the peer: wrong venue"));
    desk.send(fix44("D", 3, "DESK", "HOUSE", "11=1|"));
    EXPECT_TRUE(comes_true([&] { return house.counts().messages.load() == 1; }));
    desk.send(fix44("D", 9, "DESK", "HOUSE", "11=2|"));
    EXPECT_TRUE(has_event(house, EventKind::gap, "are missing and were requested"));
    EXPECT_TRUE(has_event(house, EventKind::finding, "missing messages were requested"));
    desk.send(fix44("4", 4, "DESK", "HOUSE", "43=Y|122=20200101-00:00:00|123=Y|36=9|"));
    desk.send(fix44("5", 10, "DESK", "HOUSE", "58=good night|"));
    EXPECT_TRUE(has_event(house, EventKind::logout, "logged out: good night"));
    EXPECT_TRUE(has_event(house, EventKind::disconnect, "closed: logged out"));
    EXPECT_THAT(event_texts(house, EventKind::start), ElementsAre(HasSubstr("started; sessions: 1, acceptors: 1")));
    const auto events = history_page(house, "/api/events", "kind=logon");
    ASSERT_EQ(events["events"].size(), 1U);
    EXPECT_EQ(events["events"][0]["source"], "session 'FIX.4.4:HOUSE->DESK'");
}

TEST(EngineHistory, ALogonThatIsRefusedAndAResetAreEvents) {
    RunningEngine house{kHistoryWeb + kListen + waits_for("DESK")};
    house.engine().sessions().at(0)->request_numbers(25, 25, {});
    ASSERT_TRUE(comes_true([&] { return house.status("DESK").next_target == 25; }));
    RawClient desk{house.port()};
    desk.send(logon(1, "DESK"));
    EXPECT_TRUE(has_event(house, EventKind::disconnect, "not logged on: 127.0.0.1:"));
    EXPECT_TRUE(comes_true([&] { return house.status("DESK").peer.empty(); }));
    // The recorder has seen the numbers, in a second before this one.
    const auto samples = [&] {
        house.engine().watch();
        return history_page(house, "/api/history")["samples"].asUInt();
    };
    EXPECT_TRUE(comes_true([&] { return samples() > 0; }));
    house.engine().sessions().at(0)->request_reset();
    EXPECT_TRUE(has_event(house, EventKind::reset, "next in 1, was 25"));
}

TEST(EngineHistory, AReloadAndItsFailureAreEvents) {
    RunningEngine house{kHistoryWeb + kListen + waits_for("DESK")};
    house.reload(kHistoryWeb + kListen + waits_for("DESK") + waits_for("NEW"));
    house.engine().note_failed_reload("nothing was changed: fix.toml:1: wrong");
    EXPECT_THAT(event_texts(house, EventKind::reload),
                ElementsAre("session FIX.4.4:HOUSE->NEW is added", StartsWith("nothing was changed")));
}

TEST(EngineHistory, SamplesHaveRatesRejectsAndLatencies) {
    RunningEngine house{kHistoryWeb + kListen + waits_for("DESK")};
    RawClient desk{house.port()};
    desk.send(logon(1, "DESK"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("DESK"); }));
    const auto largest = [&](const char* series) {
        double most = -1;
        const auto history = history_page(house, "/api/history", "source=session%20'FIX.4.4:HOUSE->DESK'");
        for (const auto& source : history["sources"]) {
            for (const auto& value : source["series"][series]) {
                if (!value.isNull()) most = std::max(most, value.asDouble());
            }
        }
        return most;
    };
    std::uint64_t number = 2;
    EXPECT_TRUE(comes_true([&] {
        desk.send(fix44("D", number, "DESK", "HOUSE", fmt::format("11={}|", number)));
        ++number;
        house.engine().watch();
        return largest("latency_p99_ns") > 0;
    }));
    EXPECT_GT(largest("received_per_second"), 0);
    EXPECT_EQ(largest("peer_rejects"), 0);
    desk.send(fix44("3", number, "DESK", "HOUSE", "45=1|"));
    EXPECT_TRUE(comes_true([&] {
        house.engine().watch();
        return largest("peer_rejects") == 1;
    }));
}

TEST(EngineHistory, SurvivesARestart) {
    const auto folder = ::testing::TempDir() + test::scratch_name("engine_history");
    const auto toml = "state = '" + folder + "'\n" + kHistoryWeb + kListen + waits_for("DESK");
    {
        const RunningEngine first{toml};
    }
    RunningEngine second{toml};
    EXPECT_EQ(event_texts(second, EventKind::start).size(), 2U);
    EXPECT_THAT(event_texts(second, EventKind::stop), ElementsAre("stopped"));
    EXPECT_TRUE(std::filesystem::exists(folder + "/FIX.4.4-HOUSE-DESK.events"));
    std::filesystem::remove_all(folder);
}

TEST(SessionEvents, ThoseThatDoNotFitAreCounted) {
    SessionEvents events;
    for (std::size_t i = 0; i < SessionEvents::kCapacity + 7; ++i) {
        events.add({.kind = EventKind::reject, .session = fmt::format("S{}", i % 2), .text = "x"});
    }
    service::EventLog log;
    events.move_to(log, {.utc_ns = 1, .monotonic_ns = 1});
    log.flush_all({.utc_ns = 1, .monotonic_ns = 1});
    const auto lost = log.select({.kinds = {EventKind::session}});
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].count, 7U);
    std::uint64_t kept = 0;
    for (const auto& event : log.select({.kinds = {EventKind::reject}})) kept += event.count;
    EXPECT_EQ(kept, SessionEvents::kCapacity);
}

TEST(LastLatencies, ThoseSinceACountAreReadOnce) {
    LastLatencies latencies;
    std::uint64_t seen = 0;
    latencies.add(5);
    EXPECT_EQ(latencies.read_since(seen).count, 1U);
    EXPECT_EQ(latencies.read_since(seen).count, 0U);
    for (int i = 0; i < 3; ++i) latencies.add(9);
    const auto read = latencies.read_since(seen);
    EXPECT_EQ(read.count, 3U);
    EXPECT_EQ(read.p50, 9);
    seen = 100;  // of a session that was replaced
    EXPECT_EQ(latencies.read_since(seen).count, 4U);
}

}  // namespace
}  // namespace millpond::fixd
