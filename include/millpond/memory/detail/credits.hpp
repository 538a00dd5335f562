#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include <millpond/core/cache_line.hpp>

namespace millpond::memory::detail {

/// The blocks that one cache of a strict pool has given back.
///
/// Threads: its cache's owner; others may read `returned`.
struct alignas(core::kFalseSharingRange) CreditAccount {
    std::atomic<std::uint64_t> returned{0};  ///< Only grows. The next cache of the account goes on from it.
    std::uint64_t returned_elsewhere{0};     ///< In all other accounts, when they were last added up.
    bool taken{false};                       ///< Under the pool's mutex.

    /// The blocks must be in the pool already.
    void give_back(std::uint64_t count) noexcept {
        returned.store(returned.load(std::memory_order_relaxed) + count,
                       std::memory_order_release);  // sync "given back": the loads in Credits::returned
    }
};

/// Counts what a strict pool has lent, and refuses more than its capacity.
///
/// One counter of acquired blocks is shared; blocks that are given back are counted by each account. All counters only
/// grow, so an old sum of the accounts is too low, and never lets an acquire pass that must be refused.
/// tests/memory/credits.pml is a model of the protocol.
///
/// Threads: any, each with its own account.
/// Memory:  128 bytes for each cache, of the caller.
/// Source:  an acquire has one locked instruction, the least for one whose refusal depends on its place among others:
///          Attiya et al. 2011, "Laws of Order".
template <class Policy>
class Credits {
public:
    /// accounts: one for each cache; they must outlive it.
    Credits(std::uint32_t capacity, std::span<CreditAccount> accounts) noexcept
        : capacity_(capacity), accounts_(accounts) {}

    /// An account that is not taken; there must be one. Takes it. Under the pool's mutex.
    [[nodiscard]] CreditAccount& open() noexcept;

    /// False, with nothing taken, if fewer than `count` blocks were left at some moment of the call. O(1); O(accounts)
    /// if the pool is used up or the maximum may rise.
    [[nodiscard]] bool take(CreditAccount& account, std::uint64_t count) noexcept;
    /// Also false if the sum of the accounts is old, or another acquire came between.
    [[nodiscard]] bool try_take(CreditAccount& account, std::uint64_t count) noexcept {
        const auto seen = look();
        return lent(seen.acquired, account, count) <= seen.most && count_acquired(seen.acquired, count);
    }

    /// The most blocks that were lent at once.
    [[nodiscard]] std::uint64_t most() const noexcept {
        return static_cast<std::uint64_t>(most_.load(std::memory_order_relaxed));
    }
    [[nodiscard]] std::uint64_t returned() const noexcept {
        std::uint64_t sum = 0;
        for (const auto& account : accounts_.first(opened_.load(std::memory_order_relaxed))) {
            sum += account.returned.load(std::memory_order_acquire);  // sync "given back": CreditAccount::give_back
            Policy::racy_point();
        }
        return sum;
    }
    /// Restarts all counts. Nothing may be lent.
    void forget() noexcept {
        for (auto& account : accounts_) {
            account.returned.store(0, std::memory_order_relaxed);
            account.returned_elsewhere = 0;
        }
        acquired_.store(0, std::memory_order_relaxed);
        most_.store(0, std::memory_order_relaxed);
    }

private:
    /// Blocks that are lent with `count` more, if no other acquire came after `acquired`: at least as many as in truth.
    /// Negative if others acquired and gave back since.
    [[nodiscard]] static std::int64_t lent(std::uint64_t acquired, const CreditAccount& account,
                                           std::uint64_t count) noexcept {
        const auto returned = account.returned.load(std::memory_order_relaxed) + account.returned_elsewhere;
        return static_cast<std::int64_t>(acquired + count - returned);
    }
    struct Look {
        std::uint64_t acquired;
        std::int64_t most;
    };
    [[nodiscard]] Look look() const noexcept {
        // First, and with it all the blocks given back that earlier acquires have seen.
        const auto acquired = acquired_.load(std::memory_order_acquire);  // sync "acquired": count_acquired
        Policy::racy_point();
        return {acquired, most_.load(std::memory_order_relaxed)};
    }
    /// False if another acquire came after the look, or spuriously.
    [[nodiscard]] bool count_acquired(std::uint64_t acquired, std::uint64_t count) noexcept {
        Policy::racy_point();
        return acquired_.compare_exchange_weak(acquired, acquired + count,
                                               std::memory_order_release,  // sync "acquired": look
                                               std::memory_order_relaxed);
    }

    std::int64_t capacity_;
    std::span<CreditAccount> accounts_;
    std::atomic<std::size_t> opened_{0};  // Accounts that were ever open: the first ones.
    alignas(core::kFalseSharingRange) std::atomic<std::uint64_t> acquired_{0};
    std::atomic<std::int64_t> most_{0};
};

template <class Policy>
CreditAccount& Credits<Policy>::open() noexcept {
    const auto opened = opened_.load(std::memory_order_relaxed);
    const auto known = accounts_.first(opened);
    const auto free = std::ranges::find(known, false, &CreditAccount::taken);
    assert((free != known.end() || opened < accounts_.size()) && "there are as many accounts as caches");
    auto& account = free != known.end() ? *free : accounts_[opened];
    if (free == known.end()) opened_.store(opened + 1, std::memory_order_relaxed);
    account.taken = true;
    return account;
}

template <class Policy>
bool Credits<Policy>::take(CreditAccount& account, std::uint64_t count) noexcept {
    for (;;) {
        auto [acquired, most] = look();
        auto now_lent = lent(acquired, account, count);
        if (now_lent > most) {  // The sum is old, or the maximum rises, or the pool is used up.
            account.returned_elsewhere = returned() - account.returned.load(std::memory_order_relaxed);
            now_lent = lent(acquired, account, count);
            if (now_lent > capacity_) return false;
        }
        if (!count_acquired(acquired, count)) continue;
        while (now_lent > most && !most_.compare_exchange_weak(most, now_lent, std::memory_order_relaxed)) {
        }
        return true;
    }
}

}  // namespace millpond::memory::detail
