#include <algorithm>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/core/idle.hpp>

namespace millpond::core {
namespace {

using namespace std::chrono_literals;
using Step = Idle::Step;

constexpr IdleLimits kShort{.spins = 3, .yields = 2, .first_wait = 10us, .max_wait = 35us};

std::vector<Step> steps(Idle& idle, int count) {
    std::vector<Step> result(static_cast<std::size_t>(count));
    std::ranges::generate(result, [&] { return idle.next(); });
    return result;
}

TEST(Idle, AdaptiveSpinsThenYieldsThenWaits) {
    Idle idle(Poll::adaptive, kShort);
    EXPECT_EQ(steps(idle, 7),
              (std::vector{Step::relax, Step::relax, Step::relax, Step::yield, Step::yield, Step::wait, Step::wait}));
}

TEST(Idle, WorkStartsAnAdaptiveWaiterFromTheBeginning) {
    Idle idle(Poll::adaptive, kShort);
    steps(idle, 7);
    idle.worked();
    EXPECT_EQ(steps(idle, 3), (std::vector{Step::relax, Step::relax, Step::relax}));
    steps(idle, 3);
    EXPECT_EQ(idle.wait_time(), 10us) << "and its waits are short again";
}

TEST(Idle, SpinNeverGivesTheProcessorAway) {
    Idle idle(Poll::spin, kShort);
    for (int i = 0; i < 100'000; ++i) ASSERT_EQ(idle.next(), Step::relax);
    EXPECT_FALSE(idle.pause());
}

TEST(Idle, BlockWaitsAfterTheFirstEmptyPoll) {
    Idle idle(Poll::block, kShort);
    EXPECT_EQ(idle.next(), Step::wait);
    EXPECT_TRUE(idle.pause());
}

TEST(Idle, WaitsDoubleUpToTheLongest) {
    Idle idle(Poll::block, kShort);
    std::vector<std::chrono::nanoseconds> waits;
    for (int i = 0; i < 4; ++i) {
        static_cast<void>(idle.next());
        waits.push_back(idle.wait_time());
    }
    EXPECT_EQ(waits, (std::vector<std::chrono::nanoseconds>{10us, 20us, 35us, 35us}));
}

TEST(Idle, RestLastsAtLeastAsLongAsTheWaitThatWasOrdered) {
    Idle idle(Poll::block, {.first_wait = 2ms, .max_wait = 2ms});
    const auto start = std::chrono::steady_clock::now();
    idle.rest();
    EXPECT_GE(std::chrono::steady_clock::now() - start, 2ms);
}

}  // namespace
}  // namespace millpond::core
