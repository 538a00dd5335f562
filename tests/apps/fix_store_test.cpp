#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <millpond/fix/file_store.hpp>
#include <millpond/fix/store_reader.hpp>

#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kCreated = 1'704'164'645'000'000'000;  // 20240102-03:04:05

/// A store of two messages, as a session leaves it.
class FixStoreCommand : public ::testing::Test {
protected:
    FixStoreCommand() {
        fix::FileStore store{path_, kCreated, {.data_bytes = 65'536}};
        for (const std::string_view message : {"8=FIX.4.4\x01"
                                               "9=5\x01"
                                               "35=0\x01"
                                               "34=1\x01"
                                               "10=000\x01",
                                               "not a message"}) {
            if (!store.store(message)) throw std::runtime_error("no room");
        }
        store.set_next_target(7);
    }
    ~FixStoreCommand() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] Outcome store(const std::vector<std::string>& arguments) const {
        std::vector<std::string> all{"fix", "store", path_};
        all.insert(all.end(), arguments.begin(), arguments.end());
        return run(all);
    }

private:
    std::string folder_ = ::testing::TempDir() + test::scratch_name("store_folder");

protected:
    std::string path_ = (std::filesystem::create_directories(folder_), folder_ + "/desk.store");
};

TEST_F(FixStoreCommand, TheNumbersAndFilesOfAStoreAreShown) {
    const auto outcome = store({});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("created 20240102-03:04:05.000, next to send 3, next expected 7\n"));
    EXPECT_THAT(outcome.out, HasSubstr("messages 1 to 2\n"));
    EXPECT_THAT(outcome.out, HasSubstr("desk.store: "));
    EXPECT_THAT(outcome.out, HasSubstr("2 messages, 1 to 2\n"));
}

TEST_F(FixStoreCommand, AMissingFileOfTheNewestMessagesIsNamed) {
    {
        fix::FileStore more{path_, 0, {.data_bytes = 65'536}};
        while (more.next_sender() < 100) {
            ASSERT_TRUE(more.store(std::string(200, 'x')));
            more.mark_written(more.next_sender() - 1);
        }
    }
    const auto segments = fix::StoreReader{path_}.segments();
    const auto newest = std::ranges::max_element(segments, {}, &fix::StoreReader::Segment::generation)->file;
    ASSERT_NE(newest, path_);
    std::filesystem::remove(newest);
    const auto missing =
        HasSubstr(newest.string() + " is missing, the file with the newest messages and both numbers\n");
    EXPECT_THAT(store({}).out, missing);
    const auto outcome = store({"--verify"});
    EXPECT_THAT(outcome.out, missing);
    EXPECT_EQ(outcome.exit_code, 1);
}

TEST_F(FixStoreCommand, NumbersThatNeverHadAMessageAreCounted) {
    {
        fix::FileStore more{path_, 0, {.data_bytes = 65'536}};
        more.skip_to(10);
        ASSERT_TRUE(more.store("x"));
    }
    EXPECT_THAT(store({"--verify"}).out, HasSubstr("7 numbers are missing (7 never had a message), "));
}

TEST_F(FixStoreCommand, WhatIsNoMessageIsFaulty) {
    const auto outcome = store({"--verify"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.out, HasSubstr("0 numbers are missing, 2 are faulty\n"));
    EXPECT_THAT(outcome.out, HasSubstr("  2: "));
}

TEST_F(FixStoreCommand, TheMessagesOfARangeArePrinted) {
    EXPECT_THAT(store({"--print", "--first", "2"}).out, HasSubstr("no message (not a message): not a message"));
    EXPECT_EQ(store({"--print", "--first", "2", "--last", "1"}).out, "");
    EXPECT_EQ(store({"--first", "2"}).exit_code, 2);
}

TEST_F(FixStoreCommand, ThePasswordOfAStoredLogonIsHiddenWithItsLength) {
    {
        fix::FileStore store{path_, kCreated, {.data_bytes = 65'536}};
        ASSERT_TRUE(
            store.store("8=FIX.4.4\x01"
                        "9=39\x01"
                        "35=A\x01"
                        "34=3\x01"
                        "553=desk\x01"
                        "554=opensesame\x01"
                        "58=x\x01"
                        "10=116\x01"));
    }
    const auto outcome = store({"--print", "--first", "3"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, Not(HasSubstr("sesame")));
    EXPECT_THAT(outcome.out, HasSubstr("Username=desk Password=********** Text=x [masked]"));
    EXPECT_THAT(store({"--print", "--first", "3", "--mask", "553"}).out, HasSubstr("Username=**** Password"));
}

TEST_F(FixStoreCommand, AFileThatIsNoStoreIsOneLineAndExitCodeOne) {
    const test::ScratchFile text{test::scratch_name("no.store"), std::string(8192, 'x')};
    const auto outcome = run({"fix", "store", text.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr(text.path()));
    EXPECT_EQ(run({"fix", "store", "/nonexistent/desk.store"}).exit_code, 1);
}

}  // namespace
}  // namespace millpond::app
