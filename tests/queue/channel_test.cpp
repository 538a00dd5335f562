#include <millpond/queue/channel.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <stdexcept>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/free_of_cost.hpp"

namespace millpond::queue {
namespace {

TEST(Channel, RefusesACapacityThatIsTooLargeOrNotAPowerOfTwo) {
    EXPECT_THROW(Channel<int>{0}, std::invalid_argument);
    EXPECT_THROW(Channel<int>{24}, std::invalid_argument);
    EXPECT_THROW(Channel<int>{std::size_t{1} << 62}, std::invalid_argument);  // 2^64 bytes
}

TEST(Channel, GivesMessagesInTheOrderTheyWerePublished) {
    Channel<int> channel{4};
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < 3; ++i) {
            auto* message = channel.claim();
            ASSERT_NE(message, nullptr);
            *message = 3 * round + i;
            channel.publish();
        }
        for (int i = 0; i < 3; ++i) {
            ASSERT_NE(channel.front(), nullptr);
            EXPECT_EQ(*channel.front(), 3 * round + i);
            channel.release();
        }
        EXPECT_EQ(channel.front(), nullptr);
    }
}

TEST(Channel, AClaimedMessageIsVisibleOnlyAfterPublish) {
    Channel<int> channel{4};
    auto* message = channel.claim();
    *message = 7;
    EXPECT_EQ(channel.front(), nullptr);
    EXPECT_EQ(channel.claim(), message);
    channel.publish();
    ASSERT_EQ(channel.front(), message);
    EXPECT_EQ(*channel.front(), 7);
}

TEST(Channel, RefusesAClaimWhenTheRingIsFull) {
    Channel<int> channel{4};
    for (int i = 0; i < 4; ++i) {
        ASSERT_NE(channel.claim(), nullptr);
        channel.publish();
    }
    EXPECT_EQ(channel.claim(), nullptr);
    EXPECT_TRUE(channel.claim_batch(2).empty());
}

TEST(Channel, ReleasedSlotsComeBackEveryFewReleases) {
    Channel<int> channel{64};
    ASSERT_EQ(channel.release_interval(), 16U);
    for (int i = 0; i < 64; ++i) {
        ASSERT_NE(channel.claim(), nullptr);
        channel.publish();
    }
    for (int i = 0; i < 15; ++i) {
        ASSERT_NE(channel.front(), nullptr);
        channel.release();
        EXPECT_EQ(channel.claim(), nullptr);
    }
    ASSERT_NE(channel.front(), nullptr);
    channel.release();
    EXPECT_EQ(channel.claim_batch(64).size(), 16U);
}

TEST(Channel, ReleasedSlotsComeBackWhenFrontFindsNothing) {
    Channel<int> channel{64};
    for (int i = 0; i < 3; ++i) {
        ASSERT_NE(channel.claim(), nullptr);
        channel.publish();
    }
    for (int i = 0; i < 3; ++i) {
        ASSERT_NE(channel.front(), nullptr);
        channel.release();
    }
    EXPECT_EQ(channel.front(), nullptr);
    std::size_t claimed = 0;
    for (std::size_t got = 1; got != 0; claimed += got) {
        got = channel.claim_batch(64).size();
        channel.publish(got);
    }
    EXPECT_EQ(claimed, 64U);
}

TEST(Channel, BatchesLieSideBySideAndEndAtTheRingsEnd) {
    Channel<int> channel{8};
    ASSERT_EQ(channel.claim_batch(6).size(), 6U);
    channel.publish(6);
    ASSERT_EQ(channel.front_batch(100).size(), 6U);
    channel.release(6);
    EXPECT_EQ(channel.front(), nullptr);
    auto batch = channel.claim_batch(5);
    ASSERT_EQ(batch.size(), 2U);  // slots 6 and 7
    batch[0] = 1;
    batch[1] = 2;
    channel.publish(2);
    batch = channel.claim_batch(5);
    ASSERT_EQ(batch.size(), 5U);  // from slot 0
    batch[0] = 3;
    channel.publish(1);
    auto front = channel.front_batch(8);
    ASSERT_EQ(front.size(), 2U);
    EXPECT_EQ(front[0], 1);
    EXPECT_EQ(front[1], 2);
    channel.release(1);
    EXPECT_EQ(*channel.front(), 2);
    channel.release(1);
    front = channel.front_batch(8);
    ASSERT_EQ(front.size(), 1U);
    EXPECT_EQ(front[0], 3);
}

