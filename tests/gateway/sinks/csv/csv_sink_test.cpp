#include "gateway/sinks/csv/csv_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/gateway/sinks/events.hpp"

namespace millpond::gateway::csv {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kSecondNs = 1'000'000'000;

std::string text_of(const std::filesystem::path& path) {
    std::ifstream in{path};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

class CsvSinkTest : public ::testing::Test {
protected:
    CsvSinkTest() { std::filesystem::create_directories(folder_); }
    ~CsvSinkTest() override { std::filesystem::remove_all(folder_); }

    std::unique_ptr<CsvSink> open(Options options = {}) {
        if (options.path.empty()) options.path = path();
        auto sink = std::make_unique<CsvSink>(
            options, [this](service::Severity, std::string_view, const std::string& text) { said_.push_back(text); });
        sink->name(0, feed::Venue{}, feed::Symbol{"AAPL"});
        sink->name(1, feed::Venue{}, feed::Symbol{"A,B"});
        return sink;
    }
    [[nodiscard]] std::string path() const { return folder_ / "quotes.csv"; }

    std::filesystem::path folder_{std::filesystem::path{::testing::TempDir()} /
                                  ("millpond_csv_" + std::to_string(getpid()))};
    std::vector<std::string> said_;
};

TEST_F(CsvSinkTest, EveryQuoteIsARowBehindTheHeader) {
    auto sink = open();
    EXPECT_EQ(sink->on(quote_of(0, 1'892'400), 1), Taken::kept);
    EXPECT_EQ(sink->on(quote_of(1, 50'000, 7), 2), Taken::kept);
    EXPECT_EQ(sink->on(trade_of(0, 10'000), 3), Taken::filtered);
    EXPECT_EQ(sink->held(), 2U);
    sink->step(kSecondNs);
    EXPECT_EQ(sink->held(), 0U);
    EXPECT_EQ(text_of(path()),
              "timestamp,symbol,bid_price,bid_shares,ask_price,ask_shares,spread,channel,flags\n"
              "1700000000000000000,AAPL,189.2400,100,189.2500,100,0.0100,0,\n"
              "1700000000000000000,\"A,B\",5.0000,7,5.0100,7,0.0100,0,\n");
}

TEST_F(CsvSinkTest, AGapAndALossAreRowsAndIncompleteQuotesSaySo) {
    auto sink = open();
    auto quote = quote_of(0, 1'892'400);
    quote.channel = 2;
    quote.flags = feed::kIncomplete;
    EXPECT_EQ(sink->on(feed::Gap{.channel = 2, .first = 3, .last = 9, .receive_utc_ns = 17}, 1), Taken::kept);
    EXPECT_EQ(sink->on(quote, 2), Taken::kept);
    EXPECT_EQ(sink->held(), 2U);
    sink->missed(3, 9);
    EXPECT_EQ(sink->held(), 2U) << "a loss is no event";
    sink->step(kSecondNs);
    EXPECT_EQ(sink->held(), 0U);
    const auto text = text_of(path());
    EXPECT_THAT(text, HasSubstr("flags\n17,,,,,,,2,gap\n"
                                "1700000000000000000,AAPL,189.2400,100,189.2500,100,0.0100,2,incomplete\n"));
    EXPECT_THAT(text, ::testing::EndsWith(",,,,,,,,missed\n"));
    EXPECT_EQ(sink->counters().rows.read(), 2U);
}

TEST_F(CsvSinkTest, RowsWaitForTheFlushTimeAndAreWrittenAtTheEnd) {
    auto sink = open({.flush = std::chrono::seconds{5}});
    sink->step(10 * kSecondNs);  // writes the header
    sink->on(quote_of(0, 10'000), 1);
    sink->step(12 * kSecondNs);
    EXPECT_EQ(sink->held(), 1U);
    sink->finish();
    EXPECT_EQ(sink->held(), 0U);
    EXPECT_THAT(text_of(path()), HasSubstr("AAPL,1.0000"));
}

TEST_F(CsvSinkTest, AFullFileIsRenamedAndEachFileHasItsHeader) {
    auto sink = open({.rotate_bytes = 300});
    constexpr int kRows = 20;
    for (int i = 1; i <= kRows; ++i) {
        sink->on(quote_of(0, i * 10'000), static_cast<std::uint64_t>(i));
        sink->step(i * kSecondNs);
    }
    std::string rows;
    int files = 0;
    for (int number = 1; std::filesystem::exists(path() + "." + std::to_string(number)); ++number) {
        const auto text = text_of(path() + "." + std::to_string(number));
        EXPECT_TRUE(text.starts_with(feed::kCsvHeader));
        EXPECT_GE(text.size(), 300U);
        rows += text.substr(feed::kCsvHeader.size());
        ++files;
    }
    EXPECT_GE(files, 3);
    rows += text_of(path()).substr(feed::kCsvHeader.size());
    std::string expected;
    for (int i = 1; i <= kRows; ++i) {
        expected += "1700000000000000000,AAPL," + std::to_string(i) + ".0000,100," + std::to_string(i) +
                    ".0100,100,0.0100,0,\n";
    }
    EXPECT_EQ(rows, expected);
}

TEST_F(CsvSinkTest, ANewSessionOfAChannelBeginsANewFileAlsoBetweenRowsThatWait) {
    auto sink = open();
    const auto row = [](int bid) {
        return "1700000000000000000,AAPL," + std::to_string(bid) + ".0000,100," + std::to_string(bid) +
               ".0100,100,0.0100,0,\n";
    };
    EXPECT_EQ(sink->on(new_session_of(), 1), Taken::filtered);  // nothing is there yet
    for (std::uint64_t session = 1; session <= 3; ++session) {
        sink->on(quote_of(0, static_cast<feed::Price>(session) * 10'000), 2 * session);
        EXPECT_EQ(sink->on(new_session_of(), 2 * session + 1), Taken::filtered);
        EXPECT_EQ(sink->on(new_session_of(1), 2 * session + 1), Taken::filtered);
    }
    feed::Clear end = new_session_of();
    end.reason = feed::ClearReason::end_of_session;
    sink->on(quote_of(0, 40'000), 8);
    sink->on(end, 9);
    sink->on(quote_of(0, 50'000), 10);
    sink->step(kSecondNs);
    EXPECT_EQ(sink->held(), 0U);
    EXPECT_EQ(sink->counters().rows.read(), 5U);
    for (int session = 1; session <= 3; ++session)
        EXPECT_EQ(text_of(path() + "." + std::to_string(session)), std::string{feed::kCsvHeader} + row(session));
    EXPECT_EQ(text_of(path()), std::string{feed::kCsvHeader} + row(4) + row(5));
    EXPECT_FALSE(std::filesystem::exists(path() + ".4"));
}

TEST_F(CsvSinkTest, AFileThatIsMovedOrRemovedIsFollowedByANewOne) {
    const auto sink = open({.flush = std::chrono::nanoseconds{0}});
    std::int64_t now = 0;
    const auto write = [&](std::uint64_t number) {
        static_cast<void>(sink->on(quote_of(0, static_cast<feed::Price>(number)), number));
        sink->step(now += kSecondNs);
    };
    write(1);
    std::filesystem::rename(path(), path() + ".moved");
    write(2);
    const auto second = text_of(path());
    EXPECT_THAT(second, ::testing::StartsWith(feed::kCsvHeader));
    EXPECT_EQ(std::count(second.begin(), second.end(), '\n'), 2);
    EXPECT_EQ(std::ranges::count(text_of(path() + ".moved"), '\n'), 2);
    std::filesystem::remove(path());
    write(3);
    EXPECT_EQ(std::ranges::count(text_of(path()), '\n'), 2);
    ASSERT_EQ(said_.size(), 2U);
    EXPECT_THAT(said_[0], HasSubstr("quotes.csv' was moved or removed; continuing in a new file"));
    EXPECT_EQ(sink->counters().write_errors.read(), 0U);
}

TEST_F(CsvSinkTest, OnlySoManyRenamedFilesAreKeptTheOldestGoFirst) {
    std::ofstream{path() + ".old"} << "not ours";
    auto sink = open({.keep = 2});
    for (int session = 1; session <= 12; ++session) {
        sink->on(quote_of(0, session * 10'000), 1);
        sink->on(new_session_of(), 2);
    }
    sink->finish();
    EXPECT_FALSE(std::filesystem::exists(path() + ".10"));
    EXPECT_THAT(text_of(path() + ".11"), HasSubstr("AAPL,11.0000"));
    EXPECT_THAT(text_of(path() + ".12"), HasSubstr("AAPL,12.0000"));
    EXPECT_TRUE(std::filesystem::exists(path() + ".old"));
}

TEST_F(CsvSinkTest, AFileThatNoCsvSinkWroteIsRefusedByName) {
    std::ofstream{path()} << "precious";
    EXPECT_THROW(check_path(path()), std::invalid_argument);
    try {
        static_cast<void>(open());
        FAIL();
    } catch (const std::system_error& error) {
        EXPECT_THAT(error.what(), HasSubstr(path() + "' (a file of another kind is there"));
    }
    EXPECT_EQ(text_of(path()), "precious");
    std::ofstream{path(), std::ios::trunc} << "timestamp,symbol,bid_price,bid_shares,ask_price,ask_shares,spread\n";
    EXPECT_NO_THROW(check_path(path())) << "an earlier version's file";
}

TEST_F(CsvSinkTest, AFileOfAnEarlierRunIsKept) {
    const auto cut_off = std::string{feed::kCsvHeader} + "half a ro";
    std::ofstream{path()} << cut_off;
    std::ofstream{path() + ".1"} << "older";
    auto sink = open();
    sink->on(quote_of(0, 10'000), 1);
    sink->finish();
    EXPECT_EQ(text_of(path() + ".1"), "older");
    EXPECT_EQ(text_of(path() + ".2"), cut_off);
    EXPECT_TRUE(text_of(path()).starts_with(feed::kCsvHeader));
}

TEST_F(CsvSinkTest, ConflatingItTakesRowsOnlyWhenTheTimeHasCome) {
    auto sink = open({.mode = Delivery::conflate, .flush = std::chrono::seconds{1}});
    sink->step(10 * kSecondNs);
    EXPECT_EQ(sink->room(), 0U);
    sink->step(12 * kSecondNs);
    EXPECT_GT(sink->room(), 0U);
    sink->on(quote_of(0, 10'000), 1);
    sink->step(12 * kSecondNs);
    EXPECT_EQ(sink->held(), 0U);
    EXPECT_EQ(sink->room(), 0U);
}

TEST_F(CsvSinkTest, ADeviceThatIsFullIsCountedAndTriedAgain) {
    if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "needs /dev/full";
    auto sink = open({.path = "/dev/full"});
    sink->on(quote_of(0, 10'000), 1);
    sink->step(1 * kSecondNs);
    EXPECT_EQ(sink->counters().write_errors.read(), 1U);
    sink->step(1 * kSecondNs + 1);  // too early
    EXPECT_EQ(sink->counters().write_errors.read(), 1U);
    sink->step(2 * kSecondNs);
    EXPECT_EQ(sink->counters().write_errors.read(), 2U);
    EXPECT_EQ(sink->held(), 1U);
    ASSERT_FALSE(said_.empty());
    EXPECT_EQ(said_[0], "csv sink 'csv': cannot write '/dev/full': No space left on device; retrying");
}

TEST_F(CsvSinkTest, AFullPipeHoldsUpNothingAndLosesNoRow) {
    ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
    auto sink = open();
    EXPECT_EQ(sink->counters().files.read(), 0U) << "without a reader";
    const int reader = ::open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    std::uint64_t taken = 0;
    std::int64_t now = kSecondNs;
    for (; sink->room() != 0 && taken < 1'000'000; now += kSecondNs) {
        for (auto room = sink->room(); room != 0; --room) sink->on(quote_of(0, 10'000), ++taken);
        sink->step(now);
    }
    EXPECT_EQ(sink->room(), 0U);
    EXPECT_GT(sink->held(), 0U);
    EXPECT_EQ(sink->counters().write_errors.read(), 0U) << "a full pipe is not an error";
    std::string text;
    for (int round = 0; round < 1'000 && sink->held() != 0; ++round, now += kSecondNs) {
        std::array<char, 65'536> part;
        for (ssize_t got = 0; (got = ::read(reader, part.data(), part.size())) > 0;)
            text.append(part.data(), static_cast<std::size_t>(got));
        sink->step(now);
    }
    EXPECT_EQ(sink->held(), 0U);
    std::array<char, 65'536> part;
    for (ssize_t got = 0; (got = ::read(reader, part.data(), part.size())) > 0;)
        text.append(part.data(), static_cast<std::size_t>(got));
    ::close(reader);
    const std::string row = "1700000000000000000,AAPL,1.0000,100,1.0100,100,0.0100,0,\n";
    std::string expected{feed::kCsvHeader};
    for (std::uint64_t i = 0; i < taken; ++i) expected += row;
    EXPECT_TRUE(text == expected) << text.size() << " bytes, " << expected.size() << " expected";
}

TEST_F(CsvSinkTest, WhileNothingCanBeWrittenItTakesABoundedNumberOfQuotes) {
    if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "needs /dev/full";
    auto sink = open({.path = "/dev/full"});
    std::uint64_t taken = 0;
    for (std::int64_t now = kSecondNs; sink->room() != 0 && taken < 1'000'000; now += kSecondNs) {
        for (auto room = sink->room(); room != 0; --room) sink->on(quote_of(0, 10'000), ++taken);
        sink->step(now);
    }
    EXPECT_EQ(sink->room(), 0U);
    EXPECT_LT(taken, 10'000U);
    EXPECT_EQ(sink->held(), taken);
}

TEST_F(CsvSinkTest, ADiskThatFillsUpAndGetsRoomLosesNoRowAndTearsNone) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to mount a small tmpfs";
    const auto disk = folder_ / "disk";
    std::filesystem::create_directories(disk);
    if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "may not mount a tmpfs";
    const auto file = disk / "quotes.csv";
    const auto ballast = disk / "ballast";
    std::ofstream{ballast} << std::string(40'000, 'x');
    std::uint64_t count = 0;
    {
        auto sink = open({.path = file});
        std::int64_t now = kSecondNs;
        while (sink->counters().write_errors.read() == 0 && count < 10'000) {
            for (int i = 0; i < 50; ++i) sink->on(quote_of(0, 10'000), ++count);
            sink->step(now += kSecondNs);
        }
        EXPECT_GT(sink->counters().write_errors.read(), 0U);
        EXPECT_GT(sink->held(), 0U);
        EXPECT_EQ(text_of(file).back(), '\n');  // no half row on the full disk
        std::filesystem::remove(ballast);
        sink->step(now += kSecondNs);
        EXPECT_EQ(sink->held(), 0U);
        EXPECT_EQ(sink->counters().rows.read(), count);
    }
    const auto text = text_of(file);
    umount(disk.c_str());
    std::string expected{feed::kCsvHeader};
    for (std::uint64_t i = 0; i < count; ++i) {
        expected += "1700000000000000000,AAPL,1.0000,100,1.0100,100,0.0100,0,\n";
    }
    EXPECT_EQ(text, expected);
}

TEST_F(CsvSinkTest, AFileThatAnotherSinkWritesIsRefusedAndLeftAsItIs) {
    auto sink = open();
    sink->on(quote_of(0, 10'000), 1);
    sink->step(kSecondNs);
    const auto before = text_of(path());
    try {
        open();
        FAIL() << "two sinks write one file";
    } catch (const std::system_error& error) {
        EXPECT_THAT(error.what(), HasSubstr("another process or sink writes it"));
    }
    EXPECT_EQ(text_of(path()), before);
    EXPECT_FALSE(std::filesystem::exists(path() + ".1"));
    sink.reset();
    open();  // the lock went with it
    EXPECT_TRUE(std::filesystem::exists(path() + ".1"));
}

TEST_F(CsvSinkTest, ASymbolicLinkIsNotFollowed) {
    const auto victim = folder_ / "victim";
    for (const bool exists : {false, true}) {
        if (exists) std::ofstream{victim} << "precious";
        std::filesystem::create_symlink(victim, path());
        try {
            open();
            FAIL() << "followed";
        } catch (const std::system_error& error) {
            EXPECT_THAT(error.what(), HasSubstr("it is a symbolic link"));
        }
        EXPECT_EQ(std::filesystem::exists(victim), exists);
        std::filesystem::remove(path());
    }
    EXPECT_EQ(text_of(victim), "precious");
}

TEST_F(CsvSinkTest, ItsFilesHaveTheModeThatIsAskedForWhateverTheUmask) {
    for (const mode_t mask : {0000U, 0077U}) {
        const auto before = umask(mask);
        for (const mode_t mode : {0640U, 0664U, 0600U}) {
            auto sink = open({.file_mode = mode});
            struct stat facts{};
            ASSERT_EQ(stat(path().c_str(), &facts), 0);
            EXPECT_EQ(facts.st_mode & 07777U, mode);
            sink.reset();
            std::filesystem::remove(path());
        }
        umask(before);
    }
}

TEST_F(CsvSinkTest, AFileThatCannotBeOpenedIsRefusedByName) {
    try {
        open({.path = "/nonexistent/quotes.csv"});
        FAIL() << "no error";
    } catch (const std::system_error& error) {
        EXPECT_STREQ(error.what(), "csv sink 'csv': cannot open '/nonexistent/quotes.csv': No such file or directory");
    }
}

}  // namespace
}  // namespace millpond::gateway::csv
