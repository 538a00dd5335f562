#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/memory/region_resource.hpp>

namespace millpond::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(RegionResource, ALargeAllocationHasARegionAsLongAsItLives) {
    RegionResource resource({.huge_pages = HugePages::transparent}, std::pmr::null_memory_resource());
    void* const first = resource.allocate(3 * kMiB, 64);
    void* const second = resource.allocate(2 * kMiB, 8);
    ASSERT_EQ(resource.regions().size(), 2U);
    EXPECT_EQ(resource.regions()[0].data(), first);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % (2 * kMiB), 0U);
    EXPECT_EQ(resource.regions()[0].size(), 4 * kMiB);
    resource.deallocate(first, 3 * kMiB, 64);
    ASSERT_EQ(resource.regions().size(), 1U);
    EXPECT_EQ(resource.regions()[0].data(), second);
    resource.deallocate(second, 2 * kMiB, 8);
    EXPECT_TRUE(resource.regions().empty());
}

TEST(RegionResource, SmallAllocationsAndThoseAlignedToMoreThanAPageComeFromUpstream) {
    std::pmr::monotonic_buffer_resource upstream;
    RegionResource resource({}, &upstream);
    for (const auto& [bytes, alignment] : {std::pair{2 * kMiB - 1, std::size_t{64}}, std::pair{2 * kMiB, 4 * kMiB}}) {
        void* const place = resource.allocate(bytes, alignment);
        EXPECT_TRUE(resource.regions().empty());
        resource.deallocate(place, bytes, alignment);
    }
}

TEST(RegionResource, AVectorThatGrowsLeavesNoRegionBehind) {
    RegionResource resource({});
    std::pmr::vector<std::uint64_t> numbers(kMiB, 7, &resource);
    numbers.resize(4 * kMiB, 8);
    EXPECT_EQ(numbers.front(), 7U);
    EXPECT_EQ(numbers.back(), 8U);
    EXPECT_EQ(resource.regions().size(), 1U);
    numbers = {};
    numbers.shrink_to_fit();
    EXPECT_TRUE(resource.regions().empty());
}

TEST(RegionResource, MemoryThatTheKernelRefusesIsABadAlloc) {
    RegionResource resource({});
    EXPECT_THROW(static_cast<void>(resource.allocate(std::size_t{1} << 60, 64)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(resource.allocate(SIZE_MAX, 64)), std::bad_alloc);
    EXPECT_TRUE(resource.regions().empty());
}

TEST(RegionResource, IsEqualOnlyToItself) {
    RegionResource one({});
    RegionResource other({});
    EXPECT_TRUE(one.is_equal(one));
    EXPECT_FALSE(one.is_equal(other));
}

}  // namespace
}  // namespace millpond::memory
