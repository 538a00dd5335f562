#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/files/itch_file_reader.hpp>

#include "tests/support/bytes.hpp"

namespace millpond::files {
namespace {

using namespace std::string_view_literals;
using test::bytes_of;
using test::text_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Read {
    std::vector<std::string> messages;
    std::string error;
    bool complete;
};

Read read(std::string_view file) {
    ItchFileReader reader{bytes_of(file), "test.itch"};
    Read all;
    std::span<const std::byte> message;
    while (reader.next(message)) all.messages.push_back(text_of(message));
    all.error = reader.error();
    all.complete = reader.complete();
    return all;
}

TEST(ItchFileReader, ReadsEachMessageBehindItsLength) {
    const auto all = read("\0\5hello\0\1!\0\2ok"sv);
    EXPECT_THAT(all.messages, ElementsAre("hello", "!", "ok"));
    EXPECT_EQ(all.error, "");
    EXPECT_FALSE(all.complete);
}

TEST(ItchFileReader, ReportsTheOffsetOfEachMessage) {
    for (const std::size_t at_once : {1U, 2U, 8U}) {
        ItchFileReader reader{bytes_of("\0\5hello\0\1!\0\2ok"sv), "test.itch"};
        std::vector<std::span<const std::byte>> messages(at_once);
        std::vector<std::uint64_t> places;
        while (const auto count = reader.next(std::span{messages})) {
            for (const auto message : std::span{messages}.first(count)) places.push_back(reader.byte_of(message));
        }
        EXPECT_THAT(places, ElementsAre(0U, 7U, 10U));
    }
}

TEST(ItchFileReader, ALengthOfZeroEndsTheSession) {
    const auto all = read("\0\5hello\0\0"sv);
    EXPECT_THAT(all.messages, ElementsAre("hello"));
    EXPECT_EQ(all.error, "");
    EXPECT_TRUE(all.complete);
}

TEST(ItchFileReader, AMessageOfNoBytesInTheMiddleIsDamage) {
    for (const auto file : {"\0\5hello\0\0\0\5never"sv, "\0\5hello\0\0\0"sv, "\0\5hello\0\0\0\0"sv}) {
        const auto all = read(file);
        EXPECT_THAT(all.messages, ElementsAre("hello"));
        EXPECT_EQ(all.error, "'test.itch', message 2 at byte 7: a message of no bytes, and more after it");
        EXPECT_FALSE(all.complete);
    }
}

TEST(ItchFileReader, AFileThatEndsTooEarlyIsReportedWithTheOffsetAtEveryLength) {
    const auto file = "\0\3one\0\5third"sv;
    for (std::size_t length = 0; length < file.size(); ++length) {
        const auto all = read(file.substr(0, length));
        EXPECT_EQ(all.messages.size(), length < 5 ? 0U : 1U);
        if (length == 0 || length == 5) {
            EXPECT_EQ(all.error, "");
        } else if (length == 1 || length == 6) {
            EXPECT_THAT(all.error, HasSubstr("the file ends within the message's length"));
        } else if (length < 5) {
            EXPECT_EQ(all.error, "'test.itch', message 1 at byte 0: the file ends after " + std::to_string(length - 2) +
                                     " of the message's 3 bytes");
        } else {
            EXPECT_EQ(all.error, "'test.itch', message 2 at byte 5: the file ends after " + std::to_string(length - 7) +
                                     " of the message's 5 bytes");
        }
    }
}

TEST(ItchFileReader, SeveralMessagesAtOnceAreThoseThatComeOneByOne) {
    const auto file = "\0\5hello\0\1!\0\2ok\0\3end\0\0behind"sv;
    for (std::size_t size = 0; size <= file.size(); ++size) {
        const auto expected = read(file.substr(0, size));
        for (const auto at_once : {1U, 2U, 3U, 10U}) {
            ItchFileReader reader{bytes_of(file.substr(0, size)), "test.itch"};
            std::vector<std::span<const std::byte>> batch(at_once);
            std::vector<std::string> messages;
            while (const auto count = reader.next(batch)) {
                for (const auto message : std::span{batch}.first(count)) messages.push_back(text_of(message));
                EXPECT_EQ(reader.messages(), messages.size());
            }
            EXPECT_EQ(messages, expected.messages);
            EXPECT_EQ(reader.error(), expected.error);
            EXPECT_EQ(reader.complete(), expected.complete);
        }
    }
}

TEST(ItchFileReader, ReadsAPipeThatIsLongerThanItsBuffer) {
    std::string file;
    std::size_t bytes = 0;
    for (std::size_t i = 0; file.size() < (std::size_t{5} << 20); ++i) {
        const std::size_t size = 1 + i * 7919 % 60'000;
        file += {static_cast<char>(size >> 8), static_cast<char>(size & 0xFF)};
        file.append(size, static_cast<char>('a' + i % 26));
        bytes += size;
    }
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    const core::Descriptor read_end{ends[0]};
    std::thread writer{[&file, end = ends[1]] {
        const core::Descriptor write_end{end};
        for (std::size_t at = 0; at < file.size();) {
            const auto written =
                ::write(write_end.get(), file.data() + at, std::min<std::size_t>(977, file.size() - at));
            if (written <= 0) return;
            at += static_cast<std::size_t>(written);
        }
    }};
    ItchFileReader reader{"/proc/self/fd/" + std::to_string(read_end.get())};
    std::span<const std::byte> message;
    std::size_t read = 0;
    bool in_order = true;
    while (reader.next(message)) {
        const auto expected = static_cast<std::byte>('a' + (reader.messages() - 1) % 26);
        in_order &= message.front() == expected && message.back() == expected;
        read += message.size();
    }
    writer.join();
    EXPECT_EQ(reader.error(), "");
    EXPECT_EQ(read, bytes);
    EXPECT_TRUE(in_order);
    EXPECT_EQ(reader.offset(), file.size());
}

TEST(ItchFileReader, AFileThatCannotBeReadIsAnErrorThatNamesIt) {
    try {
        const ItchFileReader reader{"/"};
        FAIL() << "accepted";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code().value(), EISDIR);
        EXPECT_THAT(error.what(), HasSubstr("cannot read '/'"));
    }
}

TEST(ItchFileReader, ReadsARealFileWhole) {
    const char* folder = std::getenv("MILLPOND_TEST_DATA");  // NOLINT(concurrency-mt-unsafe): one thread
    if (folder == nullptr) GTEST_SKIP() << "MILLPOND_TEST_DATA is not set";
    ItchFileReader reader{(std::filesystem::path(folder) / "aapl_20200130_first10k.itch").string()};
    std::map<char, int> types;
    std::span<const std::byte> message;
    while (reader.next(message)) ++types[static_cast<char>(message[0])];
    EXPECT_EQ(reader.error(), "");
    EXPECT_EQ(reader.messages(), 10'000U);
    const std::map<char, int> expected{{'A', 4758}, {'D', 4083}, {'E', 849}, {'P', 240}, {'L', 52}, {'U', 7},
                                       {'X', 6},    {'F', 2},    {'R', 1},   {'H', 1},   {'Y', 1}};
    EXPECT_EQ(types, expected);
}

}  // namespace
}  // namespace millpond::files
