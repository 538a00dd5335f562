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
#include "tests/net/path_available.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/page_fault_counter.hpp"
#include "tests/support/syscall_guard.hpp"

namespace millpond::net {
namespace {

/// Sends a burst to the receiver and takes it from it; whether all came.
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
        std::vector<std::span<const std::byte>>(100, test::bytes_of(payload));
};

struct Way {
    ReceivePath path;
    Want trains;
};

UdpReceiver::Options receiving(const Way& way) {
    return {.local = SocketAddress::parse("127.0.0.1:0"),
            .receive_buffer = 1U << 20,
            .gro = way.trains,
            .path = way.path,
            .path_want = Want::require};
}

class UdpReceiverCost : public ::testing::TestWithParam<Way> {
protected:
    void SetUp() override {
        const auto why = test::lacks_path(receiving(GetParam()));
        if (!why.empty()) GTEST_SKIP() << why;
    }
};

TEST_P(UdpReceiverCost, AfterWarmUpPollAndSendAllocateNothingAndFaultNoPage) {
    UdpReceiver receiver{receiving(GetParam())};
    UdpSender sender{{.to = receiver.report().local, .gso = GetParam().trains}};
    const Traffic traffic;
    ASSERT_TRUE(exchange(sender, receiver, traffic.burst));
    const millpond::test::AllocationCounter allocations;
    const millpond::test::PageFaultCounter faults;
    bool all_came = true;
    for (int i = 0; i < 200; ++i) all_came &= exchange(sender, receiver, traffic.burst);
    // Read before anything else runs: the checks themselves may touch pages for the first time.
    const auto fault_count = faults.faults();
    const auto allocation_count = allocations.allocations();
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // Their shadow memory faults.
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
        // In the process that polls, for io_uring's sake; left open, because the guard forbids to close them.
        auto& receiver = *new UdpReceiver{receiving(GetParam())};
        auto& sender = *new UdpSender{{.to = receiver.report().local, .gso = GetParam().trains}};
        if (!exchange(sender, receiver, traffic.burst)) return false;
        if (GetParam().path == ReceivePath::io_uring)
            guard.allow_only({SYS_io_uring_enter, SYS_sendmmsg});
        else
            guard.allow_only({SYS_recvmsg, SYS_recvmmsg, SYS_sendmmsg});
        bool all_came = true;
        for (int i = 0; i < 10; ++i) all_came &= exchange(sender, receiver, traffic.burst);
        return all_came;
    });
    if (outcome.end == millpond::test::GuardedOutcome::End::unavailable) GTEST_SKIP() << "no seccomp filter here";
    EXPECT_EQ(outcome.end, millpond::test::GuardedOutcome::End::done) << outcome;
}

INSTANTIATE_TEST_SUITE_P(By, UdpReceiverCost,
                         ::testing::Values(Way{ReceivePath::socket, Want::no}, Way{ReceivePath::socket, Want::require},
                                           Way{ReceivePath::io_uring, Want::no},
                                           Way{ReceivePath::io_uring, Want::require}),
                         [](const auto& each) {
                             return std::string(name_of(each.param.path)) +
                                    (each.param.trains == Want::no ? "" : "_in_trains");
                         });

}  // namespace
}  // namespace millpond::net
