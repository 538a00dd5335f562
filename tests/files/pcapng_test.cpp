#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/files/pcap_reader.hpp>

#include "tests/support/bytes.hpp"

namespace millpond::files {
namespace {

using test::Bytes;
using test::operator+;
using test::text_of;
using ::testing::HasSubstr;

Bytes bytes_of(std::string_view characters) {
    const auto bytes = test::bytes_of(characters);
    return {bytes.begin(), bytes.end()};
}

Bytes big16(std::size_t value) { return {std::byte(value >> 8 & 0xFF), std::byte(value & 0xFF)}; }

/// An Ethernet frame of a datagram from 10.1.2.3:8080 to 224.0.105.2:51000. trailer: the bytes that a packet broker
/// appends.
Bytes frame(std::string_view payload, std::size_t trailer = 0) {
    using namespace std::string_view_literals;
    return bytes_of("\x01\0\x5e\0\x69\x02\0\x35\x1a\x71\x9c\xfc\x08\0\x45\0"sv) + big16(28 + payload.size()) +
           bytes_of("\x1f\x36\x40\0\x40\x11\0\0\x0a\x01\x02\x03\xe0\0\x69\x02\x1f\x90\xc7\x38"sv) +
           big16(8 + payload.size()) + Bytes(2) + bytes_of(payload) + Bytes(trailer, std::byte{0xEE});
}

/// Builds blocks with the definition of the format, independently of the reader.
struct Format {
    std::endian order{std::endian::little};

