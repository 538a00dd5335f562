#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/millpond/traffic/fault_planter.hpp"
#include "tests/apps/list_source.hpp"

namespace millpond::traffic {
namespace {

using test::ListSource;
using test::texts_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<ListSource::Item> numbered(int count) {
    std::vector<ListSource::Item> items;
    for (int i = 0; i < count; ++i) items.push_back({std::int64_t{i} * 10, std::to_string(i), 2});
    return items;
}

TEST(FaultPlanter, WithoutFractionsItPassesEverything) {
    ListSource source{numbered(50)};
    ListSource plain{numbered(50)};
    FaultPlanter planter{source, {}};
    EXPECT_EQ(texts_of(planter), texts_of(plain));
    EXPECT_EQ(planter.counts().passed, 50U);
    EXPECT_EQ(planter.counts().dropped + planter.counts().duplicated + planter.counts().swapped, 0U);
}

TEST(FaultPlanter, DropsEverySecondAtMostAndNeitherTheFirstNorTheLast) {
    ListSource source{numbered(6)};
    FaultPlanter planter{source, {.drop = 1.0}};
    EXPECT_THAT(texts_of(planter), ElementsAre("0", "2", "4", "5"));
    EXPECT_EQ(planter.counts().dropped, 2U);
    EXPECT_EQ(planter.counts().messages_dropped, 4U);
}

TEST(FaultPlanter, DuplicatesStandBehindTheirOriginal) {
    ListSource source{numbered(3)};
    FaultPlanter planter{source, {.duplicate = 1.0}};
    EXPECT_THAT(texts_of(planter), ElementsAre("0", "1", "1", "2", "2"));
    EXPECT_EQ(planter.counts().duplicated, 2U);
    EXPECT_EQ(planter.counts().messages_duplicated, 4U);
}

TEST(FaultPlanter, SwappedDatagramsFollowTheirSuccessorUnlessTheyHaveNone) {
    ListSource source{numbered(6)};
    FaultPlanter planter{source, {.swap = 1.0}};
    EXPECT_THAT(texts_of(planter), ElementsAre("0", "2", "1", "4", "3", "5"));
    EXPECT_EQ(planter.counts().swapped, 2U);
    EXPECT_EQ(planter.counts().messages_swapped, 4U);
}

TEST(FaultPlanter, HeartbeatsHaveNoFaultsAndNothingIsSwappedOverThem) {
    const std::vector<ListSource::Item> items{{0, "a"}, {1, "-", 0}, {2, "b"}, {3, "-", 0}, {4, "c"}, {5, "d"}};
    ListSource first{items};
    FaultPlanter swapping{first, {.swap = 1.0}};
    EXPECT_THAT(texts_of(swapping), ElementsAre("a", "-", "b", "-", "d", "c"));
    EXPECT_EQ(swapping.counts().swapped, 1U);
    ListSource second{items};
    FaultPlanter dropping{second, {.drop = 1.0}};
    EXPECT_THAT(texts_of(dropping), ElementsAre("a", "-", "-", "d"));
    EXPECT_EQ(dropping.counts().dropped, 2U);
    EXPECT_EQ(dropping.counts().passed, 4U);
}

TEST(FaultPlanter, TimesNeverGoBackwards) {
    ListSource source{numbered(1000)};
    FaultPlanter planter{source, {.drop = 0.1, .duplicate = 0.2, .swap = 0.3}};
    Outgoing datagram;
    std::int64_t latest = 0;
    while (planter.next(datagram)) {
        EXPECT_GE(datagram.due_ns, latest);
        latest = datagram.due_ns;
    }
}

TEST(FaultPlanter, ItsCountsAreExactlyWhatAReceiverSees) {
    constexpr int kCount = 20'000;
    ListSource source{numbered(kCount)};
    FaultPlanter planter{source, {.drop = 0.05, .duplicate = 0.05, .swap = 0.05, .seed = 7}};
    const auto texts = texts_of(planter);
    std::uint64_t late = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t gaps = 0;
    int expected = 0;
    std::set<int> seen;
    for (const auto& text : texts) {
        const int number = std::stoi(text);
        if (!seen.insert(number).second) {
            ++duplicates;
        } else if (number < expected) {
            ++late;
        } else {
            if (number > expected) {
                ++gaps;
                EXPECT_EQ(number, expected + 1);  // gaps are separate
            }
            expected = number + 1;
        }
    }
    const auto& planted = planter.counts();
    EXPECT_EQ(planted.passed, kCount);
    EXPECT_EQ(late, planted.swapped);
    EXPECT_EQ(duplicates, planted.duplicated);
    EXPECT_EQ(gaps, planted.dropped + planted.swapped);
    EXPECT_EQ(kCount - seen.size(), planted.dropped);
    EXPECT_NEAR(static_cast<double>(planted.dropped), 0.05 * kCount, 0.01 * kCount);
    EXPECT_NEAR(static_cast<double>(planted.duplicated), 0.05 * kCount, 0.01 * kCount);
    EXPECT_NEAR(static_cast<double>(planted.swapped), 0.05 * kCount, 0.01 * kCount);
}

TEST(FaultPlanter, TheSameSeedPlantsTheSameFaultsAndAnotherOthers) {
    const auto run = [](std::uint64_t seed) {
        ListSource source{numbered(500)};
        FaultPlanter planter{source, {.drop = 0.1, .duplicate = 0.1, .swap = 0.1, .seed = seed}};
        return texts_of(planter);
    };
    EXPECT_EQ(run(5), run(5));
    EXPECT_NE(run(5), run(6));
}

TEST(FaultPlanter, FractionsOutOfRangeAreRefused) {
    ListSource source{{}};
    const auto refusal = [&](const FaultFractions& fractions) -> std::string {
        try {
            const FaultPlanter planter{source, fractions};
            return "accepted";
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
    };
    EXPECT_THAT(refusal({.drop = -0.1}), HasSubstr("drop is -0.1"));
    EXPECT_THAT(refusal({.duplicate = 1.5}), HasSubstr("duplicate is 1.5"));
    EXPECT_THAT(refusal({.drop = 0.5, .duplicate = 0.5, .swap = 0.5}), HasSubstr("add up to 1.5"));
}

}  // namespace
}  // namespace millpond::traffic
