#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/memory/message_pool.hpp>

#include "tests/support/allocation_counter.hpp"
#include "tests/support/syscall_guard.hpp"

namespace millpond::memory {
namespace {

/// Counts its live instances.
struct Counted {
    static inline int alive = 0;
    static inline int throw_after = -1;  ///< Number of further constructions before one throws.

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

/// Owns other objects of its pool, and counts destructions.
template <class Policy>
struct Node {
    explicit Node(int& ended) : ended_(&ended) {}
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    ~Node() {
        ++*ended_;
        ++times_;
        EXPECT_EQ(times_, 1);
        if (raw != nullptr) pool->release(raw);
    }
    Pooled<Node> next;
    std::vector<Pooled<Node>> children;
    MessagePool<Node, Policy>* pool{nullptr};
    Node* raw{nullptr};  // Released, not owned.

private:
    int* ended_;
    int times_{0};
};

template <class Policy>
class MessagesThatOwnMessages : public testing::Test {};
using Policies = testing::Types<Unchecked, Checked>;
TYPED_TEST_SUITE(MessagesThatOwnMessages, Policies);

TYPED_TEST(MessagesThatOwnMessages, AreDestroyedOnceEachIfThePoolEndsFirst) {
    for (const bool owner_first : {true, false}) {
        int ended = 0;
        {
            MessagePool<Node<TypeParam>, TypeParam> pool(10);
            std::vector<Node<TypeParam>*> chain;
            for (int i = 0; i < 5; ++i) chain.push_back(pool.acquire(ended));
            if (!owner_first) std::ranges::reverse(chain);
            for (std::size_t i = 0; i + 1 < chain.size(); ++i) chain[i]->next = pool.adopt(chain[i + 1]);
        }
        EXPECT_EQ(ended, 5) << owner_first;
    }
}

TYPED_TEST(MessagesThatOwnMessages, AreDestroyedOnceEachInAnyGraph) {
    std::minstd_rand random(1);
    for (int round = 0; round < 200; ++round) {
        constexpr int kNodes = 40;
        int ended = 0;
        std::pmr::monotonic_buffer_resource resource;
        {
            // Some of the messages are in the pool, some are allocated from the resource.
            BasicMessagePoolOptions<PoolOptions> options;
            options.pool.capacity_policy = Capacity::strict;
            options.when_exhausted = {.policy = WhenExhausted::use_resource, .resource = &resource};
            MessagePool<Node<TypeParam>, TypeParam> pool(kNodes / 2, options);
            std::vector<Node<TypeParam>*> nodes;
            for (int i = 0; i < kNodes; ++i) nodes.push_back(pool.acquire(ended));
            std::ranges::shuffle(nodes, random);
            for (std::size_t i = 1; i < nodes.size(); ++i) {
                auto& owner = *nodes[random() % i];
                switch (random() % 3) {
                    case 0: owner.children.push_back(pool.adopt(nodes[i])); break;
                    case 1:
                        if (owner.raw != nullptr) break;  // The next one has no owner.
                        owner.pool = &pool;
                        owner.raw = nodes[i];
                        break;
                    default: break;
                }
            }
            if (round % 2 == 0) pool.release(nodes.front());  // With everything that it owns, while the pool is in use.
            EXPECT_EQ(pool.stats().in_use + static_cast<std::uint64_t>(ended), kNodes);
        }
        EXPECT_EQ(ended, kNodes);
    }
}

TEST_F(MessagePoolTest, ADestructorMakesNoMessageInAPoolThatEnds) {
    struct Maker {
        explicit Maker(MessagePool<Maker>& pool, int& made) : pool_(&pool), made_(&made) {}
        Maker(const Maker&) = delete;
        Maker& operator=(const Maker&) = delete;
        ~Maker() {
            if (pool_->try_make(*pool_, *made_) != nullptr) ++*made_;
        }
        MessagePool<Maker>* pool_;
        int* made_;
    };
    int made = 0;
    {
        MessagePool<Maker> pool(10);
        static_cast<void>(pool.acquire(pool, made));
    }
    EXPECT_EQ(made, 0);
}

/// Exits without cleanup.
struct Silent {
    explicit Silent(int i = 0) : number(i) {}
    Silent(const Silent&) = delete;
    Silent& operator=(const Silent&) = delete;
    ~Silent() {
        if (number == 0) std::_Exit(0);
    }
    int number;
};

TEST(MessagePoolDeathTest, AForeignMessageIsRefusedBeforeItsDestructorRuns) {
    MessagePool<Silent> pool(2);
    EXPECT_DEATH(pool.release(nullptr), "release of a block that is not its own");
    alignas(Silent) std::array<std::byte, sizeof(Silent)> foreign{};
    EXPECT_DEATH(pool.release(reinterpret_cast<Silent*>(foreign.data())), "release of a block that is not its own");
}

TEST(CheckedMessagePoolDeathTest, ASecondReleaseIsFoundBeforeTheDestructorRunsAgain) {
    MessagePool<Silent, Checked> pool(2);
    Silent* const message = pool.acquire(1);
    pool.release(message);
    EXPECT_DEATH(pool.release(message), "was released twice: .*message_pool_test.cpp");
}

template <class Pool, class... Args>
concept Makes = requires(Pool& pool, std::span<Counted*> batch, Args... args) { pool.try_make(args...); };
template <class Pool, class... Args>
concept Acquires = requires(Pool& pool, Args... args) { pool.acquire(args...); };
template <class Pool, class... Args>
concept MakesBatches =
    requires(Pool& pool, std::span<Counted*> batch, Args... args) { pool.acquire_batch(batch, args...); };
static_assert(Makes<MessagePool<Counted>, int> && Makes<MessagePool<Counted, Checked>, int>);
static_assert(Makes<MessagePool<Counted>> && Makes<MessagePool<Counted, Checked>>);
static_assert(!Makes<MessagePool<Counted>, std::string> && !Makes<MessagePool<Counted, Checked>, std::string>);
static_assert(!Makes<MessagePool<Counted>, int, int> && !Makes<MessagePool<Counted, Checked>, int, int>);
static_assert(!Acquires<MessagePool<Counted>, std::string> && !Acquires<MessagePool<Counted, Checked>, std::string>);
static_assert(MakesBatches<MessagePool<Counted>, int> && !MakesBatches<MessagePool<Counted>, std::string>);

TEST(Pooled, ComparesWithNull) {
    MessagePool<int> pool(1);
    const auto message = pool.try_make(1);
    EXPECT_TRUE(message != nullptr);
    EXPECT_TRUE(pool.try_make(2) == nullptr);
    EXPECT_TRUE(nullptr == Pooled<int>{});
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
    MessagePool<int> pool(1, when_exhausted({.policy = WhenExhausted::throw_bad_alloc}));
    const auto only = pool.try_make(1);
    EXPECT_THROW(static_cast<void>(pool.try_make(2)), std::bad_alloc);
    EXPECT_EQ(pool.exhaustion_stats().times, 1U);
}

TEST(ExhaustionDeathTest, EndsTheProgramOnRequest) {
    MessagePool<int> pool(1, when_exhausted({.policy = WhenExhausted::terminate}));
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
    MessagePool<int> pool(1, when_exhausted({.policy = WhenExhausted::use_resource, .resource = &resource}));
    const auto own = pool.try_make(1);
    {
        const auto message = pool.try_make(2);
        ASSERT_TRUE(message);
        EXPECT_EQ(*message, 2);
        EXPECT_EQ(pool.exhaustion_stats().in_use, 1U);
        EXPECT_EQ(pool.exhaustion_stats().from_resource, 1U);
    }
    EXPECT_EQ(pool.exhaustion_stats().in_use, 0U);
    EXPECT_EQ(pool.stats().in_use, 1U);
}

TEST(Exhaustion, AMessageThatTheResourceLendsIsInUse) {
    std::pmr::monotonic_buffer_resource resource;
    MessagePool<Counted> pool(1, when_exhausted({.policy = WhenExhausted::use_resource, .resource = &resource}));
    auto own = pool.try_make(1);
    auto message = pool.try_make(2);
    own.reset();
    EXPECT_EQ(pool.stats().in_use, 1U);
    EXPECT_EQ(pool.stats().acquired, 2U);
    EXPECT_EQ(pool.stats().released, 1U);
    EXPECT_EQ(pool.stats().high_water, 2U);
    EXPECT_FALSE(pool.reset());
    EXPECT_EQ(pool.stats().acquired, 2U) << "a refused reset changes nothing";
    EXPECT_EQ(pool.exhaustion_stats().times, 1U);
    EXPECT_EQ(pool.shutdown(), 1U);
    pool.release(message.release());
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_TRUE(pool.reset());
    EXPECT_EQ(pool.stats().acquired, 0U);
    EXPECT_EQ(pool.stats().high_water, 0U);
    EXPECT_EQ(pool.exhaustion_stats().times, 0U);
    EXPECT_EQ(pool.exhaustion_stats().from_resource, 0U);
}

struct Observed : BlockPool {
    using BlockPool::BlockPool;
    static inline int looks = 0;
    [[nodiscard]] PoolStats stats() const {
        ++looks;
        return BlockPool::stats();
    }
};

TEST(Exhaustion, AnExhaustedPoolIsNotAddedUpForEachMessage) {
    std::pmr::unsynchronized_pool_resource resource;
    MessagePool<int, Unchecked, Observed> pool(
        3, when_exhausted({.policy = WhenExhausted::use_resource, .resource = &resource}));
    std::vector<Pooled<int>> messages(8);
    for (int round = 0; round < 2; ++round) {
        for (auto& message : messages) message = pool.try_make(1);
    }
    EXPECT_EQ(Observed::looks, 0);
    EXPECT_EQ(pool.exhaustion_stats().from_resource, 10U);
    messages.clear();
    EXPECT_EQ(pool.exhaustion_stats().high_water, 6U);
    EXPECT_EQ(pool.stats().high_water, 9U);
}

TEST(ExhaustionDeathTest, AForeignPointerIsCaughtEvenWhereAResourceLends) {
    std::pmr::monotonic_buffer_resource resource;
    MessagePool<int> pool(1, when_exhausted({.policy = WhenExhausted::use_resource, .resource = &resource}));
    int local = 0;
    EXPECT_DEATH(pool.release(&local), "pool 'orders': release of a block that is not its own");
}

TEST(Exhaustion, AnIncompletePolicyIsRefused) {
    EXPECT_THROW(MessagePool<int>(1, when_exhausted({.policy = WhenExhausted::call_handler})), std::invalid_argument);
    EXPECT_THROW(MessagePool<int>(1, when_exhausted({.policy = WhenExhausted::use_resource})), std::invalid_argument);
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

std::string here(unsigned line) { return "was released twice: .*message_pool_test.cpp:" + std::to_string(line); }

TEST(CheckedMessagePoolDeathTest, ThePlaceOfAcquisitionIsTheCallersLine) {
    MessagePool<int, Checked> pool(10);
    const auto twice = [&](int* message) {
        pool.release(message);
        pool.release(message);
    };
    EXPECT_DEATH(twice(pool.acquire()), here(__LINE__));
    EXPECT_DEATH(twice(pool.acquire(1)), here(__LINE__));
    EXPECT_DEATH(twice(pool.try_make(1).release()), here(__LINE__));
    std::array<int*, 3> batch{};
    ASSERT_TRUE(pool.acquire_batch(std::span(batch), 7));
    const auto batch_line = __LINE__ - 1;
    EXPECT_DEATH(twice(batch[1]), here(batch_line));
    pool.release_batch(batch);
}

TEST(CheckedMessagePool, ForwardsAnyArgumentsUnchanged) {
    struct Wide {
        std::unique_ptr<int> own;
        int& reference;
        const std::string& text;
        int more[6];
    };
    MessagePool<Wide, Checked> pool(10);
    int number = 1;
    const std::string text = "text";
    const auto made = pool.try_make(std::make_unique<int>(5), number, text);
    EXPECT_EQ(*made->own, 5);
    EXPECT_EQ(&made->reference, &number);
    EXPECT_EQ(&made->text, &text);
    MessagePool<std::tuple<int, int, int, int, int, int, int, int, int, std::unique_ptr<int>>, Checked> many(10);
    EXPECT_EQ(*std::get<9>(*many.try_make(1, 2, 3, 4, 5, 6, 7, 8, 9, std::make_unique<int>(10))), 10);
    MessagePool<std::tuple<int, int, int, int, int, int, int, std::unique_ptr<int>>, Checked> eight(10);
    EXPECT_EQ(*std::get<7>(*eight.try_make(1, 2, 3, 4, 5, 6, 7, std::make_unique<int>(8))), 8);
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
