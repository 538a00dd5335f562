#include "src/engine/io/socket_warmer.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/allocation_counter.hpp"

namespace millpond::engine {
namespace {

std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) ++count;
    return count;
}

TEST(SocketWarmer, ItReceivesItsMessagesWhateverTheirNumber) {
    SocketWarmer warmer;
    ASSERT_TRUE(warmer.is_connected());
    const test::AllocationCounter heap;
    // More than both sockets' buffers hold.
    std::int64_t now_ns = 1;
    for (int i = 0; i < 100'000; ++i) {
        ASSERT_TRUE(warmer.touch({.monotonic_ns = now_ns}));
        now_ns += SocketWarmer::kMinInterval.count();
    }
    EXPECT_EQ(heap.allocations(), 0U);
}

TEST(SocketWarmer, ItSendsNothingBeforeItsTime) {
    SocketWarmer warmer;
    EXPECT_TRUE(warmer.touch({.monotonic_ns = 5}));
    EXPECT_FALSE(warmer.touch({.monotonic_ns = 4 + SocketWarmer::kMinInterval.count()}));
    EXPECT_TRUE(warmer.touch({.monotonic_ns = 5 + SocketWarmer::kMinInterval.count()}));
}

TEST(SocketWarmer, ItHasTwoDescriptorsAndClosesThem) {
    const auto before = open_descriptors();
    {
        const SocketWarmer warmer;
        EXPECT_EQ(open_descriptors(), before + 2);
    }
    EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace millpond::engine
