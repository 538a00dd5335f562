#include <millpond/core/created_file.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/rotated_file.hpp>

namespace millpond::core {
namespace {

class CreatedFileTest : public testing::Test {
protected:
    CreatedFileTest() { std::filesystem::create_directories(folder_); }
    ~CreatedFileTest() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string path(const char* name) const { return folder_ / name; }
    [[nodiscard]] static mode_t mode_of(const std::string& path) {
        struct stat facts{};
        return stat(path.c_str(), &facts) == 0 ? facts.st_mode & 07777U : 0;
    }
    [[nodiscard]] static std::string text_of(const std::string& path) {
        std::ifstream in{path};
        return {std::istreambuf_iterator<char>{in}, {}};
    }

    std::filesystem::path folder_{std::filesystem::path{testing::TempDir()} /
                                  ("millpond_created_" + std::to_string(getpid()))};
};

TEST_F(CreatedFileTest, AFileGetsExactlyTheModeWhateverTheUmask) {
    for (const mode_t mask : {0000U, 0022U, 0077U}) {
        const auto before = umask(mask);
        const auto descriptor = open_or_create(path("new").c_str(), O_WRONLY, 0664);
        umask(before);
        ASSERT_TRUE(descriptor);
        EXPECT_EQ(fcntl(descriptor.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        EXPECT_EQ(mode_of(path("new")), 0664U);
        std::filesystem::remove(path("new"));
    }
}

TEST_F(CreatedFileTest, AFileThatIsThereIsOpenedAsItIs) {
    std::ofstream{path("old")} << "before";
    chmod(path("old").c_str(), 0604);
    ASSERT_TRUE(open_or_create(path("old").c_str(), O_WRONLY, 0640));
    EXPECT_EQ(mode_of(path("old")), 0604U);
    EXPECT_EQ(text_of(path("old")), "before");
}

TEST_F(CreatedFileTest, ASymbolicLinkIsFollowedToADeviceOnly) {
    std::filesystem::create_symlink(path("nothing"), path("dangling"));
    EXPECT_FALSE(open_or_create(path("dangling").c_str(), O_WRONLY, 0640));
    EXPECT_EQ(errno, ELOOP);
    EXPECT_FALSE(std::filesystem::exists(path("nothing")));
    std::ofstream{path("file")} << "precious";
    std::filesystem::create_symlink(path("file"), path("link"));
    EXPECT_FALSE(open_or_create(path("link").c_str(), O_WRONLY | O_TRUNC, 0640));
    EXPECT_EQ(errno, ELOOP);
    EXPECT_EQ(text_of(path("file")), "precious");
    std::filesystem::create_symlink("/dev/null", path("device"));
    EXPECT_TRUE(open_or_create(path("device").c_str(), O_WRONLY, 0640));
}

TEST_F(CreatedFileTest, ARotatedFileHasOneWriterAlsoOverARotation) {
    RotatedFile first{path("log")};
    ASSERT_TRUE(first.open());
    ASSERT_EQ(first.write("one\n"), 4U);
    RotatedFile second{path("log")};
    EXPECT_FALSE(second.open());
    EXPECT_EQ(errno, EBUSY);
    ASSERT_TRUE(first.rotate());
    ASSERT_TRUE(first.open());
    EXPECT_FALSE(second.open());
    EXPECT_EQ(text_of(path("log.1")), "one\n");
    EXPECT_FALSE(std::filesystem::exists(path("log.2")));
}

TEST_F(CreatedFileTest, ARotatedFileThatIsFullEndsInAWholeLine) {
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto ignored = signal(SIGXFSZ, SIG_IGN);
    RotatedFile file{path("log")};
    ASSERT_TRUE(file.open());
    auto limit = before;
    limit.rlim_cur = 10;
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_EQ(file.write_lines("1234\n5678\n9abc\n"), 10U);
    EXPECT_EQ(file.write_lines("9abc\n"), 0U);
    limit.rlim_cur = 13;
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_EQ(file.write_lines("9abc\n"), 0U);  // three bytes fit, and are removed again
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, ignored);
    EXPECT_EQ(text_of(path("log")), "1234\n5678\n");
    EXPECT_EQ(file.bytes(), 10U);
    EXPECT_EQ(file.write_lines("9abc\n"), 5U);
    EXPECT_EQ(text_of(path("log")), "1234\n5678\n9abc\n");
}

TEST_F(CreatedFileTest, TheHighestNumberIsTheNewestFilesAlsoAfterOthersWereRemovedOrCompressed) {
    for (const auto* name : {"log.7", "log.8.zst", "log.9.zst.part", "log.x", "log.12x", "other.20"}) {
        std::ofstream{path(name)} << name;
    }
    RotatedFile file{path("log")};
    EXPECT_EQ(file.renamed(), (std::set<std::uint64_t>{7, 8}));
    EXPECT_EQ(file.renamed(true), (std::set<std::uint64_t>{7}));
    ASSERT_TRUE(file.open());
    EXPECT_EQ(file.write("row\n"), 4U);
    ASSERT_TRUE(file.rotate());
    EXPECT_EQ(text_of(path("log.9")), "row\n");
    file.keep_newest(2);
    EXPECT_FALSE(std::filesystem::exists(path("log.7")));
    EXPECT_TRUE(std::filesystem::exists(path("log.8.zst")));
    file.keep_newest(1);
    EXPECT_FALSE(std::filesystem::exists(path("log.8.zst")));
    EXPECT_TRUE(std::filesystem::exists(path("log.9")));
    EXPECT_TRUE(std::filesystem::exists(path("log.x")));
}

TEST_F(CreatedFileTest, AFileOfAnotherKindIsNotMovedAway) {
    std::ofstream{path("rows")} << "precious text";
    RotatedFile file{path("rows"), 0640, "time,price\n"};
    EXPECT_FALSE(file.open());
    EXPECT_EQ(errno, EEXIST);
    EXPECT_NE(why_not_opened(EEXIST), "");
    EXPECT_EQ(text_of(path("rows")), "precious text");
    EXPECT_FALSE(std::filesystem::exists(path("rows.1")));
    std::ofstream{path("rows"), std::ios::trunc} << "time,p";  // left by a writer that was killed
    EXPECT_TRUE(file.open());
    EXPECT_EQ(text_of(path("rows.1")), "time,p");
    ASSERT_TRUE(file.rotate());
    std::ofstream{path("rows"), std::ios::trunc} << "time,price\n1,2\n";
    EXPECT_TRUE(file.open());
    EXPECT_EQ(text_of(path("rows.3")), "time,price\n1,2\n");
}

TEST_F(CreatedFileTest, APipeThatNoProcessReadsIsRefusedAtOnce) {
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    RotatedFile file{path("pipe")};
    EXPECT_FALSE(file.open());
    EXPECT_EQ(errno, ENXIO);
    EXPECT_NE(why_not_opened(ENXIO), "");
    const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
    EXPECT_TRUE(file.open());
    EXPECT_EQ(file.write("row\n"), 4U);
    ::close(reader);
}

TEST_F(CreatedFileTest, FoldersFollowTheModeOfTheirFilesWhateverTheUmask) {
    for (const mode_t mask : {mode_t{0}, mode_t{0777}}) {
        const auto top = path(mask == 0 ? "open" : "closed");
        const auto before = umask(mask);
        create_folders(top + "/a/b", 0640);
        umask(before);
        EXPECT_EQ(mode_of(top), 0750U);
        EXPECT_EQ(mode_of(top + "/a/b"), 0750U);
    }
    EXPECT_EQ(folder_mode(0600), 0700U);
    EXPECT_EQ(folder_mode(0644), 0755U);
    const auto shared = path("shared");
    std::filesystem::create_directory(shared);
    ASSERT_EQ(chmod(shared.c_str(), 02705), 0);
    create_folders(shared + "/inner/", 0640);
    EXPECT_EQ(mode_of(shared), 02705U) << "one that was there stays as it was";
    EXPECT_EQ(mode_of(shared + "/inner"), 02750U) << "and hands its group on";
    std::ofstream{path("file")} << "text";
    EXPECT_THROW(create_folders(path("file"), 0640), std::filesystem::filesystem_error);
    EXPECT_THROW(create_folders(path("file") + "/below", 0640), std::filesystem::filesystem_error);
}

}  // namespace
}  // namespace millpond::core
