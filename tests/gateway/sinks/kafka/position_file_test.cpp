#include "gateway/sinks/kafka/position_file.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <sys/stat.h>

#include "tests/service/certificate.hpp"

namespace millpond::gateway::kafka {
namespace {

class PositionFileTest : public ::testing::Test {
protected:
    [[nodiscard]] std::uint64_t read() const { return PositionFile{path_}.record(); }
    void save(std::uint64_t record) const { PositionFile{path_}.save(record); }
    void flip(std::size_t byte) const {
        std::fstream file{path_, std::ios::in | std::ios::out | std::ios::binary};
        file.seekg(static_cast<std::streamoff>(byte));
        const int was = file.get();
        file.seekp(static_cast<std::streamoff>(byte));
        file.put(static_cast<char>(was ^ 1));
    }

    millpond::test::Folder folder_{"position"};
    std::string path_{folder_ / "here.position"};
};

TEST_F(PositionFileTest, TheNewestIsReadAgain) {
    EXPECT_EQ(read(), 0U);
    for (std::uint64_t record = 5; record < 12; ++record) {
        save(record);
        EXPECT_EQ(read(), record);
    }
    save(3);  // a smaller number is saved too
    EXPECT_EQ(read(), 3U);
    EXPECT_EQ(std::filesystem::file_size(path_), 64U);
}

TEST_F(PositionFileTest, TheRecordedFileIsReadAndContinued) {
    std::filesystem::copy_file(MILLPOND_GOLDEN_POSITION, path_);
    EXPECT_EQ(read(), 1'000'000'007U);
    save(1'000'000'008);
    EXPECT_EQ(read(), 1'000'000'008U);
    flip(32);  // damages the newest slot: the older one counts
    EXPECT_EQ(read(), 1'000'000'007U);
}

TEST_F(PositionFileTest, AWriteThatIsTornAnywhereLeavesTheOneBefore) {
    constexpr std::size_t kSlotBytes = 32;
    constexpr std::size_t kChecked = 28;
    for (std::size_t byte = 0; byte < kChecked; ++byte) {
        std::filesystem::remove(path_);
        save(7);  // the second slot
        save(8);  // the first one
        flip(byte);
        EXPECT_EQ(read(), 7U) << byte;
        flip(kSlotBytes + byte);
        EXPECT_EQ(read(), 0U) << byte;
    }
}

TEST_F(PositionFileTest, ItHasTheModeThatIsAskedForAndFollowsNoLink) {
    const auto before = umask(0);
    {
        const PositionFile file{path_, 0600};
    }
    umask(before);
    EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms{0600});
    std::filesystem::remove(path_);
    std::filesystem::create_symlink(folder_ / "elsewhere", path_);
    EXPECT_THROW(PositionFile{path_}, std::system_error);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

TEST_F(PositionFileTest, OnlyOneMayHaveIt) {
    const PositionFile first{path_};
    EXPECT_THROW(PositionFile{path_}, std::system_error);
}

TEST_F(PositionFileTest, APlaceThatIsNotThereIsNamed) {
    try {
        const PositionFile none{folder_ / "nowhere/here.position"};
        FAIL() << "it opened";
    } catch (const std::system_error& error) {
        EXPECT_NE(std::string{error.what()}.find("nowhere/here.position"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace millpond::gateway::kafka
