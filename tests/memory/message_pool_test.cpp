#include <array>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/memory/message_pool.hpp>

#include "tests/support/allocation_counter.hpp"
#include "tests/support/syscall_guard.hpp"

namespace millpond::memory {
namespace {

/// Counts its living instances.
struct Counted {
    static inline int alive = 0;
    static inline int throw_after = -1;  ///< How many more may be made.

    explicit Counted(int number = 0) : value(number) {
        if (throw_after == 0) throw std::runtime_error("no more");
        if (throw_after > 0) --throw_after;
        ++alive;
    }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() { --alive; }
    int value;
};

class MessagePoolTest : public testing::Test {
protected:
    void SetUp() override {
        Counted::alive = 0;
        Counted::throw_after = -1;
    }
};

TEST_F(MessagePoolTest, AMessageIsBuiltInPlaceAndEndsWithItsOwner) {
    MessagePool<Counted> pool(10);
    {
        const auto message = pool.try_make(42);
        ASSERT_TRUE(message);
        EXPECT_EQ(message->value, 42);
        EXPECT_EQ(Counted::alive, 1);
        EXPECT_EQ(pool.stats().in_use, 1U);
    }
    EXPECT_EQ(Counted::alive, 0);
    EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST_F(MessagePoolTest, AMoveOnlyArgumentAndAMoveOnlyMessageWork) {
    MessagePool<std::unique_ptr<int>> pool(10);
    auto number = std::make_unique<int>(7);
    const auto message = pool.try_make(std::move(number));
    EXPECT_EQ(**message, 7);
}

TEST_F(MessagePoolTest, OneByteAndOverAlignedTypesWork) {
    struct alignas(512) Wide {
        std::byte bytes[512];
    };
    MessagePool<char> small(10);
    EXPECT_EQ(*small.try_make('x'), 'x');
    MessagePool<Wide> wide(10);
    const auto first = wide.try_make();
    const auto second = wide.try_make();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.get()) % 512, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second.get()) % 512, 0U);
}

TEST_F(MessagePoolTest, AnExhaustedPoolGivesNullAndServesAgainAfterARelease) {
    MessagePool<Counted> pool(3);
    std::vector<Pooled<Counted>> messages;
    for (int i = 0; i < 3; ++i) messages.push_back(pool.try_make(i));
    EXPECT_FALSE(pool.try_make(4));
    EXPECT_EQ(pool.stats().refused, 1U);
    EXPECT_EQ(pool.exhaustion_stats().times, 1U);
    messages.pop_back();
    EXPECT_TRUE(pool.try_make(5));
}

TEST_F(MessagePoolTest, AThrowingConstructorReturnsItsBlock) {
    MessagePool<Counted> pool(3);
    Counted::throw_after = 0;
    for (int i = 0; i < 10; ++i) EXPECT_THROW(static_cast<void>(pool.try_make(1)), std::runtime_error);
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.audit(), "");
}

TEST_F(MessagePoolTest, ABatchThatThrowsHalfWayReturnsAllThatItTook) {
    MessagePool<Counted> pool(10);
    std::array<Counted*, 8> batch{};
    Counted::throw_after = 5;
    EXPECT_THROW(static_cast<void>(pool.acquire_batch(std::span(batch), 1)), std::runtime_error);
    EXPECT_EQ(Counted::alive, 0);
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.audit(), "");
    Counted::throw_after = -1;
    ASSERT_TRUE(pool.acquire_batch(std::span(batch), 9));
    EXPECT_EQ(Counted::alive, 8);
    EXPECT_EQ(batch[7]->value, 9);
    pool.release_batch(batch);
    EXPECT_EQ(Counted::alive, 0);
}

TEST_F(MessagePoolTest, ABatchIsAllOrNothing) {
    MessagePool<Counted> pool(5);
    std::array<Counted*, 6> batch{};
    EXPECT_FALSE(pool.acquire_batch(std::span(batch), 1));
    EXPECT_EQ(Counted::alive, 0);
    EXPECT_EQ(pool.audit(), "");
}

