#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/net/pcap_reader.hpp>

#include "tests/net/datagrams.hpp"

namespace millpond::net {
namespace {

using test::Bytes;
using test::operator+;
using test::text_of;
using ::testing::HasSubstr;

// Builders of the formats by their own definitions, independent of the reader.

Bytes hex(std::string_view digits) {
    Bytes bytes;
    for (std::size_t i = 0; i < digits.size();) {
        if (digits[i] == ' ') {
            ++i;
            continue;
        }
        bytes.push_back(static_cast<std::byte>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
        i += 2;
    }
    return bytes;
}

Bytes text(std::string_view characters) {
    const auto bytes = test::bytes_of(characters);
    return {bytes.begin(), bytes.end()};
}

Bytes be16(std::size_t value) { return {std::byte(value >> 8 & 0xFF), std::byte(value & 0xFF)}; }

Bytes udp(const Bytes& payload) { return hex("1f90 c738") + be16(8 + payload.size()) + hex("0000") + payload; }

/// From 10.1.2.3:8080 to 224.0.105.2:51000. `options`: whole 32-bit words.
Bytes ipv4(const Bytes& payload, const Bytes& options = {}, std::string_view flags = "4000",
           const char* protocol = "11") {
    const auto inner = udp(payload);
    return Bytes{std::byte(0x45 + options.size() / 4)} + hex("00") + be16(20 + options.size() + inner.size()) +
           hex("1f36") + hex(flags) + hex("40") + hex(protocol) + hex("0000 0a010203 e0006902") + options + inner;
}

/// From 2001:db8::1 to ff15::2, `extensions` before UDP, the first of them of protocol `next`.
Bytes ipv6(const Bytes& payload, const Bytes& extensions = {}, const char* next = "11") {
    const auto inner = extensions + udp(payload);
    return hex("60000000") + be16(inner.size()) + hex(next) + hex("40") + hex("20010db8000000000000000000000001") +
           hex("ff150000000000000000000000000002") + inner;
}

Bytes ethernet(const Bytes& after, const char* type = "0800") {
    return hex("01005e006902 00351a719cfc") + hex(type) + after;
}

struct Format {
    std::endian order{std::endian::little};
    bool nanos{false};
    std::uint32_t link{1};

    [[nodiscard]] Bytes u32(std::uint32_t value) const {
        Bytes bytes(4);
        order == std::endian::big ? core::store_be(bytes.data(), value) : core::store_le(bytes.data(), value);
        return bytes;
    }
    [[nodiscard]] Bytes header() const {
        const auto version = order == std::endian::big ? hex("0002 0004") : hex("0200 0400");
        return u32(nanos ? 0xA1B23C4D : 0xA1B2C3D4) + version + u32(0) + u32(0) + u32(65535) + u32(link);
    }
    [[nodiscard]] Bytes frame(const Bytes& bytes, std::uint32_t seconds = 1, std::uint32_t fraction = 2) const {
        return cut_frame(bytes, bytes.size(), seconds, fraction);
    }
    [[nodiscard]] Bytes cut_frame(const Bytes& bytes, std::size_t original, std::uint32_t seconds = 1,
                                  std::uint32_t fraction = 2) const {
        return u32(seconds) + u32(fraction) + u32(static_cast<std::uint32_t>(bytes.size())) +
               u32(static_cast<std::uint32_t>(original)) + bytes;
    }
};

struct Read {
    std::vector<CapturedDatagram> datagrams;  // their payload is of the file given, which outlives this
    PcapReader::Counts counts;
    std::string error;
};

Read read(const Bytes& file) {
    PcapReader reader{file, "test.pcap"};
    Read all;
    CapturedDatagram datagram;
    while (reader.next(datagram)) all.datagrams.push_back(datagram);
    all.counts = reader.counts();
    all.error = reader.error();
    return all;
}

std::string refusal(const Bytes& file) {
    try {
        const PcapReader reader{file, "test.pcap"};
        return "accepted";
    } catch (const FileFormatError& error) {
        return error.what();
    }
}

TEST(PcapReader, ReadsBothByteOrdersAndBothUnitsOfTime) {
    for (const auto order : {std::endian::little, std::endian::big}) {
        for (const bool nanos : {false, true}) {
            const Format format{.order = order, .nanos = nanos};
            const auto file = format.header() + format.frame(ethernet(ipv4(text("one"))), 1'476'819'540, 421'924) +
                              format.frame(ethernet(ipv4(text(""))), 4'000'000'000, 999'999);
            const auto all = read(file);
            ASSERT_EQ(all.datagrams.size(), 2U);
            EXPECT_EQ(text_of(all.datagrams[0].payload), "one");
            EXPECT_EQ(all.datagrams[0].utc_ns, 1'476'819'540'000'000'000 + (nanos ? 421'924 : 421'924'000));
            EXPECT_EQ(all.datagrams[0].source.to_string(), "10.1.2.3:8080");
            EXPECT_EQ(all.datagrams[0].destination.to_string(), "224.0.105.2:51000");
            EXPECT_TRUE(all.datagrams[1].payload.empty());
            EXPECT_EQ(all.datagrams[1].utc_ns, 4'000'000'000'000'000'000 + (nanos ? 999'999 : 999'999'000));
            EXPECT_EQ(all.error, "");
            EXPECT_EQ(all.counts.datagrams, 2U);
        }
    }
}

TEST(PcapReader, FindsUdpUnderEveryLinkHeaderItKnows) {
    const auto four = ipv4(text("four"));
    const auto six = ipv6(text("six"));
    struct Case {
        std::uint32_t link;
        Bytes frame;
        std::string payload;
    };
    const std::vector<Case> cases{
        {1, ethernet(four), "four"},
        {1, ethernet(six, "86dd"), "six"},
        {1, ethernet(hex("0389 0800") + four, "8100"), "four"},
        {1, ethernet(hex("0064 8100 0389 86dd") + six, "88a8"), "six"},
        {1, ethernet(hex("0064 88a8 0065 8100 0389 0800") + four, "9100"), "four"},
        {1, ethernet(four + hex("000000000000")), "four"},  // padded to the shortest frame
        {113, hex("0000 0001 0006 00351a719cfc 0000 0800") + four, "four"},
        {113, hex("0000 0001 0006 00351a719cfc 0000 8100 0389 86dd") + six, "six"},
        {276, hex("0800 0000 00000002 0001 00 06 00351a719cfc 0000") + four, "four"},
        {276, hex("86dd 0000 00000002 0001 00 06 00351a719cfc 0000") + six, "six"},
        {101, four, "four"},
        {101, six, "six"},
        {228, four, "four"},
        {229, six, "six"},
        {1 | 0x14000000, ethernet(four) + hex("deadbeef"), "four"},  // with a frame check sequence
    };
    for (const auto& each : cases) {
        const Format format{.link = each.link};
        const auto file = format.header() + format.frame(each.frame);
        const auto all = read(file);
        ASSERT_EQ(all.datagrams.size(), 1U) << "link " << each.link << " for " << each.payload;
        EXPECT_EQ(text_of(all.datagrams[0].payload), each.payload);
        EXPECT_EQ(all.datagrams[0].source.port(), 8080);
        EXPECT_EQ(all.datagrams[0].destination.port(), 51000);
    }
}

TEST(PcapReader, WalksOptionsAndExtensionHeaders) {
    const Format format{.link = 101};
    const auto file =
        format.header() + format.frame(ipv4(text("options"), hex("01010100 01010100"))) +
        format.frame(ipv6(text("hop"), hex("1100 010400000000"), "00")) +
        // hop-by-hop of 16 bytes, routing, destination options
        format.frame(ipv6(
            text("all"), hex("2b01 010c000000000000000000000000") + hex("3c00 0000000000ff") + hex("1100 010400000000"),
            "00")) +
        // a fragment header of a datagram that is whole
        format.frame(ipv6(text("atomic"), hex("1100 0000 12345678"), "2c"));
    const auto all = read(file);
    ASSERT_EQ(all.datagrams.size(), 4U);
    EXPECT_EQ(text_of(all.datagrams[0].payload), "options");
    EXPECT_EQ(text_of(all.datagrams[1].payload), "hop");
    EXPECT_EQ(text_of(all.datagrams[2].payload), "all");
    EXPECT_EQ(text_of(all.datagrams[3].payload), "atomic");
    EXPECT_EQ(all.datagrams[1].destination.to_string(), "[ff15::2]:51000");
}

TEST(PcapReader, CountsAndSkipsFramesWithoutADatagram) {
    const Format format;
    auto bad_length = ipv4(text("x"));
    bad_length[24] = std::byte{0xFF};  // UDP longer than IP says
    auto short_length = ipv4(text("x"));
    short_length[25] = std::byte{7};                                                   // UDP shorter than its header
    const auto file = format.header() + format.frame(ethernet(hex("0001"), "0806")) +  // ARP
                      format.frame(ethernet(ipv4(text("x"), {}, "4000", "06"))) +      // TCP
                      format.frame(ethernet(ipv6(text("x"), {}, "3a"), "86dd")) +      // ICMPv6
                      format.frame(ethernet(ipv4(text("x"), {}, "2000"))) +            // first fragment
                      format.frame(ethernet(ipv4(text("x"), {}, "0010"))) +            // last fragment
                      format.frame(ethernet(ipv6(text("x"), hex("1100 0001 12345678"), "2c"), "86dd")) +
                      format.frame(ethernet(bad_length)) + format.frame(ethernet(short_length)) +
                      format.frame(ethernet(ipv6(text("x")))) +  // version 6 under the type of version 4
                      format.frame({}) + format.frame(ethernet(ipv4(text("good"))));
    const auto all = read(file);
    ASSERT_EQ(all.datagrams.size(), 1U);
    EXPECT_EQ(text_of(all.datagrams[0].payload), "good");
    EXPECT_EQ(all.counts.frames, 11U);
    EXPECT_EQ(all.counts.datagrams, 1U);
    EXPECT_EQ(all.counts.not_ip, 1U);
    EXPECT_EQ(all.counts.not_udp, 2U);
    EXPECT_EQ(all.counts.fragments, 3U);
    EXPECT_EQ(all.counts.malformed, 4U);
    EXPECT_EQ(all.counts.cut, 0U);
    EXPECT_EQ(all.error, "");
}

TEST(PcapReader, AFrameCutByTheSnapLengthIsCountedAtEveryLength) {
    for (const auto& whole : {ethernet(hex("0389 0800") + ipv4(text("payload"), hex("01010100")), "8100"),
                              ethernet(ipv6(text("payload"), hex("1100 010400000000"), "00"), "86dd")}) {
        const Format format;
        for (std::size_t kept = 0; kept < whole.size(); ++kept) {
            const Bytes part{whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept)};
            const auto file = format.header() + format.cut_frame(part, whole.size()) + format.frame(whole);
            const auto all = read(file);
            EXPECT_EQ(all.counts.cut, 1U) << "kept " << kept;
            ASSERT_EQ(all.datagrams.size(), 1U);
            EXPECT_EQ(text_of(all.datagrams[0].payload), "payload");
        }
    }
}

TEST(PcapReader, AFileThatEndsTooEarlyIsToldWithThePlaceAtEveryLength) {
    const Format format;
    const auto first = format.frame(ethernet(ipv4(text("first"))));
    const auto second = format.frame(ethernet(ipv4(text("second"))));
    const auto file = format.header() + first + second;
    const auto second_at = 24 + first.size();
    for (std::size_t length = 0; length < file.size(); ++length) {
        const Bytes part{file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length)};
        if (length < 24) {
            EXPECT_THAT(refusal(part), HasSubstr("'test.pcap': "));
            EXPECT_THAT(refusal(part), HasSubstr(std::to_string(length) + " bytes"));
            continue;
        }
        const auto all = read(part);
        if (length == 24 || length == second_at) {
            EXPECT_EQ(all.error, "");
            EXPECT_EQ(all.datagrams.size(), length == 24 ? 0U : 1U);
            continue;
        }
        const auto frame = length < second_at ? 1U : 2U;
        const auto start = frame == 1 ? 24 : second_at;
        EXPECT_EQ(all.datagrams.size(), frame - 1);
        const auto got = length - start;
        const auto what = got < 16 ? std::to_string(got) + " of the frame header's 16 bytes"
                                   : std::to_string(got - 16) + " of the frame's " +
                                         std::to_string((frame == 1 ? first : second).size() - 16) + " bytes";
        EXPECT_EQ(all.error, "'test.pcap', frame " + std::to_string(frame) + " at byte " + std::to_string(start) +
                                 ": the file ends after " + what);
    }
}

TEST(PcapReader, AnImpossibleFrameLengthIsDamageAndNotFollowed) {
    const Format format;
    auto damaged = format.frame(ethernet(ipv4(text("x"))));
    damaged[11] = std::byte{0x7F};
    const auto file = format.header() + format.frame(ethernet(ipv4(text("good")))) + damaged;
    const auto all = read(file);
    EXPECT_EQ(all.datagrams.size(), 1U);
    EXPECT_THAT(all.error, HasSubstr("frame 2 at byte 86: the frame claims 2130706475 bytes, the most is 262144"));
}

TEST(PcapReader, OtherFilesAreRefusedByName) {
    EXPECT_EQ(refusal(text("#!/usr/bin/env bash and more")), "'test.pcap': not a pcap file: it begins with 0x23212f75");
    EXPECT_THAT(refusal(Format{.link = 127}.header()), HasSubstr("link type 127 is not known here"));
    EXPECT_EQ(refusal({}), "'test.pcap': not a pcap file: it has 0 bytes and the file header needs 24");
}

TEST(PcapReader, AMissingFileIsAnErrorThatNamesIt) {
    try {
        const PcapReader reader{"/no/such/file.pcap"};
        FAIL() << "accepted";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code().value(), ENOENT);
        EXPECT_THAT(error.what(), HasSubstr("cannot read '/no/such/file.pcap'"));
    }
}

std::string data_file(const char* name) {
    const char* folder = std::getenv("MILLPOND_TEST_DATA");  // NOLINT(concurrency-mt-unsafe): one thread
    return folder == nullptr ? std::string{} : (std::filesystem::path(folder) / name).string();
}

TEST(PcapReader, ReadsARealCaptureWhole) {
    const auto path = data_file("Miax.Tom.Mach.v1.9.Example.pcap");
    if (path.empty()) GTEST_SKIP() << "MILLPOND_TEST_DATA is not set";
    PcapReader reader{path};
    CapturedDatagram datagram;
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::set<std::string> destinations;
    while (reader.next(datagram)) {
        if (first == 0) first = datagram.utc_ns;
        EXPECT_GE(datagram.utc_ns, last);
        last = datagram.utc_ns;
        destinations.insert(datagram.destination.to_string());
    }
    EXPECT_EQ(reader.error(), "");
    EXPECT_EQ(reader.counts().frames, 20'560U);
    EXPECT_EQ(reader.counts().datagrams, 20'560U);
    EXPECT_EQ(first / 1'000'000'000, 1'476'819'540);  // 2016-10-18 19:39:00 UTC
    EXPECT_NEAR(static_cast<double>(last - first) * 1e-9, 59.99, 0.01);
    EXPECT_THAT(destinations, ::testing::ElementsAre("224.0.105.2:51002"));
}

}  // namespace
}  // namespace millpond::net
