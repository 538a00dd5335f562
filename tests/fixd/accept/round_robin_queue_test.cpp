#include "fixd/accept/round_robin_queue.hpp"

#include <gtest/gtest.h>

#include <string>

namespace millpond::fixd {
namespace {

TEST(RoundRobinQueue, KeysAreServedInTurnAndEachKeepsItsOrder) {
    RoundRobinQueue<char, int> queue;
    for (int i = 0; i < 3; ++i) queue.push('a', i);
    queue.push('b', 10);
    queue.push('b', 11);
    EXPECT_EQ(queue.size(), 5U);
    EXPECT_EQ(queue.size_of('a'), 3U);
    EXPECT_EQ(queue.size_of('c'), 0U);
    EXPECT_EQ(queue.pop(), 0);
    EXPECT_EQ(queue.pop(), 10);
    queue.push('c', 20);
    EXPECT_EQ(queue.pop(), 1);
    EXPECT_EQ(queue.pop(), 11);
    EXPECT_EQ(queue.pop(), 20);
    EXPECT_EQ(queue.pop(), 2);
    EXPECT_EQ(queue.size(), 0U);
}

TEST(RoundRobinQueue, AFullLineDelaysAnotherByOne) {
    RoundRobinQueue<std::string, int> queue;
    for (int i = 0; i < 100; ++i) queue.push("flood", i);
    static_cast<void>(queue.pop());
    queue.push("good", 1'000);
    static_cast<void>(queue.pop());
    EXPECT_EQ(queue.pop(), 1'000);
}

}  // namespace
}  // namespace millpond::fixd
