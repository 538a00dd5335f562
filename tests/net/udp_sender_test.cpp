#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include <millpond/net/udp_receiver.hpp>
#include <millpond/net/udp_sender.hpp>

#include "tests/net/datagrams.hpp"

namespace millpond::net {
namespace {

using millpond::test::bytes_of;
using test::receive_texts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const UdpSender::Options& options) {
    try {
        const UdpSender sender{options};
        return "accepted";
    } catch (const std::exception& error) {
        return error.what();
    }
}

TEST(UdpSender, SendsMoreThanABatchInOrderAndCountsIt) {
    UdpReceiver receiver{{.local = SocketAddress::parse("127.0.0.1:0")}};
    UdpSender sender{{.to = receiver.report().local, .batch = 4}};
    std::vector<std::string> texts;
    for (int i = 0; i < 30; ++i) texts.push_back("number " + std::to_string(i));
    std::vector<std::span<const std::byte>> spans;
    for (const auto& text : texts) spans.push_back(bytes_of(text));
    EXPECT_EQ(sender.send(spans), texts.size());
    EXPECT_EQ(receive_texts(receiver, texts.size()), texts);
    EXPECT_EQ(sender.counters().datagrams.read(), 30U);
    EXPECT_EQ(sender.counters().bytes.read(), 10U * 8 + 20U * 9);
    EXPECT_NE(sender.report().local.port(), 0);
}

TEST(UdpSender, ContinuesWithoutAListenerAndReportsIt) {
    UdpSender sender{{.to = SocketAddress::parse("127.0.0.1:9")}};
    std::uint64_t sent = 0;
    for (int i = 0; i < 20; ++i) sent += sender.send(bytes_of("hello?")) ? 1U : 0U;
    EXPECT_EQ(sent, 20U);
    EXPECT_EQ(sender.counters().datagrams.read(), 20U);
    EXPECT_GT(sender.counters().peer_refused.read(), 0U);
    EXPECT_EQ(sender.counters().errors.read(), 0U);
}

TEST(UdpSender, TrainsCarryDatagramsOfEveryLengthUnchanged) {
    UdpReceiver receiver{
        {.local = SocketAddress::parse("127.0.0.1:0"), .max_datagram = 65'536, .receive_buffer = 2U << 20}};
    UdpSender sender{{.to = receiver.report().local, .batch = 16, .gso = Want::require}};
    EXPECT_TRUE(sender.report().gso);
    std::vector<std::string> texts;
    // Trains that end by a shorter datagram, by a longer one, by an empty one, by their length and by their count.
    for (const std::size_t size : {5U, 5U, 5U, 3U, 5U, 9U, 9U, 0U, 0U, 9U, 30'000U, 30'000U, 30'000U, 60'000U})
        texts.emplace_back(size, static_cast<char>('a' + texts.size()));
    for (int i = 0; i < 100; ++i) texts.push_back("count" + std::to_string(100 + i));
    std::vector<std::span<const std::byte>> spans;
    for (const auto& text : texts) spans.push_back(bytes_of(text));
    EXPECT_EQ(sender.send(spans), texts.size());
    EXPECT_TRUE(receive_texts(receiver, texts.size()) == texts);
}

TEST(UdpSender, ADatagramThatIsTooLongIsRefusedAndTheNextIsSent) {
    UdpReceiver receiver{{.local = SocketAddress::parse("127.0.0.1:0")}};
    UdpSender sender{{.to = receiver.report().local}};
    EXPECT_FALSE(sender.send(bytes_of(std::string(65'508, 'x'))));
    EXPECT_EQ(sender.counters().errors.read(), 1U);
    EXPECT_EQ(sender.counters().last_error.read(), static_cast<std::uint64_t>(EMSGSIZE));
    EXPECT_TRUE(sender.send(bytes_of("next")));
    EXPECT_THAT(receive_texts(receiver, 1), ElementsAre("next"));
}

TEST(UdpSender, OptionsOutOfRangeAreRefusedWithTheirBounds) {
    const auto to = SocketAddress::parse("127.0.0.1:9");
    EXPECT_THAT(refusal({}), HasSubstr("address to send to is missing"));
    EXPECT_THAT(refusal({.to = SocketAddress::parse("127.0.0.1:0")}), HasSubstr("port of 127.0.0.1:0 must not be 0"));
    EXPECT_THAT(refusal({.to = to, .ttl = 256}), HasSubstr("ttl is 256, it must be 0 to 255"));
    EXPECT_THAT(refusal({.to = to, .batch = 1025}), HasSubstr("batch is 1025; it must be 1 to 1024"));
    EXPECT_THAT(refusal({.to = to, .send_buffer = std::size_t{1} << 31}), HasSubstr("the maximum is 1073741824"));
    EXPECT_THAT(refusal({.to = to, .from = SocketAddress::parse("[::1]:0")}),
                HasSubstr("addresses [::1]:0 and 127.0.0.1:9 differ in family"));
    EXPECT_THAT(refusal({.to = to, .interface = "nosuch0"}),
                HasSubstr("interface 'nosuch0' does not exist; this machine has lo"));
    EXPECT_THAT(refusal({.to = to, .from = SocketAddress::parse("192.0.2.1:0")}),
                HasSubstr("cannot send from 192.0.2.1:0: Cannot assign requested address"));
}

}  // namespace
}  // namespace millpond::net
