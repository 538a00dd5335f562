#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/fix/detail/delimiter_scan.hpp>

namespace millpond::fix::detail {
namespace {

class DelimiterScan : public testing::TestWithParam<InstructionSet> {
protected:
    void SetUp() override {
        if (!supported(GetParam())) GTEST_SKIP() << "this processor has not the instruction set";
    }
};

TEST_P(DelimiterScan, GivesWhatTheScalarCodeGivesForAnyBytesSizeAndAlignment) {
    std::mt19937 random{7};
    std::string memory(kScanBytes + 128, '\0');
    DelimiterMasks expected;
    DelimiterMasks found;
    DelimiterPlaces places;
    for (int round = 0; round < 3000; ++round) {
        const auto alignment = random() % 64;
        const auto size = round < 600 ? static_cast<std::size_t>(round) : random() % (kScanBytes + 1);
        for (std::size_t i = 0; i < size; ++i) {
            const auto kind = random() % 8;
            memory[alignment + i] = kind == 0 ? '\x01' : kind == 1 ? '=' : static_cast<char>(random());
        }
        const auto* bytes = memory.data() + alignment;
        const auto sum = scan_function(InstructionSet::scalar)(bytes, size, expected);
        ASSERT_EQ(scan_function(GetParam())(bytes, size, found), sum) << size;
        ASSERT_EQ(sum_function(GetParam())(bytes, size), sum) << size;
        const auto listing = list_function(GetParam())(bytes, size, places);
        ASSERT_EQ(listing.sum, sum) << size;
        ASSERT_EQ(listing.count, std::count(bytes, bytes + size, '\x01')) << size;
        const auto counted = count_function(GetParam())(bytes, size);
        ASSERT_EQ(counted.sum, sum) << size;
        ASSERT_EQ(counted.count, listing.count) << size;
        for (std::size_t i = 0, at = 0; i < listing.count; ++i, ++at) {
            while (bytes[at] != '\x01') ++at;
            ASSERT_EQ(places[i], at) << size;
        }
        const auto words = (size + 63) / 64;
        for (std::size_t word = 0; word < words; ++word) {
            ASSERT_EQ(found.delimiters[word], expected.delimiters[word]) << size << " word " << word;
            ASSERT_EQ(found.equals[word], expected.equals[word]) << size << " word " << word;
        }
    }
}

TEST_P(DelimiterScan, ComparesAsTheScalarCodeDoes) {
    std::mt19937 random{9};
    const auto scalar = compare_function(InstructionSet::scalar);
    int same = 0;
    for (int round = 0; round < 6000; ++round) {
        const auto size = random() % 300;
        std::vector<char> text(size);
        std::vector<char> mask(size);
        for (std::size_t i = 0; i < size; ++i) {
            text[i] = random() % 6 == 0 ? '\x01' : static_cast<char>(random());
            mask[i] = text[i] == '\x01' || random() % 2 == 0 ? '\xFF' : '\0';
        }
        auto bytes = text;
        for (std::size_t i = 0; i < size; ++i) {
            if (mask[i] == 0) bytes[i] = static_cast<char>(2 + random() % 254);
        }
        // Half of the messages have one wrong byte, in a position that matters or in another.
        const bool spoil = size != 0 && random() % 2 == 0;
        if (spoil) {
            const auto at = random() % size;
            const auto other = static_cast<unsigned char>(1 + random() % 255);
            bytes[at] = mask[at] == 0 ? '\x01' : static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ other);
        }
        const auto expected = scalar(bytes.data(), size, text.data(), mask.data());
        const auto found = compare_function(GetParam())(bytes.data(), size, text.data(), mask.data());
        ASSERT_EQ(expected.same, !spoil) << size;
        ASSERT_EQ(found.same, expected.same) << size;
        ASSERT_EQ(found.sum, expected.sum) << size;
        same += found.same ? 1 : 0;
    }
    EXPECT_GT(same, 2000);
}

TEST_P(DelimiterScan, ReadsNoByteBeyondTheOnesGiven) {
    // A heap block of exactly this size, so that AddressSanitizer detects reads outside.
    DelimiterMasks masks;
    for (std::size_t size = 0; size < 300; ++size) {
        const std::vector<char> bytes(size, '=');
        EXPECT_EQ(scan_function(GetParam())(bytes.data(), size, masks), size * '=');
        EXPECT_EQ(sum_function(GetParam())(bytes.data(), size), size * '=');
    }
}

TEST_P(DelimiterScan, BytesAbove127CountAsUnsigned) {
    const std::string bytes(100, '\xFF');
    DelimiterMasks masks;
    EXPECT_EQ(scan_function(GetParam())(bytes.data(), bytes.size(), masks), 25'500U);
    EXPECT_EQ(sum_function(GetParam())(bytes.data(), bytes.size()), 25'500U);
    EXPECT_EQ(masks.delimiters[0], 0U);
}

std::string set_name(const testing::TestParamInfo<InstructionSet>& set) {
    constexpr std::array kNames{"scalar", "avx2", "avx512", "avx512_vbmi2"};
    return kNames[static_cast<std::size_t>(set.param)];
}

INSTANTIATE_TEST_SUITE_P(Every, DelimiterScan,
                         testing::Values(InstructionSet::scalar, InstructionSet::avx2, InstructionSet::avx512,
                                         InstructionSet::avx512_vbmi2),
                         set_name);

TEST(DelimiterScanChoice, TheBestSupportedIsSupported) { EXPECT_TRUE(supported(best_supported())); }

}  // namespace
}  // namespace millpond::fix::detail
