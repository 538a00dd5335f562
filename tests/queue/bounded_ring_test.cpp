#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <millpond/queue/mpsc_ring.hpp>
#include <millpond/queue/spsc_ring.hpp>

/// Promises that SpscRing and MpscRing share, tested on one thread.
namespace millpond::queue {
namespace {

struct Spsc {
    template <class T>
    using Ring = SpscRing<T>;
};
struct Mpsc {
    template <class T>
    using Ring = MpscRing<T>;
};

using Boxed = std::unique_ptr<int>;

template <class Kind>
class BoundedRing : public testing::Test {};

struct KindName {
    template <class Kind>
    static const char* GetName(int) {
        return std::is_same_v<Kind, Spsc> ? "Spsc" : "Mpsc";
    }
};
using Kinds = testing::Types<Spsc, Mpsc>;
TYPED_TEST_SUITE(BoundedRing, Kinds, KindName);

TYPED_TEST(BoundedRing, RefusesACapacityThatIsTooLargeOrNotAPowerOfTwo) {
    using Ring = typename TypeParam::template Ring<int>;
    ASSERT_EQ(Ring::slot_bytes(), 16);  // 2^60 of them are 2^64 bytes
    for (const auto capacity : std::array<std::size_t, 4>{0, 6, 12, std::size_t{1} << 60})
        EXPECT_THROW(Ring{capacity}, std::invalid_argument) << capacity;
}

TYPED_TEST(BoundedRing, GivesMessagesBackInTheOrderTheyCame) {
    typename TypeParam::template Ring<int> ring{4};
    int popped = 0;
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(ring.try_push(3 * round + i));
        for (int i = 0; i < 3; ++i) {
            ASSERT_TRUE(ring.try_pop(popped));
            EXPECT_EQ(popped, 3 * round + i);
        }
    }
    EXPECT_FALSE(ring.try_pop(popped));
    EXPECT_EQ(popped, 29);
}

TYPED_TEST(BoundedRing, HoldsExactlyItsCapacity) {
    typename TypeParam::template Ring<int> ring{4};
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 4; ++i) {
            EXPECT_EQ(ring.size(), static_cast<std::size_t>(i));
            ASSERT_TRUE(ring.try_push(i));
        }
        EXPECT_FALSE(ring.try_push(4));
        EXPECT_EQ(ring.size(), 4U);
        int popped = 0;
        for (int i = 0; i < 4; ++i) ASSERT_TRUE(ring.try_pop(popped));
    }
}

TYPED_TEST(BoundedRing, ARefusedPushLeavesTheMessageWithTheCaller) {
    typename TypeParam::template Ring<Boxed> ring{1};
    ASSERT_TRUE(ring.try_push(std::make_unique<int>(1)));
    auto second = std::make_unique<int>(2);
    EXPECT_FALSE(ring.try_push(std::move(second)));
    EXPECT_EQ(*second, 2);  // NOLINT(bugprone-use-after-move): this is the promise
}

TYPED_TEST(BoundedRing, ABatchPushAcceptsMessagesThatFitAndLeavesTheRest) {
    typename TypeParam::template Ring<Boxed> ring{4};
    ASSERT_TRUE(ring.try_push(std::make_unique<int>(0)));
    std::array<Boxed, 5> batch;
    for (int i = 0; i < 5; ++i) batch[static_cast<std::size_t>(i)] = std::make_unique<int>(i + 1);
    EXPECT_EQ(ring.try_push_batch(batch), 3U);
    EXPECT_EQ(batch[2], nullptr);
    ASSERT_NE(batch[3], nullptr);
    EXPECT_EQ(*batch[4], 5);
    EXPECT_EQ(ring.try_push_batch(batch), 0U);
}

TYPED_TEST(BoundedRing, ABatchPopReturnsTheAvailableMessages) {
    typename TypeParam::template Ring<Boxed> ring{4};
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(ring.try_push(std::make_unique<int>(i)));
    std::array<Boxed, 2> two;
    EXPECT_EQ(ring.try_pop_batch(two), 2U);
    EXPECT_EQ(*two[0], 0);
    EXPECT_EQ(*two[1], 1);
    std::array<Boxed, 4> four;
    EXPECT_EQ(ring.try_pop_batch(four), 1U);
    EXPECT_EQ(*four[0], 2);
    EXPECT_EQ(ring.try_pop_batch(four), 0U);
}

TYPED_TEST(BoundedRing, DestroysWhatWasNotPopped) {
    auto shared = std::make_shared<int>(1);
    {
        typename TypeParam::template Ring<std::shared_ptr<int>> ring{4};
        for (int i = 0; i < 4; ++i) ASSERT_TRUE(ring.try_push(shared));
        std::shared_ptr<int> popped;
        ASSERT_TRUE(ring.try_pop(popped));
        ASSERT_TRUE(ring.try_push(shared));
        EXPECT_EQ(shared.use_count(), 6);
    }
    EXPECT_EQ(shared.use_count(), 1);
}

}  // namespace
}  // namespace millpond::queue
