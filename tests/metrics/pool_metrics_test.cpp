#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/memory/block_pool.hpp>
#include <millpond/memory/global_pool.hpp>
#include <millpond/memory/message_pool.hpp>
#include <millpond/memory/numa_pool.hpp>
#include <millpond/metrics/pool_metrics.hpp>

namespace millpond::metrics {
namespace {

using testing::HasSubstr;

TEST(PoolMetrics, ThePageHasThePoolsCountersUntilTheRegistrationsEnd) {
    Registry registry;
    memory::BlockPool pool(64, 1000, {.name = "orders", .capacity_policy = memory::Capacity::strict});
    {
        const auto registrations = add_pool(registry, pool);
        void* const block = pool.try_acquire();
        pool.release(pool.try_acquire());
        const auto page = registry.prometheus_text();
        EXPECT_THAT(
            page,
            HasSubstr("# TYPE millpond_pool_in_use_blocks gauge\nmillpond_pool_in_use_blocks{pool=\"orders\"} 1\n"));
        EXPECT_THAT(
            page,
            HasSubstr(
                "# TYPE millpond_pool_acquired_total counter\nmillpond_pool_acquired_total{pool=\"orders\"} 2\n"));
        EXPECT_THAT(page, HasSubstr("millpond_pool_released_total{pool=\"orders\"} 1\n"));
        EXPECT_THAT(page, HasSubstr("millpond_pool_capacity_blocks{pool=\"orders\"} 1000\n"));
        EXPECT_THAT(page, HasSubstr("millpond_pool_high_water_blocks{pool=\"orders\"} 2\n"));
        EXPECT_THAT(page, HasSubstr("millpond_pool_refused_total{pool=\"orders\"} 0\n"));
        pool.release(block);
    }
    EXPECT_EQ(registry.prometheus_text(), "");
}

TEST(PoolMetrics, PoolsOfMessagesHaveTheirOwnLabels) {
    Registry registry;
    memory::MessagePoolOptions options;
    options.pool.name = "fills";
    const memory::MessagePool<int> fills(10, options);
    options.pool.name = "quotes";
    const memory::MessagePool<int> quotes(20, options);
    const auto first = add_pool(registry, fills);
    const auto second = add_pool(registry, quotes);
    EXPECT_THAT(registry.prometheus_text(), HasSubstr("millpond_pool_capacity_blocks{pool=\"fills\"} 10\n"
                                                      "millpond_pool_capacity_blocks{pool=\"quotes\"} 20\n"));
}

TEST(PoolMetrics, PoolsWithoutANameAreListedBesideEachOther) {
    Registry registry;
    const memory::BlockPool first(64, 10);
    const memory::BlockPool second(64, 20);
    const memory::NumaPool third(64, 30);
    const auto all = {add_pool(registry, first), add_pool(registry, second), add_pool(registry, third),
                      add_pool(registry, memory::global_pool<int>()), add_pool(registry, memory::global_pool<long>())};
    const auto page = registry.prometheus_text();
    EXPECT_THAT(page, HasSubstr("capacity_blocks{pool=\"" + first.name() + "\"} 10\n"));
    EXPECT_THAT(page, HasSubstr("capacity_blocks{pool=\"" + second.name() + "\"} 20\n"));
    EXPECT_THAT(page, HasSubstr("capacity_blocks{pool=\"global_pool<int>\"} 8192\n"));
    EXPECT_THAT(page, HasSubstr("capacity_blocks{pool=\"global_pool<long int>\"} 8192\n"));
    EXPECT_EQ(all.size(), 5U);
}

TEST(PoolMetrics, ASecondPoolOfTheSameNameIsRefused) {
    Registry registry;
    const memory::BlockPool first(64, 10, {.name = "orders"});
    const memory::BlockPool second(64, 10, {.name = "orders"});
    const auto listed = add_pool(registry, first);
    EXPECT_THROW(static_cast<void>(add_pool(registry, second)), std::invalid_argument);
}

TEST(PoolMetrics, ANumaPoolIsListedForEachNode) {
    static thread_local int cpu = 0;
    memory::NumaTopology topology;
    topology.nodes = {0, 3};
    topology.index_of_cpu = {0, 1};
    topology.current_cpu = []() noexcept { return cpu; };
    topology.bind = false;
    Registry registry;
    memory::NumaPool pool(64, 10, {.pool = {.name = "orders", .capacity_policy = memory::Capacity::strict}}, topology);
    const auto listed = add_pool(registry, pool);
    std::vector<void*> blocks(12);
    ASSERT_TRUE(pool.try_acquire_batch(blocks));
    const auto page = registry.prometheus_text();
    EXPECT_THAT(page, HasSubstr("millpond_pool_in_use_blocks{node=\"0\",pool=\"orders\"} 10\n"
                                "millpond_pool_in_use_blocks{node=\"3\",pool=\"orders\"} 2\n"));
    EXPECT_THAT(page, HasSubstr("millpond_pool_lent_total{node=\"3\",pool=\"orders\"} 2\n"));
    pool.release_batch(blocks);
}

}  // namespace
}  // namespace millpond::metrics
