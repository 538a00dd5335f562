#include <millpond/queue/spsc_ring.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace millpond::queue {
namespace {

TEST(SpscRing, AllocatesItsMemoryOnceFromTheGivenResource) {
    alignas(128) std::array<std::byte, 64 * SpscRing<std::uint64_t>::slot_bytes()> bytes{};
    std::pmr::monotonic_buffer_resource memory{bytes.data(), bytes.size(), std::pmr::null_memory_resource()};
    SpscRing<std::uint64_t> ring{64, &memory};
    std::uint64_t popped = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        ASSERT_TRUE(ring.try_push(i));
        ASSERT_TRUE(ring.try_pop(popped));
    }
    EXPECT_EQ(popped, 999U);
}

TEST(SpscRing, CarriesEveryMessageOnceAndInOrderBetweenTwoThreads) {
    constexpr std::uint64_t kMessages = 300'000;
    SpscRing<std::unique_ptr<std::uint64_t>> ring{256};
    std::thread producer([&] {
        std::vector<std::unique_ptr<std::uint64_t>> batch;
        for (std::uint64_t sent = 0; sent < kMessages;) {
            // One at a time, then in batches, so that both paths race with the consumer.
            if (sent % 3 == 0) {
                auto message = std::make_unique<std::uint64_t>(sent);
                while (!ring.try_push(std::move(message))) std::this_thread::yield();
                ++sent;
                continue;
            }
            batch.clear();
            for (auto i = sent; i < std::min(sent + 7, kMessages); ++i) {
                batch.push_back(std::make_unique<std::uint64_t>(i));
            }
            std::span<std::unique_ptr<std::uint64_t>> rest{batch};
            while (!rest.empty()) {
                rest = rest.subspan(ring.try_push_batch(rest));
                if (!rest.empty()) std::this_thread::yield();
            }
            sent += batch.size();
        }
    });
    std::array<std::unique_ptr<std::uint64_t>, 16> popped;
    std::uint64_t next = 0;
    std::uint64_t wrong = 0;
    while (next < kMessages) {
        const auto count =
            next % 5 == 0 ? static_cast<std::size_t>(ring.try_pop(popped[0])) : ring.try_pop_batch(popped);
        if (count == 0) std::this_thread::yield();
        for (std::size_t i = 0; i < count; ++i) wrong += *popped[i] == next++ ? 0U : 1U;
    }
    producer.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(ring.size(), 0U);
}

}  // namespace
}  // namespace millpond::queue
