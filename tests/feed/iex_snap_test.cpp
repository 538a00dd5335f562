#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/core/endian.hpp>
#include <millpond/feed/iex_snap.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

// The examples of DEEP SNAP 1.6, pages 6 to 10: channel 1, session 4B1881F0. In the example of data two lengths, 33 and
// 31, precede the directory entry of 31 bytes; the table beside it has one.
constexpr IexSession kSnapSession{.number = 0x4B18'81F0, .channel = 1};
constexpr std::string_view kSnapHead = "64 01 00 0480 01000000 f081184b";
constexpr std::string_view kSnapNumbers = "044f0e0000000000 62ac000000000000 c18f8bd94f1e0c17";
constexpr std::string_view kSnapEntry = "44 80 51b8088f4f1e0c17 5a49455854202020 64000000 241d0f0000000000 01";
constexpr std::string_view kSnapEnd = "0900 78 62ac000000000000";

std::string text_of(std::initializer_list<std::string_view> parts) {
    std::string text;
    for (const auto part : parts) text += std::string{part} + " ";
    return text;
}
/// A response: a start with the right length, the example's data in either form, and the example's end.
std::vector<std::byte> example(bool has_two_lengths) {
    auto bytes = from_hex("0900 73 0000000000000000");
    const auto data =
        from_hex(has_two_lengths ? text_of({"4c00", kSnapHead, "2300 0100", kSnapNumbers, "2100 1f00", kSnapEntry})
                                 : text_of({"4a00", kSnapHead, "2100 0100", kSnapNumbers, "1f00", kSnapEntry}));
    const auto end = from_hex(kSnapEnd);
    bytes.insert(bytes.end(), data.begin(), data.end());
    bytes.insert(bytes.end(), end.begin(), end.end());
    core::store_le(bytes.data() + 3, std::uint64_t{bytes.size()});
    return bytes;
}
IexSnapshot snapshot_of(std::uint64_t minimum = 468) {
    return IexSnapshot{iex_layout::kDeep, {.session = kSnapSession, .minimum = minimum}};
}

TEST(IexSnap, TheRequestIsThatOfTheSpecificationsExample) {
    const IexSnapRequest request{.token = "ATOKEN1", .session = kSnapSession, .minimum = 468};
    const auto bytes = request.bytes();
    std::string hex = "3900 72 41544f4b454e31";
    for (int i = 0; i < 33; ++i) hex += "20";
    hex += "01000000 f081184b d401000000000000";
    EXPECT_TRUE(std::ranges::equal(bytes, from_hex(hex)));
    const auto read = IexSnapRequest::read(bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->token, "ATOKEN1" + std::string(33, ' '));
    EXPECT_EQ(read->session, kSnapSession);
    EXPECT_EQ(read->minimum, 468U);
    EXPECT_FALSE(IexSnapRequest::read(std::span{bytes}.first(58)));
    auto other = bytes;
    other[2] = std::byte{'q'};
    EXPECT_FALSE(IexSnapRequest::read(other));
}

TEST(IexSnap, TheSpecificationsExampleOfDataIsReadWithOneLengthAndWithTwo) {
    for (const bool has_two_lengths : {true, false}) {
        const auto bytes = example(has_two_lengths);
        auto snapshot = snapshot_of();
        std::size_t messages = 0;
        const auto read = snapshot.receive(bytes, [&](std::span<const std::byte> message, std::uint64_t number) {
            ++messages;
            EXPECT_EQ(number, 44'130U);
            EXPECT_TRUE(std::ranges::equal(message, from_hex(kSnapEntry)));
        });
        EXPECT_EQ(snapshot.failure(), IexSnapFailure::none) << to_string(snapshot.failure());
        EXPECT_EQ(read, bytes.size());
        EXPECT_EQ(messages, 1U);
        EXPECT_TRUE(snapshot.is_complete());
        EXPECT_EQ(snapshot.number(), 44'130U);
    }
}

TEST(IexSnap, TheSpecificationsExampleOfAnErrorIsAnExceededQuota) {
    auto snapshot = snapshot_of();
    EXPECT_EQ(snapshot.receive(from_hex("0200 65 51"), [](auto, auto) {}), 0U);
    EXPECT_EQ(snapshot.failure(), IexSnapFailure::quota_exceeded);
}

// Worked out from the example of a start on page 8, whose response has 7,347,911 bytes.
TEST(IexSnap, AStartIsFollowedByAsManyBytesAsItSays) {
    auto snapshot = snapshot_of();
    const auto start = from_hex("0900 73 c71e700000000000");
    EXPECT_EQ(snapshot.receive(start, [](auto, auto) {}), start.size());
    EXPECT_EQ(snapshot.receive(from_hex(kSnapEnd), [](auto, auto) {}), 0U);
    EXPECT_EQ(snapshot.failure(), IexSnapFailure::bad_length);
}

TEST(IexSnap, WhatContradictsTheRequestOrItselfIsNamed) {
    const auto failure_of = [](std::vector<std::byte> bytes, std::uint64_t minimum = 0) {
        auto snapshot = snapshot_of(minimum);
        static_cast<void>(snapshot.receive(bytes, [](auto, auto) {}));
        EXPECT_FALSE(snapshot.is_complete());
        return snapshot.failure();
    };
    const auto changed = [](std::size_t at, int value) {
        auto bytes = example(false);
        bytes[at] = static_cast<std::byte>(value);
        return bytes;
    };
    using enum IexSnapFailure;
    constexpr std::size_t kData = iex_snap::kStartBytes;
    constexpr std::size_t kSegment = kData + iex_snap::kBodyAt;
    EXPECT_EQ(failure_of(example(false), 44'131), bad_number) << "older than requested";
    EXPECT_EQ(failure_of(changed(kSegment + iex_layout::kSequenceAt, 0x63)), bad_number) << "data above its end";
    EXPECT_EQ(failure_of(changed(kSegment + iex_layout::kProtocolAt, 5)), other_stream);
    EXPECT_EQ(failure_of(changed(kSegment + iex_layout::kChannelAt, 2)), other_stream);
    EXPECT_EQ(failure_of(changed(kSegment + iex_layout::kSessionAt, 2)), other_stream);
    EXPECT_EQ(failure_of(changed(kSegment + iex_layout::kCountAt, 2)), bad_data);
    EXPECT_EQ(failure_of(changed(kSegment, 2)), bad_data) << "another version";
    EXPECT_EQ(failure_of(changed(kSegment + iex_layout::kHeaderBytes, 0x1E)), bad_data) << "a block that is too short";
    EXPECT_EQ(failure_of(changed(3, 0x20)), bad_length);
    EXPECT_EQ(failure_of(changed(2, 'd')), no_start);
    EXPECT_EQ(failure_of(changed(kData + 2, '?')), bad_message);
    EXPECT_EQ(failure_of(from_hex("0000")), bad_message);
}

}  // namespace
}  // namespace millpond::feed
