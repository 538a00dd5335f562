// The rings use no heap, cause no page fault and make no system call while they run.

#include <millpond/queue/broadcast_reader.hpp>
#include <millpond/queue/broadcast_writer.hpp>
#include <millpond/queue/spsc_ring.hpp>

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/queue/broadcast_fixture.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::queue {
namespace {

using test::expect_free_of_cost;

TEST(QueueHotPath, SpscRingNeedsNoHeapNoFaultNoSystemCall) {
    SpscRing<std::array<std::uint64_t, 8>> ring{256};
    expect_free_of_cost([&] {
        std::array<std::array<std::uint64_t, 8>, 16> batch{};
        bool right = true;
        for (int i = 0; i < 1'000; ++i) {
            right = right && ring.try_push(batch[0]) && ring.try_push_batch(batch) == 16;
            right = right && ring.try_pop(batch[0]) && ring.try_pop_batch(batch) == 16;
        }
        return right;
    });
}

TEST(QueueHotPath, BroadcastRingNeedsNoHeapNoFaultNoSystemCallLapsIncluded) {
    RingMemory memory{256};
    auto writer = BroadcastWriter::create(memory.bytes(), 256, kContent, kEpoch);
    BroadcastReader prompt{memory.bytes(), kContent};
    BroadcastReader lapped{memory.bytes(), kContent};
    expect_free_of_cost([&] {
        BroadcastMessage message;
        bool right = true;
        for (int i = 0; i < 2'000; ++i) {
            publish_pattern(writer);
            writer.heartbeat(i);
            right = right && prompt.try_read(message) == ReadOutcome::message && whole(message);
            if (i % 500 == 499) right = right && lapped.try_read(message) == ReadOutcome::missed;
        }
        return right;
    });
}

}  // namespace
}  // namespace millpond::queue
