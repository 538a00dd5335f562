#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/files/file_format_error.hpp>
#include <millpond/files/pcap_reader.hpp>

#include "tests/support/bytes.hpp"

namespace millpond::files {
namespace {

using test::Bytes;
using test::hex;
using test::operator+;
using test::text_of;
using ::testing::HasSubstr;

// Builds files with the definitions of the formats, independently of the reader.

Bytes text(std::string_view characters) {
    const auto bytes = test::bytes_of(characters);
    return {bytes.begin(), bytes.end()};
}

Bytes be16(std::size_t value) { return {std::byte(value >> 8 & 0xFF), std::byte(value & 0xFF)}; }

Bytes udp(const Bytes& payload) { return hex("1f90 c738") + be16(8 + payload.size()) + hex("0000") + payload; }

/// A packet from 10.1.2.3:8080 to 224.0.105.2:51000. options: whole 32-bit words.
Bytes ipv4(const Bytes& payload, const Bytes& options = {}, std::string_view flags = "4000",
           const char* protocol = "11") {
    const auto inner = udp(payload);
    return Bytes{std::byte(0x45 + options.size() / 4)} + hex("00") + be16(20 + options.size() + inner.size()) +
           hex("1f36") + hex(flags) + hex("40") + hex(protocol) + hex("0000 0a010203 e0006902") + options + inner;
}

/// A packet from 2001:db8::1 to ff15::2. extensions: headers before UDP, the first of them with protocol `next`.
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
    std::vector<CapturedDatagram> datagrams;  // their payloads are views into the given file, which must outlive this
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

/// The payloads as texts: that of joined fragments is valid only until the next call.
struct ReadTexts {
    std::vector<std::string> payloads;
    PcapReader::Counts counts;
};

ReadTexts read_texts(const Bytes& file) {
    PcapReader reader{file, "test.pcap"};
    ReadTexts all;
    CapturedDatagram datagram;
    while (reader.next(datagram)) all.payloads.emplace_back(text_of(datagram.payload));
    all.counts = reader.counts();
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

TEST(PcapReader, ReadsModifiedPcapWhoseFrameHeadersHave24Bytes) {
    for (const auto order : {std::endian::little, std::endian::big}) {
        const Format format{.order = order};
        const auto record = [&](const Bytes& bytes) {
            const auto frame = format.frame(bytes, 7, 8);
            const Bytes header{frame.begin(), frame.begin() + 16};
            return header + format.u32(2) + hex("0800 00 00") + bytes;  // interface, protocol, kind of packet
        };
        const auto version = order == std::endian::big ? hex("0002 0004") : hex("0200 0400");
        const auto file = format.u32(0xA1B2CD34) + version + format.u32(0) + format.u32(0) + format.u32(65535) +
                          format.u32(1) + record(ethernet(ipv4(text("one")))) + record(ethernet(ipv4(text("two"))));
        const auto all = read_texts(file);
        EXPECT_EQ(all.payloads, (std::vector<std::string>{"one", "two"}));
        EXPECT_EQ(read(file).datagrams[1].utc_ns, 7'000'008'000);
        const Bytes part{file.begin(), file.begin() + 24 + 20};
        EXPECT_THAT(read(part).error, HasSubstr("the file ends after 20 of the frame header's 24 bytes"));
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
        // a fragment header of a complete datagram
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
    bad_length[24] = std::byte{0xFF};  // UDP longer than the IP packet
    auto short_length = ipv4(text("x"));
    short_length[25] = std::byte{7};                                                   // UDP shorter than its header
    const auto file = format.header() + format.frame(ethernet(hex("0001"), "0806")) +  // ARP
                      format.frame(ethernet(ipv4(text("x"), {}, "4000", "06"))) +      // TCP
                      format.frame(ethernet(ipv6(text("x"), {}, "3a"), "86dd")) +      // ICMPv6
                      format.frame(ethernet(ipv4(text("12345678"), {}, "2000"))) +     // first fragment
                      format.frame(ethernet(ipv4(text("x"), {}, "0010"))) +            // last fragment
                      format.frame(ethernet(ipv4(text("x"), {}, "2000"))) +            // of 9 bytes
                      format.frame(ethernet(ipv6(text("12345678"), hex("1100 0001 12345678"), "2c"), "86dd")) +
                      format.frame(ethernet(bad_length)) + format.frame(ethernet(short_length)) +
                      format.frame(ethernet(ipv6(text("x")))) +  // version 6 under the type of version 4
                      format.frame({}) + format.frame(ethernet(ipv4(text("good"))));
    const auto all = read(file);
    ASSERT_EQ(all.datagrams.size(), 1U);
    EXPECT_EQ(text_of(all.datagrams[0].payload), "good");
    EXPECT_EQ(all.counts.frames, 12U);
    EXPECT_EQ(all.counts.datagrams, 1U);
    EXPECT_EQ(all.counts.not_ip, 1U);
    EXPECT_EQ(all.counts.not_udp, 2U);
    EXPECT_EQ(all.counts.fragments, 3U);
    EXPECT_EQ(all.counts.incomplete, 2U);
    EXPECT_EQ(all.counts.malformed, 5U);
    EXPECT_EQ(all.counts.cut, 0U);
    EXPECT_EQ(all.error, "");
}

/// A fragment of a UDP datagram with the payload, as an IPv4 packet. begin: a multiple of 8; end: bytes of UDP.
Bytes fragment(const Bytes& datagram, std::size_t begin, std::size_t end, const char* id = "1f36") {
    const bool more = end < datagram.size();
    const Bytes part{datagram.begin() + static_cast<std::ptrdiff_t>(begin),
                     datagram.begin() + static_cast<std::ptrdiff_t>(end)};
    return hex("4500") + be16(20 + part.size()) + hex(id) + be16(begin / 8 | (more ? 0x2000U : 0U)) +
           hex("40 11 0000 0a010203 e0006902") + part;
}

/// An Ethernet frame with an IPv4 packet of this protocol.
Bytes of_protocol(const char* protocol, const Bytes& payload) {
    return ethernet(hex("4500") + be16(20 + payload.size()) + hex("1f36 4000 40") + hex(protocol) +
                    hex("0000 0a010203 e0006902") + payload);
}

Bytes to_port(Bytes packet, std::size_t port) {
    const auto bytes = be16(port);
    std::copy(bytes.begin(), bytes.end(), packet.begin() + 22);
    return packet;
}

TEST(PcapReader, OpensEncapsulations) {
    const Format format;
    const auto inner = ethernet(ipv4(text("inside")));
    const auto tagged = ethernet(hex("0064 86dd") + ipv6(text("inside")), "8100");
    const auto vxlan = hex("08000000 00002a00") + inner;
    const auto geneve = hex("02006558 00002a00 0102030405060708") + tagged;  // with options of eight bytes
    struct Case {
        const char* what;
        Bytes frame;
        std::uint64_t PcapReader::Counts::* count;
    };
    using Counts = PcapReader::Counts;
    const std::vector<Case> cases{
        {"VXLAN", ethernet(to_port(ipv4(vxlan), 4'789)), &Counts::vxlan},
        {"Geneve", ethernet(to_port(ipv4(geneve), 6'081)), &Counts::geneve},
        {"Geneve of IP", ethernet(to_port(ipv4(hex("00000800 00002a00") + ipv4(text("inside"))), 6'081)),
         &Counts::geneve},
        {"GRE", of_protocol("2f", hex("0000 0800") + ipv4(text("inside"))), &Counts::gre},
        {"GRE with checksum, key and number",
         of_protocol("2f", hex("b000 86dd 00000000 00000007 00000001") + ipv6(text("inside"))), &Counts::gre},
        {"GRE of Ethernet", of_protocol("2f", hex("0000 6558") + tagged), &Counts::gre},
        {"ERSPAN I", of_protocol("2f", hex("0000 88be") + inner), &Counts::erspan},
        {"ERSPAN II", of_protocol("2f", hex("1000 88be 00000001 10080000 00000000") + inner), &Counts::erspan},
        {"ERSPAN III", of_protocol("2f", hex("1000 22eb 00000001 20140000 a3595bff 00000006") + inner),
         &Counts::erspan},
        {"ERSPAN III with a platform's header",
         of_protocol("2f", hex("1000 22eb 00000001 20140000 a3595bff 00000007 0102030405060708") + inner),
         &Counts::erspan},
        {"ERSPAN III of IP",
         of_protocol("2f", hex("1000 22eb 00000001 20140000 a3595bff 00000800") + ipv4(text("inside"))),
         &Counts::erspan},
        {"IP in IP", of_protocol("04", ipv4(text("inside"))), &Counts::ip_in_ip},
        {"IPv6 in IP", of_protocol("29", ipv6(text("inside"))), &Counts::ip_in_ip},
        {"MPLS in IP", of_protocol("89", hex("000641ff") + ipv4(text("inside"))), &Counts::mpls},
        {"MPLS with two labels", ethernet(hex("00064040 000641ff") + ipv4(text("inside")), "8847"), &Counts::mpls},
        {"tagged MPLS multicast", ethernet(hex("0064 8848 000641ff") + ipv6(text("inside")), "8100"), &Counts::mpls},
        {"time header, 64 bits", ethernet(hex("0001 0010 5ceeed57 384f59c8 0800") + ipv4(text("inside")), "d28b"),
         &Counts::time_header},
        {"time header, 48 bits", ethernet(hex("0001 0120 ed57 384f59c8 8100 0064 0800") + ipv4(text("inside")), "d28b"),
         &Counts::time_header},
    };
    for (const auto& each : cases) {
        const auto all = read_texts(format.header() + format.frame(each.frame));
        EXPECT_EQ(all.payloads, (std::vector<std::string>{"inside"})) << each.what;
        EXPECT_EQ(all.counts.*each.count, 1U) << each.what;
        EXPECT_EQ(all.counts.datagrams, 1U) << each.what;
    }
    const auto others = read_texts(format.header() + format.frame(ethernet(to_port(ipv4(text("feed")), 4'789))) +
                                   format.frame(ethernet(to_port(ipv4(vxlan), 4'790))));
    EXPECT_EQ(others.counts.datagrams, 2U) << "another payload on that port, and that payload on another one";
    EXPECT_EQ(others.counts.vxlan, 0U);
}

TEST(PcapReader, EncapsulationsThatAreNotOpenedAreCountedAndNeverPayload) {
    const Format format;
    auto nested = ipv4(text("too deep"));
    for (int i = 0; i < 8; ++i)
        nested = hex("4500") + be16(20 + nested.size()) + hex("1f36 4000 40 04 0000 0a010203 e0006902") + nested;
    const auto file =
        format.header() + format.frame(of_protocol("2f", hex("3001 880b 00000000") + Bytes(20))) +  // PPTP
        format.frame(of_protocol("2f", hex("0000 883e") + Bytes(20))) +                             // WCCP
        format.frame(of_protocol("2f", hex("1000 22eb 00000001 20140000 a3595bff 00001c00") + Bytes(40))) +
        format.frame(ethernet(hex("000641ff 00000000") + ethernet(ipv4(text("x"))), "8847")) +       // pseudowire
        format.frame(ethernet(hex("0002 0010 5ceeed57 384f59c8 0800") + ipv4(text("x")), "d28b")) +  // subtype 2
        format.frame(ethernet(nested));
    const auto all = read(file);
    EXPECT_EQ(all.counts.tunnels, 6U);
    EXPECT_EQ(all.counts.datagrams, 0U);
    EXPECT_EQ(all.counts.frames, 6U);
}

TEST(PcapReader, ACutInAnEncapsulationIsCountedAtEveryLength) {
    const Format format;
    const auto whole = of_protocol("2f", hex("1000 88be 00000001 10080000 00000000") + ethernet(ipv4(text("payload"))));
    for (std::size_t kept = 0; kept < whole.size(); ++kept) {
        const Bytes part{whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept)};
        EXPECT_EQ(read(format.header() + format.cut_frame(part, whole.size())).counts.cut, 1U) << kept;
    }
}

TEST(PcapReader, EachFrameWithAFragmentInATunnelIsCountedOnce) {
    const Format format;
    const auto datagram = udp(text("in two fragments"));
    const auto in_gre = [](const Bytes& packet) { return of_protocol("2f", hex("0000 0800") + packet); };
    const auto second = in_gre(fragment(datagram, 8, datagram.size()));
    const auto all =
        read_texts(format.header() + format.frame(in_gre(fragment(datagram, 0, 8))) + format.frame(second) +
                   format.cut_frame({second.begin(), second.end() - 1}, second.size()));
    EXPECT_EQ(all.payloads, (std::vector<std::string>{"in two fragments"}));
    EXPECT_EQ(all.counts.gre, 3U);
    EXPECT_EQ(all.counts.fragments, 1U);
    EXPECT_EQ(all.counts.cut, 1U);
}

TEST(PcapReader, OpensATunnelWhosePacketWasFragmented) {
    const Format format{.link = 101};
    const auto outer = ipv4(hex("08000000 00002a00") + ethernet(ipv4(text("a frame in a tunnel"))));
    Bytes datagram{outer.begin() + 20, outer.end()};
    datagram[2] = std::byte{0x12};
    datagram[3] = std::byte{0xB5};  // port 4789
    const auto all = read_texts(format.header() + format.frame(fragment(datagram, 0, 40)) +
                                format.frame(fragment(datagram, 40, datagram.size())));
    EXPECT_EQ(all.payloads, (std::vector<std::string>{"a frame in a tunnel"}));
    EXPECT_EQ(all.counts.vxlan, 1U);
    EXPECT_EQ(all.counts.fragments, 1U);
}

TEST(PcapReader, JoinsFragmentsInAnyOrder) {
    const Format format{.link = 101};
    const auto datagram = udp(text("a datagram of three fragments"));  // 37 bytes with its header
    std::vector<Bytes> parts{fragment(datagram, 0, 16), fragment(datagram, 16, 24), fragment(datagram, 24, 37)};
    std::ranges::sort(parts);
    do {
        const auto file = format.header() + format.frame(parts[0], 1) + format.frame(ipv4(text("between")), 2) +
                          format.frame(parts[1], 3) + format.frame(parts[0], 4) + format.frame(parts[2], 5);
        const auto all = read_texts(file);
        EXPECT_EQ(all.payloads, (std::vector<std::string>{"between", "a datagram of three fragments"}));
        EXPECT_EQ(all.counts.fragments, 3U) << "two waited and one came twice";
        EXPECT_EQ(all.counts.datagrams, 2U);
        EXPECT_EQ(all.counts.incomplete, 0U);
    } while (std::ranges::next_permutation(parts).found);
}

TEST(PcapReader, JoinsFragmentsOfIpv6AfterOtherExtensions) {
    const Format format{.link = 101};
    const auto datagram = hex("1100 010400000000") + udp(text("in two fragments"));  // destination options, UDP
    const auto part = [&](std::size_t begin, std::size_t end, const char* offset) {
        const Bytes bytes{datagram.begin() + static_cast<std::ptrdiff_t>(begin),
                          datagram.begin() + static_cast<std::ptrdiff_t>(end)};
        const auto headers = hex("2c00 010400000000") + hex("3c00") + hex(offset) + hex("00000007");
        return hex("60000000") + be16(headers.size() + bytes.size()) + hex("0040") +
               hex("20010db8000000000000000000000001") + hex("ff150000000000000000000000000002") + headers + bytes;
    };
    const auto all =
        read_texts(format.header() + format.frame(part(16, 32, "0010")) + format.frame(part(0, 16, "0001")));
    EXPECT_EQ(all.payloads, (std::vector<std::string>{"in two fragments"}));
    EXPECT_EQ(all.counts.fragments, 1U);
}

TEST(PcapReader, LateCopiesOfFragmentsOfJoinedDatagramsAreNotLostDatagrams) {
    const Format format{.link = 101};
    const auto datagram = udp(text("a datagram of three fragments"));
    const std::vector<Bytes> parts{format.frame(fragment(datagram, 0, 16)), format.frame(fragment(datagram, 16, 24)),
                                   format.frame(fragment(datagram, 24, 37))};
    const auto whole = parts[0] + parts[1] + parts[2];
    const auto part_again = format.frame(fragment(datagram, 8, 24));  // split differently on another path
    for (const auto& late : {parts[0], parts[1], parts[2], part_again, whole}) {
        const auto all = read_texts(format.header() + whole + late);
        EXPECT_EQ(all.payloads, (std::vector<std::string>{"a datagram of three fragments"}));
        EXPECT_EQ(all.counts.incomplete, 0U);
    }
    // The number of a datagram is used again: its fragments are of the new one, but for those that are the same.
    auto next = datagram;
    next[8] = next[17] = next[36] = std::byte{'X'};
    const auto both = whole + parts[1] + format.frame(fragment(next, 0, 16)) + format.frame(fragment(next, 16, 24)) +
                      format.frame(fragment(next, 24, 37));
    const auto all = read_texts(format.header() + both);
    EXPECT_EQ(all.payloads,
              (std::vector<std::string>{"a datagram of three fragments", "X datagraX of three fragmentX"}));
    EXPECT_EQ(all.counts.incomplete, 0U);
}

TEST(PcapReader, IncompleteDatagramsAreCounted) {
    const Format format{.link = 101};
    const auto datagram = udp(text("a datagram of three fragments"));
    auto other = datagram;
    other[20] = std::byte{'X'};
    const auto first = format.frame(fragment(datagram, 0, 16));
    const auto last = format.frame(fragment(datagram, 24, 37));
    struct Case {
        const char* what;
        Bytes frames;
        std::uint64_t incomplete;
        std::uint64_t datagrams;
    };
    auto many = first;
    for (int i = 0; i < 64; ++i) {
        const std::string id = std::string{"20"} + "0123456789abcdef"[i / 16] + "0123456789abcdef"[i % 16];
        many = many + format.frame(fragment(datagram, 0, 16, id.c_str()));
    }
    for (const auto& each : {
             Case{"the end of the file", first + last, 1, 0},
             Case{"30 s later", first + format.frame(fragment(datagram, 16, 37), 32), 2, 0},
             Case{"within 30 s", first + format.frame(fragment(datagram, 16, 37), 31), 0, 1},
             Case{"another overlap", first + format.frame(fragment(other, 8, 24)) + last, 2, 0},
             Case{"another end", last + format.frame(fragment(udp(Bytes(16)), 16, 24)), 1, 0},
             Case{"bytes after the end", last + format.frame(fragment(udp(Bytes(64)), 32, 48)), 1, 0},
             Case{"another id", first + format.frame(fragment(datagram, 16, 37, "1f37")), 2, 0},
             Case{"too many", many + format.frame(fragment(datagram, 16, 37)), 65 + 1, 0},
             Case{"too long", format.frame(fragment(Bytes(65'544 + 16), 65'528, 65'544)), 1, 0},
         }) {
        const auto all = read_texts(format.header() + each.frames);
        EXPECT_EQ(all.counts.incomplete, each.incomplete) << each.what;
        EXPECT_EQ(all.counts.datagrams, each.datagrams) << each.what;
        EXPECT_EQ(all.counts.frames, all.counts.datagrams + all.counts.fragments) << each.what;
    }
}

TEST(PcapReader, ACutFragmentIsCountedAsCut) {
    const Format format{.link = 101};
    const auto datagram = udp(text("a datagram of three fragments"));
    auto part = fragment(datagram, 0, 16);
    const auto whole = part.size();
    part.resize(whole - 1);
    const auto all =
        read_texts(format.header() + format.cut_frame(part, whole) + format.frame(fragment(datagram, 16, 37)));
    EXPECT_EQ(all.counts.cut, 1U);
    EXPECT_EQ(all.counts.incomplete, 1U);
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

TEST(PcapReader, AFileThatEndsTooEarlyIsReportedWithTheOffsetAtEveryLength) {
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
    EXPECT_THAT(all.error, HasSubstr("frame 2 at byte 86: the frame claims 2130706475 bytes, the maximum is 262144"));
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
}  // namespace millpond::files
