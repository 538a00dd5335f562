#include "service/regular_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
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

TEST_F(RegularFileTest, ANewOneHasTheModeWhateverTheUmask) {
    const auto before = ::umask(0777);
    replace_regular_file(path(), "one\n", 0640);
    ::umask(before);
    EXPECT_EQ(read_regular_file(path()).text, "one\n");
    EXPECT_EQ(permissions(), 0640U);
}

TEST_F(RegularFileTest, AReplacedOneKeepsItsPermissionsAndLeavesNothingBeside) {
    std::ofstream{path()} << "a longer text\n";
    ASSERT_EQ(::chmod(path().c_str(), 0604), 0);
    std::ofstream{path() + ".new"} << "of a process that died";
    replace_regular_file(path(), "two\n", 0640);
    EXPECT_EQ(read_regular_file(path()).text, "two\n");
    EXPECT_EQ(permissions(), 0604U);
    EXPECT_FALSE(std::filesystem::exists(path() + ".new"));
}

TEST_F(RegularFileTest, WhereItCannotBeReplacedTheFormerOneStays) {
    replace_regular_file(path(), "one\n", 0640);
    std::filesystem::create_directory(path() + ".new");
    EXPECT_THROW(replace_regular_file(path(), "two\n", 0640), std::runtime_error);
    EXPECT_EQ(read_regular_file(path()).text, "one\n");
}

}  // namespace
}  // namespace millpond::service
