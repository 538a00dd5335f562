#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/net/udp_receiver.hpp>
#include <millpond/net/udp_sender.hpp>

#include "tests/net/datagrams.hpp"
#include "tests/net/network_pair_test.hpp"
#include "tests/net/path_available.hpp"

namespace millpond::net {
namespace {

using millpond::test::bytes_of;
using test::receive_texts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const auto kGroup = SocketAddress::parse("239.1.2.3:14000");

using UdpMulticast = test::NetworkPairTest;

/// Tests that are the same for every path.
class UdpMulticastPaths : public UdpMulticast, public ::testing::WithParamInterface<ReceivePath> {
protected:
    void SetUp() override {
        UdpMulticast::SetUp();
        if (IsSkipped()) return;
        const auto why = test::lacks_path(options());
        if (!why.empty()) GTEST_SKIP() << why;
        const bool needs_checksums = GetParam() == ReceivePath::af_xdp;
        ASSERT_TRUE(!needs_checksums || pair_->finish_checksums());
    }

    [[nodiscard]] static ReceiveOptions options(const char* source = nullptr) {
        return {.local = kGroup,
                .source = source == nullptr ? SocketAddress{} : SocketAddress::parse_host(source),
                .interface = "near0",
                .max_datagram = 512,
                .path = GetParam(),
                .path_want = Want::require};
    }
};

INSTANTIATE_TEST_SUITE_P(By, UdpMulticastPaths, ::testing::Values(ReceivePath::socket, ReceivePath::af_xdp),
                         [](const auto& each) { return name_of(each.param); });

TEST_P(UdpMulticastPaths, JoinsAGroupOnANamedInterface) {
    const auto receiving = receiver(options());
    EXPECT_EQ(receiving->report().path, GetParam());
    EXPECT_EQ(receiving->report().interface, "near0");
    const auto sending = sender({.to = kGroup, .interface = "far0"});
    EXPECT_TRUE(sending->send(bytes_of("one")));
    EXPECT_TRUE(sending->send(bytes_of("two")));
    EXPECT_THAT(receive_texts(*receiving, 2), ElementsAre("one", "two"));
}

TEST_P(UdpMulticastPaths, WithASourceOnlyThatSendersDatagramsCome) {
    const auto receiving = receiver(options("10.99.0.2"));
    const auto wrong = sender({.to = kGroup, .from = SocketAddress::parse("10.99.0.3:0"), .interface = "far0"});
    const auto right = sender({.to = kGroup, .from = SocketAddress::parse("10.99.0.2:0"), .interface = "far0"});
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(wrong->send(bytes_of("from 3")));
        EXPECT_TRUE(right->send(bytes_of("from 2")));
    }
    EXPECT_THAT(receive_texts(*receiving, 3), ElementsAre("from 2", "from 2", "from 2"));
    EXPECT_THAT(receiving->poll(), IsEmpty());
}

TEST_P(UdpMulticastPaths, AnInterfaceThatIsMadeAgainIsJoinedAgain) {
    if (GetParam() == ReceivePath::af_xdp) GTEST_SKIP() << "its program leaves with the interface";
    for (const char* source : {static_cast<const char*>(nullptr), "10.99.0.2"}) {
        const auto receiving = receiver(options(source));
        EXPECT_FALSE(receiving->rejoin()) << "nothing has changed";
        ASSERT_TRUE(pair_->delete_link());
        EXPECT_FALSE(receiving->rejoin()) << "there is no interface";
        ASSERT_TRUE(pair_->make_link());
        EXPECT_TRUE(receiving->rejoin());
        EXPECT_FALSE(receiving->rejoin());
        EXPECT_EQ(receiving->counters().rejoins.read(), 1U);
        const auto sending = sender({.to = kGroup, .from = SocketAddress::parse("10.99.0.2:0"), .interface = "far0"});
        EXPECT_TRUE(sending->send(bytes_of("again")));
        EXPECT_THAT(receive_texts(*receiving, 1), ElementsAre("again"));
    }
}

TEST_P(UdpMulticastPaths, TenThousandDatagramsComeInOrderOrAreCountedAsDropped) {
    auto wanted = options();
    wanted.receive_buffer = 8U << 20;
    const auto receiving = receiver(wanted);
    const auto sending = sender({.to = kGroup, .interface = "far0"});
    constexpr int kSent = 10'000;
    std::uint64_t came = 0;
    int latest = -1;
    const auto receive_some = [&] {
        const auto datagrams = receiving->poll();
        for (const auto& each : datagrams) {
            const int number = std::stoi(millpond::test::text_of(each.bytes));
            EXPECT_GT(number, latest);
            latest = number;
        }
        came += datagrams.size();
        return !datagrams.empty();
    };
    for (int i = 0; i < kSent; ++i) {
        EXPECT_TRUE(sending->send(bytes_of(std::to_string(i))));
        if (i % 3 == 0) receive_some();
    }
    while (receive_some()) {
    }
    EXPECT_GT(came, 0U);
    EXPECT_EQ(came + receiving->refresh_kernel_drops(), static_cast<std::uint64_t>(kSent));
    EXPECT_EQ(receiving->counters().datagrams.read(), came);
}

TEST_P(UdpMulticastPaths, CountsADatagramThatDoesNotFitAndDeliversTheNext) {
    const auto receiving = receiver(options());
    const auto sending = sender({.to = kGroup, .interface = "far0"});
    EXPECT_TRUE(sending->send(bytes_of(std::string(512, 'a'))));
    EXPECT_TRUE(sending->send(bytes_of(std::string(513, 'b'))));
    EXPECT_TRUE(sending->send(bytes_of("good")));
    EXPECT_THAT(receive_texts(*receiving, 2), ElementsAre(std::string(512, 'a'), "good"));
    EXPECT_EQ(receiving->counters().truncated.read(), 1U);
    EXPECT_EQ(receiving->counters().max_truncated.read(), 513U);
}

TEST_F(UdpMulticast, AReceiverGetsItsOwnGroupOnlyThoughAnotherJoinedMoreOnTheSamePort) {
    const auto other_group = SocketAddress::parse("239.1.2.4:14000");
    const auto first = receiver({.local = kGroup, .interface = "near0"});
    const auto second = receiver({.local = other_group, .interface = "near0"});
    const auto to_first = sender({.to = kGroup, .interface = "far0"});
    const auto to_second = sender({.to = other_group, .interface = "far0"});
    EXPECT_TRUE(to_first->send(bytes_of("first")));
    EXPECT_TRUE(to_second->send(bytes_of("second")));
    EXPECT_THAT(receive_texts(*second, 1), ElementsAre("second"));
    EXPECT_THAT(receive_texts(*first, 1), ElementsAre("first"));
    EXPECT_THAT(first->poll(), IsEmpty());
    EXPECT_THAT(second->poll(), IsEmpty());
}

TEST_F(UdpMulticast, TwoReceiversOfAGroupEachGetEverything) {
    const auto first = receiver({.local = kGroup, .interface = "near0"});
    const auto second = receiver({.local = kGroup, .interface = "near0"});
    const auto sending = sender({.to = kGroup, .interface = "far0"});
    EXPECT_TRUE(sending->send(bytes_of("both")));
    EXPECT_THAT(receive_texts(*first, 1), ElementsAre("both"));
    EXPECT_THAT(receive_texts(*second, 1), ElementsAre("both"));
}

TEST_F(UdpMulticast, AJoinOnOneInterfaceGetsNothingOfAnother) {
    const auto elsewhere = receiver({.local = kGroup, .interface = "lo"});
    const auto here = receiver({.local = kGroup, .interface = "near0"});
    const auto sending = sender({.to = kGroup, .interface = "far0"});
    EXPECT_TRUE(sending->send(bytes_of("near")));
    EXPECT_THAT(receive_texts(*here, 1), ElementsAre("near"));
    EXPECT_THAT(elsewhere->poll(), IsEmpty());
}

TEST_F(UdpMulticast, JoinsIpv6GroupsAnySourceAndSpecific) {
    ASSERT_TRUE(pair_->wait_for_ipv6());
    const auto group = SocketAddress::parse("[ff15::42]:14000");
    const auto any = receiver({.local = group, .interface = "near0"});
    const auto specific =
        receiver({.local = group, .source = SocketAddress::parse_host("fd99::2"), .interface = "near0"});
    const auto stranger =
        receiver({.local = group, .source = SocketAddress::parse_host("fd99::77"), .interface = "near0"});
    const auto sending = sender({.to = group, .from = SocketAddress::parse("[fd99::2]:0"), .interface = "far0"});
    EXPECT_TRUE(sending->send(bytes_of("six")));
    EXPECT_THAT(receive_texts(*any, 1), ElementsAre("six"));
    EXPECT_THAT(receive_texts(*specific, 1), ElementsAre("six"));
    EXPECT_THAT(stranger->poll(), IsEmpty());
}

TEST_F(UdpMulticast, WithoutARouteTheErrorNamesTheKeyInterface) {
    try {
        const auto receiving = receiver({.local = kGroup});
        FAIL() << "accepted";
    } catch (const SocketError& error) {
        EXPECT_THAT(error.what(), HasSubstr("cannot join 239.1.2.3: no route to the group; set the interface"));
    }
}

TEST_F(UdpMulticast, LoopDecidesWhetherTheSendersMachineGetsItsOwn) {
    const auto away = receiver({.local = kGroup, .interface = "near0"});
    pair_->enter_far();
    UdpReceiver at_home{{.local = kGroup, .interface = "far0"}};
    const auto quiet = sender({.to = kGroup, .interface = "far0", .loop = false});
    EXPECT_TRUE(quiet->send(bytes_of("away only")));
    const auto loud = sender({.to = kGroup, .interface = "far0"});
    EXPECT_TRUE(loud->send(bytes_of("both")));
    EXPECT_THAT(receive_texts(*away, 2), ElementsAre("away only", "both"));
    EXPECT_THAT(receive_texts(at_home, 1), ElementsAre("both"));
}

TEST_F(UdpMulticast, ATtlOfZeroStaysOnTheMachine) {
    const auto away = receiver({.local = kGroup, .interface = "near0"});
    pair_->enter_far();
    UdpReceiver at_home{{.local = kGroup, .interface = "far0"}};
    const auto zero = sender({.to = kGroup, .interface = "far0", .ttl = 0});
    EXPECT_TRUE(zero->send(bytes_of("home only")));
    const auto one = sender({.to = kGroup, .interface = "far0", .ttl = 1});
    EXPECT_TRUE(one->send(bytes_of("both")));
    EXPECT_THAT(receive_texts(at_home, 2), ElementsAre("home only", "both"));
    EXPECT_THAT(receive_texts(*away, 1), ElementsAre("both"));
}

TEST_F(UdpMulticast, TrainsCrossAWireAndAreSplitAgain) {
    const auto receiving = receiver({.local = kGroup, .interface = "near0", .gro = Want::require});
    const auto sending = sender({.to = kGroup, .interface = "far0", .gso = Want::require});
    std::vector<std::string> texts;
    for (int i = 0; i < 150; ++i) texts.push_back(std::string(256, static_cast<char>('a' + i % 26)));
    std::vector<std::span<const std::byte>> spans;
    for (const auto& text : texts) spans.push_back(bytes_of(text));
    EXPECT_EQ(sending->send(spans), texts.size());
    EXPECT_EQ(receive_texts(*receiving, texts.size()), texts);
}

TEST_F(UdpMulticast, AnInterfaceWithoutAClockIsNamedWhenItsTimeIsRequired) {
    try {
        const auto receiving = receiver({.local = kGroup, .interface = "near0", .nic_time = Want::require});
        FAIL() << "accepted";
    } catch (const SocketError& error) {
        EXPECT_THAT(error.what(), HasSubstr("required: NIC receive time on 239.1.2.3:14000: interface 'near0': it "));
    }
}

TEST_F(UdpMulticast, ADatagramThatDoesNotFitTheBufferIsLeftWithTheCaller) {
    // No host has this address, so that datagrams wait in the buffer for the neighbour's address.
    const auto sending = sender({.to = SocketAddress::parse("10.99.0.77:14000"), .send_buffer = 4096});
    const std::string payload(200, 'x');
    const std::vector<std::span<const std::byte>> spans(500, bytes_of(payload));
    const auto sent = sending->send(spans);
    EXPECT_GT(sent, 0U);
    EXPECT_LT(sent, spans.size());
    EXPECT_EQ(sending->counters().datagrams.read(), sent);
    EXPECT_EQ(sending->counters().bytes.read(), sent * payload.size());
    EXPECT_EQ(sending->counters().would_block.read(), 1U);
    EXPECT_FALSE(sending->send(bytes_of(payload)));
    EXPECT_EQ(sending->counters().would_block.read(), 2U);
    EXPECT_EQ(sending->counters().errors.read(), 0U);
}

}  // namespace
}  // namespace millpond::net
