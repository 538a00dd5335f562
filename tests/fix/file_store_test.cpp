#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <millpond/fix/file_store.hpp>
#include <millpond/fix/frame.hpp>
#include <millpond/fix/parser.hpp>

#include "tests/fix/messages.hpp"

namespace millpond::fix {
namespace {

constexpr FileStore::Options kSmall{.data_bytes = 16'384};

class FileStoreTest : public testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("millpond-store-" + std::to_string(getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::filesystem::path path() const { return folder_ / "session.store"; }

    std::filesystem::path folder_;
};

std::string order(std::uint64_t number) {
    return message_of("FIX.4.4", "35=D|34=" + std::to_string(number) + "|49=A|56=B|58=" +
                                     std::string(20 + number * 7 % 200, static_cast<char>('a' + number % 26)) + "|");
}

TEST_F(FileStoreTest, AnotherProcessFindsEverythingAgain) {
    {
        FileStore store{path(), 42, kSmall};
        EXPECT_FALSE(store.recovered());
        for (std::uint64_t i = 1; i <= 300; ++i) {
            ASSERT_TRUE(store.store(order(i)));
            store.mark_written(i);
        }
        store.set_next_target(12);
    }
    FileStore store{path(), 99, kSmall};
    EXPECT_TRUE(store.recovered());
    EXPECT_EQ(store.creation_utc_ns(), 42);
    EXPECT_EQ(store.next_sender(), 301U);
    EXPECT_EQ(store.next_target(), 12U);
    for (std::uint64_t i = 280; i <= 300; ++i) EXPECT_EQ(store.retrieve(i), order(i));
    ASSERT_TRUE(store.store(order(301)));
    EXPECT_EQ(store.retrieve(301), order(301));
    EXPECT_EQ(store.retrieve(300), order(300));
}

TEST_F(FileStoreTest, ASecondOwnerIsRefused) {
    const FileStore first{path(), 0, kSmall};
    EXPECT_THROW((FileStore{path(), 0, kSmall}), memory::RegionError);
}

TEST_F(FileStoreTest, AFileOfAnotherKindIsRefusedAndLeftAsItWas) {
    std::uintmax_t bytes = 0;
    {
        const FileStore store{path(), 0, kSmall};
        bytes = std::filesystem::file_size(path());
    }
    std::ofstream{path()} << std::string(bytes, 'x');
    EXPECT_THROW((FileStore{path(), 0, kSmall}), std::invalid_argument);
    EXPECT_EQ(std::filesystem::file_size(path()), bytes);
}

TEST_F(FileStoreTest, AFullDiskIsAnError) {
    // More than any disk has.
    try {
        const FileStore store{path(), 0, {.data_bytes = std::size_t{1} << 50U}};
        FAIL() << "a petabyte";
    } catch (const memory::RegionError& error) {
        EXPECT_TRUE(error.code() == std::errc::no_space_on_device || error.code() == std::errc::file_too_large)
            << error.what();
    }
}

TEST_F(FileStoreTest, SyncWaitsWhenItIsDue) {
    auto options = kSmall;
    options.durability = Durability::interval;
    options.interval_ns = 100;
    FileStore store{path(), 1000, options};
    ASSERT_TRUE(store.store(order(1)));
    EXPECT_FALSE(store.sync_if_due(1050));
    EXPECT_FALSE(store.sync_if_due(1100));
    EXPECT_FALSE(store.sync());
}

/// Stores orders until it is killed, telling the number of each that is committed.
[[noreturn]] void store_until_killed(const std::filesystem::path& path, int acknowledge) {
    FileStore store{path, 0, kSmall};
    for (;;) {
        const auto number = store.next_sender();
        if (!store.store(order(number))) _exit(3);
        store.mark_written(number);
        store.set_next_target(number * 2);
        if (write(acknowledge, &number, sizeof number) != sizeof number) _exit(4);
    }
}

TEST_F(FileStoreTest, WhatWasCommittedBeforeAKillIsThereAndWhatIsThereIsWhole) {
    // MILLPOND_STORE_KILLS=1000 is the long run.
    const auto* wish = std::getenv("MILLPOND_STORE_KILLS");
    const int kills = wish == nullptr ? 25 : std::atoi(wish);
    std::mt19937 random{4};
    Parser parser;
    std::uint64_t newest = 0;
    for (int round = 0; round < kills; ++round) {
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        const auto child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            close(ends[0]);
            store_until_killed(path(), ends[1]);
        }
        close(ends[1]);
        const auto goal = newest + 1 + random() % 400;
        while (newest < goal) ASSERT_EQ(read(ends[0], &newest, sizeof newest), static_cast<ssize_t>(sizeof newest));
        kill(child, SIGKILL);
        ASSERT_EQ(waitpid(child, nullptr, 0), child);
        std::uint64_t told = 0;
        while (read(ends[0], &told, sizeof told) == sizeof told) newest = told;
        close(ends[0]);

        FileStore store{path(), 0, kSmall};
        ASSERT_TRUE(store.recovered());
        // The last one may have been committed and not told.
        ASSERT_GE(store.next_sender(), newest + 1);
        ASSERT_LE(store.next_sender(), newest + 2);
        ASSERT_GE(store.next_target(), newest * 2);
        ASSERT_EQ(store.retrieve(newest), order(newest));
        std::size_t found = 0;
        store.retrieve_range(1, 0, [&](std::uint64_t sequence, std::string_view text) {
            ++found;
            ASSERT_EQ(text, order(sequence));
            const auto frame = next_frame(bytes_of(text));
            ASSERT_TRUE(frame);
            ASSERT_TRUE(parser.parse(*frame));
        });
        ASSERT_GE(found, std::min<std::uint64_t>(newest, 40));
        newest = store.next_sender() - 1;
    }
}

}  // namespace
}  // namespace millpond::fix