TEST_F(MessagePoolTest, RawMessagesTravelAndAreAdoptedElsewhere) {
    MessagePool<Counted> pool(10);
    Counted* const raw = pool.try_make(3).release();
    EXPECT_EQ(Counted::alive, 1);
    std::thread([&] {
        const auto owner = pool.adopt(raw);
        EXPECT_EQ(owner->value, 3);
    }).join();
    EXPECT_EQ(Counted::alive, 0);
    pool.release(pool.acquire(4));
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_FALSE(pool.adopt(nullptr));
}

TEST_F(MessagePoolTest, DestructorsOfLiveMessagesRunWhenThePoolEnds) {
    std::optional<MessagePool<Counted>> pool(std::in_place, 10U);
    for (int i = 0; i < 4; ++i) static_cast<void>(pool->acquire(i));
    EXPECT_EQ(Counted::alive, 4);
    pool.reset();
    EXPECT_EQ(Counted::alive, 0);
}

TEST(MessagePoolDeathTest, OnRequestAMessageThatOutlivesThePoolEndsTheProgram) {
    MessagePoolOptions options;
    options.pool.name = "orders";
    options.live_at_end = LiveAtEnd::fault;
    std::optional<MessagePool<int>> pool(std::in_place, 10U, options);
    int* const message = pool->acquire(1);
    EXPECT_DEATH(pool.reset(), "pool 'orders': destroyed while a message is in use");
    pool->release(message);
}

struct Base {
    virtual ~Base() = default;
    int base{1};
};
struct Other {
    virtual ~Other() = default;
    int other{2};
};
struct Derived : Base, Other {
    explicit Derived(int& ended) : ended_(&ended) {}
    ~Derived() override { ++*ended_; }
    int* ended_;
};

TEST(Pooled, ConvertsToAnyBaseAndStillFindsItsBlock) {
    int ended = 0;
    MessagePool<Derived> pool(10);
    {
        Pooled<Base> first = pool.try_make(ended);
        Pooled<Other> second = pool.try_make(ended);  // Not at the start of the block.
        EXPECT_EQ(first->base + second->other, 3);
        EXPECT_EQ(pool.stats().in_use, 2U);
    }
    EXPECT_EQ(ended, 2);
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.audit(), "");
}

TEST(Pooled, IsTwoPointersAndMovesLikeAUniquePtr) {
    static_assert(sizeof(Pooled<int>) == 16);
    static_assert(!std::is_copy_constructible_v<Pooled<int>>);
    static_assert(!std::is_convertible_v<Pooled<Derived>, Pooled<int>>);
    MessagePool<int> pool(10);
    auto first = pool.try_make(1);
    auto second = std::move(first);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): this is the promise
    first = std::move(second);
    first = pool.try_make(2);
    EXPECT_EQ(*first, 2);
    EXPECT_EQ(pool.stats().in_use, 1U);
    first.reset();
    EXPECT_EQ(pool.stats().in_use, 0U);
}

MessagePoolOptions when_exhausted(Exhaustion exhaustion) {
    MessagePoolOptions options;
    options.pool.name = "orders";
    options.when_exhausted = std::move(exhaustion);
    return options;
}

TEST(Exhaustion, ThrowsOnRequest) {
    MessagePool<int> pool(1, when_exhausted({.policy = WhenExhausted::throw_bad_alloc, .handler = {}}));
    const auto only = pool.try_make(1);
    EXPECT_THROW(static_cast<void>(pool.try_make(2)), std::bad_alloc);
    EXPECT_EQ(pool.exhaustion_stats().times, 1U);
}

TEST(ExhaustionDeathTest, EndsTheProgramOnRequest) {
    MessagePool<int> pool(1, when_exhausted({.policy = WhenExhausted::terminate, .handler = {}}));
    const auto only = pool.try_make(1);
    EXPECT_DEATH(static_cast<void>(pool.try_make(2)), "pool 'orders': is exhausted");
}

TEST(Exhaustion, AHandlerMayReleaseAndThePoolTriesAgain) {
    Pooled<int> spare;
    MessagePool<int> pool(1,
                          when_exhausted({.policy = WhenExhausted::call_handler, .handler = [&] { spare.reset(); }}));
    spare = pool.try_make(1);
    auto second = pool.try_make(2);
    ASSERT_TRUE(second);
    EXPECT_FALSE(pool.try_make(3)) << "the handler had nothing to release";
    EXPECT_EQ(pool.exhaustion_stats().times, 2U);
}

