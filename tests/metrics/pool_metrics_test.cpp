#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/memory/block_pool.hpp>
#include <millpond/memory/message_pool.hpp>
#include <millpond/metrics/pool_metrics.hpp>

namespace millpond::metrics {
namespace {

using testing::HasSubstr;

TEST(PoolMetrics, ThePageTellsWhatThePoolHasDoneUntilTheRegistrationsEnd) {
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

TEST(PoolMetrics, PoolsOfMessagesStandBesideEachOther) {
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

}  // namespace
}  // namespace millpond::metrics
