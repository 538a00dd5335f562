#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/memory/block_pool.hpp>

#include "tests/memory/pool_blocks.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::memory {
namespace {

using testing::HasSubstr;

TEST(BlockPool, BlocksAreAlignedAndDoNotOverlap) {
    for (const auto bytes : std::array<std::size_t, 9>{1, 7, 24, 64, 100, 192, 512, 640, 4096}) {
        for (const auto alignment : std::array<std::size_t, 5>{1, 8, 64, 256, 4096}) {
            BlockPool pool(bytes, 50, {.alignment = alignment});
            auto blocks = acquire_all(pool);
            ASSERT_GE(blocks.size(), 50U);
            std::ranges::sort(blocks);
            for (std::size_t i = 0; i < blocks.size(); ++i) {
                ASSERT_EQ(reinterpret_cast<std::uintptr_t>(blocks[i]) % alignment, 0U);
                if (i > 0) {
                    ASSERT_GE(static_cast<std::byte*>(blocks[i]) - static_cast<std::byte*>(blocks[i - 1]),
                              static_cast<std::ptrdiff_t>(bytes));
                }
                std::memset(blocks[i], 0xFF, bytes);
            }
            give_back(pool, blocks);
            ASSERT_EQ(pool.audit(), "");
        }
    }
}

TEST(BlockPool, AnOverAlignedBlockCostsNoMoreThanItsStride) {
    const BlockPool pool(4096, 10, {.alignment = 4096});
    EXPECT_EQ(pool.stats().stride_bytes, 4096U);
}

TEST(BlockPool, ALargePowerOfTwoStrideIsSpreadOverTheSetsOfTheCache) {
    EXPECT_EQ(BlockPool(1024, 10).stats().stride_bytes, 1024U + 64U);
    EXPECT_EQ(BlockPool(192, 10).stats().stride_bytes, 192U);
}

TEST(BlockPool, WrongArgumentsAreNamedWithTheirBound) {
    EXPECT_THROW(BlockPool(0, 10), std::invalid_argument);
    EXPECT_THROW(BlockPool(64, 0), std::invalid_argument);
    EXPECT_THROW(BlockPool(64, std::size_t{1} << 40), std::invalid_argument);
    EXPECT_THROW(BlockPool(64, static_cast<std::size_t>(-1)), std::invalid_argument);
    EXPECT_THROW(BlockPool(std::size_t{1} << 60, 1000), std::invalid_argument);
    EXPECT_THROW(BlockPool(64, 10, {.magazine_blocks = 100'000}), std::invalid_argument);
    try {
        const BlockPool pool(64, 10, {.name = "orders", .alignment = 48});
        FAIL() << "alignment 48 was accepted";
    } catch (const std::invalid_argument& error) {
        EXPECT_STREQ(error.what(), "pool 'orders': alignment 48 is not a power of two up to 4096");
    }
}

TEST(BlockPool, SmallPoolsAreStrictByDefaultAndLargeOnesAreNot) {
    EXPECT_TRUE(BlockPool(64, 8).stats().strict);
    EXPECT_FALSE(BlockPool(64, 10'000).stats().strict);
    EXPECT_TRUE(BlockPool(64, 1000, {.capacity_policy = Capacity::strict, .magazine_blocks = 16}).stats().strict);
}

TEST(BlockPool, MagazinesThatWouldMakeItStrictAreRefusedUnlessAPolicyIsChosen) {
    try {
        const BlockPool pool(64, 4'096, {.name = "orders", .magazine_blocks = 255});
        FAIL() << "the caches may hold more than the capacity";
    } catch (const std::invalid_argument& error) {
        EXPECT_STREQ(error.what(),
                     "pool 'orders': with magazines of 255 blocks 16 caches may hold 8160 blocks, more than the "
                     "capacity of 4096: use smaller magazines or fewer caches, or choose Capacity::elastic or "
                     "Capacity::strict");
    }
    EXPECT_FALSE(BlockPool(64, 4'096, {.magazine_blocks = 128}).stats().strict);
    EXPECT_THROW(BlockPool(64, 4'095, {.magazine_blocks = 128}), std::invalid_argument);
    EXPECT_FALSE(BlockPool(64, 4'096, {.capacity_policy = Capacity::elastic, .magazine_blocks = 255}).stats().strict);
    EXPECT_TRUE(BlockPool(64, 4'096, {.capacity_policy = Capacity::strict, .magazine_blocks = 255}).stats().strict);
}

TEST(BlockPool, AnExchangeMovesAWholeMagazine) {
    BlockPool pool(64, 1000, {.magazine_blocks = 50, .max_caches = 2});
    BlockPool::Cache cache(pool);
    std::vector<void*> blocks;
    for (int i = 0; i < 500; ++i) blocks.push_back(cache.try_acquire());
    EXPECT_EQ(pool.stats().exchanges, 10U);
    for (void* const block : blocks) cache.release(block);
    EXPECT_EQ(pool.stats().exchanges, 10U + 8U) << "two magazines of the ten stay with the cache";
}

/// The pool object contains the depot's heads and all shared counts.
std::array<std::byte, sizeof(BlockPool)> shared_by_threads(const BlockPool& pool) {
    std::array<std::byte, sizeof(BlockPool)> bytes;
    std::memcpy(bytes.data(), static_cast<const void*>(&pool), bytes.size());
    return bytes;
}

TEST(BlockPool, AnOperationWithinAMagazineWritesNothingThatThreadsShare) {
    BlockPool pool(64, 1000, {.magazine_blocks = 50, .max_caches = 2});
    BlockPool::Cache cache(pool);
    cache.release(cache.try_acquire());
    const auto before = shared_by_threads(pool);
    std::array<void*, 40> blocks{};
    for (int i = 0; i < 100; ++i) {
        for (auto& block : blocks) block = cache.try_acquire();
        for (void* const block : blocks) cache.release(block);
    }
    EXPECT_EQ(shared_by_threads(pool), before);
    EXPECT_EQ(pool.stats().acquired, 4001U);
}

TEST(BlockPool, AReleaseToAStrictPoolWritesNothingThatThreadsShare) {
    BlockPool pool(64, 1000, {.capacity_policy = Capacity::strict, .magazine_blocks = 50, .max_caches = 2});
    BlockPool::Cache cache(pool);
    std::array<void*, 50> blocks{};
    for (auto& block : blocks) block = cache.try_acquire();
    const auto before = shared_by_threads(pool);
    for (void* const block : blocks) cache.release(block);
    EXPECT_EQ(shared_by_threads(pool), before);
    EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST(BlockPool, AStrictPoolLendsItsWholeCapacityAfterCachesOfEachKindHaveEnded) {
    constexpr std::size_t kCapacity = 100;
    BlockPool pool(64, kCapacity, {.capacity_policy = Capacity::strict, .magazine_blocks = 10, .max_caches = 2});
    for (int round = 0; round < 10; ++round) {
        std::vector<void*> blocks;
        std::thread([&] { blocks = acquire_all(pool); }).join();
        EXPECT_EQ(blocks.size(), kCapacity);
        BlockPool::Cache cache(pool);
        for (void* const block : blocks) cache.release(block);
        EXPECT_EQ(pool.stats().high_water, kCapacity);
        ASSERT_TRUE(pool.reset());
    }
    EXPECT_EQ(pool.stats().high_water, 0U);
    EXPECT_EQ(pool.audit(), "");
}

TEST(BlockPool, AcquiringAndReleasingAtTheEdgeOfAMagazineDoesNotExchangeEachTime) {
    BlockPool pool(64, 1000, {.magazine_blocks = 10, .max_caches = 2});
    BlockPool::Cache cache(pool);
    std::vector<void*> blocks;
    for (int i = 0; i < 10; ++i) blocks.push_back(cache.try_acquire());
    const auto before = pool.stats().exchanges;
    for (int i = 0; i < 1000; ++i) {
        std::array<void*, 2> two{cache.try_acquire(), cache.try_acquire()};
        for (void* const block : two) cache.release(block);
    }
    EXPECT_LE(pool.stats().exchanges - before, 1U);
    for (void* const block : blocks) cache.release(block);
}

TEST(BlockPool, BlocksMayAlwaysBeAcquiredOnOneThreadAndReleasedOnAnother) {
    BlockPool pool(64, 100, {.magazine_blocks = 8, .max_caches = 2});
    BlockPool::Cache producer(pool);
    BlockPool::Cache consumer(pool);
    for (int i = 0; i < 10'000; ++i) {
        void* const block = producer.try_acquire();
        ASSERT_NE(block, nullptr);
        consumer.release(block);
    }
    EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST(BlockPool, AThreadFindsItsCacheInAnyNumberOfPools) {
    std::vector<std::unique_ptr<BlockPool>> pools;
    for (int i = 0; i < 64; ++i) pools.push_back(std::make_unique<BlockPool>(64, 10));
    std::vector<void*> blocks;
    for (auto& pool : pools) blocks.push_back(pool->try_acquire());
    for (std::size_t i = 0; i < pools.size(); ++i) {
        EXPECT_TRUE(pools[i]->owns(blocks[i]));
        EXPECT_EQ(std::ranges::count_if(pools, [&](const auto& pool) { return pool->owns(blocks[i]); }), 1);
        pools[i]->release(blocks[i]);
        EXPECT_EQ(pools[i]->stats().uncached, 0U);
    }
}

TEST(BlockPool, PoolsBeginAndEndWhileAThreadUsesOthers) {
    BlockPool lasting(64, 100);
    void* const kept = lasting.try_acquire();
    for (int i = 0; i < 50; ++i) {
        BlockPool passing(64, 100);
        void* const block = passing.try_acquire();
        ASSERT_TRUE(passing.owns(block));
        ASSERT_EQ(passing.stats().in_use, 1U) << "a new pool under an old number begins with no cache";
        passing.release(block);
    }
    lasting.release(kept);
    EXPECT_EQ(lasting.audit(), "");
}

TEST(BlockPool, APoolMayEndBeforeAThreadThatUsedIt) {
    std::optional<BlockPool> pool(std::in_place, 64, 100);
    std::atomic<int> step{0};
    std::thread user([&] {
        pool->release(pool->try_acquire());
        step = 1;
        step.notify_all();
        step.wait(1);
    });
    step.wait(0);
    pool.reset();
    BlockPool successor(64, 100);
    step = 2;
    step.notify_all();
    user.join();
    EXPECT_EQ(successor.audit(), "");
}

TEST(BlockPool, AThreadLocalThatOutlivesTheThreadsCacheStillReleases) {
    BlockPool pool(64, 100);
    struct Holder {
        BlockPool* pool{nullptr};
        void* block{nullptr};
        ~Holder() {
            if (pool != nullptr) pool->release(block);
        }
    };
    std::thread([&] {
        static thread_local Holder holder;  // Made before the thread's caches, so it ends after them.
        holder.pool = &pool;
        holder.block = pool.try_acquire();
    }).join();
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.stats().uncached, 1U);
    EXPECT_EQ(pool.audit(), "");
}

TEST(BlockPool, ThreadsBeyondTheCachesShareOneAndAreCounted) {
    BlockPool pool(64, 100, {.max_caches = 1});
    const BlockPool::Cache only(pool);
    EXPECT_THROW(BlockPool::Cache second(pool), std::length_error);
    EXPECT_FALSE(pool.prewarm());
    const auto blocks = acquire_all(pool);
    EXPECT_GE(blocks.size(), 100U);
    give_back(pool, blocks);
    EXPECT_EQ(pool.stats().uncached, 2 * blocks.size() + 1);
    EXPECT_EQ(pool.audit(), "");
}

TEST(BlockPool, ACacheMovesWithItsBlocksAndCounts) {
    for (const std::uint32_t magazine : {0U, 1U, 8U}) {
        for (const auto policy : {Capacity::elastic, Capacity::strict}) {
            BlockPool pool(64, 100, {.capacity_policy = policy, .magazine_blocks = magazine, .max_caches = 2});
            std::vector<BlockPool::Cache> caches;
            caches.emplace_back(pool);
            std::vector<void*> blocks;
            for (int i = 0; i < 20; ++i) blocks.push_back(caches.back().try_acquire());
            caches.emplace_back(pool);  // Moves the first one.
            EXPECT_THROW(caches.emplace_back(pool), std::length_error);
            for (int i = 0; i < 20; ++i) blocks.push_back(caches.front().try_acquire());
            for (int i = 0; i < 5; ++i) {
                caches.back().release(blocks.back());
                blocks.pop_back();
            }
            EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
            EXPECT_EQ(pool.stats().in_use, 35U);
            EXPECT_EQ(pool.stats().acquired, 40U);
            EXPECT_EQ(pool.audit(), "");
            caches.front() = std::move(caches.back());
            caches.pop_back();
            auto& self = caches.front();
            caches.front() = std::move(self);
            const BlockPool::Cache other(pool);  // The assigned cache has returned its place.
            EXPECT_EQ(pool.audit(), "");
            for (void* const block : blocks) caches.front().release(block);
            caches.clear();
            EXPECT_EQ(pool.stats().in_use, 0U);
            EXPECT_EQ(pool.stats().released, 40U);
            EXPECT_EQ(pool.audit(), "");
        }
    }
}

TEST(BlockPool, TheCountsOfACacheThatMovesAreReadMeanwhile) {
    BlockPool pool(64, 1'000);
    std::atomic<bool> stop{false};
    std::thread mover([&] {
        BlockPool::Cache first(pool);
        while (!stop.load(std::memory_order_relaxed)) {
            void* const block = first.try_acquire();
            BlockPool::Cache second(std::move(first));
            second.release(block);
            first = std::move(second);
        }
    });
    std::uint64_t most = 0;
    for (int i = 0; i < 10'000; ++i) most = std::max(most, pool.stats().in_use);
    stop.store(true);
    mover.join();
    EXPECT_LE(most, 1U);
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.audit(), "");
}

TEST(BlockPool, WithoutANameEachGetsItsOwn) {
    const BlockPool first(64, 10);
    const BlockPool second(64, 10);
    EXPECT_THAT(first.name(), testing::MatchesRegex("pool-[0-9]+"));
    EXPECT_NE(first.name(), second.name());
}

TEST(BlockPool, APoolWithoutCachesWorks) {
    BlockPool pool(64, 100, {.max_caches = 0});
    const auto blocks = acquire_all(pool);
    EXPECT_EQ(blocks.size(), 100U);
    give_back(pool, blocks);
    EXPECT_EQ(pool.audit(), "");
}

TEST(BlockPool, EveryPointerThatIsNotABlockIsReported) {
    for (const auto bytes : std::array<std::size_t, 6>{1, 24, 64, 192, 640, 4096}) {
        BlockPool pool(bytes, 10, {.alignment = 8});
        auto* const block = static_cast<std::byte*>(pool.try_acquire());
        const auto stride = static_cast<std::ptrdiff_t>(pool.stats().stride_bytes);
        EXPECT_TRUE(pool.owns(block));
        for (std::ptrdiff_t off = 1; off < stride; ++off) ASSERT_FALSE(pool.owns(block + off)) << bytes << " " << off;
        const auto* const first = pool.region().data();
        const auto owned = static_cast<std::ptrdiff_t>(pool.stats().owned);
        EXPECT_TRUE(pool.owns(first));
        EXPECT_TRUE(pool.owns(first + (owned - 1) * stride));
        EXPECT_FALSE(pool.owns(first + owned * stride));
        EXPECT_FALSE(pool.owns(first - stride));
        EXPECT_FALSE(pool.owns(nullptr));
        EXPECT_FALSE(pool.owns(&pool));
        pool.release(block);
    }
}

TEST(BlockPool, OnePointerThatIsNotABlockIsReportedInABatchOfAnyLength) {
    constexpr std::uint32_t kBlocks = 100;
    // The last two blocks are beyond 4 GiB; blocks are never touched.
    for (const std::size_t stride : {2UL, 24UL, 64UL, 192UL, 704UL, 4096UL, 1UL << 26, 3UL << 25}) {
        auto* const first = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40);
        const detail::BlockGrid grid(first, stride, kBlocks);
        const auto bytes = kBlocks * stride;
        const std::size_t offsets[]{1,         stride / 2,           stride - 1, bytes,
                                    bytes - 1, std::size_t{1} << 32, 0 - stride, 0 - (std::size_t{1} << 32)};
        for (const std::size_t length : {1UL, 2UL, 3UL, 4UL, 5UL, 6UL, 7UL, 8UL, 9UL, 15UL, 16UL, 29UL, 100UL}) {
            std::vector<void*> blocks;
            for (std::uint32_t i = 0; i < length; ++i) blocks.push_back(grid.block((i * 37) % kBlocks));
            std::vector<std::byte*> copy(length);
            const auto is_copied = [&] {
                return std::ranges::equal(std::exchange(copy, std::vector<std::byte*>(length)), blocks, {},
                                          [](std::byte* block) -> void* { return block; });
            };
            ASSERT_TRUE(grid.copy<false>(copy.data(), blocks.data(), length)) << stride << " " << length;
            EXPECT_TRUE(is_copied());
            ASSERT_TRUE(grid.copy<true>(copy.data(), blocks.data(), length)) << stride << " " << length;
            EXPECT_TRUE(is_copied());
            for (auto& block : blocks) {
                auto* const right = block;
                for (const auto offset : offsets) {
                    auto* const wrong = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(first) + offset);
                    block = wrong;
                    ASSERT_EQ(grid.copy<false>(copy.data(), blocks.data(), length), grid.holds(wrong))
                        << stride << " " << offset;
                    ASSERT_EQ(grid.copy<true>(copy.data(), blocks.data(), length), grid.holds(wrong))
                        << stride << " " << offset;
                }
                block = right;
            }
        }
        EXPECT_FALSE(grid.holds(first + 1));
        EXPECT_FALSE(grid.holds(first + bytes));
    }
}

TEST(BlockPoolDeathTest, AForeignOrMisalignedReleaseIsCaughtWithoutChecks) {
    BlockPool orders(64, 10, {.name = "orders"});
    BlockPool quotes(64, 10, {.name = "quotes"});
    int local = 0;
    auto* const block = static_cast<std::byte*>(orders.try_acquire());
    EXPECT_DEATH(orders.release(&local), "pool 'orders': release of a block that is not its own: .* of no pool");
    EXPECT_DEATH(quotes.release(block), "pool 'quotes': release of a block that is not its own: .* of pool 'orders'");
    EXPECT_DEATH(orders.release(block + 8), "pool 'orders': release of a block that is not its own");
    EXPECT_DEATH(orders.release(nullptr), "pool 'orders': release of a block that is not its own");
    std::array<void*, 2> batch{block, &local};
    EXPECT_DEATH(orders.release_batch(batch), "pool 'orders': release of a block that is not its own");
    BlockPool wide(64, 10'000, {.name = "wide"});
    BlockPool::Cache cache(wide);
    std::vector<void*> large(40, cache.try_acquire());
    large[33] = block;
    EXPECT_DEATH(cache.release_batch(large), "pool 'wide': release of a block that is not its own");
    cache.release(large.front());
    orders.release(block);
}

TEST(BlockPool, AWriteAfterReleaseCannotHarmThePool) {
    BlockPool pool(64, 100, {.max_caches = 1});
    const auto blocks = acquire_all(pool);
    give_back(pool, blocks);
    for (void* const block : blocks) std::memset(block, 0xFF, 64);
    EXPECT_EQ(pool.audit(), "");
    const auto again = acquire_all(pool);
    EXPECT_EQ(std::set<void*>(again.begin(), again.end()), std::set<void*>(blocks.begin(), blocks.end()));
    give_back(pool, again);
}

TEST(BlockPool, TheAuditFindsADoubleRelease) {
    BlockPool pool(64, 100);
    void* const block = pool.try_acquire();
    pool.release(block);
    pool.release(block);
    EXPECT_THAT(pool.audit(), HasSubstr("is in two places"));
}

TEST(BlockPool, LiveBlocksAreVisitedEachOnce) {
    BlockPool pool(64, 100);
    std::set<void*> live;
    for (int i = 0; i < 30; ++i) live.insert(pool.try_acquire());
    void* const released = *live.begin();
    live.erase(released);
    pool.release(released);
    std::set<void*> visited;
    pool.for_each_live([&](void* block) { EXPECT_TRUE(visited.insert(block).second); });
    EXPECT_EQ(visited, live);
    for (void* const block : live) pool.release(block);
}

TEST(BlockPool, StatisticsCountEachOperation) {
    BlockPool pool(100, 1000, {.capacity_policy = Capacity::strict, .magazine_blocks = 10, .max_caches = 2});
    const auto blocks = acquire_all(pool);
    give_back(pool, blocks);
    pool.release(pool.try_acquire());
    const auto stats = pool.stats();
    EXPECT_EQ(stats.capacity, 1000U);
    EXPECT_EQ(stats.owned, 1040U);
    EXPECT_EQ(stats.block_bytes, 100U);
    EXPECT_EQ(stats.stride_bytes, 128U);
    EXPECT_EQ(stats.magazine_blocks, 10U);
    EXPECT_EQ(stats.acquired, 1001U);
    EXPECT_EQ(stats.released, 1001U);
    EXPECT_EQ(stats.refused, 1U);
    EXPECT_EQ(stats.high_water, 1000U);
    EXPECT_EQ(stats.in_use, 0U);
    EXPECT_EQ(stats.page_bytes, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
    EXPECT_EQ(stats.region_bytes, pool.region().size());
}

TEST(BlockPool, AcquireAndReleaseAllocateNothingFaultNothingAndCallNoKernel) {
    BlockPool pool(192, 1000);
    ASSERT_TRUE(pool.prewarm());
    std::array<void*, 300> blocks{};
    const auto trip = [&blocks](BlockPool& from) {
        for (auto& block : blocks) {
            block = from.try_acquire();
            std::memset(block, 1, 192);
        }
        for (void* const block : blocks) from.release(block);
        const bool batch = from.try_acquire_batch(blocks);
        if (batch) from.release_batch(blocks);
        return batch;
    };
    // The program's own pages are read from its file on first use.
    BlockPool other(192, 1000);
    ASSERT_TRUE(trip(other));
    test::expect_free_of_cost_at_once([&] { return trip(pool); });
}

TEST(BlockPool, AForkedChildOfOneThreadHasItsOwnCopy) {
    BlockPool pool(64, 100);
    void* const block = pool.try_acquire();
    const auto child = fork();
    if (child == 0) {
        pool.release(block);
        const auto acquired = acquire_all(pool);
        _exit(acquired.size() >= 100 && pool.audit().empty() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(pool.stats().in_use, 1U);
    pool.release(block);
}

}  // namespace
}  // namespace millpond::memory
