#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/descriptor.hpp>
#include <millpond/net/udp_receiver.hpp>
#include <millpond/net/udp_sender.hpp>

#include "tests/net/datagrams.hpp"
#include "tests/net/network_pair_test.hpp"
#include "tests/net/path_available.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/syscall_guard.hpp"

namespace millpond::net {
namespace {

using millpond::test::bytes_of;
using test::receive_texts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const auto kHere = SocketAddress::parse("10.99.0.1:14000");

ReceiveOptions by_xdp(const SocketAddress& local = kHere) {
    return {.local = local, .interface = "near0", .path = ReceivePath::af_xdp, .path_want = Want::require};
}

/// Frames that bypass the kernel's network stack, between two network namespaces.
class XdpReceiver : public test::NetworkPairTest {
protected:
    void SetUp() override {
        NetworkPairTest::SetUp();
        if (IsSkipped()) return;
        const auto why = test::lacks_path(by_xdp());
        if (!why.empty()) GTEST_SKIP() << why;
        ASSERT_TRUE(pair_->finish_checksums());
    }
};

TEST_F(XdpReceiver, ReportsItsOptionsAsGranted) {
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
    EXPECT_EQ(receiver.counters().errors.read(), 0U);
}

TEST_F(XdpReceiver, FlowsThatTheInterfaceSpreadsOverItsQueuesAllArriveEachInOrder) {
    constexpr std::size_t kFlows = 64;  // more flows than one queue gets by chance
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

/// A valid frame with a datagram to kHere, which a test may then change.
class Frame {
public:
    explicit Frame(const std::string& payload) {
        ip_ = {0x45, 0, 0, 0, 0, 1, 0, 0, 9, 17, 0, 0, 10, 99, 0, 2, 10, 99, 0, 1};
        put(ip_, 2, 20 + 8 + payload.size());
        put(ip_, 10, checksum(ip_, 0));
        udp_ = {0x30, 0x39, 14'000 >> 8, 14'000 & 0xFF, 0, 0, 0, 0};
        udp_.insert(udp_.end(), payload.begin(), payload.end());
        put(udp_, 4, udp_.size());
        auto pseudo = std::vector<std::uint8_t>(ip_.begin() + 12, ip_.end());
        pseudo.insert(pseudo.end(), {0, 17, udp_[4], udp_[5]});
        if (pseudo.size() % 2 != 0) pseudo.push_back(0);
        put(udp_, 6, checksum(udp_, static_cast<std::uint16_t>(~checksum(pseudo, 0))));
    }
    Frame& tag(std::uint16_t control) {
        tag_ = {0x81, 0x00, static_cast<std::uint8_t>(control >> 8U), static_cast<std::uint8_t>(control)};
        return *this;
    }
    Frame& flip_ip_byte(std::size_t at) {
        ip_[at] ^= 1U;
        return *this;
    }
    Frame& flip_udp_byte(std::size_t at) {
        udp_[at] ^= 1U;
        return *this;
    }
    Frame& without_udp_checksum() {
        put(udp_, 6, 0);
        return *this;
    }
    [[nodiscard]] std::vector<std::uint8_t> bytes(const std::array<std::uint8_t, 6>& to) const {
        std::vector<std::uint8_t> all(to.begin(), to.end());
        all.insert(all.end(), {2, 0, 0, 0, 0, 9});
        all.insert(all.end(), tag_.begin(), tag_.end());
        all.insert(all.end(), {0x08, 0x00});
        all.insert(all.end(), ip_.begin(), ip_.end());
        all.insert(all.end(), udp_.begin(), udp_.end());
        return all;
    }

private:
    static void put(std::vector<std::uint8_t>& into, std::size_t at, std::size_t value) {
        into[at] = static_cast<std::uint8_t>(value >> 8U);
        into[at + 1] = static_cast<std::uint8_t>(value);
    }
    /// The checksum of RFC 1071, byte by byte.
    static std::uint16_t checksum(const std::vector<std::uint8_t>& bytes, std::uint32_t sum) {
        for (std::size_t i = 0; i < bytes.size(); ++i) sum += std::uint32_t{bytes[i]} << (i % 2 == 0 ? 8U : 0U);
        while (sum > 0xFFFFU) sum = (sum & 0xFFFFU) + (sum >> 16U);
        return static_cast<std::uint16_t>(~sum);
    }

    std::vector<std::uint8_t> tag_;
    std::vector<std::uint8_t> ip_;
    std::vector<std::uint8_t> udp_;
};

/// Sends frames on the wire at the far side, unchanged.
class FrameSender {
public:
    explicit FrameSender(const test::NetworkPair& pair) {
        to_ = hardware_address("near0");
        pair.enter_far();
        interface_ = static_cast<int>(if_nametoindex("far0"));
        socket_ = core::Descriptor{::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)};
        pair.enter_near();
    }
    void send(const Frame& frame) const {
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_ifindex = interface_;
        const auto bytes = frame.bytes(to_);
        EXPECT_EQ(sendto(socket_.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&address),
                         sizeof address),
                  static_cast<ssize_t>(bytes.size()));
    }

private:
    static std::array<std::uint8_t, 6> hardware_address(const char* interface) {
        ifreq request{};
        std::string_view{interface}.copy(request.ifr_name, IFNAMSIZ - 1);
        const core::Descriptor socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
        EXPECT_EQ(ioctl(socket.get(), SIOCGIFHWADDR, &request), 0);
        std::array<std::uint8_t, 6> address{};
        std::memcpy(address.data(), request.ifr_hwaddr.sa_data, address.size());
        return address;
    }

