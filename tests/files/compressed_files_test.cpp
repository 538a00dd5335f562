#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/files/file_begin.hpp>
#include <millpond/files/file_format_error.hpp>
#include <millpond/files/itch_file_reader.hpp>
#include <millpond/files/pcap_reader.hpp>

#include "tests/support/scratch_file.hpp"

namespace millpond::files {
namespace {

using test::scratch_name;
using test::ScratchFile;
using ::testing::HasSubstr;

std::string hex(std::string_view digits) {
    std::string bytes;
    for (std::size_t i = 0; i < digits.size(); i += 2)
        bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
    return bytes;
}

/// 10,000 ITCH messages, each 'S', ten zeros and 'Q' after its length. Compressed by gzip 1.12 (gzip -9n), and by
/// libzstd at level 19 with a checksum.
const std::string kGzip = hex(
    "1f8b0800000000000203edc7311100000804a00f6039cffe5ddccce0001ba9c9e99899999999999999999999999999999999999999999999"
    "9999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999"
    "9999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999"
    "9999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999"
    "9999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999"
    "999999999999999999999999999999999999999999999999bddc0219aa7985e0220200");
const std::string kZstd =
    hex("28b52ffda4e0220200b4000070000c5300000000000000000000510100efff914f2545000008000100dc820742f00a50ff");
constexpr std::uint64_t kMessages = 10'000;

struct Read {
    std::uint64_t messages{0};
    std::uint64_t offset{0};
    std::string error;
};

Read read(const std::string& bytes) {
    const ScratchFile file{scratch_name("compressed"), bytes};
    ItchFileReader reader{file.path()};
    std::span<const std::byte> message;
    Read all;
    for (; reader.next(message); ++all.messages) {
        EXPECT_EQ(message.size(), 12U);
        EXPECT_EQ(static_cast<char>(message.front()), 'S');
        EXPECT_EQ(static_cast<char>(message.back()), 'Q');
    }
    all.offset = reader.offset();
    all.error = reader.error();
    return all;
}

TEST(CompressedFiles, AreReadLikePlainOnesAndCountCompressedBytes) {
    for (const auto& packed : {kGzip, kZstd}) {
        const auto all = read(packed);
        EXPECT_EQ(all.messages, kMessages);
        EXPECT_EQ(all.error, "");
        EXPECT_EQ(all.offset, packed.size());
    }
}

TEST(CompressedFiles, SeveralMembersAreOneFile) {
    EXPECT_EQ(read(kGzip + kGzip + kGzip).messages, 3 * kMessages);
    EXPECT_EQ(read(kZstd + kZstd).messages, 2 * kMessages);
    const auto padded = read(kGzip + std::string(1'000, '\0'));
    EXPECT_EQ(padded.messages, kMessages);
    EXPECT_EQ(padded.error, "");
}

TEST(CompressedFiles, EveryCutKeepsTheMessagesBeforeItAndNamesTheCompressedByte) {
    for (const auto& packed : {kGzip, kZstd}) {
        for (std::size_t bytes = 4; bytes < packed.size(); ++bytes) {
            const auto all = read(packed.substr(0, bytes));
            ASSERT_LE(all.messages, kMessages);
            ASSERT_THAT(all.error, HasSubstr("compressed byte " + std::to_string(bytes) +
                                             ": the file ends within its compressed data"));
        }
        // Only a checksum is missing: every message is present.
        EXPECT_EQ(read(packed.substr(0, packed.size() - 1)).messages, kMessages);
        const auto second = read(packed + packed.substr(0, packed.size() / 2));
        EXPECT_GE(second.messages, kMessages);
        EXPECT_THAT(second.error, HasSubstr("ends within its compressed data"));
    }
}

TEST(CompressedFiles, ChangedBytesAreAnErrorWithTheLibrarysReason) {
    for (const auto& packed : {kGzip, kZstd}) {
        auto damaged = packed;
        damaged[packed.size() - (packed == kGzip ? 6 : 2)] ^= 0x10;  // of the checksum
        const auto all = read(damaged);
        EXPECT_LE(all.messages, kMessages);
        EXPECT_THAT(all.error, HasSubstr("compressed byte "));
        EXPECT_THAT(all.error, HasSubstr("check"));
    }
    EXPECT_THAT(read(kGzip + "more").error, HasSubstr("compressed byte "));
    EXPECT_THAT(read(kGzip + "more than a header").error, HasSubstr("incorrect header check"));
}

TEST(CompressedFiles, TheFirstBytesAreThoseOfTheContents) {
    const std::string expected = std::string{"\0\14S", 3} + std::string(5, '\0');
    for (const auto& packed : {kGzip, kZstd}) {
        const ScratchFile file{scratch_name("begin"), packed};
        const auto begin = file_begin(file.path(), expected.size());
        EXPECT_EQ((std::string{reinterpret_cast<const char*>(begin.data()), begin.size()}), expected);
        const ScratchFile cut{scratch_name("cut"), packed.substr(0, 6)};
        EXPECT_THROW((void)file_begin(cut.path(), 8), FileFormatError);
        EXPECT_THROW((PcapReader{cut.path()}), FileFormatError);
    }
    const ScratchFile plain{scratch_name("short"), "abc"};
    EXPECT_EQ(file_begin(plain.path(), 8).size(), 3U);
}

}  // namespace
}  // namespace millpond::files
