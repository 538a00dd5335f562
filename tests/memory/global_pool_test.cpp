#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/memory/global_pool.hpp>

namespace millpond::memory {
namespace {

TEST(GlobalPool, HasItsDefaultCapacityAndIsOne) {
    struct Quote {
        int price;
    };
    EXPECT_EQ(global_pool<Quote>().capacity(), 8192U);
    EXPECT_EQ(&global_pool<Quote>(), &global_pool<Quote>());
}

TEST(GlobalPool, ItsCapacityCanBeSetBeforeTheFirstUseAndNotAfter) {
    struct Order {
        int id;
    };
    EXPECT_TRUE(set_global_pool_capacity<Order>(100));
    EXPECT_TRUE(set_global_pool_capacity<Order>(200));
    EXPECT_EQ(global_pool<Order>().capacity(), 200U);
    EXPECT_FALSE(set_global_pool_capacity<Order>(300));
    EXPECT_EQ(global_pool<Order>().capacity(), 200U);
}

TEST(GlobalPool, MakeMessageUsesItAndItIsNamedByItsType) {
    struct Fill {
        int id;
    };
    const auto global = make_message<Fill>(1);
    ASSERT_TRUE(global);
    EXPECT_EQ(global_pool<Fill>().stats().in_use, 1U);
    EXPECT_THAT(global_pool<Fill>().name(), testing::MatchesRegex("global_pool<.*::Fill>"));
    EXPECT_EQ(global_pool<long>().name(), "global_pool<long int>");
}

TEST(GlobalPool, ManyThreadsMakeItOnce) {
    struct Cancel {
        int id;
    };
    std::vector<std::thread> threads;
    std::vector<MessagePool<Cancel>*> seen(4);
    for (auto& pool : seen) threads.emplace_back([&pool] { pool = &global_pool<Cancel>(); });
    for (auto& thread : threads) thread.join();
    for (const auto* pool : seen) EXPECT_EQ(pool, &global_pool<Cancel>());
}

struct LateReleaser {
    Pooled<long> message;
};
// Ends after main, and after the pool if the pool had a destructor.
LateReleaser late_releaser;

TEST(GlobalPool, AMessageMayBeReleasedByTheLastDestructors) {
    late_releaser.message = make_message<long>(5L);
    EXPECT_EQ(*late_releaser.message, 5L);
}

}  // namespace
}  // namespace millpond::memory
