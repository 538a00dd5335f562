#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/feed/iex_deep.hpp>
#include <millpond/feed/iex_gap_fill.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

// Of the examples of IEX Transport Protocol 1.26, page 11: DEEP, channel 1, session 42870000.
constexpr IexSession kExample{.number = 0x4287'0000, .channel = 1};
constexpr std::string_view kTwoRanges =
    "01 01 0480 01000000 00008742 02000000"
    "3430000000000000 3e30000000000000 d5dd000000000000 dfdd000000000000";
constexpr std::string_view kTestRequest = "01 01 0480 01000000 00008742 00000000";

template <class Bytes>
bool is_hex(const Bytes& bytes, std::string_view hex) {
    return std::ranges::equal(bytes, from_hex(hex));
}

TEST(IexGapFill, TheRequestsAreThoseOfTheSpecificationsExamples) {
    EXPECT_TRUE(is_hex(iex_gap_fill_request(iex_layout::kDeep, kExample,
                                            std::array<IexRange, 2>{{{12'340, 12'350}, {56'789, 56'799}}}),
                       kTwoRanges));
    EXPECT_TRUE(is_hex(iex_gap_fill_request(iex_layout::kDeep, kExample, std::array<IexRange, 0>{}), kTestRequest));
    using Format = Sequencing<IexDeepDecoder>;
    EXPECT_TRUE(is_hex(Format::test_request(kExample), kTestRequest));
    EXPECT_TRUE(is_hex(Format::request({.session = kExample, .first = 12'340, .count = 11}),
                       "01 01 0480 01000000 00008742 01000000 3430000000000000 3e30000000000000"));
}

TEST(IexGapFill, TheSpecificationsExamplesAreRead) {
    const auto bytes = from_hex(kTwoRanges);
    const auto request = IexGapFillRequest::read(bytes);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->protocol(), iex_layout::kDeep);
    EXPECT_EQ(request->session(), kExample);
    ASSERT_EQ(request->size(), 2U);
    EXPECT_EQ(request->range(0), (IexRange{12'340, 12'350}));
    EXPECT_EQ(request->range(1), (IexRange{56'789, 56'799}));
    const auto test = from_hex(kTestRequest);
    ASSERT_TRUE(IexGapFillRequest::read(test));
    EXPECT_EQ(IexGapFillRequest::read(test)->size(), 0U);
}

// Page 12; the example's message protocol is that of TOPS 1.5.
TEST(IexGapFill, TheSpecificationsAnswerToATestIsASegmentWithoutMessages) {
    const auto answer =
        from_hex("01 00 0280 01000000 00008742 0000 0000 8ca6210000000000 cac3000000000000 ec45c22096866d14");
    const auto packet = IexPacket::read(answer, 0x8002, [](auto) {});
    EXPECT_FALSE(packet.error);
    EXPECT_EQ(packet.session, kExample);
    EXPECT_EQ(packet.sequence, 50'122U);
    EXPECT_EQ(packet.messages, 0U);
}

// Pages 7 to 9: what a server ignores.
TEST(IexGapFill, RequestsThatAServerIgnoresAreNotRead) {
    const auto changed = [](std::size_t at, std::uint8_t value) {
        auto bytes = from_hex(kTwoRanges);
        bytes[at] = std::byte{value};
        return bytes;
    };
    EXPECT_FALSE(IexGapFillRequest::read(changed(0, 2))) << "another version";
    EXPECT_FALSE(IexGapFillRequest::read(changed(1, 2))) << "a request for bytes";
    EXPECT_FALSE(IexGapFillRequest::read(changed(12, 1))) << "fewer ranges than it has";
    EXPECT_FALSE(IexGapFillRequest::read(changed(12, 3))) << "more";
    EXPECT_FALSE(IexGapFillRequest::read(changed(15, 0xFF))) << "very many more";
    EXPECT_FALSE(IexGapFillRequest::read(changed(25, 0))) << "the last number is below the first";
    EXPECT_FALSE(IexGapFillRequest::read(changed(33, 0x10))) << "the second range begins before the first";
    EXPECT_FALSE(IexGapFillRequest::read(changed(31, 0x80))) << "a negative number";
    const auto bytes = from_hex(kTwoRanges);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(IexGapFillRequest::read(std::span{bytes}.first(size))) << size;
}

}  // namespace
}  // namespace millpond::feed
