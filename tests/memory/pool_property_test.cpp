// Random use of several pools by random threads, compared with a plain model: the blocks in use and their contents.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <shared_mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/memory/block_pool.hpp>

#include "tests/memory/preempting.hpp"

namespace millpond::memory {
namespace {

using Pool = BasicBlockPool<Preempting>;
using Random = std::minstd_rand;

/// Faults, counted by the threads that detect them.
struct Faults {
    std::atomic<int> doubly_owned{0};
    std::atomic<int> misplaced{0};
    std::atomic<int> spoiled{0};
    std::atomic<int> refused_below_capacity{0};
    std::atomic<int> beyond_capacity{0};
};

/// A pool of random shape, and its model. In a modest one the users together never need more than the capacity, and no
/// request may be refused; in others a request may be.
class ModelledPool {
public:
    ModelledPool(Random& random, Faults& faults)
        : faults_(faults),
          modest_(random() % 2 == 0),
          pool_(1 + random() % 700, 1 + random() % 300, random_options(random)),
          most_(pool_.stats().strict ? pool_.capacity() : pool_.stats().owned) {}

    [[nodiscard]] Pool& pool() noexcept { return pool_; }

    /// Acquires and releases through `blocks`, the pool itself or a cache of it. On any thread, concurrently with
    /// others.
    void use(auto& blocks, Random& random) {
        for (auto left = 1 + random() % 40; left > 0; --left) {
            const auto count = random() % 4 == 0 ? random() % 30 : 1;
            if (random() % 2 == 0) {
                release(blocks, count, random);
            } else if (!modest_ || reserve(count)) {
                if (!acquire(blocks, count, random()) && modest_) ++faults_.refused_below_capacity;
            }
        }
    }

    /// Requires an idle pool.
    void expect_as_modelled() const {
        EXPECT_EQ(pool_.audit(), "");
        EXPECT_EQ(pool_.stats().in_use, live_.size());
        std::set<const void*> in_use;
        pool_.for_each_live([&](const void* block) { in_use.insert(block); });
        EXPECT_EQ(in_use, addresses_);
    }

    /// Acquires all blocks, then releases them. The pool must be idle and is not used afterwards.
    void expect_capacity_both_ways(Random& random) {
        while (acquire(pool_, 1, random())) {
        }
        EXPECT_GE(live_.size(), pool_.capacity());
        EXPECT_LE(live_.size(), most_);
        EXPECT_EQ(pool_.stats().in_use, live_.size());
        while (!live_.empty()) release(pool_, live_.size(), random);
        EXPECT_TRUE(acquire(pool_, pool_.capacity(), 1)) << "the whole capacity at once";
        if (most_ == pool_.capacity()) {
            EXPECT_FALSE(acquire(pool_, 1, 0)) << "and not one more";
        }
        release(pool_, live_.size(), random);
        expect_as_modelled();
    }

private:
    struct Held {
        std::byte* block;
        std::uint64_t content;
    };

    static PoolOptions random_options(Random& random) {
        constexpr std::array kMagazines{kAutomaticMagazine, 0U, 1U, 3U, 16U};
        constexpr std::array kPolicies{Capacity::automatic, Capacity::elastic, Capacity::strict};
        const auto magazine_blocks = kMagazines[random() % kMagazines.size()];
        // With an explicit magazine size, automatic is refused for small pools.
        const std::size_t first = magazine_blocks == kAutomaticMagazine ? 0 : 1;
        return {.name = "modelled",
                .alignment = std::size_t{1} << random() % 13,
                .capacity_policy = kPolicies[first + random() % (kPolicies.size() - first)],
                .magazine_blocks = magazine_blocks,
                .max_caches = static_cast<std::uint32_t>(random() % 6),
                .region = {}};
    }

    [[nodiscard]] bool reserve(std::size_t count) {
        auto now = reserved_.load();
        while (now + count <= pool_.capacity()) {
            if (reserved_.compare_exchange_weak(now, now + count)) return true;
        }
        return false;
    }

    [[nodiscard]] std::byte pattern(std::uint64_t content, std::size_t at) const {
        return static_cast<std::byte>(content + at * 37);
    }

