#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/memory/detail/credits.hpp>
#include <millpond/memory/pool_policy.hpp>

#include "tests/memory/preempting.hpp"

namespace millpond::memory::detail {
namespace {

/// At each racy point another thread may run: `meanwhile` is its work.
struct Interrupted : Unchecked {
    static inline std::function<void()> meanwhile;
    static void racy_point() noexcept {
        if (meanwhile) meanwhile();
    }
};

/// Sets the work of other threads during its lifetime.
class Meanwhile {
public:
    explicit Meanwhile(std::function<void()> others) { Interrupted::meanwhile = std::move(others); }
    Meanwhile(const Meanwhile&) = delete;
    Meanwhile& operator=(const Meanwhile&) = delete;
    ~Meanwhile() { Interrupted::meanwhile = nullptr; }
};

/// Credits for three caches, with a model of their state.
class Lending {
public:
    static constexpr std::size_t kCaches = 3;

    explicit Lending(std::uint32_t capacity) : capacity_(capacity), credits_(capacity, accounts_) {
        for (auto& cache : caches_) cache.account = &credits_.open_account();
    }

    bool acquire(std::size_t which, std::uint64_t count = 1) {
        auto& cache = caches_[which];
        cache.in_call = true;
        cache.most_in_call = on_loan_;
        const bool acquired = credits_.try_acquire(*cache.account, count) || credits_.acquire(*cache.account, count);
        cache.in_call = false;
        if (acquired) {
            most_possible_ = std::max(most_possible_, cache.most_in_call + count);
            on_loan_ += count;
            max_on_loan_ = std::max(max_on_loan_, on_loan_);
            for (auto& other : caches_) other.most_in_call = std::max(other.most_in_call, on_loan_);
            EXPECT_LE(on_loan_, capacity_);
        } else {
            EXPECT_GT(cache.most_in_call + count, capacity_) << "a refusal, and there were blocks at each moment";
        }
        EXPECT_GE(credits_.high_water(), max_on_loan_);
        EXPECT_LE(credits_.high_water(), std::min(most_possible_, capacity_));
        return acquired;
    }

    /// Releases blocks that any cache acquired.
    void release(std::size_t which, std::uint64_t count = 1) {
        caches_[which].account->give_back(count);
        on_loan_ -= count;
    }

    /// Ends the cache and begins another.
    void renew(std::size_t which) {
        caches_[which].account->open = false;
        caches_[which].account = &credits_.open_account();
    }

    /// Makes one step of a cache that is not in a call.
    void step(std::minstd_rand& random) {
        const auto which = random() % kCaches;
        if (caches_[which].in_call) return;
        const auto count = 1 + random() % 3;
        const auto dice = random() % 8;
        if (dice == 0) {
            renew(which);
        } else if (dice < 4) {
            release(which, std::min<std::uint64_t>(count, on_loan_));
        } else {
            static_cast<void>(acquire(which, count));
        }
    }

    void forget() {
        credits_.reset();
        max_on_loan_ = 0;
    }
    [[nodiscard]] std::uint64_t most() const { return credits_.high_water(); }

private:
    struct Cache {
        CreditAccount* account{nullptr};
        bool in_call{false};
        std::uint64_t most_in_call{0};
    };

