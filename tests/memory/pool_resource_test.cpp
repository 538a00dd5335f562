#include <cstdint>
#include <deque>
#include <forward_list>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/memory/pool_resource.hpp>

#include "tests/support/allocation_counter.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::memory {
namespace {

PoolResourceOptions refusing_upstream() {
    PoolResourceOptions options;
    options.upstream = std::pmr::null_memory_resource();
    return options;
}

TEST(PoolResource, ServesEachSizeFromTheSmallestClassThatHoldsIt) {
    PoolResource resource(refusing_upstream());
    void* const small = resource.allocate(1, 1);
    void* const edge = resource.allocate(64, 64);
    void* const next = resource.allocate(65, 8);
    const auto stats = resource.stats();
    EXPECT_EQ(stats.classes[0].in_use, 2U);
    EXPECT_EQ(stats.classes[1].in_use, 1U);
    resource.deallocate(small, 1, 1);
    resource.deallocate(edge, 64, 64);
    resource.deallocate(next, 65, 8);
    EXPECT_EQ(resource.stats().classes[0].in_use, 0U);
    EXPECT_EQ(resource.stats().upstream_allocations, 0U);
}

TEST(PoolResource, OtherSizesGoUpstreamAndAreCounted) {
    PoolResource resource({.name = "r", .classes = {{64, 2}}});
    void* const large = resource.allocate(1000, 8);
    void* const wide = resource.allocate(64, 128);
    std::vector<void*> blocks;
    for (int i = 0; i < 3; ++i) blocks.push_back(resource.allocate(64, 8));
    EXPECT_EQ(resource.stats().upstream_allocations, 3U) << "large, wide, and one beyond the class's capacity";
    EXPECT_EQ(resource.stats().upstream_in_use, 3U);
    EXPECT_EQ(resource.stats().classes[0].refused, 1U);
    resource.deallocate(large, 1000, 8);
    resource.deallocate(wide, 64, 128);
    for (void* const block : blocks) resource.deallocate(block, 64, 8);
    EXPECT_EQ(resource.stats().upstream_in_use, 0U);
    EXPECT_EQ(resource.stats().classes[0].in_use, 0U);
}

TEST(PoolResource, AnUpstreamThatRefusesMakesTheContainerThrow) {
    PoolResource resource(refusing_upstream());
    EXPECT_THROW(static_cast<void>(resource.allocate(1 << 20, 8)), std::bad_alloc);
    EXPECT_EQ(resource.stats().upstream_allocations, 0U);
}

std::size_t fill_one_of_every_kind(std::pmr::memory_resource& resource) {
    std::pmr::vector<int> vector(&resource);
    std::pmr::deque<int> deque(&resource);
    std::pmr::list<int> list(&resource);
    std::pmr::forward_list<int> forward_list(&resource);
    std::pmr::map<int, int> map(&resource);
    std::pmr::multimap<int, int> multimap(&resource);
    std::pmr::set<int> set(&resource);
    std::pmr::multiset<int> multiset(&resource);
    std::pmr::unordered_map<int, int> unordered_map(&resource);
    std::pmr::unordered_set<int> unordered_set(&resource);
    std::pmr::string string(&resource);
    for (int i = 0; i < 200; ++i) {
        vector.push_back(i);
        deque.push_back(i);
        list.push_back(i);
        forward_list.push_front(i);
        map.emplace(i, i);
        multimap.emplace(i % 7, i);
        set.insert(i);
        multiset.insert(i % 7);
        unordered_map.emplace(i, i);
        unordered_set.insert(i);
        string += 'x';
        if (i % 3 == 0) {
            list.pop_front();
            map.erase(i);
            unordered_map.erase(i);
        }
    }
    const auto shared = std::allocate_shared<int>(std::pmr::polymorphic_allocator<int>(&resource), 5);
    return vector.size() + deque.size() + list.size() +
           static_cast<std::size_t>(std::distance(forward_list.begin(), forward_list.end())) + map.size() +
           multimap.size() + set.size() + multiset.size() + unordered_map.size() + unordered_set.size() +
           string.size() + static_cast<std::size_t>(*shared);
}

TEST(PoolResource, ContainersOfEveryKindNeedNoUpstreamNoHeapNoFaultNoSystemCall) {
    PoolResource resource(refusing_upstream());
    test::expect_free_of_cost([&] { return fill_one_of_every_kind(resource) == 11 * 200U - 3 * 67U + 5U; });
    for (const auto& stats : resource.stats().classes) {
        EXPECT_EQ(stats.in_use, 0U);
        EXPECT_EQ(stats.refused, 0U);
    }
    EXPECT_EQ(resource.stats().upstream_allocations, 0U);
}

TEST(PoolResource, AnotherThreadNeedsNoHeapOnceItIsWarm) {
    PoolResource resource(refusing_upstream());
    std::uint64_t allocations = 1;
    std::thread([&] {
        static_cast<void>(fill_one_of_every_kind(resource));
        const test::AllocationCounter counter;
        static_cast<void>(fill_one_of_every_kind(resource));
        allocations = counter.allocations();
    }).join();
    EXPECT_EQ(allocations, 0U);
    for (const auto& stats : resource.stats().classes) EXPECT_EQ(stats.in_use, 0U);
}

TEST(PoolResource, AContainerMayEndOnAnotherThread) {
    PoolResource resource(refusing_upstream());
    auto list = std::make_unique<std::pmr::list<int>>(&resource);
    for (int i = 0; i < 1000; ++i) list->push_back(i);
    std::thread([&] { list.reset(); }).join();
    EXPECT_EQ(resource.stats().classes[0].in_use, 0U);
}

TEST(PoolResource, IsEqualOnlyToItself) {
    const PoolResource first;
    const PoolResource second;
    EXPECT_TRUE(first.is_equal(first));
    EXPECT_FALSE(first.is_equal(second));
}

TEST(PoolResource, ClassesThatMakeNoSenseAreRefused) {
    EXPECT_THROW(PoolResource({.classes = {}}), std::invalid_argument);
    EXPECT_THROW(PoolResource({.classes = {{100, 10}}}), std::invalid_argument);
    EXPECT_THROW(PoolResource({.classes = {{128, 10}, {64, 10}}}), std::invalid_argument);
    EXPECT_THROW(PoolResource({.classes = {{64, 10}, {64, 10}}}), std::invalid_argument);
    EXPECT_THROW(PoolResource({.classes = {{128 * 1024, 10}}}), std::invalid_argument);
    EXPECT_THROW(PoolResource({.classes = {{64, 10}}, .upstream = nullptr}), std::invalid_argument);
}

}  // namespace
}  // namespace millpond::memory
