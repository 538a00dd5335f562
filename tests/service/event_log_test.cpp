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

TEST(EventLog, KeepsTheLastTenThousandEvents) {
    EventLog log;
    EXPECT_EQ(log.numbers().newest, 0U);
    EXPECT_THAT(log.select({}), IsEmpty());
    for (int i = 1; i <= 10'000; ++i) log.add(finding("feed 'a'", std::to_string(i)), at(i));
    EXPECT_EQ(log.numbers().oldest, 1U);
    for (int i = 10'001; i <= 25'003; ++i) log.add(finding("feed 'a'", std::to_string(i)), at(i));
    EXPECT_EQ(log.numbers().oldest, 15'004U);
    EXPECT_EQ(log.numbers().newest, 25'003U);
    const auto all = log.select({.limit = 20'000});
    ASSERT_THAT(all, SizeIs(EventLog::kCapacity));
    for (const auto& event : all) ASSERT_EQ(event.text(), std::to_string(event.number));
    EXPECT_EQ(all.front().number, 15'004U);
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
    EXPECT_EQ(events[2].text(), "3 within a second, the last: gap");
    log.add(gap(50, 50), at(1));
    EXPECT_EQ(log.numbers().newest, 3U) << "waits for the second's end";
    log.flush_all(at(1));
    EXPECT_EQ(log.newest()->first, 50U);
    EXPECT_EQ(log.newest()->text(), "gap");
    log.add(gap(60, 60), at(9));
    EXPECT_EQ(log.newest()->first, 60U) << "the first for a while is logged at once";
}

TEST(EventLog, ALongTextIsCutBeforeACharacterThatDoesNotFit) {
    EventLog log;
    const std::string text = std::string(180, 'x') + "\u00e9";
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
