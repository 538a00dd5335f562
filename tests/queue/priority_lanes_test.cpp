#include <millpond/queue/priority_lanes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/free_of_cost.hpp"

namespace millpond::queue {
namespace {

using testing::ElementsAre;

template <std::size_t N>
std::vector<int> pop_all(PriorityLanes<int, N>& lanes) {
    std::vector<int> popped;
    int message = 0;
    while (lanes.try_pop(message)) popped.push_back(message);
    return popped;
}

TEST(PriorityLanes, GivesTheMostUrgentFirstAndKeepsTheOrderWithinALane) {
    PriorityLanes<int, 3> lanes{8};
    for (const int message : {20, 0, 10, 21, 11, 1}) {
        ASSERT_TRUE(lanes.try_push(static_cast<std::size_t>(message / 10), message));
    }
    EXPECT_EQ(lanes.size(1), 2U);
    EXPECT_THAT(pop_all(lanes), ElementsAre(0, 1, 10, 11, 20, 21));
}

TEST(PriorityLanes, ReportsTheLaneOfAMessage) {
    PriorityLanes<int, 3> lanes{8};
    int message = 5;
    EXPECT_EQ(lanes.try_pop(message), std::nullopt);
    EXPECT_EQ(message, 5);
    ASSERT_TRUE(lanes.try_push(2, 7));
    EXPECT_EQ(lanes.try_pop(message), std::optional<std::size_t>{2});
    EXPECT_EQ(message, 7);
}

TEST(PriorityLanes, AFullLaneRefusesAndTheOthersDoNot) {
    PriorityLanes<std::unique_ptr<int>, 2> lanes{2};
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(lanes.try_push(0, std::make_unique<int>(i)));
    auto third = std::make_unique<int>(3);
    EXPECT_FALSE(lanes.try_push(0, std::move(third)));
    ASSERT_NE(third, nullptr);  // NOLINT(bugprone-use-after-move): this is the promise
    EXPECT_TRUE(lanes.try_push(1, std::move(third)));
}

TEST(PriorityLanes, WithoutPatienceAnUrgentLaneKeepsTheOthersWaiting) {
    PriorityLanes<int, 2> lanes{8};
    ASSERT_TRUE(lanes.try_push(1, 10));
    int message = 0;
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(lanes.try_push(0, i));
        ASSERT_EQ(lanes.try_pop(message), std::optional<std::size_t>{0});
    }
    EXPECT_EQ(lanes.try_pop(message), std::optional<std::size_t>{1});
}

TEST(PriorityLanes, WithPatienceAWaitingLaneIsServedInBetween) {
    PriorityLanes<int, 2> lanes{8, 3};
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(lanes.try_push(0, i));
    for (int i = 10; i < 13; ++i) ASSERT_TRUE(lanes.try_push(1, i));
    EXPECT_THAT(pop_all(lanes), ElementsAre(0, 1, 2, 10, 3, 4, 5, 11, 12));
}

TEST(PriorityLanes, NoMessageAtTheFrontOfItsLaneWaitsLongerThanPromised) {
    constexpr std::size_t kLanes = 4;
    for (const std::uint32_t patience : {1U, 2U, 5U, 16U}) {
        PriorityLanes<int, kLanes> lanes{16, patience};
        std::mt19937 random{patience};
        std::array<std::uint32_t, kLanes> waited{};
        std::uint32_t longest = 0;
        int message = 0;
        for (int round = 0; round < 20'000; ++round) {
            // Lane 0 always has messages, the others sometimes.
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                if (lane == 0 || random() % 4 == 0) (void)lanes.try_push(lane, round);
            }
            const auto served = lanes.try_pop(message);
            ASSERT_TRUE(served);
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                waited[lane] = lane != *served && lanes.size(lane) != 0 ? waited[lane] + 1 : 0;
                longest = std::max(longest, waited[lane]);
            }
        }
        EXPECT_LE(longest, patience + kLanes - 1);
        EXPECT_GE(longest, patience);
    }
}

TEST(PriorityLanes, NeedsNoHeapNoFaultNoSystemCall) {
    PriorityLanes<std::uint64_t, 4> lanes{16, 4};
    test::expect_free_of_cost([&] {
        bool right = true;
        for (std::uint64_t i = 0; i < 10'000; ++i) {
            right = right && lanes.try_push(i % 4, i) && lanes.try_push(3, i);
            std::uint64_t message = 0;
            right = right && lanes.try_pop(message) && lanes.try_pop(message);
        }
        return right;
    });
}

TEST(PriorityLanes, CarriesEveryMessageOnceFromSeveralThreads) {
    constexpr std::uint64_t kEach = 50'000;
    constexpr std::size_t kLanes = 3;
    PriorityLanes<std::uint64_t, kLanes> lanes{64, 8};
    std::vector<std::thread> producers;
    producers.reserve(2);
    for (std::uint64_t who = 0; who < 2; ++who) {
        producers.emplace_back([&lanes, who] {
            for (std::uint64_t i = 0; i < kEach; ++i) {
                while (!lanes.try_push((i + who) % kLanes, i * 2 + who)) std::this_thread::yield();
            }
        });
    }
    // Within one lane each producer's messages keep their order.
    std::array<std::array<std::uint64_t, 2>, kLanes> last{};
    std::uint64_t sum = 0;
    std::uint64_t wrong = 0;
    for (std::uint64_t received = 0; received < 2 * kEach;) {
        std::uint64_t message = 0;
        const auto lane = lanes.try_pop(message);
        if (!lane) {
            std::this_thread::yield();
            continue;
        }
        ++received;
        sum += message;
        auto& before = last[*lane][message % 2];
        wrong += message + 1 > before ? 0U : 1U;
        before = message + 1;
    }
    for (auto& producer : producers) producer.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(sum, (2 * kEach) * (2 * kEach - 1) / 2);
}

}  // namespace
}  // namespace millpond::queue