    bool acquire(auto& blocks, std::size_t count, std::uint64_t content) {
        std::vector<void*> got(count);
        if (count == 1 && content % 2 == 0) {
            if ((got[0] = blocks.try_acquire()) == nullptr) return false;
        } else if (!blocks.try_acquire_batch(got)) {
            return false;
        }
        if (out_.fetch_add(count) + count > most_) ++faults_.beyond_capacity;
        for (void* const block : got) {
            const std::span bytes(static_cast<std::byte*>(block), pool_.block_bytes());
            const auto address = reinterpret_cast<std::uintptr_t>(block);
            if (!pool_.owns(block) || address % pool_.alignment() != 0) ++faults_.misplaced;
            for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(content, i);
            const std::lock_guard lock(mutex_);
            live_.push_back({bytes.data(), content});
            if (!addresses_.insert(block).second) ++faults_.doubly_owned;
        }
        return true;
    }

    /// Releases at most `count` blocks that any thread acquired.
    void release(auto& blocks, std::size_t count, Random& random) {
        std::vector<Held> gone;
        {
            const std::lock_guard lock(mutex_);
            while (gone.size() < count && !live_.empty()) {
                std::swap(live_[random() % live_.size()], live_.back());
                gone.push_back(live_.back());
                live_.pop_back();
                addresses_.erase(gone.back().block);
            }
        }
        std::vector<void*> all;
        for (const auto& [block, content] : gone) {
            bool right = true;
            for (std::size_t i = 0; i < pool_.block_bytes(); ++i) right = right && block[i] == pattern(content, i);
            if (!right) ++faults_.spoiled;
            all.push_back(block);
        }
        out_.fetch_sub(all.size());
        if (random() % 2 == 0) {
            blocks.release_batch(all);
        } else {
            for (void* const block : all) blocks.release(block);
        }
        if (modest_) reserved_.fetch_sub(all.size());
    }

    Faults& faults_;
    bool modest_;
    Pool pool_;
    std::size_t most_;                      // Blocks in use at a time.
    std::atomic<std::size_t> reserved_{0};  // in a modest pool: in use, being acquired or being released
    std::atomic<std::size_t> out_{0};       // In use, as users see it.
    std::mutex mutex_;                      // Protects the two below.
    std::vector<Held> live_;
    std::set<const void*> addresses_;
};

/// A place for one pool after the other. Users share it; the thread that ends a pool has exclusive access.
class Place {
public:
    Place(Random& random, Faults& faults) : faults_(faults) { renew(random); }

    void visit(Random& random) {
        if (random() % 50 == 0) {
            const std::unique_lock alone(mutex_);
            end(random);
            renew(random);
            return;
        }
        const std::shared_lock together(mutex_);
        if (random() % 4 != 0) return pool_->use(pool_->pool(), random);
        try {
            Pool::Cache cache(pool_->pool());
            pool_->use(cache, random);
        } catch (const std::length_error&) {
            // Other threads have all caches of the pool.
        }
    }

    void end(Random& random) {
        pool_->expect_as_modelled();
        pool_->expect_capacity_both_ways(random);
        pool_.reset();
    }

private:
    void renew(Random& random) { pool_ = std::make_unique<ModelledPool>(random, faults_); }

    Faults& faults_;
    std::shared_mutex mutex_;
    std::unique_ptr<ModelledPool> pool_;
};

/// Threads begin and end while pools exist, and pools while threads do.
void run(unsigned seed, int visits) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Faults faults;
    std::array places{std::make_unique<Place>(random, faults), std::make_unique<Place>(random, faults),
                      std::make_unique<Place>(random, faults)};
    for (int round = 0; round < 3; ++round) {
        std::vector<std::thread> threads;
        for (auto left = 1 + random() % 5; left > 0; --left) {
            threads.emplace_back([&places, visits, own = Random(random())]() mutable {
                for (int i = 0; i < visits; ++i) places[own() % places.size()]->visit(own);
            });
        }
        for (auto& thread : threads) thread.join();
    }
    for (auto& place : places) place->end(random);
    EXPECT_EQ(faults.doubly_owned, 0);
    EXPECT_EQ(faults.misplaced, 0);
    EXPECT_EQ(faults.spoiled, 0);
    EXPECT_EQ(faults.refused_below_capacity, 0);
    EXPECT_EQ(faults.beyond_capacity, 0);
}

TEST(PoolProperties, RandomUseByRandomThreadsIsAsInAPlainModelAndCapacityHoldsBothWays) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    constexpr unsigned kSeeds = 6;
#else
    constexpr unsigned kSeeds = 30;
#endif
    for (unsigned seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) run(seed, 100);
}

}  // namespace
}  // namespace millpond::memory