TEST(Exhaustion, AResourceLendsWhatThePoolLacksAndGetsItBackByTheSameCall) {
    std::pmr::monotonic_buffer_resource resource;
    MessagePool<int> pool(
        1, when_exhausted({.policy = WhenExhausted::use_resource, .handler = {}, .resource = &resource}));
    const auto own = pool.try_make(1);
    {
        const auto lent = pool.try_make(2);
        ASSERT_TRUE(lent);
        EXPECT_EQ(*lent, 2);
        EXPECT_EQ(pool.exhaustion_stats().in_use, 1U);
        EXPECT_EQ(pool.exhaustion_stats().from_resource, 1U);
    }
    EXPECT_EQ(pool.exhaustion_stats().in_use, 0U);
    EXPECT_EQ(pool.stats().in_use, 1U);
}

TEST(ExhaustionDeathTest, AForeignPointerIsCaughtEvenWhereAResourceLends) {
    std::pmr::monotonic_buffer_resource resource;
    MessagePool<int> pool(
        1, when_exhausted({.policy = WhenExhausted::use_resource, .handler = {}, .resource = &resource}));
    int local = 0;
    EXPECT_DEATH(pool.release(&local), "pool 'orders': release of a block that is not its own");
}

TEST(Exhaustion, APolicyWithoutWhatItNeedsIsRefused) {
    EXPECT_THROW(MessagePool<int>(1, when_exhausted({.policy = WhenExhausted::call_handler, .handler = {}})),
                 std::invalid_argument);
    EXPECT_THROW(MessagePool<int>(1, when_exhausted({.policy = WhenExhausted::use_resource, .handler = {}})),
                 std::invalid_argument);
}

TEST(MessagePool, AfterShutdownNothingIsMadeAndTheRestMayComeBack) {
    MessagePool<int> pool(10);
    auto message = pool.try_make(1);
    EXPECT_EQ(pool.shutdown(), 1U);
    EXPECT_FALSE(pool.try_make(2));
    std::array<int*, 2> batch{};
    EXPECT_FALSE(pool.acquire_batch(std::span(batch)));
    message.reset();
    EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST(MessagePool, ResetIsRefusedWhileAMessageIsInUse) {
    MessagePool<int> pool(10);
    auto message = pool.try_make(1);
    EXPECT_FALSE(pool.reset());
    EXPECT_EQ(pool.stats().acquired, 1U);
    message.reset();
    EXPECT_TRUE(pool.reset());
    EXPECT_EQ(pool.stats().acquired, 0U);
    EXPECT_EQ(pool.stats().high_water, 0U);
    EXPECT_TRUE(pool.try_make(2));
    EXPECT_EQ(pool.audit(), "");
}

TEST(CheckedMessagePoolDeathTest, APlaceGivenByTheCallerIsInTheMessage) {
    MessagePoolOptions options;
    options.pool.name = "orders";
    MessagePool<int, Checked> pool(10, options);
    int* const message = pool.acquire_at(Checked::Place::current(), 1);
    pool.release(message);
    EXPECT_DEATH(pool.release(message), "pool 'orders': was released twice: .*message_pool_test.cpp");
}

TEST(MessagePool, MakingAndReleasingAllocateNothingAndCallNoKernel) {
    struct Order {
        std::uint64_t id;
        char text[120];
    };
    MessagePool<Order> pool(1000);
    ASSERT_TRUE(pool.prewarm());
    std::array<Order*, 100> batch{};
    const auto trip = [&] {
        for (std::uint64_t i = 0; i < 500; ++i) {
            const auto message = pool.try_make(i);
            if (!message || message->id != i) return false;
        }
        if (!pool.acquire_batch(std::span(batch))) return false;
        pool.release_batch(batch);
        return true;
    };
    const test::AllocationCounter counter;
    const bool done = trip();
    const auto allocations = counter.allocations();
    EXPECT_TRUE(done);
    EXPECT_EQ(allocations, 0U);
    const auto outcome = test::run_guarded([&](test::SyscallGuard& guard) {
        guard.forbid_all();
        return trip();
    });
    if (outcome.end == test::GuardedOutcome::End::unavailable) GTEST_SKIP() << outcome;
    EXPECT_EQ(outcome.end, test::GuardedOutcome::End::done) << outcome;
}

}  // namespace
}  // namespace millpond::memory
