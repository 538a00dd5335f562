#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/net/udp_receiver.hpp>
#include <millpond/net/udp_sender.hpp>

#include "tests/net/datagrams.hpp"
#include "tests/net/network_pair_test.hpp"
#include "tests/net/path_available.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/syscall_guard.hpp"

namespace millpond::net {
namespace {

using test::bytes_of;
using test::receive_texts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const auto kHere = SocketAddress::parse("10.99.0.1:14000");

UdpReceiver::Options by_xdp(const SocketAddress& local = kHere) {
    return {.local = local, .interface = "near0", .path = ReceivePath::af_xdp, .path_want = Want::require};
}

/// What is special about frames that come past the kernel's network stack, between two network namespaces.
class XdpReceiver : public test::NetworkPairTest {
protected:
    void SetUp() override {
        NetworkPairTest::SetUp();
        if (IsSkipped()) return;
        const auto why = test::lacks_path(by_xdp());
        if (!why.empty()) GTEST_SKIP() << why;
    }
};

TEST_F(XdpReceiver, SaysWhatItGot) {
    auto options = by_xdp();
    options.zero_copy = Want::prefer;
    const UdpReceiver receiver{options};
    EXPECT_EQ(receiver.report().path, ReceivePath::af_xdp);
    EXPECT_EQ(receiver.report().queues, test::NetworkPair::kQueues);
    EXPECT_FALSE(receiver.report().zero_copy);  // a virtual interface has none
    ASSERT_EQ(receiver.report().fallbacks.size(), 1U);
    EXPECT_THAT(receiver.report().fallbacks.front(), HasSubstr("zero copy: no AF_XDP socket on queue 0 of interface"));
}

TEST_F(XdpReceiver, ZeroCopyThatIsRequiredButMissingIsAnErrorThatNamesIt) {
    auto options = by_xdp();
    options.path_want = Want::prefer;
    options.zero_copy = Want::require;
    try {
        const UdpReceiver receiver{options};
        FAIL() << "accepted";
    } catch (const SocketError& error) {
        EXPECT_THAT(error.what(), HasSubstr("required: zero copy"));
    }
}

TEST_F(XdpReceiver, DatagramsOfAnySizeThatAFrameHoldsAreDeliveredWhole) {
    UdpReceiver receiver{by_xdp()};
    const auto sending = sender({.to = kHere});
    std::vector<std::string> texts;
    for (const std::size_t size : {0U, 1U, 3U, 4U, 5U, 17U, 18U, 64U, 255U, 1000U, 1472U})
        texts.emplace_back(size, static_cast<char>('a' + size % 26));
    for (const auto& text : texts) EXPECT_TRUE(sending->send(bytes_of(text)));
    EXPECT_EQ(receive_texts(receiver, texts.size()), texts);
    EXPECT_EQ(receiver.counts().errors.read(), 0U);
}

TEST_F(XdpReceiver, FlowsThatTheInterfaceSpreadsOverItsQueuesAllArriveEachInOrder) {
    constexpr std::size_t kFlows = 64;  // that one queue gets them all is beyond chance
    constexpr int kOfEach = 10;
    UdpReceiver receiver{by_xdp()};
    std::vector<std::unique_ptr<UdpSender>> flows(kFlows);
    for (auto& flow : flows) flow = sender({.to = kHere});
    for (int n = 0; n < kOfEach; ++n)
        for (std::size_t flow = 0; flow < kFlows; ++flow)
            EXPECT_TRUE(flows[flow]->send(bytes_of(std::to_string(flow) + ' ' + std::to_string(n))));
    std::vector<int> next(kFlows, 0);
    const auto texts = receive_texts(receiver, kFlows * kOfEach);
    EXPECT_EQ(texts.size(), kFlows * kOfEach);
    for (const auto& text : texts) {
        const auto flow = std::stoul(text);
        EXPECT_EQ(text, std::to_string(flow) + ' ' + std::to_string(next[flow]++));
    }
}

TEST_F(XdpReceiver, OtherPortsAddressesAndFragmentsGoOnToTheKernel) {
    UdpReceiver receiver{by_xdp()};
    UdpReceiver other_port{{.local = SocketAddress::parse("10.99.0.1:14001")}};
    const auto sending = sender({.to = kHere});
    const auto elsewhere = sender({.to = SocketAddress::parse("10.99.0.1:14001")});
    EXPECT_TRUE(sending->send(bytes_of(std::string(4000, 'f'))));  // three fragments
    EXPECT_TRUE(elsewhere->send(bytes_of("kernel")));
    EXPECT_TRUE(sending->send(bytes_of("mine")));
    EXPECT_THAT(receive_texts(receiver, 1), ElementsAre("mine"));
    EXPECT_THAT(receive_texts(other_port, 1), ElementsAre("kernel"));
    EXPECT_THAT(receiver.poll(), IsEmpty());
}

TEST_F(XdpReceiver, ASecondOneOnAnInterfaceIsRefusedByNameAndWherePreferredASocketServesInstead) {
    const UdpReceiver first{by_xdp()};
    auto options = by_xdp(SocketAddress::parse("10.99.0.1:14001"));
    try {
        const UdpReceiver second{options};
        FAIL() << "accepted";
    } catch (const SocketError& error) {
        EXPECT_THAT(error.what(), HasSubstr("required: path af_xdp on 10.99.0.1:14001"));
    }
    options.path_want = Want::prefer;
    UdpReceiver second{options};
    EXPECT_EQ(second.report().path, ReceivePath::socket);
    EXPECT_THAT(second.report().fallbacks, ::testing::Contains(HasSubstr("path af_xdp on 10.99.0.1:14001: ")));
    const auto sending = sender({.to = options.local});
    EXPECT_TRUE(sending->send(bytes_of("by socket")));
    EXPECT_THAT(receive_texts(second, 1), ElementsAre("by socket"));
}

TEST_F(XdpReceiver, WhatItCannotReadIsNamed) {
    const auto refusal = [](UdpReceiver::Options options) -> std::string {
        try {
            const UdpReceiver receiver{options};
            return "accepted";
        } catch (const SocketError& error) {
            return error.what();
        }
    };
    auto options = by_xdp();
    options.interface.clear();
    EXPECT_THAT(refusal(options), HasSubstr("AF_XDP needs the interface's name"));
    options = by_xdp(SocketAddress::parse("[::]:14000"));
    EXPECT_THAT(refusal(options), HasSubstr("AF_XDP reads IPv4 here"));
    options = by_xdp(SocketAddress::parse("127.0.0.1:14000"));
    options.interface = "lo";
    EXPECT_THAT(refusal(options), HasSubstr("AF_XDP takes frames of up to 3822 bytes, interface 'lo' has an MTU of"));
}

TEST_F(XdpReceiver, AKilledOneLeavesTheInterfaceUsableAndAnotherTakesItsPlace) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const auto child = fork();
    if (child == 0) {
        const UdpReceiver receiver{by_xdp()};
        const char word = 'r';
        if (write(ready[1], &word, 1) == 1) pause();
        _exit(1);
    }
    char word = 0;
    ASSERT_EQ(read(ready[0], &word, 1), 1);
    close(ready[0]);
    close(ready[1]);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);

