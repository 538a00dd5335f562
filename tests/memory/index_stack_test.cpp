#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/memory/detail/index_stack.hpp>
#include <millpond/memory/pool_policy.hpp>

#include "tests/memory/preempting.hpp"

namespace millpond::memory::detail {
namespace {

using Links = std::array<std::atomic<std::uint32_t>, 8>;
using Stack = IndexStack<Unchecked>;

/// A published fault, only for these tests: a head that is an index without a counter.
class UntaggedStack {
public:
    static constexpr std::uint32_t kNone = Stack::kNone;
    struct Top {
        std::uint32_t index;
        std::uint32_t next;
    };
    void push(Links& links, std::uint32_t index) {
        auto head = head_.load();
        do {
            links[index].store(head);
        } while (!head_.compare_exchange_strong(head, index));
    }
    [[nodiscard]] Top peek(const Links& links) const {
        const auto head = head_.load();
        return {head, head == kNone ? kNone : links[head].load()};
    }
    [[nodiscard]] bool try_pop(Top& seen) { return head_.compare_exchange_strong(seen.index, seen.next); }

private:
    std::atomic<std::uint32_t> head_{kNone};
};

// Thread A reads the top and is interrupted; B pops two and pushes the first back. The top is the same, but its
// successor belongs to B now.
TEST(IndexStack, AnUntaggedHeadGivesOneSlotToTwoOwners) {
    Links links;
    UntaggedStack stack;
    for (const std::uint32_t index : {2U, 1U, 0U}) stack.push(links, index);
    auto interrupted = stack.peek(links);
    auto first = stack.peek(links);
    ASSERT_TRUE(stack.try_pop(first));
    auto second = stack.peek(links);
    ASSERT_TRUE(stack.try_pop(second));
    ASSERT_EQ(second.index, 1U) << "B owns 1 from here on";
    stack.push(links, first.index);
    EXPECT_TRUE(stack.try_pop(interrupted)) << "the fault: nothing tells A that the stack has changed";
    EXPECT_EQ(stack.peek(links).index, 1U) << "the next pop hands out 1, which B owns";
}

TEST(IndexStack, TheTagKeepsAnInterruptedPopFromUsingAnOldHead) {
    Links links;
    Stack stack;
    for (const std::uint32_t index : {2U, 1U, 0U}) stack.push(links.data(), index);
    auto interrupted = stack.peek(links.data());
    ASSERT_EQ(interrupted.index(), 0U);
    ASSERT_EQ(stack.pop(links.data()), 0U);
    ASSERT_EQ(stack.pop(links.data()), 1U);
    stack.push(links.data(), 0);
    EXPECT_FALSE(stack.try_pop(links.data(), interrupted));
    EXPECT_EQ(interrupted.index(), 0U);
    EXPECT_EQ(interrupted.next, 2U) << "it has read the top again and sees today's successor";
    EXPECT_TRUE(stack.try_pop(links.data(), interrupted));
    EXPECT_EQ(stack.pop(links.data()), 2U);
    EXPECT_EQ(stack.pop(links.data()), Stack::kNone);
}

TEST(IndexStack, APushBetweenTheHalvesOfAPopMakesItLookAgain) {
    Links links;
    Stack stack;
    stack.push(links.data(), 0);
    auto interrupted = stack.peek(links.data());
    stack.push(links.data(), 1);
    EXPECT_FALSE(stack.try_pop(links.data(), interrupted));
    EXPECT_EQ(interrupted.index(), 1U);
    EXPECT_EQ(interrupted.next, 0U);
}

TEST(IndexStack, APopBetweenTheHalvesOfTheLastPopLeavesTheStackEmpty) {
    Links links;
    Stack stack;
    stack.push(links.data(), 0);
    auto interrupted = stack.peek(links.data());
    ASSERT_EQ(stack.pop(links.data()), 0U);
    EXPECT_FALSE(stack.try_pop(links.data(), interrupted));
    EXPECT_EQ(interrupted.index(), Stack::kNone);
}

TEST(IndexStack, TheHeadIsOneLockFreeWord) {
    EXPECT_TRUE(std::atomic<std::uint64_t>::is_always_lock_free);
    EXPECT_EQ(sizeof(Stack::Top::head), 8U);
}

TEST(IndexStack, FourPreemptedThreadsNeverOwnTheSameIndex) {
    constexpr std::uint32_t kIndices = 6;
    constexpr int kPairs = 20'000;
    IndexStack<Preempting> stack;
    Links links;
    std::array<std::atomic<int>, kIndices> owners{};
    for (std::uint32_t index = 0; index < kIndices; ++index) stack.push(links.data(), index);
    std::atomic<int> doubly_owned{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int pair = 0; pair < kPairs; ++pair) {
                const auto index = stack.pop(links.data());
                if (index == Stack::kNone) continue;
                if (owners[index].fetch_add(1, std::memory_order_relaxed) != 0) doubly_owned.fetch_add(1);
                Preempting::racy_point();
                owners[index].fetch_sub(1, std::memory_order_relaxed);
                stack.push(links.data(), index);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(doubly_owned.load(), 0);
    for (std::uint32_t left = 0; left < kIndices; ++left) EXPECT_NE(stack.pop(links.data()), Stack::kNone);
    EXPECT_EQ(stack.pop(links.data()), Stack::kNone);
}

}  // namespace
}  // namespace millpond::memory::detail
