#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/core/idle.hpp>
#include <millpond/memory/block_pool.hpp>

#include "tests/memory/preempting.hpp"

namespace millpond::memory {
namespace {

std::vector<void*> acquire(BlockPool& pool, std::size_t count) {
    std::vector<void*> blocks(count);
    for (auto& block : blocks) block = pool.try_acquire();
    return blocks;
}

void give_back(BlockPool& pool, const std::vector<void*>& blocks) {
    for (void* const block : blocks) pool.release(block);
}

TEST(HighWater, IsExactWhileTheMostBlocksAreInUse) {
    BlockPool pool(64, 1000);
    give_back(pool, acquire(pool, 300));
    const auto most = acquire(pool, 1000);
    EXPECT_EQ(pool.stats().high_water, 1000U);
    give_back(pool, most);
    EXPECT_EQ(pool.stats().high_water, 1000U);
}

TEST(HighWater, IsWithinOneMagazineOfWhatOneThreadHadInUse) {
    for (const std::size_t most : {1U, 50U, 333U, 999U, 1000U}) {
        BlockPool pool(64, 1000, {.capacity_policy = Capacity::elastic, .magazine_blocks = 50});
        give_back(pool, acquire(pool, most));
        EXPECT_LE(pool.stats().high_water, most);
        EXPECT_GE(pool.stats().high_water + 50, most);
    }
}

TEST(HighWater, BlocksInOtherCachesAreNotInUse) {
    BlockPool pool(64, 1000, {.capacity_policy = Capacity::elastic, .magazine_blocks = 50, .max_caches = 8});
    std::vector<std::unique_ptr<BlockPool::Cache>> hoarders;
    for (int i = 0; i < 7; ++i) {
        auto& cache = *hoarders.emplace_back(std::make_unique<BlockPool::Cache>(pool));
        std::vector<void*> blocks(100);
        for (auto& block : blocks) block = cache.try_acquire();
        for (void* const block : blocks) cache.release(block);
    }
    EXPECT_LE(pool.stats().high_water, 100U + 7 * 50U);
    give_back(pool, acquire(pool, 1000));
    EXPECT_LE(pool.stats().high_water, 1000U);
    EXPECT_GE(pool.stats().high_water, 1000U - 50);
}

TEST(HighWater, CountsABatchOfManyMagazines) {
    BlockPool pool(64, 1000, {.capacity_policy = Capacity::elastic, .magazine_blocks = 10});
    std::vector<void*> blocks(700);
    ASSERT_TRUE(pool.try_acquire_batch(blocks));
    pool.release_batch(blocks);
    EXPECT_GE(pool.stats().high_water, 690U);
    EXPECT_LE(pool.stats().high_water, 700U);
}

TEST(HighWater, ABatchThatIsRefusedWasNeverInUse) {
    BlockPool pool(64, 100, {.capacity_policy = Capacity::elastic, .magazine_blocks = 10, .max_caches = 1});
    std::vector<void*> blocks(pool.stats().owned + 1);
    ASSERT_FALSE(pool.try_acquire_batch(blocks));
    EXPECT_EQ(pool.stats().high_water, 0U);
}

TEST(HighWater, WithoutMagazinesItIsExact) {
    BlockPool pool(64, 100, {.magazine_blocks = 0});
    give_back(pool, acquire(pool, 37));
    give_back(pool, acquire(pool, 5));
    EXPECT_EQ(pool.stats().high_water, 37U);
}

/// A pool that runs a step of the test wherever another thread may run.
struct Stepping : Unchecked {
    static inline std::function<void()> step{};
    static void racy_point() {
        if (step) std::exchange(step, nullptr)();
    }
};

TEST(HighWater, WithoutMagazinesABlockThatIsAcquiredDuringItsReleaseCountsOnce) {
    BasicBlockPool<Stepping> pool(64, 1, {.magazine_blocks = 0});
    BasicBlockPool<Stepping>::Cache first(pool);
    BasicBlockPool<Stepping>::Cache second(pool);
    // At each racy point of a release.
    for (int point = 0; point < 4; ++point) {
        void* const block = first.try_acquire();
        ASSERT_NE(block, nullptr);
        void* acquired = nullptr;
        std::function<void(int)> at = [&](int left) {
            Stepping::step = left > 0 ? std::function<void()>([&, left] { at(left - 1); })
                                      : std::function<void()>([&] { acquired = second.try_acquire(); });
        };
        at(point);
        first.release(block);
        Stepping::step = nullptr;
        EXPECT_EQ(pool.stats().high_water, 1U) << point;
        EXPECT_EQ(pool.stats().in_use, acquired != nullptr ? 1U : 0U) << point;
        if (acquired != nullptr) second.release(acquired);
    }
}

TEST(HighWater, WithoutMagazinesItIsNeverAboveTheCapacity) {
    BasicBlockPool<Preempting> pool(64, 1, {.magazine_blocks = 0});
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            while (!stop.load(std::memory_order_relaxed)) {
                if (void* const block = pool.try_acquire()) pool.release(block);
            }
        });
    }
    std::uint64_t most = 0;
    while (pool.stats().acquired < 200'000) most = std::max(most, pool.stats().in_use);
    stop.store(true);
    for (auto& thread : threads) thread.join();
    EXPECT_LE(most, 1U);
    EXPECT_EQ(pool.stats().high_water, 1U);
    EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST(HighWater, MoreThanTheCapacityIsReportedWhenItWasInUse) {
    BlockPool pool(64, 100, {.capacity_policy = Capacity::elastic, .magazine_blocks = 10, .max_caches = 4});
    std::vector<void*> all;
    while (void* const block = pool.try_acquire()) all.push_back(block);
    ASSERT_GT(all.size(), 100U);
    EXPECT_EQ(pool.stats().high_water, all.size());
    give_back(pool, all);
}

TEST(HighWater, ABlockThatMovesBetweenCachesWhileTheyAreAddedUpCountsOnce) {
    constexpr std::uint32_t kCaches = 1'000;
    BlockPool pool(64, 1, {.capacity_policy = Capacity::elastic, .magazine_blocks = 1, .max_caches = kCaches});
    BlockPool::Cache first(pool);
    std::vector<std::unique_ptr<BlockPool::Cache>> between(kCaches - 2);
    for (auto& cache : between) cache = std::make_unique<BlockPool::Cache>(pool);
    BlockPool::Cache last(pool);
    std::atomic<bool> stop{false};
    std::thread mover([&] {
        while (!stop.load(std::memory_order_relaxed)) {
            for (auto* const cache : {&first, &last}) {
                void* const block = cache->try_acquire();
                for (int i = 0; i < 100; ++i) core::cpu_relax();
                cache->release(block);
            }
        }
    });
    std::uint64_t most = 0;
    for (int i = 0; i < 1'000; ++i) most = std::max(most, pool.stats().in_use);
    stop.store(true);
    mover.join();
    EXPECT_LE(most, 1U);
    EXPECT_LE(pool.stats().high_water, 1U);
    EXPECT_EQ(pool.stats().in_use, 0U);
}

// Threads acquire and release continuously while blocks are held: releases during the sum hide at most as many blocks
// as the caches can keep.
TEST(InUse, IsWithinTwoMagazinesOfEachCacheWhateverIsReleasedMeanwhile) {
    constexpr std::uint64_t kHeld = 5'000;
    constexpr std::uint32_t kMagazine = 20;
    constexpr int kThreads = 3;
    for (const auto policy : {Capacity::elastic, Capacity::strict}) {
        BlockPool pool(64, 10'000, {.capacity_policy = policy, .magazine_blocks = kMagazine});
        const auto held = acquire(pool, kHeld);
        std::atomic<bool> stop{false};
        std::vector<std::thread> threads;
        for (int i = 0; i < kThreads; ++i) {
            threads.emplace_back([&] {
                while (!stop.load(std::memory_order_relaxed)) pool.release(pool.try_acquire());
            });
        }
        std::uint64_t least = kHeld;
        std::uint64_t most = 0;
        for (int i = 0; i < 20'000; ++i) {
            const auto in_use = pool.stats().in_use;
            least = std::min(least, in_use);
            most = std::max(most, in_use);
        }
        stop.store(true);
        for (auto& thread : threads) thread.join();
        EXPECT_GE(least + 2 * std::uint64_t{kMagazine} * (kThreads + 2), kHeld);
        EXPECT_LE(most, kHeld + kThreads);
        give_back(pool, held);
        EXPECT_EQ(pool.stats().in_use, 0U);
    }
}

TEST(InUse, WithoutMagazinesABlockCountsOnceAfterItsCacheEnded) {
    BlockPool pool(64, 10, {.magazine_blocks = 0, .max_caches = 1});
    void* block = nullptr;
    {
        BlockPool::Cache cache(pool);
        block = cache.try_acquire();
    }
    EXPECT_EQ(pool.stats().in_use, 1U);
    std::thread([&] { pool.release(block); }).join();
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.stats().acquired, 1U);
}

// Random use by several caches that exchange blocks, begin and end, compared with the true maximum.
TEST(HighWater, IsExactWithinOneMagazineForEachCache) {
    constexpr std::size_t kCapacity = 400;
    constexpr std::uint32_t kMagazine = 16;
    constexpr std::uint32_t kCaches = 4;
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        BlockPool pool(64, kCapacity,
                       {.capacity_policy = Capacity::elastic, .magazine_blocks = kMagazine, .max_caches = kCaches});
        std::minstd_rand random(seed);
        std::vector<std::unique_ptr<BlockPool::Cache>> caches(kCaches);
        std::vector<void*> live;
        std::size_t most = 0;
        for (int step = 0; step < 4'000; ++step) {
            auto& cache = caches[random() % kCaches];
            if (cache == nullptr || random() % 500 == 0) {
                cache.reset();
                cache = std::make_unique<BlockPool::Cache>(pool);
            }
            const auto count = 1 + random() % 60;
            if (random() % 2 == 0 && live.size() + count <= kCapacity) {
                std::vector<void*> blocks(count);
                ASSERT_TRUE(cache->try_acquire_batch(blocks));
                live.insert(live.end(), blocks.begin(), blocks.end());
            } else {
                for (auto i = std::min<std::size_t>(count, live.size()); i > 0; --i) {
                    std::swap(live[random() % live.size()], live.back());
                    cache->release(live.back());
                    live.pop_back();
                }
            }
            most = std::max(most, live.size());
        }
        for (void* const block : live) caches.front()->release(block);
        const auto high_water = pool.stats().high_water;
        EXPECT_LE(high_water, std::min<std::size_t>(kCapacity, most + kCaches * kMagazine)) << seed;
        EXPECT_GE(high_water + kCaches * kMagazine, most) << seed;
        caches.clear();
        EXPECT_EQ(pool.audit(), "");
    }
}

TEST(HighWater, BeginsAgainAfterReset) {
    BlockPool pool(64, 1000, {.capacity_policy = Capacity::elastic, .magazine_blocks = 50});
    give_back(pool, acquire(pool, 900));
    ASSERT_TRUE(pool.reset());
    EXPECT_EQ(pool.stats().high_water, 0U);
    give_back(pool, acquire(pool, 200));
    EXPECT_LE(pool.stats().high_water, 200U);
    EXPECT_GE(pool.stats().high_water, 150U);
}

}  // namespace
}  // namespace millpond::memory