    const auto sending = sender({.to = kHere});
    {
        UdpReceiver plain{{.local = kHere}};
        // The kernel takes the program away a moment after its process.
        std::vector<std::string> came;
        const auto deadline = core::monotonic_nanos() + 20'000'000'000;
        while (came.empty() && core::monotonic_nanos() < deadline) {
            EXPECT_TRUE(sending->send(bytes_of("usable")));
            came = receive_texts(plain, 1, 50);
        }
        EXPECT_THAT(came, ElementsAre("usable"));
    }
    UdpReceiver next{by_xdp()};
    EXPECT_TRUE(sending->send(bytes_of("again")));
    EXPECT_THAT(receive_texts(next, 1), ElementsAre("again"));
}

TEST_F(XdpReceiver, APollAllocatesNothingAndCallsNoKernel) {
    const std::string payload(256, 'x');
    const std::vector<std::span<const std::byte>> burst(100, bytes_of(payload));
    const auto outcome = millpond::test::run_guarded([&](millpond::test::SyscallGuard& guard) {
        auto& receiver = *new UdpReceiver{by_xdp()};  // left open, because the guard forbids to close it
        auto& sending = *sender({.to = kHere}).release();
        const auto exchange = [&] {
            if (sending.send(burst) != burst.size()) return false;
            std::size_t came = 0;
            // Until all came: the interface may hand them over a moment later.
            for (int looks = 0; came < burst.size() && looks < 100'000'000; ++looks) came += receiver.poll().size();
            return came == burst.size();
        };
        if (!exchange()) return false;
        guard.allow_only({SYS_sendmmsg});
        const millpond::test::AllocationCounter allocations;
        bool all_came = true;
        for (int i = 0; i < 10; ++i) all_came &= exchange();
        return all_came && allocations.allocations() == 0;
    });
    if (outcome.end == millpond::test::GuardedOutcome::End::unavailable) GTEST_SKIP() << "no seccomp filter here";
    EXPECT_EQ(outcome.end, millpond::test::GuardedOutcome::End::done) << outcome;
}

}  // namespace
}  // namespace millpond::net
