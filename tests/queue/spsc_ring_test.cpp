#include <millpond/queue/spsc_ring.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace millpond::queue {
namespace {

using Boxed = std::unique_ptr<int>;

TEST(SpscRing, RefusesACapacityThatIsNoPowerOfTwo) {
    EXPECT_THROW(SpscRing<int>{0}, std::invalid_argument);
    EXPECT_THROW(SpscRing<int>{12}, std::invalid_argument);
}

TEST(SpscRing, GivesMessagesBackInTheOrderTheyCame) {
    SpscRing<int> ring{4};
    int popped = 0;
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(ring.try_push(3 * round + i));
        for (int i = 0; i < 3; ++i) {
            ASSERT_TRUE(ring.try_pop(popped));
            EXPECT_EQ(popped, 3 * round + i);
        }
    }
    EXPECT_FALSE(ring.try_pop(popped));
    EXPECT_EQ(popped, 29);
}

TEST(SpscRing, HoldsExactlyItsCapacity) {
    SpscRing<int> ring{4};
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(ring.size(), static_cast<std::size_t>(i));
        ASSERT_TRUE(ring.try_push(i));
    }
    EXPECT_FALSE(ring.try_push(4));
    EXPECT_EQ(ring.size(), 4U);
}

TEST(SpscRing, ARefusedPushLeavesTheMessageWithTheCaller) {
    SpscRing<Boxed> ring{1};
    ASSERT_TRUE(ring.try_push(std::make_unique<int>(1)));
    auto second = std::make_unique<int>(2);
    EXPECT_FALSE(ring.try_push(std::move(second)));
    EXPECT_EQ(*second, 2);  // NOLINT(bugprone-use-after-move): this is the promise
}

TEST(SpscRing, ABatchPushTakesWhatFitsAndLeavesTheRest) {
    SpscRing<Boxed> ring{4};
    ASSERT_TRUE(ring.try_push(std::make_unique<int>(0)));
    std::array<Boxed, 5> batch;
    for (int i = 0; i < 5; ++i) batch[static_cast<std::size_t>(i)] = std::make_unique<int>(i + 1);
    EXPECT_EQ(ring.try_push_batch(batch), 3U);
    EXPECT_EQ(batch[2], nullptr);
    ASSERT_NE(batch[3], nullptr);
    EXPECT_EQ(*batch[4], 5);
    EXPECT_EQ(ring.try_push_batch(batch), 0U);
}

TEST(SpscRing, ABatchPopTakesWhatIsThere) {
    SpscRing<Boxed> ring{4};
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(ring.try_push(std::make_unique<int>(i)));
    std::array<Boxed, 2> two;
    EXPECT_EQ(ring.try_pop_batch(two), 2U);
    EXPECT_EQ(*two[0], 0);
    EXPECT_EQ(*two[1], 1);
    std::array<Boxed, 4> four;
    EXPECT_EQ(ring.try_pop_batch(four), 1U);
    EXPECT_EQ(*four[0], 2);
    EXPECT_EQ(ring.try_pop_batch(four), 0U);
}

TEST(SpscRing, DestroysWhatNobodyPopped) {
    auto shared = std::make_shared<int>(1);
    {
        SpscRing<std::shared_ptr<int>> ring{4};
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(ring.try_push(shared));
        std::shared_ptr<int> popped;
        ASSERT_TRUE(ring.try_pop(popped));
        EXPECT_EQ(shared.use_count(), 4);
    }
    EXPECT_EQ(shared.use_count(), 1);
}

TEST(SpscRing, TakesItsMemoryOnceFromTheGivenResource) {
    alignas(128) std::array<std::byte, std::size_t{64} * 8> bytes{};
    std::pmr::monotonic_buffer_resource memory{bytes.data(), bytes.size(), std::pmr::null_memory_resource()};
    SpscRing<std::uint64_t> ring{64, &memory};
    std::uint64_t popped = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        ASSERT_TRUE(ring.try_push(i));
        ASSERT_TRUE(ring.try_pop(popped));
    }
    EXPECT_EQ(popped, 999U);
}

TEST(SpscRing, CarriesEveryMessageOnceAndInOrderBetweenTwoThreads) {
    constexpr std::uint64_t kMessages = 300'000;
    SpscRing<std::unique_ptr<std::uint64_t>> ring{256};
    std::thread producer([&] {
        std::vector<std::unique_ptr<std::uint64_t>> batch;
        for (std::uint64_t sent = 0; sent < kMessages;) {
            // One by one, then by batches, so that both paths race with the consumer.
            if (sent % 3 == 0) {
                auto message = std::make_unique<std::uint64_t>(sent);
                while (!ring.try_push(std::move(message))) std::this_thread::yield();
                ++sent;
                continue;
            }
            batch.clear();
            for (auto i = sent; i < std::min(sent + 7, kMessages); ++i) {
                batch.push_back(std::make_unique<std::uint64_t>(i));
            }
            std::span<std::unique_ptr<std::uint64_t>> rest{batch};
            while (!rest.empty()) {
                rest = rest.subspan(ring.try_push_batch(rest));
                if (!rest.empty()) std::this_thread::yield();
            }
            sent += batch.size();
        }
    });
    std::array<std::unique_ptr<std::uint64_t>, 16> popped;
    std::uint64_t next = 0;
    std::uint64_t wrong = 0;
    while (next < kMessages) {
        const auto count =
            next % 5 == 0 ? static_cast<std::size_t>(ring.try_pop(popped[0])) : ring.try_pop_batch(popped);
        if (count == 0) std::this_thread::yield();
        for (std::size_t i = 0; i < count; ++i) wrong += *popped[i] == next++ ? 0U : 1U;
    }
    producer.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(ring.size(), 0U);
}

}  // namespace
}  // namespace millpond::queue
