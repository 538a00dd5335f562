#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <millpond/files/line_reader.hpp>

#include "tests/support/scratch_file.hpp"

namespace millpond::files {
namespace {

using test::scratch_name;
using test::ScratchFile;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Outcome = LineReader::Outcome;

struct Read {
    std::vector<std::string> lines;  ///< "(too long)" for a line that is skipped.
    std::uint64_t bytes{0};
};

Read read(const std::string& text) {
    const ScratchFile file{scratch_name("lines"), text};
    LineReader reader{file.path()};
    Read all;
    std::string_view line;
    for (auto outcome = reader.next(line); outcome != Outcome::end; outcome = reader.next(line)) {
        if (outcome == Outcome::line) all.lines.emplace_back(line);
        if (outcome == Outcome::too_long) all.lines.emplace_back("(too long)");
    }
    EXPECT_EQ(reader.next(line), Outcome::end);
    EXPECT_EQ(reader.error(), "");
    all.bytes = reader.offset();
    return all;
}

TEST(LineReader, LinesComeWithoutTheirEndsAndTheLastMayHaveNone) {
    EXPECT_THAT(read("").lines, IsEmpty());
    EXPECT_THAT(read("\n").lines, ElementsAre(""));
    EXPECT_THAT(read("a\n\nb\r\nc\rd\r").lines, ElementsAre("a", "", "b", "c\rd"));
    EXPECT_EQ(read("a\n\nb\r\nc\rd\r").bytes, 10U);
    EXPECT_THROW(LineReader{"/nonexistent/file"}, std::system_error);
    EXPECT_THROW(LineReader{::testing::TempDir()}, std::system_error);
}

TEST(LineReader, ALineOfAnyLengthIsCompleteOrSkippedAndTheOthersStay) {
    constexpr std::size_t kMiB = std::size_t{1} << 20;
    for (const std::size_t size : {kMiB - 1, kMiB, kMiB + 1, 2 * kMiB, 2 * kMiB + 7, 3 * kMiB, LineReader::kMaxLine - 1,
                                   LineReader::kMaxLine, LineReader::kMaxLine + 1, 5 * kMiB, 9 * kMiB}) {
        const std::string body(size, 'x');
        for (const bool ended : {false, true}) {
            std::string text{"first\n"};
            text.append(body).append(ended ? "\nlast" : "");
            const auto all = read(text);
            const bool fits = size <= LineReader::kMaxLine;
            ASSERT_EQ(all.lines.size(), ended ? 3U : 2U) << size;
            EXPECT_EQ(all.lines[0], "first");
            EXPECT_TRUE(all.lines[1] == (fits ? body : std::string{"(too long)"})) << size;
            if (ended) {
                EXPECT_EQ(all.lines[2], "last");
            }
            EXPECT_EQ(all.bytes, text.size());
        }
    }
}

TEST(LineReader, ManyLinesAcrossTheBufferAreThoseOfTheFile) {
    std::string text;
    std::vector<std::string> expected;
    for (std::size_t i = 0; text.size() < 5'000'000; ++i) {
        expected.push_back(std::to_string(i));
        expected.back().append(i * 7'919 % 3'000, '.');
        text.append(expected.back()).append(1, '\n');
    }
    const auto all = read(text);
    EXPECT_TRUE(all.lines == expected);
    EXPECT_EQ(all.bytes, text.size());
}

}  // namespace
}  // namespace millpond::files
