#include "tests/support/allocation_counter.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace millpond::test {
namespace {

/// Hides a pointer's use from the optimiser, which may otherwise remove a pair of malloc and free.
void* kept(void* block) {
    asm volatile("" : "+r"(block) : : "memory");
    return block;
}

TEST(AllocationCounter, WorkOnTheStackCountsNothing) {
    const AllocationCounter counter;
    int values[100];
    for (int i = 0; i < 100; ++i) values[i] = i;
    kept(values);
    const auto allocations = counter.allocations();
    const auto frees = counter.frees();
    EXPECT_EQ(allocations, 0U);
    EXPECT_EQ(frees, 0U);
}

/// The increase of a counter during `work`, read before any check of gtest, which may allocate.
template <class Work>
std::uint64_t allocations_of(Work&& work) {
    const AllocationCounter counter;
    work();
    return counter.allocations();
}

TEST(AllocationCounter, EveryWayToTheHeapIsCounted) {
    struct alignas(128) Wide {
        char bytes[128];
    };
    EXPECT_EQ(allocations_of([] { std::free(kept(std::malloc(10))); }), 1U);
    EXPECT_EQ(allocations_of([] { std::free(kept(std::calloc(3, 10))); }), 1U);
    EXPECT_EQ(allocations_of([] { std::free(kept(std::realloc(kept(std::malloc(10)), 1000))); }), 2U);
    EXPECT_EQ(allocations_of([] { delete static_cast<int*>(kept(new int(1))); }), 1U);
    EXPECT_EQ(allocations_of([] { delete[] static_cast<int*>(kept(new int[10])); }), 1U);
    EXPECT_EQ(allocations_of([] { delete static_cast<Wide*>(kept(new Wide())); }), 1U);
}

TEST(AllocationCounter, AlignedAllocationsInCAreCounted) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "TSan calls no hook for aligned_alloc and posix_memalign, only for aligned operator new";
#endif
    EXPECT_EQ(allocations_of([] { std::free(kept(std::aligned_alloc(64, 128))); }), 1U);
    EXPECT_EQ(allocations_of([] {
                  void* block = nullptr;
                  if (posix_memalign(&block, 4096, 100) == 0) std::free(kept(block));
              }),
              1U);
}

TEST(AllocationCounter, FreesAreCountedApart) {
    void* const block = kept(std::malloc(10));
    const AllocationCounter counter;
    std::free(block);
    const auto frees = counter.frees();
    const auto allocations = counter.allocations();
    EXPECT_EQ(frees, 1U);
    EXPECT_EQ(allocations, 0U);
}

TEST(AllocationCounter, AllocationsInsideTheStandardLibraryAreCounted) {
    EXPECT_EQ(allocations_of([] { kept(std::string(100, 'x').data()); }), 1U);
    EXPECT_EQ(allocations_of([] { kept(std::vector<int>(10).data()); }), 1U);
}

TEST(AllocationCounter, AnotherThreadsAllocationsCountEverywhereButNotHere) {
    std::uint64_t its_own = 0;
    std::atomic<bool> go{false};
    std::thread other([&] {
        go.wait(false);
        its_own = allocations_of([] {
            for (int i = 0; i < 100; ++i) std::free(kept(std::malloc(10)));
        });
    });
    const AllocationCounter counter;
    go = true;
    go.notify_one();
    other.join();
    const auto here = counter.allocations();
    const auto everywhere = counter.allocations_everywhere();
    EXPECT_EQ(its_own, 100U);
    EXPECT_GE(everywhere, 100U);
    EXPECT_LT(here, 100U);
}

}  // namespace
}  // namespace millpond::test
