#include "bench/harness/clock_step.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace millpond::bench {
namespace {

std::vector<std::uint64_t> readings(const std::vector<std::uint64_t>& differences, std::size_t times) {
    std::vector<std::uint64_t> all{1'000};
    for (std::size_t i = 0; i < times; ++i) {
        for (const auto difference : differences) all.push_back(all.back() + difference);
    }
    return all;
}

TEST(ClockStep, IsTheUnitThatAllDifferencesAreMultiplesOf) {
    EXPECT_EQ(step_of(readings({26, 52, 0, 26}, 1'000)), 26U);
    EXPECT_EQ(step_of(readings({18, 20, 22}, 1'000)), 2U);
}

TEST(ClockStep, AStepThatIsRarelySeenInTwoPartsCountsAsOne) {
    auto differences = std::vector<std::uint64_t>(18, 26);
    differences.insert(differences.end(), {1, 25});
    EXPECT_EQ(step_of(readings(differences, 1'000)), 26U);
}

TEST(ClockStep, ACounterWithoutACommonStepGoesUpByOne) {
    std::vector<std::uint64_t> differences(20);
    std::iota(differences.begin(), differences.end(), 40U);
    EXPECT_EQ(step_of(readings(differences, 100)), 1U);
}

TEST(ClockStep, WithoutDifferencesThereIsNone) {
    EXPECT_EQ(step_of({}), 0U);
    EXPECT_EQ(step_of(std::vector<std::uint64_t>{7, 7, 7}), 0U);
}

TEST(ClockStep, OfThisMachineTakesTime) { EXPECT_GT(clock_step_nanos(), 0); }

TEST(ClockStep, ShortOperationsAreTimedTogetherUntilTheyTakeTenSteps) {
    const auto steps = kResolvedSteps * clock_step_nanos();
    EXPECT_EQ(block_of(steps), 1U);
    EXPECT_EQ(block_of(steps / 4 * 1.001), 4U);
    EXPECT_GE(block_of(0), 1U);
}

TEST(ClockStep, OnlyUnitsOfTimeHaveNanoseconds) {
    EXPECT_EQ(unit_nanos("ns"), 1);
    EXPECT_EQ(unit_nanos("ns/message"), 1);
    EXPECT_EQ(unit_nanos("us/order"), 1e3);
    EXPECT_EQ(unit_nanos("ms"), 1e6);
    EXPECT_EQ(unit_nanos("s/million lines"), 1e9);
    EXPECT_EQ(unit_nanos("M messages/s"), 0);
    EXPECT_EQ(unit_nanos("nsx"), 0);
}

}  // namespace
}  // namespace millpond::bench
