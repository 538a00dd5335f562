#include <millpond/queue/mpsc_ring.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/free_of_cost.hpp"

namespace millpond::queue {
namespace {

struct CallStep {
    std::function<void()>* call;
    void operator()() const { (*call)(); }
};

TEST(MpscRing, IsReadyWhenAPopWouldFindAMessage) {
    MpscRing<int> ring{4};
    EXPECT_FALSE(ring.ready());
    ASSERT_TRUE(ring.try_push(1));
    EXPECT_TRUE(ring.ready());
    int popped = 0;
    ASSERT_TRUE(ring.try_pop(popped));
    EXPECT_FALSE(ring.ready());
}

TEST(MpscRing, AProducerPausedBeforeItReservesGetsTheNextFreeSlot) {
    std::function<void()> on_step = [] {};
    MpscRing<int, CallStep> ring{4, std::pmr::get_default_resource(), CallStep{&on_step}};
    int steps = 0;
    on_step = [&] {
        if (++steps != 1) return;
        ASSERT_TRUE(ring.try_push(2));  // another producer, between the load of the tail and the exchange
    };
    ASSERT_TRUE(ring.try_push(1));
    on_step = [] {};
    int popped = 0;
    ASSERT_TRUE(ring.try_pop(popped));
    EXPECT_EQ(popped, 2);
    ASSERT_TRUE(ring.try_pop(popped));
    EXPECT_EQ(popped, 1);
    EXPECT_FALSE(ring.try_pop(popped));
}

TEST(MpscRing, AProducerPausedBeforeItReservesIsRefusedWhenTheRingFillsMeanwhile) {
    std::function<void()> on_step = [] {};
    MpscRing<int, CallStep> ring{2, std::pmr::get_default_resource(), CallStep{&on_step}};
    bool paused = false;
    on_step = [&] {
        if (std::exchange(paused, true)) return;
        ASSERT_TRUE(ring.try_push(1));
        ASSERT_TRUE(ring.try_push(2));
    };
    EXPECT_FALSE(ring.try_push(3));
    EXPECT_EQ(ring.size(), 2U);
}

TEST(MpscRing, AProducerPausedBeforeItReservesMayBeAWholeRoundBehind) {
    std::function<void()> on_step = [] {};
    MpscRing<int, CallStep> ring{2, std::pmr::get_default_resource(), CallStep{&on_step}};
    bool paused = false;
    on_step = [&] {
        if (std::exchange(paused, true)) return;
        int popped = 0;
        for (int i = 10; i < 15; ++i) {
            ASSERT_TRUE(ring.try_push(i));
            ASSERT_TRUE(ring.try_pop(popped));
            ASSERT_EQ(popped, i);
        }
    };
    ASSERT_TRUE(ring.try_push(1));
    int popped = 0;
    ASSERT_TRUE(ring.try_pop(popped));
    EXPECT_EQ(popped, 1);
}

TEST(MpscRing, AProducerPausedWhileItFillsDelaysLaterMessagesAndNoPush) {
    std::function<void()> on_step = [] {};
    MpscRing<int, CallStep> ring{4, std::pmr::get_default_resource(), CallStep{&on_step}};
    int steps = 0;
    on_step = [&] {
        // Step 1 is before the reservation, 2 before the message is written, 3 before its mark; other pushes make steps
        // too.
        if (++steps != 2) return;
        ASSERT_TRUE(ring.try_push(2));
        ASSERT_TRUE(ring.try_push(3));
        EXPECT_EQ(ring.size(), 3U);
        EXPECT_FALSE(ring.ready());
        int popped = 0;
        EXPECT_FALSE(ring.try_pop(popped));
    };
    ASSERT_TRUE(ring.try_push(1));
    on_step = [] {};
    for (int expected = 1; expected <= 3; ++expected) {
        int popped = 0;
        ASSERT_TRUE(ring.try_pop(popped));
        EXPECT_EQ(popped, expected);
    }
}

TEST(MpscRing, NeedsNoHeapNoFaultNoSystemCall) {
    MpscRing<std::array<std::uint64_t, 8>> ring{64};
    test::expect_free_of_cost([&] {
        std::array<std::array<std::uint64_t, 8>, 16> batch{};
        bool right = true;
        for (int i = 0; i < 1'000; ++i) {
            right = right && ring.try_push(batch[0]) && ring.try_push_batch(batch) == 16;
            right = right && ring.try_pop(batch[0]) && ring.try_pop_batch(batch) == 16;
        }
        return right;
    });
}

TEST(MpscRing, CarriesEveryMessageOnceAndInEachProducersOrder) {
    constexpr std::uint64_t kProducers = 3;
    constexpr std::uint64_t kEach = 60'000;
    using Message = std::unique_ptr<std::uint64_t>;  // the producer is the low digit
    MpscRing<Message> ring{128};
    std::vector<std::thread> producers;
    producers.reserve(kProducers);
    for (std::uint64_t who = 0; who < kProducers; ++who) {
        producers.emplace_back([&, who] {
            std::vector<Message> batch;
            for (std::uint64_t sent = 0; sent < kEach;) {
                batch.clear();
                for (auto i = sent; i < std::min(sent + who * 2 + 1, kEach); ++i) {
                    batch.push_back(std::make_unique<std::uint64_t>(i * 10 + who));
                }
                sent += batch.size();
                for (std::span<Message> rest{batch}; !rest.empty();) {
                    const auto pushed = rest.size() == 1 ? static_cast<std::size_t>(ring.try_push(std::move(rest[0])))
                                                         : ring.try_push_batch(rest);
                    if (pushed == 0) std::this_thread::yield();
                    rest = rest.subspan(pushed);
                }
            }
        });
    }
    std::array<std::uint64_t, kProducers> next{};
    std::uint64_t wrong = 0;
    std::array<Message, 8> popped;
    for (std::uint64_t received = 0; received < kProducers * kEach;) {
        const auto count = ring.try_pop_batch(popped);
        if (count == 0) std::this_thread::yield();
        for (std::size_t i = 0; i < count; ++i) {
            const auto who = *popped[i] % 10;
            wrong += who < kProducers && *popped[i] / 10 == next[who]++ ? 0U : 1U;
        }
        received += count;
    }
    for (auto& producer : producers) producer.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(ring.size(), 0U);
}

}  // namespace
}  // namespace millpond::queue
