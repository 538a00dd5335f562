#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/feed/sequence_tracker.hpp>

namespace millpond::feed {
namespace {

TEST(SequenceTracker, NumbersBeforeTheJoinAreNotMissed) {
    SequenceTracker tracker;
    EXPECT_FALSE(tracker.observe(1000, 5).gap());
    EXPECT_EQ(tracker.next(), 1005U);
    EXPECT_EQ(tracker.counters().missing.read(), 0U);
}

TEST(SequenceTracker, NamesExactlyTheNumbersThatWereJumpedOver) {
    SequenceTracker tracker;
    tracker.observe(1, 3);
    const auto step = tracker.observe(7, 2);
    EXPECT_EQ(step.gap_first, 4U);
    EXPECT_EQ(step.gap_last, 6U);
    EXPECT_EQ(step.old, 0U);
    EXPECT_EQ(tracker.counters().gaps.read(), 1U);
    EXPECT_EQ(tracker.counters().missing.read(), 3U);
}

TEST(SequenceTracker, AnAnnouncementShowsLossesAfterTheLastDatagram) {
    SequenceTracker tracker;
    tracker.observe(1, 3);
    EXPECT_FALSE(tracker.observe(4, 0).gap());
    const auto step = tracker.observe(6, 0);
    EXPECT_EQ(step.gap_first, 4U);
    EXPECT_EQ(step.gap_last, 5U);
    EXPECT_FALSE(tracker.observe(6, 0).gap());
}

TEST(SequenceTracker, DistinguishesLateNumbersFromDuplicates) {
    SequenceTracker tracker;
    tracker.observe(1, 1);
    tracker.observe(3, 1);                     // 2 is missing
    EXPECT_EQ(tracker.observe(2, 1).old, 1U);  // late
    EXPECT_EQ(tracker.observe(2, 1).old, 1U);  // now a duplicate
    EXPECT_EQ(tracker.observe(3, 1).old, 1U);  // a duplicate too
    EXPECT_EQ(tracker.counters().late.read(), 1U);
    EXPECT_EQ(tracker.counters().duplicates.read(), 2U);
    EXPECT_EQ(tracker.counters().unresolved.read(), 0U);
}

TEST(SequenceTracker, OnlyTheNewNumbersOfAnOverlappingDatagramAreApplied) {
    SequenceTracker tracker;
    tracker.observe(1, 10);
    const auto step = tracker.observe(8, 5);
    EXPECT_EQ(step.old, 3U);
    EXPECT_EQ(tracker.next(), 13U);
    EXPECT_EQ(tracker.counters().duplicates.read(), 3U);
}

TEST(SequenceTracker, ALateNumberInTheMiddleOfAHoleLeavesBothEndsMissing) {
    SequenceTracker tracker;
    tracker.observe(1, 1);
    tracker.observe(10, 1);  // 2..9 are missing
    tracker.observe(5, 2);
    tracker.observe(2, 8);  // 2..4 and 7..9 late, 5..6 duplicates
    EXPECT_EQ(tracker.counters().late.read(), 8U);
    EXPECT_EQ(tracker.counters().duplicates.read(), 2U);
}

TEST(SequenceTracker, ReportsWhenItNoLongerKnowsWhetherANumberWasLate) {
    SequenceTracker tracker;
    tracker.observe(1, 1);
    for (std::uint64_t i = 0; i <= SequenceTracker::kMaxRanges; ++i) tracker.observe(3 + 2 * i, 1);
    tracker.observe(2, 1);  // the first gap is the one that was forgotten
    tracker.observe(4, 1);
    EXPECT_EQ(tracker.counters().unresolved.read(), 1U);
    EXPECT_EQ(tracker.counters().late.read(), 1U);
}

TEST(SequenceTracker, BelievesThatTheSenderBeganAgainOnlyAfterARunOfOldDatagrams) {
    SequenceTracker tracker;
    tracker.observe(1, 1000);
    for (std::uint64_t i = 0; i < SequenceTracker::kRestartAfter; ++i) {
        const auto step = tracker.observe(1 + i * 3, 3);
        ASSERT_FALSE(step.restarted);
        ASSERT_EQ(step.old, 3U);
    }
    const auto next = 1 + SequenceTracker::kRestartAfter * 3;
    EXPECT_TRUE(tracker.observe(next, 3).restarted);
    EXPECT_EQ(tracker.next(), next + 3);
    EXPECT_EQ(tracker.counters().restarts.read(), 1U);
}

TEST(SequenceTracker, CopiesGapsSwapsAndStraysDoNotHideARestart) {
    for (std::uint64_t faults = 1; faults < 16; ++faults) {
        SequenceTracker tracker;
        tracker.observe(1, 1'000);
        for (std::uint64_t i = 0; i < 200 && tracker.counters().restarts.read() == 0; ++i) {
            const auto kind = i % 7;
            if (kind == 1 && (faults & 1U) != 0) tracker.observe(i, 1);
            if (kind == 2 && (faults & 2U) != 0) continue;
            if (kind == 5 && (faults & 8U) != 0) tracker.observe(990, 1);
            const bool swaps = (faults & 4U) != 0 && (kind == 3 || kind == 4);
            tracker.observe(1 + (!swaps ? i : kind == 3 ? i + 1 : i - 1), 1);
        }
        EXPECT_EQ(tracker.counters().restarts.read(), 1U) << faults;
        EXPECT_LT(tracker.next(), 60U) << faults;
    }
}

TEST(SequenceTracker, AFewRepeatedOldDatagramsAreNotARestart) {
    SequenceTracker tracker;
    tracker.observe(1, 1'000);
    for (std::uint64_t i = 0; i < 1'000; ++i)
        ASSERT_FALSE(tracker.observe(900 + i % SequenceTracker::kRestartAfter, 1).restarted);
}

TEST(SequenceTracker, DuplicatesBetweenNewNumbersNeverLookLikeARestart) {
    SequenceTracker tracker;
    for (std::uint64_t i = 1; i < 10 * SequenceTracker::kRestartAfter; ++i) {
        ASSERT_EQ(tracker.observe(i, 1).old, 0U);
        ASSERT_EQ(tracker.observe(i, 1).old, 1U);
    }
    EXPECT_EQ(tracker.counters().restarts.read(), 0U);
}

TEST(SequenceTracker, ALateRunFillsItsGapAndIsNotARestart) {
    constexpr std::uint64_t kRun = SequenceTracker::kRestartAfter;
    SequenceTracker tracker;
    tracker.observe(1, 1);
    tracker.observe(2 + kRun, 1);
    for (std::uint64_t i = 2; i < 2 + kRun; ++i) ASSERT_FALSE(tracker.observe(i, 1).restarted);
    EXPECT_EQ(tracker.counters().late.read(), kRun);
    EXPECT_EQ(tracker.counters().restarts.read(), 0U);
}

TEST(SequenceTracker, OneWrongNumberFarAheadDoesNotSilenceTheChannel) {
    SequenceTracker tracker;
    tracker.observe(1, 1);
    tracker.observe(1'000'000'000'000, 1);
    std::uint64_t applied = 0;
    for (std::uint64_t i = 2; i < 100; ++i) applied += tracker.observe(i, 1).old == 0 ? 1U : 0U;
    EXPECT_EQ(applied, 98U - SequenceTracker::kRestartAfter);
    EXPECT_EQ(tracker.counters().restarts.read(), 1U);
}

TEST(SequenceTracker, AStrayHeartbeatFarAheadIsNotAGapAndTheNextNumberInOrderRefutesIt) {
    constexpr std::uint64_t kFar = 1 + SequenceTracker::kFarAhead;
    SequenceTracker tracker;
    tracker.observe(1, 1);
    for (std::uint64_t number = 2; number < 100; ++number) {
        ASSERT_FALSE(tracker.observe(number + kFar, 0).gap());
        ASSERT_EQ(tracker.next(), number);
        const auto step = tracker.observe(number, 1);
        ASSERT_EQ(step.old, 0U);
        ASSERT_FALSE(step.gap());
    }
    EXPECT_EQ(tracker.counters().doubted.read(), 98U);
    EXPECT_EQ(tracker.counters().missing.read(), 0U);
}

TEST(SequenceTracker, ASecondHeartbeatFarAheadMakesTheGap) {
    constexpr std::uint64_t kFar = 2 + SequenceTracker::kFarAhead;
    SequenceTracker tracker;
    tracker.observe(1, 1);
    EXPECT_FALSE(tracker.observe(kFar, 0).gap());
    EXPECT_FALSE(tracker.observe(1, 1).gap());        // a duplicate does not change the expected number
    EXPECT_TRUE(tracker.observe(kFar - 1, 0).gap());  // near enough to be accepted at once
    EXPECT_EQ(tracker.next(), kFar - 1);
    tracker.start(1);
    EXPECT_FALSE(tracker.observe(kFar, 0).gap());
    const auto step = tracker.observe(kFar + 5, 0);
    EXPECT_EQ(step.gap_first, 1U);
    EXPECT_EQ(step.gap_last, kFar + 4);
}

TEST(SequenceTracker, ANearHeartbeatAndMessagesFarAheadAreBelievedAtOnce) {
    SequenceTracker tracker;
    tracker.observe(1, 1);
    EXPECT_TRUE(tracker.observe(1 + SequenceTracker::kFarAhead, 0).gap());
    EXPECT_TRUE(tracker.observe(10 * SequenceTracker::kFarAhead, 1).gap());
    EXPECT_EQ(tracker.counters().doubted.read(), 0U);
}

TEST(SequenceTracker, ACopyDoesNotHideThatTheCountOfADatagramWasDamaged) {
    SequenceTracker tracker{SequenceTracker::kRestartAfter, SequenceTracker::Counts::claimed};
    tracker.observe(1, 5);
    tracker.observe(6, 40'000);  // 5 before it was damaged
    EXPECT_EQ(tracker.observe(6, 40'000).old, 40'000U);
    EXPECT_EQ(tracker.observe(11, 5).old, 0U);
    EXPECT_EQ(tracker.next(), 16U);
}

TEST(SequenceTracker, NumbersThatNoChannelCanReachAreNotApplied) {
    constexpr auto kLast = std::numeric_limits<std::uint64_t>::max();
    SequenceTracker tracker;
    EXPECT_EQ(tracker.observe(0, 4).old, 4U);
    EXPECT_EQ(tracker.observe(kLast - 3, 10).old, 10U);
    EXPECT_EQ(tracker.next(), 0U);
    tracker.observe(1, 1);
    EXPECT_EQ(tracker.observe(kLast, 2).old, 2U);
    EXPECT_EQ(tracker.next(), 2U);
}

// The model has a flag per number. Every sent number is counted exactly once, by its outcome.
TEST(SequenceTracker, AgreesWithAPlainModelOverRandomLossDuplicationAndSwaps) {
    constexpr std::uint64_t kNumbers = 20'000;
    std::mt19937_64 random{7};
    for (int run = 0; run < 5; ++run) {
        struct Sent {
            std::uint64_t first, count;
        };
        std::vector<Sent> wire;
        for (std::uint64_t first = 1; first < kNumbers;) {
            const auto count = 1 + random() % 4;
            const auto fate = random() % 100;
            if (fate >= 2) wire.push_back({first, count});   // else dropped
            if (fate >= 96) wire.push_back({first, count});  // sent twice
            if (fate < 6 && wire.size() >= 2) std::swap(wire.back(), wire[wire.size() - 2]);
            first += count;
        }
        SequenceTracker tracker;
        std::vector<bool> seen(kNumbers + 8);
        std::uint64_t next = wire.front().first;
        const auto joined = next;
        std::uint64_t missing = 0, late = 0, duplicates = 0, before = 0;
        for (const auto& [first, count] : wire) {
            const auto step = tracker.observe(first, count);
            std::uint64_t old = 0;
            if (first > next) missing += first - next;
            for (auto number = first; number < first + count; ++number) {
                if (number >= next) {
                    next = number + 1;
                } else {
                    ++old;
                    if (number < joined) {
                        ++before;
                    } else {
                        ++(seen[number] ? duplicates : late);
                    }
                }
                seen[number] = true;
            }
            ASSERT_EQ(step.old, old);
        }
        EXPECT_EQ(tracker.counters().missing.read(), missing);
        // Gaps older than the last kMaxRanges are forgotten, so only the sum of late and duplicate numbers is exact.
        EXPECT_EQ(tracker.counters().late.read() + tracker.counters().duplicates.read() +
                      tracker.counters().unresolved.read(),
                  late + duplicates + before);
        EXPECT_LE(tracker.counters().late.read(), late);
        EXPECT_LE(tracker.counters().duplicates.read(), duplicates);
    }
}

}  // namespace
}  // namespace millpond::feed
