#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <latch>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/memory/block_pool.hpp>

#include "tests/memory/preempting.hpp"

namespace millpond::memory {
namespace {

using PreemptedPool = BasicBlockPool<Preempting>;

/// Number of acquire and release pairs over all threads. The long run of docs/internals/memory.md sets
/// MILLPOND_TEST_PAIRS=1000000000.
std::uint64_t pairs_to_run() {
    if (const char* const wanted = std::getenv("MILLPOND_TEST_PAIRS")) return std::stoull(wanted);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return 100'000;
#else
    return 10'000'000;
#endif
}

/// Four threads acquire blocks, exchange them through a table, and release blocks that others acquired. The first word
/// of a block is 1 while it is in use.
class Traffic {
public:
    Traffic(PreemptedPool& pool, std::size_t max_held) : pool_(pool), max_held_(max_held) {}

    void run(std::uint64_t pairs, int rounds) {
        for (int round = 0; round < rounds; ++round) {
            std::vector<std::thread> threads;
            std::latch all_have_used_the_pool(4);
            for (unsigned i = 0; i < 4; ++i) {
                const auto seed = static_cast<unsigned>(round) * 4 + i;
                threads.emplace_back([&, seed] {
                    release(acquire());
                    all_have_used_the_pool.arrive_and_wait();
                    work(pairs / 4 / static_cast<std::uint64_t>(rounds), seed);
                });
            }
            for (auto& thread : threads) thread.join();
        }
        for (auto& place : table_) {
            if (auto* const block = place.exchange(nullptr)) release(block);
        }
    }

    [[nodiscard]] std::uint64_t doubly_owned() const { return doubly_owned_.load(); }
    [[nodiscard]] std::uint64_t refused() const { return refused_.load(); }
    [[nodiscard]] std::int64_t max_out() const { return max_out_.load(); }

private:
    using Word = std::atomic<std::uint64_t>;

    Word* acquire() {
        auto* const word = static_cast<Word*>(pool_.try_acquire());
        if (word == nullptr) {
            refused_.fetch_add(1, std::memory_order_relaxed);
            return nullptr;
        }
        if (word->exchange(1, std::memory_order_relaxed) != 0) doubly_owned_.fetch_add(1, std::memory_order_relaxed);
        const auto out = out_.fetch_add(1, std::memory_order_relaxed) + 1;
        auto most = max_out_.load(std::memory_order_relaxed);
        while (out > most && !max_out_.compare_exchange_weak(most, out, std::memory_order_relaxed)) {
        }
        return word;
    }

    void release(Word* word) {
        if (word->exchange(0, std::memory_order_relaxed) != 1) doubly_owned_.fetch_add(1, std::memory_order_relaxed);
        out_.fetch_sub(1, std::memory_order_relaxed);
        pool_.release(word);
    }

    void work(std::uint64_t pairs, unsigned seed) {
        std::minstd_rand random(seed + 1);
        std::vector<Word*> held;
        for (std::uint64_t pair = 0; pair < pairs;) {
            const auto dice = random();
            if (held.size() < max_held_ && dice % 4 != 0) {
                if (auto* const word = acquire()) held.push_back(word);
                ++pair;
            } else if (!held.empty()) {
                std::swap(held[dice % held.size()], held.back());
                // The block in the slot is another thread's, and is released here.
                auto* const other = table_[dice % table_.size()].exchange(held.back(), std::memory_order_acq_rel);
                held.pop_back();
                if (other != nullptr) release(other);
            }
        }
        for (auto* const word : held) release(word);
    }

    PreemptedPool& pool_;
    std::size_t max_held_;
    std::array<std::atomic<Word*>, 8> table_{};
    std::atomic<std::uint64_t> doubly_owned_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<std::int64_t> out_{0};
    std::atomic<std::int64_t> max_out_{0};
};

TEST(BlockPoolStress, FourPreemptedThreadsNeverOwnTheSameBlock) {
    PreemptedPool pool(64, 4 * 16 + 8, {.capacity_policy = Capacity::elastic, .magazine_blocks = 4, .max_caches = 4});
    Traffic traffic(pool, 16);
    traffic.run(pairs_to_run(), 1);
    EXPECT_EQ(traffic.doubly_owned(), 0U);
    EXPECT_EQ(traffic.refused(), 0U) << "never more than its capacity was in use";
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.audit(), "");
}

TEST(BlockPoolStress, ThreadsThatComeAndGoAndShareACacheLoseNothing) {
    PreemptedPool pool(64, 4 * 16 + 8, {.capacity_policy = Capacity::elastic, .magazine_blocks = 3, .max_caches = 2});
    Traffic traffic(pool, 16);
    traffic.run(pairs_to_run() / 20, 5);
    EXPECT_EQ(traffic.doubly_owned(), 0U);
    EXPECT_EQ(traffic.refused(), 0U);
    EXPECT_GT(pool.stats().uncached, 0U);
    EXPECT_EQ(pool.audit(), "");
}

TEST(BlockPoolStress, AStrictPoolStopsExactlyAtItsCapacityAlsoForThreadsWithoutACache) {
    constexpr std::int64_t kCapacity = 40;
    for (const std::uint32_t caches : {4U, 2U, 1U}) {
        PreemptedPool pool(64, kCapacity,
                           {.capacity_policy = Capacity::strict, .magazine_blocks = 4, .max_caches = caches});
        Traffic traffic(pool, 64);
        traffic.run(pairs_to_run() / 20, 2);
        EXPECT_EQ(traffic.doubly_owned(), 0U) << caches;
        EXPECT_GT(traffic.refused(), 0U) << caches;
        EXPECT_LE(traffic.max_out(), kCapacity) << caches;
        EXPECT_EQ(pool.stats().refused, traffic.refused()) << caches;
        EXPECT_EQ(pool.stats().high_water, static_cast<std::uint64_t>(kCapacity)) << caches;
        EXPECT_EQ(pool.stats().in_use, 0U) << caches;
        EXPECT_EQ(pool.stats().uncached != 0, caches != 4U) << caches;
        EXPECT_EQ(pool.audit(), "") << caches;
    }
}

TEST(BlockPoolStress, AStrictPoolNeverRefusesBelowItsCapacityWhileThreadsComeAndGo) {
    PreemptedPool pool(64, 4 * 16 + 8, {.capacity_policy = Capacity::strict, .magazine_blocks = 3, .max_caches = 2});
    Traffic traffic(pool, 16);
    traffic.run(pairs_to_run() / 20, 5);
    EXPECT_EQ(traffic.doubly_owned(), 0U);
    EXPECT_EQ(traffic.refused(), 0U);
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.audit(), "");
}

