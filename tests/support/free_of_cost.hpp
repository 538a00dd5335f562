#pragma once

#include <gtest/gtest.h>

#include <span>

#include "tests/support/allocation_counter.hpp"
#include "tests/support/page_fault_counter.hpp"
#include "tests/support/syscall_guard.hpp"

namespace millpond::test {

/// Fails the test unless `work`, even in its first run, uses no heap, causes no page fault and makes only the system
/// calls in `allowed`. `work` returns whether its results were right, and runs twice, each time after `prepare`, whose
/// cost does not count: once with counted allocations and faults, and once in a forked child that a system call kills.
/// The second run is skipped if no seccomp filter may be installed.
template <class Prepare, class Work>
void expect_no_cost_but(std::span<const long> allowed, Prepare&& prepare, Work&& work) {
    prepare();
    const AllocationCounter heap;
    const PageFaultCounter pages;
    const bool right = work();
    const auto faults = pages.faults();
    const auto allocations = heap.allocations();
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // Sanitizers fault and allocate.
    EXPECT_EQ(faults, 0U);
    EXPECT_EQ(allocations, 0U);
#else
    static_cast<void>(faults);
    static_cast<void>(allocations);
#endif
    EXPECT_TRUE(right);
    const auto outcome = run_guarded([&](SyscallGuard& guard) {
        prepare();
        guard.allow_only(allowed);
        return work();
    });
    if (outcome.end == GuardedOutcome::End::unavailable) GTEST_SKIP() << "this machine allows no seccomp filter";
    EXPECT_EQ(outcome.end, GuardedOutcome::End::done) << outcome;
}

/// Like the function above, with no system calls allowed.
template <class Work>
void expect_free_of_cost_at_once(Work&& work) {
    expect_no_cost_but({}, [] {}, work);
}

/// Like the function above, after calling `work` once as a warm-up.
template <class Work>
void expect_free_of_cost(Work&& work) {
    ASSERT_TRUE(work());
    expect_free_of_cost_at_once(work);
}

}  // namespace millpond::test