TEST(Channel, CarriesMessagesThatCanOnlyBeMoved) {
    Channel<std::unique_ptr<int>> channel{4};
    *channel.claim() = std::make_unique<int>(5);
    channel.publish();
    const auto message = std::move(*channel.front());
    channel.release();
    EXPECT_EQ(*message, 5);
}

TEST(Channel, MakesItsMessagesOnceAndDestroysThemWithItself) {
    static int alive = 0;
    struct Counted {
        Counted() { ++alive; }
        ~Counted() { --alive; }
        Counted(const Counted&) = delete;
        Counted& operator=(const Counted&) = delete;
    };
    {
        Channel<Counted> channel{8};
        EXPECT_EQ(alive, 8);
        for (int i = 0; i < 20; ++i) {
            ASSERT_NE(channel.claim(), nullptr);
            channel.publish();
            ASSERT_NE(channel.front(), nullptr);
            channel.release();
        }
        EXPECT_EQ(alive, 8);
    }
    EXPECT_EQ(alive, 0);
}

TEST(Channel, GivesItsMemoryBackWhenAMessageCannotBeMade) {
    struct Throwing {
        Throwing() { throw std::runtime_error("no"); }
    };
    std::pmr::unsynchronized_pool_resource memory;
    EXPECT_THROW(Channel<Throwing>(8, &memory), std::runtime_error);  // a leak would be found by ASan
}

TEST(Channel, NeedsNoHeapNoFaultNoSystemCall) {
    Channel<std::array<std::uint64_t, 24>> channel{64};
    test::expect_free_of_cost([&] {
        bool right = true;
        for (std::uint64_t i = 0; i < 10'000; ++i) {
            auto* message = channel.claim();
            (*message)[23] = i;
            channel.publish();
            right = right && (*channel.front())[23] == i;
            channel.release();
            const auto batch = channel.claim_batch(8);
            channel.publish(batch.size());
            for (auto left = batch.size(); left != 0;) {
                const auto got = channel.front_batch(left).size();
                channel.release(got);
                left -= got;
            }
            right = right && channel.front() == nullptr;
        }
        return right;
    });
}

TEST(Channel, CarriesEveryMessageOnceAndInOrderBetweenTwoThreads) {
    constexpr std::uint64_t kMessages = 300'000;
    using Message = std::array<std::uint64_t, 5>;
    Channel<Message> channel{256};
    std::thread producer([&] {
        for (std::uint64_t sent = 0; sent < kMessages;) {
            const auto batch = channel.claim_batch(std::min<std::uint64_t>(sent % 9 + 1, kMessages - sent));
            if (batch.empty()) {
                std::this_thread::yield();
                continue;
            }
            for (auto& message : batch) message.fill(sent++);
            channel.publish(batch.size());
        }
    });
    std::uint64_t next = 0;
    std::uint64_t wrong = 0;
    while (next < kMessages) {
        if (next % 3 == 0) {
            const auto* message = channel.front();
            if (message == nullptr) {
                std::this_thread::yield();
                continue;
            }
            wrong += (*message)[0] == next && (*message)[4] == next ? 0U : 1U;
            ++next;
            channel.release();
        } else {
            const auto batch = channel.front_batch(5);
            for (const auto& message : batch) wrong += message[0] == next++ ? 0U : 1U;
            channel.release(batch.size());
            if (batch.empty()) std::this_thread::yield();
        }
    }
    producer.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(channel.front(), nullptr);
}

}  // namespace
}  // namespace millpond::queue
