#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include <millpond/core/cache_line.hpp>

namespace millpond::memory::detail {

/// Counts the blocks that one cache of a strict pool has returned.
///
/// Threads: its cache's owner; others may read `returned`.
struct alignas(core::kFalseSharingRange) CreditAccount {
    std::atomic<std::uint64_t> returned{0};  ///< Only grows. The next cache of the account continues from it.
    std::uint64_t returned_elsewhere{0};     ///< Sum of the other accounts when it was last calculated.
    bool open{false};                        ///< Belongs to a cache. Under the pool's mutex.

    /// Call after the blocks are back in the pool.
    void give_back(std::uint64_t count) noexcept {
        returned.store(returned.load(std::memory_order_relaxed) + count,
                       std::memory_order_release);  // sync "given back": the loads in Credits::returned
    }
};

/// Counts the blocks of a strict pool that are in use, and refuses more than its capacity.
///
/// One counter of acquired blocks is shared; each account counts its returned blocks. All counters only grow, so an old
/// sum of the accounts is too low and never lets an acquire pass that must be refused.
/// tests/memory/credits.pml is a model of the protocol.
///
/// Threads: any, each with its own account.
/// Memory:  128 bytes for each cache, provided by the caller.
/// Source:  an acquire has one locked instruction, the least for one whose refusal depends on its place among others:
///          Attiya et al. 2011, "Laws of Order".
template <class Policy>
class Credits {
public:
    /// accounts: one for each cache; they must outlive it.
    Credits(std::uint32_t capacity, std::span<CreditAccount> accounts) noexcept
        : capacity_(capacity), accounts_(accounts) {}

    /// Opens an account for a cache; one must be free. Under the pool's mutex.
    [[nodiscard]] CreditAccount& open_account() noexcept;

    /// Counts `count` blocks as acquired. False, without change, if fewer were free at some moment of the call. O(1);
    /// O(accounts) if the pool is exhausted or the maximum may rise.
    [[nodiscard]] bool acquire(CreditAccount& account, std::uint64_t count) noexcept;
    /// Like acquire, but also false if the sum of the accounts is old, or another acquire came between.
    [[nodiscard]] bool try_acquire(CreditAccount& account, std::uint64_t count) noexcept {
        const auto seen = read();
        return in_use_with(seen.acquired, account, count) <= seen.high_water && count_acquired(seen.acquired, count);
    }

    /// Maximum number of blocks in use at once.
    [[nodiscard]] std::uint64_t high_water() const noexcept {
        return static_cast<std::uint64_t>(high_water_.load(std::memory_order_relaxed));
    }
    [[nodiscard]] std::uint64_t returned() const noexcept {
        std::uint64_t sum = 0;
        for (const auto& account : accounts_.first(opened_.load(std::memory_order_relaxed))) {
            sum += account.returned.load(std::memory_order_acquire);  // sync "given back": CreditAccount::give_back
            Policy::racy_point();
        }
        return sum;
    }
    /// Resets all counts. No block may be in use.
    void reset() noexcept {
        for (auto& account : accounts_) {
            account.returned.store(0, std::memory_order_relaxed);
            account.returned_elsewhere = 0;
        }
        acquired_.store(0, std::memory_order_relaxed);
        high_water_.store(0, std::memory_order_relaxed);
    }

private:
    /// Upper bound of the blocks in use after acquiring `count` more, if no other acquire came after `acquired`.
    /// Negative if others acquired and returned blocks since.
    [[nodiscard]] static std::int64_t in_use_with(std::uint64_t acquired, const CreditAccount& account,
                                                  std::uint64_t count) noexcept {
        const auto returned = account.returned.load(std::memory_order_relaxed) + account.returned_elsewhere;
        return static_cast<std::int64_t>(acquired + count - returned);
    }
    struct Counts {
        std::uint64_t acquired;
        std::int64_t high_water;
    };
    [[nodiscard]] Counts read() const noexcept {
        // First: makes the returned blocks visible that earlier acquires have seen.
        const auto acquired = acquired_.load(std::memory_order_acquire);  // sync "acquired": count_acquired
        Policy::racy_point();
        return {acquired, high_water_.load(std::memory_order_relaxed)};
    }
    /// False if another acquire came after read(), or spuriously.
    [[nodiscard]] bool count_acquired(std::uint64_t acquired, std::uint64_t count) noexcept {
        Policy::racy_point();
        return acquired_.compare_exchange_weak(acquired, acquired + count,
                                               std::memory_order_release,  // sync "acquired": read
                                               std::memory_order_relaxed);
    }

    std::int64_t capacity_;
    std::span<CreditAccount> accounts_;
    std::atomic<std::size_t> opened_{0};  // The first accounts: those that were ever open.
    alignas(core::kFalseSharingRange) std::atomic<std::uint64_t> acquired_{0};
    std::atomic<std::int64_t> high_water_{0};
};

template <class Policy>
CreditAccount& Credits<Policy>::open_account() noexcept {
    const auto opened = opened_.load(std::memory_order_relaxed);
    const auto known = accounts_.first(opened);
    const auto free = std::ranges::find(known, false, &CreditAccount::open);
    assert((free != known.end() || opened < accounts_.size()) && "there are as many accounts as caches");
    auto& account = free != known.end() ? *free : accounts_[opened];
    if (free == known.end()) opened_.store(opened + 1, std::memory_order_relaxed);
    account.open = true;
    return account;
}

template <class Policy>
bool Credits<Policy>::acquire(CreditAccount& account, std::uint64_t count) noexcept {
    for (;;) {
        auto [acquired, high_water] = read();
        auto in_use = in_use_with(acquired, account, count);
        if (in_use > high_water) {  // The sum is old, the maximum rises, or the pool is exhausted.
            account.returned_elsewhere = returned() - account.returned.load(std::memory_order_relaxed);
            in_use = in_use_with(acquired, account, count);
            if (in_use > capacity_) return false;
        }
        if (!count_acquired(acquired, count)) continue;
        while (in_use > high_water &&
               !high_water_.compare_exchange_weak(high_water, in_use, std::memory_order_relaxed)) {
        }
        return true;
    }
}

}  // namespace millpond::memory::detail