TEST(BlockPoolStress, SingleBlocksThroughTheDepotAloneStaySound) {
    PreemptedPool pool(64, 4 * 16 + 8, {.magazine_blocks = 0, .max_caches = 4});
    Traffic traffic(pool, 16);
    traffic.run(pairs_to_run() / 50, 1);
    EXPECT_EQ(traffic.doubly_owned(), 0U);
    EXPECT_EQ(traffic.refused(), 0U);
    EXPECT_EQ(pool.audit(), "");
}

TEST(BlockPoolStress, BatchesReleasedByManyThreadsAtOnceStaySound) {
    BlockPool pool(64, 1000, {.magazine_blocks = 16, .max_caches = 4});
    std::array<std::vector<void*>, 4> batches;
    for (auto& batch : batches) {
        batch.resize(250);
        ASSERT_TRUE(pool.try_acquire_batch(batch));
    }
    std::vector<std::thread> threads;
    for (auto& batch : batches) {
        threads.emplace_back([&pool, &batch] {
            for (int i = 0; i < 50; ++i) {
                pool.release_batch(batch);
                while (!pool.try_acquire_batch(batch)) std::this_thread::yield();
            }
            pool.release_batch(batch);
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.audit(), "");
}

TEST(BlockPoolStress, AThreadThatEndsMeanwhileDoesNotDisturbTheAudit) {
    BlockPool pool(64, 5000, {.magazine_blocks = 3, .max_caches = 8});
    for (int round = 0; round < 200; ++round) {
        std::atomic<int> at_work{4};
        std::array<std::thread, 4> threads;
        for (auto& thread : threads) {
            thread = std::thread([&] {
                pool.release(pool.try_acquire());
                --at_work;
            });
        }
        while (at_work > 0) std::this_thread::yield();
        for (int i = 0; i < 3; ++i) EXPECT_EQ(pool.audit(), "");
        for (auto& thread : threads) thread.join();
    }
}

/// Two threads use the pool while this one reads its statistics continuously.
void read_statistics_meanwhile(std::size_t batch) {
    constexpr std::uint64_t kRounds = 300;
    BlockPool pool(64, 1000, {.capacity_policy = Capacity::elastic, .magazine_blocks = 8, .max_caches = 2});
    std::atomic<int> at_work{2};
    const auto work = [&] {
        std::array<void*, 20> blocks{};
        std::vector<void*> too_many(pool.capacity() + 500);
        for (std::uint64_t round = 0; round < kRounds; ++round) {
            for (std::size_t i = 0; i < blocks.size(); i += batch) {
                // The other thread's batch may hold all blocks for a moment before it is refused.
                while (!pool.try_acquire_batch(std::span(blocks).subspan(i, batch))) std::this_thread::yield();
            }
            if (batch > 1 && round % 16 == 0) {
                EXPECT_FALSE(pool.try_acquire_batch(too_many));
            }
            for (void* const block : blocks) pool.release(block);
        }
        --at_work;
    };
    std::thread first(work);
    std::thread second(work);
    PoolStats before;
    do {
        const auto now = pool.stats();
        EXPECT_LE(now.in_use, 2 * 20U);
        EXPECT_LE(now.acquired, 2 * 20 * kRounds);
        EXPECT_GE(now.acquired, before.acquired);
        EXPECT_GE(now.released, before.released);
        EXPECT_GE(now.acquired, now.released);
        before = now;
    } while (at_work > 0);
    first.join();
    second.join();
    const auto after = pool.stats();
    EXPECT_EQ(after.acquired, 2 * 20 * kRounds);
    EXPECT_EQ(after.released, after.acquired);
    EXPECT_EQ(after.in_use, 0U);
}

TEST(BlockPoolStress, StatisticsThatAreReadMeanwhileAreOfThePoolAndNeverRunBackwards) {
    for (int pool = 0; pool < 200; ++pool) read_statistics_meanwhile(1);
}

TEST(BlockPoolStress, StatisticsThatAreReadWhileBatchesAreRefusedCountOnlyWhatWasHandedOut) {
    for (int pool = 0; pool < 200; ++pool) read_statistics_meanwhile(4);
}

}  // namespace
}  // namespace millpond::memory