    std::uint64_t capacity_;
    std::array<CreditAccount, kCaches + 1> accounts_;
    Credits<Interrupted> credits_;
    std::array<Cache, kCaches> caches_;
    std::uint64_t on_loan_{0};
    std::uint64_t max_on_loan_{0};
    std::uint64_t most_possible_{0};
};

/// Runs `other` at racy point number `point` from here on.
class Between {
public:
    Between(int point, std::function<void()> other)
        : meanwhile_([this, left = point, other = std::move(other)]() mutable {
              if (left-- != 0) return;
              reached_ = true;
              other();
          }) {}
    [[nodiscard]] bool reached() const { return reached_; }

private:
    bool reached_{false};
    Meanwhile meanwhile_;
};

TEST(Credits, TheWholeCapacityCanBeOnLoanAndNotOneMore) {
    Lending lending(3);
    EXPECT_TRUE(lending.acquire(0, 2));
    EXPECT_FALSE(lending.acquire(1, 2));
    EXPECT_TRUE(lending.acquire(1));
    EXPECT_FALSE(lending.acquire(2));
    lending.release(2, 3);
    EXPECT_TRUE(lending.acquire(0, 3));
    EXPECT_FALSE(lending.acquire(2));
    EXPECT_FALSE(lending.acquire(2, std::uint64_t{1} << 60));
}

TEST(Credits, OneOfTwoCallersGetsTheLastBlock) {
    for (int point = 0;; ++point) {
        Lending lending(1);
        bool other = false;
        const Between between(point, [&] { other = lending.acquire(1); });
        const bool first = lending.acquire(0);
        if (!between.reached()) break;
        EXPECT_NE(first, other) << point;
    }
}

TEST(Credits, ABlockThatIsReturnedMeanwhileIsAvailableNowOrInTheNextCall) {
    for (int point = 0;; ++point) {
        Lending lending(1);
        ASSERT_TRUE(lending.acquire(1));
        const Between between(point, [&] { lending.release(2); });
        const bool first = lending.acquire(0);
        if (!between.reached()) break;
        EXPECT_TRUE(first || lending.acquire(0)) << point;
    }
}

TEST(Credits, OthersThatAcquireAndReturnMeanwhileCauseNoRefusal) {
    for (int point = 0;; ++point) {
        Lending lending(3);
        const Between between(point, [&] {
            for (int i = 0; i < 5; ++i) {
                EXPECT_TRUE(lending.acquire(1, 2));
                lending.release(2, 2);
            }
        });
        EXPECT_TRUE(lending.acquire(0)) << point;
        if (!between.reached()) break;
    }
}

TEST(Credits, ACacheThatEndsMeanwhileIsCountedOnce) {
    for (int point = 0;; ++point) {
        Lending lending(2);
        ASSERT_TRUE(lending.acquire(1, 2));
        lending.release(1, 2);
        const Between between(point, [&] { lending.renew(1); });
        EXPECT_TRUE(lending.acquire(0, 2)) << point;
        EXPECT_FALSE(lending.acquire(1)) << point;
        EXPECT_FALSE(lending.acquire(2)) << point;
        if (!between.reached()) break;
    }
}

TEST(Credits, TheMaximumIsANumberThatWasOnLoanAndNotAnOldSum) {
    Lending lending(10);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(lending.acquire(0, 2));
        lending.release(1, 2);
        EXPECT_EQ(lending.most(), 2U);
    }
    ASSERT_TRUE(lending.acquire(2, 7));
    lending.release(1, 7);
    EXPECT_EQ(lending.most(), 7U);
    lending.forget();
    ASSERT_TRUE(lending.acquire(0));
    EXPECT_EQ(lending.most(), 1U);
    EXPECT_TRUE(lending.acquire(1, 9));
    EXPECT_FALSE(lending.acquire(2));
}

TEST(Credits, RandomCachesThatComeBetweenEachOtherAreAsInAPlainModel) {
    for (std::uint32_t seed = 1; seed <= 300; ++seed) {
        std::minstd_rand random(seed);
        Lending lending(1 + seed % 7);
        int depth = 0;
        const Meanwhile meanwhile([&] {
            if (depth == 2 || random() % 4 != 0) return;
            ++depth;
            for (auto left = 1 + random() % 4; left > 0; --left) lending.step(random);
            --depth;
        });
        for (int i = 0; i < 300; ++i) lending.step(random);
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    }
}

/// Four threads that change their accounts, and acquire and return a credit `rounds` times.
class Borrowers {
public:
    explicit Borrowers(std::uint32_t capacity) : credits_(capacity, accounts_) {}

    void run(int rounds) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) threads.emplace_back([this, rounds] { work(rounds); });
        for (auto& thread : threads) thread.join();
    }

    [[nodiscard]] std::int64_t max_on_loan() const { return max_on_loan_.load(); }
    [[nodiscard]] int refused() const { return refused_.load(); }
    [[nodiscard]] const Credits<Preempting>& credits() const { return credits_; }

private:
    void work(int rounds) {
        CreditAccount* account = nullptr;
        for (int round = 0; round < rounds; ++round) {
            if (round % 100 == 0) {
                const std::lock_guard lock(mutex_);
                if (account != nullptr) account->open = false;
                account = &credits_.open_account();
            }
            if (!credits_.acquire(*account, 1)) {
                refused_.fetch_add(1, std::memory_order_relaxed);
                continue;
            }
            const auto on_loan = on_loan_.fetch_add(1, std::memory_order_relaxed) + 1;
            auto most = max_on_loan_.load(std::memory_order_relaxed);
            while (on_loan > most && !max_on_loan_.compare_exchange_weak(most, on_loan, std::memory_order_relaxed)) {
            }
            Preempting::racy_point();
            on_loan_.fetch_sub(1, std::memory_order_relaxed);
            account->give_back(1);
        }
    }

    std::array<CreditAccount, 4> accounts_;
    Credits<Preempting> credits_;
    std::mutex mutex_;  // For opening and closing.
    std::atomic<std::int64_t> on_loan_{0};
    std::atomic<std::int64_t> max_on_loan_{0};
    std::atomic<int> refused_{0};
};

TEST(Credits, FourThreadsNeverHaveMoreThanTheCapacity) {
    for (const std::uint32_t capacity : {1U, 2U, 3U}) {
        Borrowers borrowers(capacity);
        borrowers.run(20'000);
        EXPECT_LE(borrowers.max_on_loan(), capacity);
        EXPECT_LE(borrowers.credits().high_water(), capacity);
        EXPECT_GE(borrowers.credits().high_water(), static_cast<std::uint64_t>(borrowers.max_on_loan()));
    }
}

TEST(Credits, FourThreadsThatWantNoMoreThanTheCapacityAreNeverRefused) {
    Borrowers borrowers(4);
    borrowers.run(50'000);
    EXPECT_EQ(borrowers.refused(), 0);
}

}  // namespace
}  // namespace millpond::memory::detail