    std::array<std::uint8_t, 6> to_{};
    int interface_{0};
    core::Descriptor socket_;
};

TEST_F(XdpReceiver, AWrongChecksumIsDroppedAndCountedWhereverTheFlippedBitIs) {
    UdpReceiver receiver{by_xdp()};
    const FrameSender far{*pair_};
    const std::string payload = "a price of 101.25";  // an odd number of bytes
    std::uint64_t wrong = 0;
    far.send(Frame{payload});
    for (const std::size_t at : {1U, 8U, 10U, 15U}) {
        far.send(Frame{payload}.flip_ip_byte(at));
        ++wrong;
    }
    for (std::size_t at = 6; at < 8 + payload.size(); ++at) {
        far.send(Frame{payload}.flip_udp_byte(at));
        ++wrong;
    }
    far.send(Frame{"none"}.without_udp_checksum());
    far.send(Frame{"last"});
    EXPECT_EQ(receive_texts(receiver, 3), (std::vector<std::string>{payload, "none", "last"}));
    EXPECT_EQ(receiver.counters().checksum_errors.read(), wrong);
    EXPECT_EQ(receiver.counters().datagrams.read(), 3U);
    EXPECT_EQ(receiver.counters().errors.read(), 0U);
}

TEST_F(XdpReceiver, TrustedChecksumsAreNotChecked) {
    auto options = by_xdp();
    options.checksum = Checksum::trust;
    UdpReceiver receiver{options};
    const FrameSender far{*pair_};
    far.send(Frame{"wrong"}.flip_udp_byte(6));
    EXPECT_THAT(receive_texts(receiver, 1), ElementsAre("wrong"));
    EXPECT_EQ(receiver.counters().checksum_errors.read(), 0U);
}

TEST_F(XdpReceiver, FramesOfAnotherVlanGoOnToTheKernelAndAreCounted) {
    const FrameSender far{*pair_};
    const auto send_all = [&] {
        far.send(Frame{"seven"}.tag(7));
        far.send(Frame{"eight with a priority"}.tag(0xA008));
        far.send(Frame{"a priority only"}.tag(0xA000));
        far.send(Frame{"untagged"});
    };
    {
        UdpReceiver untagged{by_xdp()};
        send_all();
        // The interface may pass frames with and without a tag to different queues, so they have no order.
        EXPECT_THAT(receive_texts(untagged, 2), UnorderedElementsAre("a priority only", "untagged"));
        untagged.refresh_kernel_drops();
        EXPECT_EQ(untagged.counters().other_vlan.read(), 2U);
        EXPECT_THAT(untagged.poll(), IsEmpty());
    }
    auto options = by_xdp();
    options.vlan = 8;
    UdpReceiver eight{options};
    send_all();
    EXPECT_THAT(receive_texts(eight, 1), ElementsAre("eight with a priority"));
    eight.refresh_kernel_drops();
    EXPECT_EQ(eight.counters().other_vlan.read(), 3U);
    EXPECT_THAT(eight.poll(), IsEmpty());
}

TEST_F(XdpReceiver, AVlanIsNeverServedByASocket) {
    const UdpReceiver first{by_xdp()};
    auto options = by_xdp(SocketAddress::parse("10.99.0.1:14001"));
    options.path_want = Want::prefer;
    options.vlan = 7;
    EXPECT_THROW(UdpReceiver{options}, SocketError);  // the interface is in use
    options.path = ReceivePath::socket;
    EXPECT_THROW(UdpReceiver{options}, std::invalid_argument);
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

TEST_F(XdpReceiver, OptionsThatAfXdpDoesNotSupportAreRefusedWithTheReason) {
    const auto refusal = [](ReceiveOptions options) -> std::string {
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
    EXPECT_THAT(refusal(options),
                HasSubstr("AF_XDP supports frames of up to 3822 bytes, interface 'lo' has an MTU of"));
}

TEST_F(XdpReceiver, AKilledReceiverLeavesTheInterfaceUsableForAnother) {
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
        // The kernel removes the program a moment after its process has ended.
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
        auto& receiver = *new UdpReceiver{by_xdp()};  // not closed, because the guard forbids it
        auto& sending = *sender({.to = kHere}).release();
        const auto exchange = [&] {
            if (sending.send(burst) != burst.size()) return false;
            std::size_t came = 0;
            // Until all have arrived: the interface may be a moment late.
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
