#include <millpond/files/pcap_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millpond::files {
namespace {

std::vector<std::byte> payload_of(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + size);
    return bytes;
}

void expect_read_back(const net::SocketAddress& source, const net::SocketAddress& destination) {
    std::string file;
    append_pcap_header(file);
    const std::vector<std::size_t> sizes{0, 1, 28, 1'399, 65'000};
    std::int64_t utc_ns = 1'580'398'200'123'456'789;
    for (const auto size : sizes) {
        const auto bytes = payload_of(size);
        ASSERT_TRUE(append_pcap_datagram(file, {utc_ns++, source, destination, bytes}));
    }
    PcapReader reader{std::as_bytes(std::span{file}), "made here"};
    CapturedDatagram read;
    utc_ns -= static_cast<std::int64_t>(sizes.size());
    for (const auto size : sizes) {
        ASSERT_TRUE(reader.next(read)) << reader.error();
        const auto bytes = payload_of(size);
        EXPECT_EQ(read.utc_ns, utc_ns++);
        EXPECT_EQ(read.source, source);
        EXPECT_EQ(read.destination, destination);
        EXPECT_TRUE(std::equal(read.payload.begin(), read.payload.end(), bytes.begin(), bytes.end()));
    }
    EXPECT_FALSE(reader.next(read));
    EXPECT_EQ(reader.error(), "");
    EXPECT_EQ(reader.counts().datagrams, sizes.size());
}

TEST(PcapWriter, WrittenDatagramsAreReadBackUnchanged) {
    expect_read_back(net::SocketAddress::parse("10.1.2.3:4000"), net::SocketAddress::parse("224.0.105.2:51002"));
    expect_read_back(net::SocketAddress::parse("[fd99::1]:4000"), net::SocketAddress::parse("[ff15::1]:51002"));
}

// The header of RFC 1071's widely used example: 45 00 00 73 .. 40 11 b8 61, 192.168.0.1 to 192.168.0.199.
TEST(PcapWriter, TheHeadersChecksumIsRight) {
    std::string packet;
    const auto bytes = payload_of(87);
    ASSERT_TRUE(append_pcap_datagram(
        packet, {0, net::SocketAddress::parse("192.168.0.1:1"), net::SocketAddress::parse("192.168.0.199:2"), bytes}));
    EXPECT_EQ(packet.substr(16, 20),
              std::string("\x45\0\0\x73\0\0\x40\0\x40\x11\xb8\x61\xc0\xa8\0\x01\xc0\xa8\0\xc7", 20));
}

TEST(PcapWriter, PayloadsThatNoDatagramCanHoldAreRefused) {
    std::string packet;
    const auto bytes = payload_of(65'535);
    const auto to = net::SocketAddress::parse("10.0.0.1:1");
    EXPECT_FALSE(append_pcap_datagram(packet, {0, to, to, bytes}));
    EXPECT_FALSE(append_pcap_datagram(packet, {0, to, {}, {}}));
    EXPECT_EQ(packet, "");
}

}  // namespace
}  // namespace millpond::files
