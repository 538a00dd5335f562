#include "service/regular_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include <sys/stat.h>

#include "tests/support/scratch_file.hpp"

namespace millpond::service {
namespace {

class RegularFileTest : public ::testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::string path() const { return (folder_ / "file").string(); }
    [[nodiscard]] mode_t permissions() const { return read_regular_file(path()).mode & 07777U; }

    std::filesystem::path folder_{::testing::TempDir() + test::scratch_name("regular")};
};

TEST_F(RegularFileTest, ANewFileHasTheModeWhateverTheUmask) {
    const auto before = ::umask(0777);
    replace_regular_file(path(), "one\n", 0640);
    ::umask(before);
    EXPECT_EQ(read_regular_file(path()).text, "one\n");
    EXPECT_EQ(permissions(), 0640U);
}

TEST_F(RegularFileTest, AReplacedOneKeepsItsPermissionsAndLeavesNothingBeside) {
    std::ofstream{path()} << "a longer text\n";
    ASSERT_EQ(::chmod(path().c_str(), 0604), 0);
    std::ofstream{path() + ".new"} << "of a user";
    replace_regular_file(path(), "two\n", 0640);
    EXPECT_EQ(read_regular_file(path()).text, "two\n");
    EXPECT_EQ(permissions(), 0604U);
    EXPECT_EQ(read_regular_file(path() + ".new").text, "of a user");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator{folder_}, {}), 2);
}

TEST_F(RegularFileTest, IfTheFileCannotBeReplacedTheFormerOneStays) {
    replace_regular_file(path(), "one\n", 0640);
    const auto link = (folder_ / "link").string();
    std::filesystem::create_symlink("nowhere/file", link);
    EXPECT_THROW(replace_regular_file(link, "two\n", 0640), std::runtime_error);
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    std::filesystem::create_directory(folder_ / "folder");
    EXPECT_THROW(replace_regular_file(folder_ / "folder", "two\n", 0640), std::runtime_error);
    EXPECT_EQ(read_regular_file(path()).text, "one\n");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator{folder_}, {}), 3);
}

}  // namespace
}  // namespace millpond::service
