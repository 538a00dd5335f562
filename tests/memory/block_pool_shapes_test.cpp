#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/memory/block_pool.hpp>

#include "tests/memory/pool_blocks.hpp"

namespace millpond::memory {
namespace {

/// Capacity, magazine size and policy of a pool under test.
struct Shape {
    std::size_t capacity;
    std::uint32_t magazine_blocks;
    Capacity policy;
};

class BlockPoolShapes : public testing::TestWithParam<Shape> {
protected:
    [[nodiscard]] PoolOptions options(std::uint32_t max_caches) const {
        return {.capacity_policy = GetParam().policy,
                .magazine_blocks = GetParam().magazine_blocks,
                .max_caches = max_caches};
    }
};

TEST_P(BlockPoolShapes, APoolNeverRefusesBelowItsCapacityWhateverOtherThreadsKeepInTheirCaches) {
    const auto [capacity, magazine_blocks, policy] = GetParam();
    constexpr int kHoarders = 3;
    BlockPool pool(64, capacity, options(kHoarders + 1));
    // Each hoarder ends with both of its magazines as full as possible, and keeps its cache.
    std::vector<std::unique_ptr<BlockPool::Cache>> hoarders;
    for (int i = 0; i < kHoarders; ++i) {
        auto& cache = *hoarders.emplace_back(std::make_unique<BlockPool::Cache>(pool));
        std::vector<void*> blocks;
        for (std::size_t n = 0; n < 2 * std::size_t{pool.stats().magazine_blocks} + 1 && n < capacity; ++n) {
            blocks.push_back(cache.try_acquire());
            ASSERT_NE(blocks.back(), nullptr);
        }
        for (void* const block : blocks) cache.release(block);
    }
    const auto blocks = acquire_all(pool);
    EXPECT_GE(blocks.size(), capacity);
    EXPECT_LE(blocks.size(), pool.stats().owned);
    EXPECT_TRUE(!pool.stats().strict || blocks.size() == capacity);
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
    EXPECT_EQ(pool.stats().in_use, blocks.size());
    EXPECT_EQ(pool.stats().refused, 1U);
    EXPECT_GE(pool.stats().high_water, blocks.size());
    give_back(pool, blocks);
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.audit(), "");
}

TEST_P(BlockPoolShapes, EverythingComesBackInAnyOrderAgainAndAgain) {
    BlockPool pool(64, GetParam().capacity, options(4));
    const auto first = acquire_all(pool);
    give_back(pool, first);
    for (int round = 0; round < 3; ++round) {
        auto blocks = acquire_all(pool);
        ASSERT_EQ(blocks.size(), first.size());
        std::ranges::reverse(blocks);
        give_back(pool, blocks);
        ASSERT_EQ(pool.audit(), "");
    }
}

TEST_P(BlockPoolShapes, ABatchThatDoesNotFitAcquiresNothing) {
    BlockPool pool(64, GetParam().capacity, options(4));
    std::vector<void*> batch(pool.stats().owned + 1);
    EXPECT_FALSE(pool.try_acquire_batch(batch));
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.audit(), "");
    batch.resize(GetParam().capacity);
    ASSERT_TRUE(pool.try_acquire_batch(batch));
    EXPECT_EQ(std::set<void*>(batch.begin(), batch.end()).size(), batch.size());
    pool.release_batch(batch);
    EXPECT_EQ(pool.audit(), "");
}

TEST_P(BlockPoolShapes, BlocksOfAThreadThatEndedComeBack) {
    BlockPool pool(64, GetParam().capacity, options(2));
    const auto all = acquire_all(pool).size();
    pool.for_each_live([&](void* block) { pool.release(block); });
    for (int i = 0; i < 20; ++i) {
        std::thread([&] {
            std::vector<void*> blocks;
            for (std::size_t n = 0; n < GetParam().capacity; ++n) blocks.push_back(pool.try_acquire());
            ASSERT_NE(blocks.back(), nullptr);
            give_back(pool, blocks);
        }).join();
        ASSERT_EQ(pool.audit(), "");
    }
    const auto again = acquire_all(pool);
    EXPECT_GE(again.size(), GetParam().capacity);
    EXPECT_LE(again.size(), pool.stats().owned);
    EXPECT_GE(all, GetParam().capacity);
    give_back(pool, again);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, BlockPoolShapes,
    testing::Values(Shape{1000, 0, Capacity::automatic}, Shape{1000, 1, Capacity::elastic},
                    Shape{1000, 16, Capacity::elastic}, Shape{1000, 64, Capacity::elastic},
                    Shape{1000, 256, Capacity::elastic}, Shape{1000, 256, Capacity::strict},
                    Shape{1000, 16, Capacity::strict}, Shape{1000, 1, Capacity::strict},
                    Shape{1000, kAutomaticMagazine, Capacity::automatic},
                    Shape{1, kAutomaticMagazine, Capacity::automatic},
                    Shape{7, kAutomaticMagazine, Capacity::automatic}, Shape{7, 64, Capacity::elastic}),
    [](const auto& test) {
        const auto& shape = test.param;
        return std::to_string(shape.capacity) + "_magazine_" +
               (shape.magazine_blocks == kAutomaticMagazine ? "automatic" : std::to_string(shape.magazine_blocks)) +
               "_policy_" + std::to_string(static_cast<int>(shape.policy));
    });

}  // namespace
}  // namespace millpond::memory
