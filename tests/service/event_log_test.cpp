#include "service/event_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <millpond/core/moment.hpp>

#include "tests/support/allocation_counter.hpp"

namespace millpond::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kLogSecondNs = 1'000'000'000;
constexpr std::int64_t kLogBeginNs = 1'700'000'000 * kLogSecondNs;

core::Moment at(std::int64_t seconds) {
    return {.utc_ns = kLogBeginNs + seconds * kLogSecondNs, .monotonic_ns = (seconds + 1) * kLogSecondNs};
}

Event finding(std::string_view source, std::string_view text) {
    return {.kind = EventKind::finding, .severity = Severity::warning, .source = source, .text = text, .stage = "line"};
}

Event gap(std::uint64_t first, std::uint64_t last) {
    return {.kind = EventKind::gap, .source = "feed 'a'", .text = "gap", .range = std::pair{first, last}};
}

std::vector<std::uint64_t> numbers_of(const std::vector<EventRecord>& events) {
    std::vector<std::uint64_t> numbers;
    for (const auto& event : events) numbers.push_back(event.number);
    return numbers;
}

/// A finding that does not repeat one of the last minute.
Event another_finding(int number, std::string& text) {
    text = std::to_string(number);
    auto event = finding("feed 'a'", text);
    event.part = static_cast<unsigned>(number);
    return event;
}

