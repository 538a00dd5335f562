#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <millpond/memory/block_pool.hpp>

#include "tests/memory/built_without_assertions.hpp"

namespace millpond::memory {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

TEST(CheckedPool, ABlockServesAsInAnyPool) {
    CheckedBlockPool pool(100, 50, {.fill_released = true});
    for (int round = 0; round < 5; ++round) {
        std::array<void*, 50> blocks{};
        ASSERT_TRUE(pool.try_acquire_batch(blocks));
        for (void* const block : blocks) std::memset(block, round, 100);
        for (void* const block : blocks) pool.release(block);
    }
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.audit(), "");
}

TEST(CheckedPoolDeathTest, ADoubleReleaseNamesThePoolAndThePlaceOfAcquisition) {
    CheckedBlockPool pool(64, 10, {.name = "orders"});
    void* const block = pool.try_acquire();
    const auto line = __LINE__ - 1;
    pool.release(block);
    EXPECT_DEATH(pool.release(block),
                 "pool 'orders': was released twice: .*, acquired at .*checked_pool_test.cpp:" + std::to_string(line));
}

TEST(CheckedPoolDeathTest, ADoubleReleaseIsCaughtOnAnotherThreadToo) {
    CheckedBlockPool pool(64, 10, {.name = "orders"});
    void* const block = pool.try_acquire();
    pool.release(block);
    EXPECT_DEATH(std::thread([&] { pool.release(block); }).join(), "was released twice");
}

TEST(CheckedPoolDeathTest, AReleaseToTheWrongPoolNamesBoth) {
    CheckedBlockPool orders(64, 10, {.name = "orders"});
    CheckedBlockPool quotes(64, 10, {.name = "quotes"});
    void* const block = orders.try_acquire();
    EXPECT_DEATH(quotes.release(block), "pool 'quotes': release of a block that is not its own: .* of pool 'orders'");
    orders.release(block);
}

TEST(CheckedPoolDeathTest, AnOverrunIsFoundWhenTheBlockComesBack) {
    for (const auto bytes : std::array<std::size_t, 3>{1, 24, 64}) {
        CheckedBlockPool pool(bytes, 10, {.name = "orders"});
        auto* const block = static_cast<std::byte*>(pool.try_acquire());
        EXPECT_DEATH(
            {
                block[bytes] ^= std::byte{0xFF};
                pool.release(block);
            },
            "pool 'orders': was written beyond its end: .*, acquired at .*checked_pool_test.cpp");
        pool.release(block);
    }
}

TEST(CheckedPoolDeathTest, AWriteAfterReleaseIsFoundByTheFillOrByAddressSanitizer) {
    CheckedBlockPool pool(64, 10, {.name = "orders", .fill_released = true});
    auto* const block = static_cast<std::byte*>(pool.try_acquire());
    pool.release(block);
    EXPECT_DEATH(
        {
            block[20] = std::byte{1};
            static_cast<void>(pool.try_acquire());
        },
        kAddressSanitizer ? "use-after-poison" : "pool 'orders': was written to after its release");
}

TEST(CheckedPoolDeathTest, APoolThatEndsWithBlocksInUseNamesWhereOneWasAcquired) {
    std::optional<CheckedBlockPool> pool(std::in_place, std::size_t{64}, std::size_t{10},
                                         PoolOptions{.name = "orders"});
    void* const block = pool->try_acquire();
    EXPECT_DEATH(pool.reset(),
                 "pool 'orders': destroyed while a block is in use: .*, acquired at .*checked_pool_test.cpp");
    pool->release(block);
}

TEST(CheckedPool, ObjectsBuiltWithAndWithoutAssertionsUseOnePoolTogether) {
    EXPECT_EQ(test::size_without_assertions(), sizeof(BlockPool) + sizeof(CheckedBlockPool));
    BlockPool plain(64, 10);
    plain.release(test::acquire_without_assertions(plain));
    test::release_without_assertions(plain, plain.try_acquire());
    EXPECT_EQ(plain.audit(), "");
    CheckedBlockPool checked(64, 10);
    checked.release(test::acquire_without_assertions(checked));
    test::release_without_assertions(checked, checked.try_acquire());
    EXPECT_EQ(checked.audit(), "");
}

TEST(CheckedPool, ThePlaceIsRememberedEvenForACallThroughAnExplicitCache) {
    CheckedBlockPool pool(64, 10);
    CheckedBlockPool::Cache cache(pool);
    void* const block = cache.try_acquire();
    cache.release(block);
    EXPECT_EQ(pool.audit(), "");
}

}  // namespace
}  // namespace millpond::memory