    template <class Number>
    [[nodiscard]] Bytes number(Number value) const {
        Bytes bytes(sizeof value);
        order == std::endian::big ? core::store_be(bytes.data(), value) : core::store_le(bytes.data(), value);
        return bytes;
    }
    [[nodiscard]] Bytes u16(std::uint16_t value) const { return number(value); }
    [[nodiscard]] Bytes u32(std::size_t value) const { return number(static_cast<std::uint32_t>(value)); }
    [[nodiscard]] Bytes block(std::uint32_t type, Bytes body) const {
        body.resize((body.size() + 3) / 4 * 4);
        return u32(type) + u32(body.size() + 12) + body + u32(body.size() + 12);
    }
    [[nodiscard]] Bytes section() const {
        return block(0x0A0D0D0A, u32(0x1A2B3C4D) + u16(1) + u16(0) + Bytes(8, std::byte{0xFF}));
    }
    [[nodiscard]] Bytes interface(const Bytes& options = {}, std::uint16_t link = 1) const {
        return block(1, u16(link) + u16(0) + u32(262'144) + options);
    }
    [[nodiscard]] Bytes resolution(std::uint8_t value) const {
        return u16(9) + u16(1) + Bytes{std::byte{value}} + Bytes(3);
    }
    [[nodiscard]] Bytes offset(std::int64_t seconds) const {
        return u16(14) + u16(8) + number(static_cast<std::uint64_t>(seconds));
    }
    [[nodiscard]] Bytes packet(const Bytes& bytes, std::uint64_t time = 0, std::uint32_t interface = 0,
                               std::size_t original = 0) const {
        auto padded = bytes;
        padded.resize((padded.size() + 3) / 4 * 4);
        const auto options = u16(2) + u16(4) + u32(0) + u16(0) + u16(0);  // epb_flags, end of options
        return block(6, u32(interface) + u32(time >> 32) + u32(time & 0xFFFFFFFF) + u32(bytes.size()) +
                            u32(original == 0 ? bytes.size() : original) + padded + options);
    }
};

struct Read {
    std::vector<std::string> payloads;
    std::vector<std::int64_t> times;
    PcapReader::Counts counts;
    std::string error;
};

Read read(const Bytes& file) {
    PcapReader reader{file, "test.pcapng"};
    Read all;
    CapturedDatagram datagram;
    while (reader.next(datagram)) {
        all.payloads.emplace_back(text_of(datagram.payload));
        all.times.push_back(datagram.utc_ns);
    }
    all.counts = reader.counts();
    all.error = reader.error();
    return all;
}

using Texts = std::vector<std::string>;
using Times = std::vector<std::int64_t>;

TEST(Pcapng, ReadsBothByteOrdersAndEveryResolutionOfTime) {
    for (const auto order : {std::endian::little, std::endian::big}) {
        const Format f{order};
        const auto file = f.section() + f.interface() + f.interface(f.resolution(9)) + f.interface(f.resolution(0x8A)) +
                          f.interface(f.resolution(9) + f.offset(-3)) +
                          f.packet(frame("micro"), 1'476'819'540'421'924) +
                          f.packet(frame("nano"), 1'476'819'540'000'000'123, 1) +
                          f.packet(frame("binary"), 1024 * 7 + 512, 2) + f.packet(frame("offset"), 5'000'000'001, 3);
        const auto all = read(file);
        EXPECT_EQ(all.payloads, (Texts{"micro", "nano", "binary", "offset"}));
        EXPECT_EQ(all.times,
                  (Times{1'476'819'540'421'924'000, 1'476'819'540'000'000'123, 7'500'000'000, 2'000'000'001}));
        EXPECT_EQ(all.error, "");
        EXPECT_EQ(all.counts.datagrams, 4U);
    }
}

TEST(Pcapng, APacketBrokersTrailerIsNotPayload) {
    const Format f;
    const auto all = read(f.section() + f.interface(f.resolution(9)) + f.packet(frame("quote", 16), 9));
    EXPECT_EQ(all.payloads, (Texts{"quote"}));
    EXPECT_EQ(all.times, (Times{9}));
}

TEST(Pcapng, OtherBlocksAndInterfacesArePassedOver) {
    const Format f;
    // A block of decryption secrets, longer than the reader's buffer; an interface of another kind of link.
    const auto file = f.section() + f.block(10, Bytes(5 << 20)) + f.interface() + f.interface({}, 220) +
                      f.packet(frame("one"), 1) + f.packet(frame("usb"), 2, 1) + f.block(5, Bytes(20)) +
                      f.block(3, f.u32(frame("simple").size()) + frame("simple")) + f.packet(frame("two"), 3);
    const auto all = read(file);
    EXPECT_EQ(all.payloads, (Texts{"one", "simple", "two"}));
    EXPECT_EQ(all.times, (Times{1'000, 2'000, 3'000}));
    EXPECT_EQ(all.counts.not_ip, 1U);
    EXPECT_EQ(all.error, "");
}

TEST(Pcapng, ASectionHasItsOwnByteOrderAndInterfaces) {
    const Format little;
    const Format big{std::endian::big};
    const auto first = little.section() + little.interface() + little.packet(frame("a"), 1);
    const auto all = read(first + big.section() + big.interface(big.resolution(9)) + big.packet(frame("b"), 2));
    EXPECT_EQ(all.payloads, (Texts{"a", "b"}));
    EXPECT_EQ(all.times, (Times{1'000, 2}));
    EXPECT_THAT(read(first + big.section() + big.packet(frame("b"), 2)).error,
                HasSubstr("the frame is of interface 0, the section has 0"));
}

TEST(Pcapng, EveryCutKeepsTheDatagramsBeforeIt) {
    const Format f;
    const auto begin = f.section() + f.interface() + f.packet(frame("one"), 1);
    const auto file = begin + f.packet(frame("two"), 2);
    for (std::size_t bytes = 28; bytes < file.size(); ++bytes) {
        const auto all = read({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(bytes)});
        ASSERT_EQ(all.payloads.size(), bytes >= begin.size() ? 1U : 0U) << bytes;
        const bool whole = bytes == 28 || bytes == f.section().size() + f.interface().size() || bytes == begin.size();
        ASSERT_EQ(all.error.empty(), whole) << bytes << ": " << all.error;
    }
}

TEST(Pcapng, DamageWithinABlockLosesOnlyThatBlock) {
    const Format f;
    const auto begin = f.section() + f.interface() + f.packet(frame("one"), 1);
    auto lengths = f.packet(frame("bad"), 2);
    lengths.back() = std::byte{1};
    const std::vector<Bytes> damaged{lengths,
                                     f.packet(frame("bad"), 2, 7),
                                     f.packet(frame("bad"), ~0ULL),
                                     f.block(6, f.u32(0) + f.u32(0) + f.u32(0) + f.u32(5) + f.u32(5)),
                                     f.block(6, {}),
                                     f.block(3, {})};
    for (std::size_t i = 0; i < damaged.size(); ++i) {
        const auto all = read(begin + damaged[i] + f.packet(frame("two"), 3));
        EXPECT_EQ(all.payloads, (Texts{"one", "two"})) << i;
        EXPECT_EQ(all.counts.malformed, 1U) << i;
        EXPECT_EQ(all.counts.frames, 3U) << i;
        EXPECT_THAT(all.error, HasSubstr("frame 2 at byte ")) << i;
    }
    // An interface without a time keeps its place among the others.
    const auto all = read(f.section() + f.interface(f.resolution(20)) + f.interface() + f.packet(frame("bad"), 1, 0) +
                          f.packet(frame("good"), 1, 1));
    EXPECT_EQ(all.payloads, Texts{"good"});
    EXPECT_THAT(all.error, HasSubstr("finer than 64 bits"));
}

TEST(Pcapng, DamageIsAnErrorWithItsPlaceAndBound) {
    const Format f;
    const auto begin = f.section() + f.interface();
    const auto wrong = [&](const Bytes& block) { return read(begin + block).error; };
    EXPECT_THAT(wrong(f.u32(6) + f.u32(13) + f.u32(0)), HasSubstr("frame 1 at byte 48: the block claims 13 bytes"));
    EXPECT_THAT(wrong(f.u32(6) + f.u32(0xFFFFFFFC) + f.u32(0)), HasSubstr("the block claims 4294967292 bytes"));
    EXPECT_THAT(wrong(f.u32(6) + f.u32(12) + f.u32(16)), HasSubstr("two lengths are 12 and 16"));
    EXPECT_THAT(wrong(f.block(6, f.u32(0) + f.u32(0) + f.u32(0) + f.u32(5) + f.u32(5))),
                HasSubstr("the frame claims 5 bytes, the maximum is 0"));
    EXPECT_THAT(wrong(f.interface(f.resolution(20)) + f.packet(frame("x"))), HasSubstr("finer than 64 bits"));
    EXPECT_THAT(wrong(f.interface(f.resolution(0)) + f.packet(frame("x"), ~0ULL, 1)),
                HasSubstr("outside of 1970 to 2262"));
    EXPECT_THAT(wrong(f.interface(f.offset(-9)) + f.packet(frame("x"), 1, 1)), HasSubstr("outside of 1970 to 2262"));
    auto no_order = f.section();
    no_order[8] = std::byte{0};
    EXPECT_THAT(read(no_order).error, HasSubstr("has no valid byte order mark"));
}

}  // namespace
}  // namespace millpond::files