TEST(EventLog, KeepsTheLastEvents) {
    constexpr std::size_t kOthers = EventLog::kCapacity - EventLog::kReserved;
    EventLog log;
    EXPECT_EQ(log.numbers().newest, 0U);
    EXPECT_THAT(log.select({}), IsEmpty());
    std::string text;
    const auto add_until = [&](int& number, int end) {
        for (; number <= end; ++number) {
            log.add(another_finding(number, text), at(number));
            log.flush(at(number));
        }
    };
    int number = 1;
    add_until(number, 7'500);
    EXPECT_EQ(log.numbers().oldest, 1U);
    add_until(number, 18'003);
    EXPECT_EQ(log.numbers().oldest, 10'504U);
    EXPECT_EQ(log.numbers().newest, 18'003U);
    const auto all = log.select({.limit = 20'000});
    ASSERT_THAT(all, SizeIs(kOthers));
    for (const auto& event : all) ASSERT_EQ(event.text(), std::to_string(event.number));
    EXPECT_EQ(all.front().number, 10'504U);
}

TEST(EventLog, ASourceThatTheLogCutsIsFoundByItsWholeName) {
    EventLog log;
    const std::string source = "session 'FIX.4.4:" + std::string(70, 'H') + "->DESK'";
    log.add(finding(source, "text"), at(0));
    EXPECT_THAT(log.select({.source = source}), SizeIs(1));
    EXPECT_THAT(log.select({.source = source.substr(0, 60)}), IsEmpty());
}

TEST(EventLog, OtherEventsDoNotReplaceStartsStopsAndReloads) {
    EventLog log;
    log.add({.kind = EventKind::start, .source = "gateway"}, at(0));
    std::string text;
    for (int i = 1; i <= 20'000; ++i) {
        log.add(another_finding(i, text), at(i));
        log.flush(at(i));
    }
    log.add({.kind = EventKind::stop, .source = "gateway"}, at(20'001));
    const auto all = log.select({.limit = 20'000});
    EXPECT_EQ(all.front().kind, EventKind::start);
    EXPECT_EQ(all.back().kind, EventKind::stop);
    EXPECT_EQ(log.numbers().oldest, 1U);
}

// Twenty hours of a feed that loses messages each two seconds, and of a ring whose latency is around its bound.
TEST(EventLog, ASourceThatRepeatsAnEventIsLoggedOnceAMinute) {
    EventLog log;
    constexpr int kHours = 20;
    for (int second = 0; second < kHours * 3'600; ++second) {
        const auto number = static_cast<std::uint64_t>(second);
        if (second % 2 == 0) log.add(gap(number + 1, number + 1), at(second));
        log.add({.kind = EventKind::latency, .source = "ring 'r'", .stage = "latency", .ended = second % 2 == 1},
                at(second));
        log.flush(at(second));
    }
    EXPECT_LE(log.numbers().newest, 2U * kHours * 60 + 10);
    log.flush_all(at(kHours * 3'600));
    std::uint64_t gaps = 0;
    std::uint64_t latencies = 0;
    for (const auto& event : log.select({.limit = 10'000})) {
        (event.kind == EventKind::gap ? gaps : latencies) += event.count;
    }
    EXPECT_EQ(gaps, kHours * 1'800U);
    EXPECT_EQ(latencies, kHours * 3'600U);
    const auto newest = log.select({.kinds = {EventKind::gap}, .limit = 2});
    EXPECT_EQ(newest[0].text(), "30 within 59 s, the last: gap");
    EXPECT_EQ(newest[0].last - newest[0].first, 58U);
}

TEST(EventLog, AfterAMinuteWithoutTheEventItIsLoggedAtOnceAgain) {
    EventLog log;
    for (int second = 0; second < 30; ++second) log.add(gap(1, 1), at(second));
    log.flush_all(at(30));
    for (int second = 30; second <= 90; ++second) log.flush(at(second));
    const auto before = log.numbers().newest;
    log.add(gap(100, 100), at(91));
    EXPECT_EQ(log.numbers().newest, before + 1);
    log.add(gap(200, 200), at(92));
    EXPECT_EQ(log.numbers().newest, before + 2) << "after a second";
}

TEST(EventLog, ThousandsOfSourcesAtOnceBecomeOneEventToo) {
    EventLog log;
    std::string source;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 5'000; ++i) {
            source = "feed '" + std::to_string(i) + "'";
            log.add({.kind = EventKind::gap, .severity = Severity::warning, .source = source, .text = "gap"}, at(0));
        }
    }
    EXPECT_LE(log.numbers().newest, 1'100U);
    log.flush_all(at(0));
    std::uint64_t count = 0;
    for (const auto& event : log.select({.limit = 10'000})) count += event.count;
    EXPECT_EQ(count, 15'000U);
    const auto all = log.select({.source = source, .limit = 10});
    ASSERT_FALSE(all.empty());
    EXPECT_THAT(std::string{all.back().text()}, testing::HasSubstr(" of several sources within 1 s, the last: gap"));
}

TEST(EventLog, EventsOfASourceAreInTheOrderOfTheirTimes) {
    EventLog log;
    log.add(gap(1, 1), at(0));
    log.add(gap(3, 3), at(0).after(100));
    log.add(gap(5, 5), at(0).after(200));
    log.add(finding("feed 'a'", "f"), at(0).after(300));
    log.add({.kind = EventKind::session, .source = "feed 'a'"}, at(0).after(400));
    const auto events = log.select({});
    ASSERT_THAT(events, SizeIs(4));
    EXPECT_EQ(events[1].first, 3U);
    EXPECT_EQ(events[1].last, 5U);
    EXPECT_EQ(events[2].kind, EventKind::finding);
    EXPECT_EQ(events[3].kind, EventKind::session);
    for (std::size_t i = 1; i < events.size(); ++i) EXPECT_GE(events[i].time, events[i - 1].time);
}

TEST(EventLog, GapsOfTwoSessionsHaveNoCommonRange) {
    EventLog log;
    const Event session{.kind = EventKind::session, .source = "feed 'a'"};
    log.add(gap(1, 1), at(0));
    log.add(session, at(0));
    log.add(gap(100, 110), at(0).after(1));
    log.add(session, at(0).after(2));
    log.add(gap(300, 301), at(0).after(3));
    log.flush_all(at(0).after(4));
    const auto events = log.select({.kinds = {EventKind::gap}});
    ASSERT_THAT(events, SizeIs(2));
    EXPECT_EQ(events[1].count, 2U);
    EXPECT_FALSE(events[1].has_range);
}

TEST(EventLog, EventsOfAnotherPartAreNotCountedTogether) {
    EventLog log;
    auto other = gap(7, 7);
    other.part = 1;
    log.add(gap(1, 1), at(0));
    log.add(gap(3, 3), at(0).after(1));
    log.add(other, at(0).after(2));
    const auto events = log.select({});
    ASSERT_THAT(events, SizeIs(3));
    EXPECT_EQ(events[1].last, 3U);
    EXPECT_EQ(events[2].first, 7U);
}

TEST(EventLog, AFilterSelectsByKindSourceAndTime) {
    EventLog log;
    log.add({.kind = EventKind::start, .source = "gateway"}, at(0));
    log.add(finding("feed 'a'", "x"), at(1));
    log.add(finding("feed 'b'", "x"), at(2));
    log.add({.kind = EventKind::reload, .source = "gateway"}, at(3));
    EXPECT_THAT(numbers_of(log.select({.kinds = {EventKind::start, EventKind::reload}})), ElementsAre(1, 4));
    EXPECT_THAT(numbers_of(log.select({.source = "feed 'b'"})), ElementsAre(3));
    EXPECT_THAT(numbers_of(log.select({.from = at(1).utc_ns, .to = at(3).utc_ns})), ElementsAre(2, 3));
    EXPECT_THAT(numbers_of(log.select({.limit = 2})), ElementsAre(3, 4)) << "the newest";
    EXPECT_THAT(numbers_of(log.select({.after = 1, .limit = 2})), ElementsAre(2, 3)) << "the next";
    EXPECT_THAT(log.select({.after = 4}), IsEmpty());
    EXPECT_THAT(log.select({.after = UINT64_MAX}), IsEmpty());
}

TEST(EventLog, GapsOfASourceWithinASecondAreOneEventWithTheirRange) {
    EventLog log;
    log.add(gap(5, 9), at(0));
    for (std::uint64_t first = 20; first <= 40; first += 10) log.add(gap(first, first + 1), at(0));
    log.add({.kind = EventKind::gap, .source = "feed 'b'", .text = "another feed"}, at(0));
    log.flush(at(0));
    ASSERT_THAT(log.select({}), SizeIs(2));
    log.flush(at(1));
    const auto events = log.select({});
    ASSERT_THAT(events, SizeIs(3));
    EXPECT_EQ(events[0].first, 5U);
    EXPECT_EQ(events[0].last, 9U);
    EXPECT_EQ(events[0].count, 1U);
    EXPECT_EQ(events[1].source(), "feed 'b'");
    EXPECT_EQ(events[2].first, 20U);
    EXPECT_EQ(events[2].last, 41U);
    EXPECT_EQ(events[2].count, 3U);
    EXPECT_EQ(events[2].text(), "3 within 1 s, the last: gap");
    log.add(gap(50, 50), at(1));
    EXPECT_EQ(log.numbers().newest, 3U) << "waits for the second's end";
    log.flush_all(at(1));
    EXPECT_EQ(log.newest()->first, 50U);
    EXPECT_EQ(log.newest()->text(), "gap");
}

TEST(EventLog, ALongTextIsCutBeforeACharacterThatDoesNotFit) {
    EventLog log;
    std::string text(180, 'x');
    text += "\u00e9";
    log.add({.kind = EventKind::reload, .source = std::string(100, 's'), .text = text}, at(0));
    EXPECT_EQ(log.newest()->text(), std::string(180, 'x'));
    EXPECT_EQ(log.newest()->source(), std::string(64, 's'));
}

TEST(EventLog, AnEventAllocatesNothing) {
    EventLog log;
    const auto event = finding("feed 'a'", "a text that is longer than a short string may be");
    const test::AllocationCounter counter;
    for (int i = 0; i < 12'000; ++i) {
        log.add(event, at(i));
        for (std::uint64_t n = 0; n < 3; ++n) log.add(gap(n, n), at(i));
        log.flush(at(i));
    }
    const auto allocations = counter.allocations();
    EXPECT_EQ(allocations, 0U);
    EXPECT_LE(log.bytes(), std::size_t{10'000} * 320 + 4'096);
}

}  // namespace
}  // namespace millpond::service
