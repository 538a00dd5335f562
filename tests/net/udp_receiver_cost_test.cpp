#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <millpond/net/udp_receiver.hpp>
#include <millpond/net/udp_sender.hpp>

#include "tests/net/datagrams.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/page_fault_counter.hpp"
#include "tests/support/syscall_guard.hpp"

namespace millpond::net {
namespace {

/// Sends a burst to the receiver and polls it. Returns whether all datagrams arrived.
bool exchange(UdpSender& sender, UdpReceiver& receiver, std::span<const std::span<const std::byte>> burst) {
    if (sender.send(burst) != burst.size()) return false;
    std::size_t came = 0;
    std::uint64_t sum = 0;
    for (auto datagrams = receiver.poll(); !datagrams.empty(); datagrams = receiver.poll()) {
        came += datagrams.size();
        for (const auto& each : datagrams) sum += static_cast<std::uint64_t>(each.bytes[0]);
    }
    return came == burst.size() && sum != 0;
}

struct Traffic {
    std::string payload = std::string(256, 'x');
    std::vector<std::span<const std::byte>> burst =
        std::vector<std::span<const std::byte>>(100, millpond::test::bytes_of(payload));
};

ReceiveOptions receiving(Want trains) {
    return {.local = SocketAddress::parse("127.0.0.1:0"), .receive_buffer = 1U << 20, .gro = trains};
}

class UdpReceiverCost : public ::testing::TestWithParam<Want> {};

TEST_P(UdpReceiverCost, AfterWarmUpPollAndSendAllocateNothingAndFaultNoPage) {
    UdpReceiver receiver{receiving(GetParam())};
    UdpSender sender{{.to = receiver.report().local, .gso = GetParam()}};
    const Traffic traffic;
    ASSERT_TRUE(exchange(sender, receiver, traffic.burst));
    const millpond::test::AllocationCounter allocations;
    const millpond::test::PageFaultCounter faults;
    bool all_came = true;
    for (int i = 0; i < 200; ++i) all_came &= exchange(sender, receiver, traffic.burst);
    // Read before the checks run, which may touch pages for the first time.
    const auto fault_count = faults.faults();
    const auto allocation_count = allocations.allocations();
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // The shadow memory of sanitizers faults.
    EXPECT_EQ(fault_count, 0U);
    EXPECT_EQ(allocation_count, 0U);
#else
    static_cast<void>(fault_count);
    static_cast<void>(allocation_count);
#endif
    EXPECT_TRUE(all_came);
}

TEST_P(UdpReceiverCost, PollAndSendMakeNoSystemCallButReceivingAndSending) {
    const Traffic traffic;
    const auto outcome = millpond::test::run_guarded([&](millpond::test::SyscallGuard& guard) {
        // Not closed, because the guard forbids it.
        auto& receiver = *new UdpReceiver{receiving(GetParam())};
        auto& sender = *new UdpSender{{.to = receiver.report().local, .gso = GetParam()}};
        if (!exchange(sender, receiver, traffic.burst)) return false;
        guard.allow_only({SYS_recvmsg, SYS_recvmmsg, SYS_sendmmsg});
        bool all_came = true;
        for (int i = 0; i < 10; ++i) all_came &= exchange(sender, receiver, traffic.burst);
        return all_came;
    });
    if (outcome.end == millpond::test::GuardedOutcome::End::unavailable) GTEST_SKIP() << "no seccomp filter here";
    EXPECT_EQ(outcome.end, millpond::test::GuardedOutcome::End::done) << outcome;
}

INSTANTIATE_TEST_SUITE_P(By, UdpReceiverCost, ::testing::Values(Want::no, Want::require),
                         [](const auto& trains) { return trains.param == Want::no ? "datagram" : "train"; });

}  // namespace
}  // namespace millpond::net
