#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/descriptor.hpp>
#include <millpond/net/udp_receiver.hpp>
#include <millpond/net/udp_sender.hpp>

#include "tests/net/datagrams.hpp"
#include "tests/net/network_pair.hpp"

namespace millpond::net {
namespace {

using millpond::test::bytes_of;
using test::receive;
using test::receive_texts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ReceiveOptions on_loopback(const char* address = "127.0.0.1:0") { return {.local = SocketAddress::parse(address)}; }

TEST(UdpReceiver, WithAPeerOnlyItsDatagramsComeAndSendReachesIt) {
    UdpReceiver peer{on_loopback()};
    UdpReceiver receiver{{.peer = peer.report().local}};
    EXPECT_TRUE(receiver.send(bytes_of("question")));
    EXPECT_THAT(receive_texts(peer, 1), ElementsAre("question"));
    const auto& asker = receiver.report().local;
    EXPECT_EQ(asker.host(), "127.0.0.1");
    EXPECT_NE(asker.port(), 0);
    UdpSender other_port{{.to = asker}};
    UdpSender other_address{{.to = asker, .from = SocketAddress::parse("127.0.0.2:0")}};
    for (auto* attacker : {&other_port, &other_address}) {
        // No process receives it: a later send may report that.
        static_cast<void>(attacker->send(bytes_of("forged")));
        static_cast<void>(attacker->send(bytes_of("forged again")));
    }
    EXPECT_THAT(receiver.poll(), IsEmpty());
    EXPECT_EQ(receiver.counters().datagrams.read(), 0U);
}

TEST(UdpReceiver, APeerThatDoesNotListenCostsNothingButACount) {
    std::optional<UdpReceiver> peer{std::in_place, on_loopback()};
    const auto address = peer->report().local;
    UdpReceiver receiver{{.peer = address}};
    peer.reset();
    EXPECT_TRUE(receiver.send(bytes_of("lost")));
    EXPECT_TRUE(receiver.send(bytes_of("lost too")));  // after the kernel's report of the first
    static_cast<void>(receive_texts(receiver, 1, 50));
    peer.emplace(ReceiveOptions{.local = address});
    EXPECT_TRUE(receiver.send(bytes_of("heard")));
    EXPECT_THAT(receive_texts(*peer, 1), ElementsAre("heard"));
}

TEST(UdpReceiver, APeerWithoutARouteIsReachedOnceThereIsOne) {
    std::string why;
    const auto pair = test::NetworkPair::make(why);
    if (!pair) GTEST_SKIP() << why;
    const auto address = SocketAddress::parse("10.98.0.1:14000");
    UdpReceiver receiver{{.peer = address}};
    EXPECT_FALSE(receiver.connect());
    EXPECT_FALSE(receiver.send(bytes_of("too early")));
    EXPECT_THAT(receiver.poll(), IsEmpty());
    ASSERT_EQ(std::system("ip address add 10.98.0.1/32 dev lo"), 0);
    UdpReceiver peer{{.local = address}};
    EXPECT_TRUE(receiver.connect());
    EXPECT_TRUE(receiver.send(bytes_of("question")));
    EXPECT_THAT(receive_texts(peer, 1), ElementsAre("question"));
}

UdpSender::Options to(const UdpReceiver& receiver) { return {.to = receiver.report().local}; }

/// The text of the SocketError or std::invalid_argument that the constructor throws.
std::string refusal(const ReceiveOptions& options) {
    try {
        const UdpReceiver receiver{options};
        return "accepted";
    } catch (const std::exception& error) {
        return error.what();
    }
}

TEST(UdpReceiver, DeliversDatagramsInOrderAsTheyWereSent) {
    UdpReceiver receiver{on_loopback()};
    UdpSender sender{to(receiver)};
    EXPECT_THAT(receiver.poll(), IsEmpty());
    EXPECT_TRUE(sender.send(bytes_of("first")));
    EXPECT_TRUE(sender.send(bytes_of("")));
    EXPECT_TRUE(sender.send(bytes_of("third")));
    EXPECT_THAT(receive_texts(receiver, 3), ElementsAre("first", "", "third"));
    EXPECT_THAT(receiver.poll(), IsEmpty());
    EXPECT_EQ(receiver.counters().datagrams.read(), 3U);
    EXPECT_EQ(receiver.counters().bytes.read(), 10U);
    EXPECT_EQ(receiver.counters().errors.read(), 0U);
}

TEST(UdpReceiver, ItsPortIsFreeAfterItsEnd) {
    auto options = on_loopback();
    for (int i = 0; i < 50; ++i) {
        UdpReceiver receiver{options};
        EXPECT_THAT(receiver.poll(), IsEmpty());
        options.local = receiver.report().local;
    }
}

TEST(UdpReceiver, ReceivesOverIpv6) {
    UdpReceiver receiver{on_loopback("[::1]:0")};
    UdpSender sender{to(receiver)};
    EXPECT_TRUE(sender.send(bytes_of("six")));
    EXPECT_THAT(receive_texts(receiver, 1), ElementsAre("six"));
}

TEST(UdpReceiver, PollsForMoreAtOnceWhileReadsAreFull) {
    auto options = on_loopback();
    options.batch = 8;
    UdpReceiver receiver{options};
    UdpSender sender{to(receiver)};
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(sender.send(bytes_of(std::to_string(i))));
    std::vector<std::size_t> sizes;
    int next = 0;
    while (next < 20) {
        const auto datagrams = receiver.poll();
        sizes.push_back(datagrams.size());
        for (const auto& each : datagrams) EXPECT_EQ(millpond::test::text_of(each.bytes), std::to_string(next++));
        ASSERT_FALSE(datagrams.empty());
    }
    EXPECT_THAT(sizes, ElementsAre(1U, 2U, 4U, 8U, 5U));
    // The last read was not full, so no datagram waits: the next poll requests only one.
    EXPECT_TRUE(sender.send(bytes_of("a")));
    EXPECT_TRUE(sender.send(bytes_of("b")));
    EXPECT_EQ(receiver.poll().size(), 1U);
}

/// The kernel begins to stamp a moment after the machine's first socket requests it; until then a stamp is made when
/// the datagram is read. Returns once stamps are older than the read.
void wait_for_stamps_on_arrival(UdpReceiver& receiver, UdpSender& sender) {
    const auto deadline = core::monotonic_nanos() + 10'000'000'000;
    while (core::monotonic_nanos() < deadline) {
        ASSERT_TRUE(sender.send(bytes_of("stamped?")));
        const auto sent = core::utc_nanos();
        const auto all = receive(receiver, 1);
        ASSERT_EQ(all.size(), 1U);
        if (all[0].receive_utc_ns <= sent) return;
        std::this_thread::yield();
    }
    FAIL() << "no stamp on arrival within 10 s";
}

TEST(UdpReceiver, StampsEveryDatagramWithTheKernelsReceiveTime) {
    UdpReceiver receiver{on_loopback()};
    UdpSender sender{to(receiver)};
    ASSERT_NO_FATAL_FAILURE(wait_for_stamps_on_arrival(receiver, sender));
    auto latest = core::utc_nanos();
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(sender.send(bytes_of("x")));
    const auto sent = core::utc_nanos();
    const auto sent_ticks = core::ticks();
    const auto all = receive(receiver, 50);
    ASSERT_EQ(all.size(), 50U);
    for (const auto& each : all) {
        EXPECT_GE(each.receive_utc_ns, latest);
        // Loopback delivers inside the send call, so the stamp is older than the end of that call, however late the
        // poll is.
        EXPECT_LE(each.receive_utc_ns, sent);
        EXPECT_GE(each.receive_ticks, sent_ticks);
        latest = each.receive_utc_ns;
    }
}

TEST(UdpReceiver, CountsADatagramThatDoesNotFitAndDeliversTheNext) {
    auto options = on_loopback();
    options.max_datagram = 100;
    UdpReceiver receiver{options};
    UdpSender sender{to(receiver)};
    EXPECT_TRUE(sender.send(bytes_of(std::string(100, 'a'))));
    EXPECT_TRUE(sender.send(bytes_of(std::string(101, 'b'))));
    EXPECT_TRUE(sender.send(bytes_of(std::string(9000, 'c'))));
    EXPECT_TRUE(sender.send(bytes_of(std::string(150, 'd'))));
    EXPECT_TRUE(sender.send(bytes_of("good")));
    EXPECT_THAT(receive_texts(receiver, 2), ElementsAre(std::string(100, 'a'), "good"));
    EXPECT_EQ(receiver.counters().truncated.read(), 3U);
    EXPECT_EQ(receiver.counters().max_truncated.read(), 9000U);
    EXPECT_EQ(receiver.counters().datagrams.read(), 2U);
}

TEST(UdpReceiver, CountsWhatTheKernelDroppedWithoutAPoll) {
    auto options = on_loopback();
    options.receive_buffer = 4096;
    UdpReceiver receiver{options};
    UdpSender sender{to(receiver)};
    const std::string payload(200, 'x');
    constexpr std::size_t kSent = 500;
    for (std::size_t i = 0; i < kSent; ++i) EXPECT_TRUE(sender.send(bytes_of(payload)));
    // Datagrams queued before the first loss have no information about it.
    const auto queued = receive(receiver, kSent, 0).size();
    EXPECT_GT(queued, 0U);
    EXPECT_LT(queued, kSent);
    EXPECT_EQ(receiver.counters().kernel_drops.read(), 0U);
    EXPECT_TRUE(sender.send(bytes_of("news")));
    EXPECT_THAT(receive_texts(receiver, 1), ElementsAre("news"));
    EXPECT_EQ(receiver.counters().kernel_drops.read(), kSent - queued);
}

TEST(UdpReceiver, ARequestForKernelDropsReportsThemAtOnceAndCountsNoneTwice) {
    auto options = on_loopback();
    options.receive_buffer = 4096;
    UdpReceiver receiver{options};
    UdpSender sender{to(receiver)};
    const std::string payload(200, 'x');
    for (int i = 0; i < 500; ++i) EXPECT_TRUE(sender.send(bytes_of(payload)));
    const auto drops = receiver.refresh_kernel_drops();
    EXPECT_GT(drops, 0U);
    const auto queued = receive(receiver, 500, 0).size();
    EXPECT_EQ(queued + drops, 500U);
    EXPECT_TRUE(sender.send(bytes_of("news")));
    EXPECT_EQ(receive(receiver, 1).size(), 1U);
    EXPECT_EQ(receiver.counters().kernel_drops.read(), drops);
    EXPECT_EQ(receiver.refresh_kernel_drops(), drops);
}

TEST(UdpReceiver, SplitsTrainsBackIntoTheDatagramsThatWereSent) {
    auto options = on_loopback();
    options.gro = Want::require;
    UdpReceiver receiver{options};
    ASSERT_TRUE(receiver.report().gro);
    auto sending = to(receiver);
    sending.gso = Want::require;
    UdpSender sender{sending};
    ASSERT_TRUE(sender.report().gso);

    std::vector<std::string> texts;
    for (int i = 0; i < 200; ++i) texts.push_back("datagram " + std::to_string(1000 + i));
    texts.push_back("short");  // ends a train
    texts.push_back("a longer one begins the next");
    texts.push_back("");
    texts.push_back("after the empty one");
    std::vector<std::span<const std::byte>> spans;
    for (const auto& text : texts) spans.push_back(bytes_of(text));
    EXPECT_EQ(sender.send(spans), texts.size());

    EXPECT_EQ(receive_texts(receiver, texts.size()), texts);
    EXPECT_EQ(receiver.counters().datagrams.read(), texts.size());
    EXPECT_EQ(receiver.counters().truncated.read(), 0U);
}

TEST(UdpReceiver, ContinuesATrainThatIsLongerThanTheListOfOnePoll) {
    auto options = on_loopback();
    options.gro = Want::require;
    options.batch = 1;  // capacity for 64 datagrams per poll
    UdpReceiver receiver{options};
    auto sending = to(receiver);
    sending.gso = Want::require;
    UdpSender sender{sending};
    std::vector<std::string> texts;
    for (int i = 0; i < 300; ++i) texts.push_back("n" + std::to_string(1000 + i));
    std::vector<std::span<const std::byte>> spans;
    for (const auto& text : texts) spans.push_back(bytes_of(text));
    EXPECT_EQ(sender.send(spans), texts.size());
    EXPECT_EQ(receive_texts(receiver, texts.size()), texts);
}

TEST(UdpReceiver, ReportsTheBufferSizeThatTheKernelGranted) {
    auto options = on_loopback();
    options.receive_buffer = 300'000;
    EXPECT_EQ(UdpReceiver{options}.report().receive_buffer, 300'000U);
    EXPECT_GT(UdpReceiver{on_loopback()}.report().receive_buffer, 0U);
}

/// Removes CAP_NET_ADMIN from the calling thread during its lifetime, like a user without privileges.
class WithoutNetAdmin {
public:
    WithoutNetAdmin() {
        syscall(SYS_capget, &header_, before_.data());
        auto without = before_;
        without[0].effective &= ~(1U << CAP_NET_ADMIN);
        syscall(SYS_capset, &header_, without.data());
    }
    ~WithoutNetAdmin() { syscall(SYS_capset, &header_, before_.data()); }
    WithoutNetAdmin(const WithoutNetAdmin&) = delete;
    WithoutNetAdmin& operator=(const WithoutNetAdmin&) = delete;

private:
    __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> before_{};
};

TEST(UdpReceiver, ABufferBeyondTheLimitIsReportedAndWhenRequiredAnErrorThatNamesTheSetting) {
    const WithoutNetAdmin unprivileged;
    auto options = on_loopback();
    options.receive_buffer = std::size_t{1} << 30;
    const UdpReceiver receiver{options};
    EXPECT_LT(receiver.report().receive_buffer, options.receive_buffer);
    ASSERT_EQ(receiver.report().fallbacks.size(), 1U);
    EXPECT_EQ(receiver.report().fallbacks.front(),
              "receive buffer of 1073741824 bytes on 127.0.0.1:0: the kernel granted " +
                  std::to_string(receiver.report().receive_buffer) + ", raise net.core.rmem_max or give CAP_NET_ADMIN");
    options.receive_buffer_want = Want::require;
    EXPECT_THAT(refusal(options), HasSubstr("required: receive buffer of 1073741824 bytes"));
}

TEST(UdpReceiver, BusyPollingIsReadBackAndItsRefusalReportedAndWhenRequiredAnError) {
    const WithoutNetAdmin unprivileged;
    const int micros = 50;
    const core::Descriptor probe{socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    const bool allowed = setsockopt(probe.get(), SOL_SOCKET, SO_BUSY_POLL, &micros, sizeof micros) == 0;

    auto options = on_loopback();
    options.busy_poll = std::chrono::microseconds(micros);
    const UdpReceiver receiver{options};
    options.busy_poll_want = Want::require;
    if (allowed) {  // newer kernels need no capability
        EXPECT_EQ(receiver.report().busy_poll, options.busy_poll);
        EXPECT_THAT(receiver.report().fallbacks, IsEmpty());
        EXPECT_EQ(refusal(options), "accepted");
    } else {
        EXPECT_EQ(receiver.report().busy_poll.count(), 0);
        ASSERT_EQ(receiver.report().fallbacks.size(), 1U);
        EXPECT_THAT(receiver.report().fallbacks.front(),
                    HasSubstr("busy polling on 127.0.0.1:0: SO_BUSY_POLL (needs CAP_NET_ADMIN)"));
        EXPECT_THAT(refusal(options), HasSubstr("required: busy polling on 127.0.0.1:0"));
    }
}

TEST(UdpReceiver, NicTimeThatIsPreferredButMissingIsReported) {
    auto options = on_loopback();
    options.nic_time = Want::prefer;
    UdpReceiver receiver{options};
    EXPECT_FALSE(receiver.report().nic_time);
    ASSERT_EQ(receiver.report().fallbacks.size(), 1U);
    EXPECT_THAT(receiver.report().fallbacks.front(),
                HasSubstr("NIC receive time on 127.0.0.1:0: interface 'lo': it has no clock for timestamps of received "
                          "packets"));
    UdpSender sender{to(receiver)};
    const auto before = core::utc_nanos();
    EXPECT_TRUE(sender.send(bytes_of("x")));
    const auto all = receive(receiver, 1);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_GE(all[0].receive_utc_ns, before);
}

TEST(UdpReceiver, NicTimeThatIsRequiredButMissingIsAnErrorThatNamesIt) {
    auto options = on_loopback();
    options.nic_time = Want::require;
    EXPECT_THAT(refusal(options),
                HasSubstr("required: NIC receive time on 127.0.0.1:0: interface 'lo': it has no clock"));
    options.local = SocketAddress::parse("0.0.0.0:0");
    EXPECT_THAT(refusal(options), HasSubstr("the interface must be named"));
}

TEST(UdpReceiver, AnUnknownInterfaceIsRefusedByNameWithThoseThatExist) {
    auto options = on_loopback();
    options.interface = "nosuch0";
    EXPECT_THAT(refusal(options), HasSubstr("interface 'nosuch0' does not exist; this machine has lo"));
}

TEST(UdpReceiver, APortInUseIsRefusedByAddress) {
    const UdpReceiver first{on_loopback()};
    auto options = on_loopback();
    options.local = first.report().local;
    EXPECT_THAT(refusal(options),
                HasSubstr("cannot bind " + options.local.to_string() + ": the port is taken by another socket"));
}

TEST(UdpReceiver, AForeignAddressIsRefused) {
    EXPECT_THAT(refusal({.local = SocketAddress::parse("192.0.2.1:0")}),
                HasSubstr("cannot bind 192.0.2.1:0: no interface of this machine has that address"));
}

TEST(UdpReceiver, OptionsOutOfRangeAreRefusedWithTheirBounds) {
    EXPECT_THAT(refusal({}), HasSubstr("local address is missing"));
    auto options = on_loopback();
    options.batch = 0;
    EXPECT_THAT(refusal(options), HasSubstr("batch is 0; it must be 1 to 1024"));
    options = on_loopback();
    options.max_datagram = 65'537;
    EXPECT_THAT(refusal(options), HasSubstr("max_datagram is 65537; it must be 1 to 65536"));
    options = on_loopback();
    options.receive_buffer = std::size_t{1} << 31;
    EXPECT_THAT(refusal(options), HasSubstr("receive_buffer is 2147483648, the maximum is 1073741824"));
    options = on_loopback();
    options.busy_poll = std::chrono::seconds(2);
    EXPECT_THAT(refusal(options), HasSubstr("busy_poll is 2000000 us, it must be 0 to 1000000"));
    options = on_loopback();
    options.source = SocketAddress::parse_host("127.0.0.1");
    EXPECT_THAT(refusal(options), HasSubstr("a source needs a multicast group, 127.0.0.1:0 is none"));
    options.local = SocketAddress::parse("[ff15::1]:0");
    EXPECT_THAT(refusal(options), HasSubstr("source 127.0.0.1 and group ff15::1 differ in family"));
    options = {.local = SocketAddress::parse("[ff02::1]:0")};
    EXPECT_THAT(refusal(options), HasSubstr("ff02::1 is valid on one link only; set the interface"));
}

}  // namespace
}  // namespace millpond::net
