#include <deque>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/memory/pool_resource.hpp>

#include "tests/support/allocation_counter.hpp"

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

TEST(PoolResource, WhatNoClassServesGoesUpstreamAndIsCounted) {
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

TEST(PoolResource, ContainersOfEveryKindRunWithoutUpstreamAndWithoutTheHeap) {
    PoolResource resource(refusing_upstream());
    const auto fill = [&] {
        std::pmr::vector<int> vector(&resource);
        std::pmr::deque<int> deque(&resource);
        std::pmr::list<int> list(&resource);
        std::pmr::map<int, int> map(&resource);
        std::pmr::set<int> set(&resource);
        std::pmr::unordered_map<int, int> unordered(&resource);
        std::pmr::string string(&resource);
        for (int i = 0; i < 200; ++i) {
            vector.push_back(i);
            deque.push_back(i);
            list.push_back(i);
            map.emplace(i, i);
            set.insert(i);
            unordered.emplace(i, i);
            string += 'x';
        }
        auto shared = std::allocate_shared<int>(std::pmr::polymorphic_allocator<int>(&resource), 5);
        return vector.size() + deque.size() + list.size() + map.size() + set.size() + unordered.size() + string.size() +
               static_cast<std::size_t>(*shared);
    };
    ASSERT_EQ(fill(), 7 * 200U + 5U);
    const test::AllocationCounter counter;
    const auto sum = fill();
    const auto allocations = counter.allocations();
    EXPECT_EQ(sum, 7 * 200U + 5U);
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
