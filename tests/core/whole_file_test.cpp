#include <millpond/core/whole_file.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millpond::core {
namespace {

class WholeFileTest : public testing::Test {
protected:
    WholeFileTest() { std::filesystem::create_directories(folder_); }
    ~WholeFileTest() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
    [[nodiscard]] std::string text_of(const std::string& name) const {
        std::ifstream in{path(name)};
        return {std::istreambuf_iterator<char>{in}, {}};
    }
    void put(const std::string& name, const std::string& text) const { std::ofstream{path(name)} << text; }
    [[nodiscard]] std::set<std::string> names() const {
        std::set<std::string> found;
        for (const auto& each : std::filesystem::directory_iterator{folder_}) found.insert(each.path().filename());
        return found;
    }

    std::filesystem::path folder_{std::filesystem::path{testing::TempDir()} /
                                  ("millpond_whole_" + std::to_string(getpid()))};
};

TEST_F(WholeFileTest, TheNameIsThatOfTheFormerFileUntilTheNewOneIsWhole) {
    put("file", "before");
    {
        WholeFile file{path("file")};
        file.write("half");
        EXPECT_EQ(text_of("file"), "before");
    }
    EXPECT_EQ(text_of("file"), "before");
    EXPECT_EQ(names(), std::set<std::string>{"file"});
    WholeFile file{path("file")};
    file.write("af");
    file.write("ter");
    file.commit();
    EXPECT_EQ(text_of("file"), "after");
    EXPECT_EQ(names(), std::set<std::string>{"file"});
}

TEST_F(WholeFileTest, TheLastWriterToFinishWins) {
    WholeFile first{path("file")};
    WholeFile second{path("file")};
    first.write("first");
    second.write("second");
    second.commit();
    EXPECT_EQ(text_of("file"), "second");
    first.commit();
    EXPECT_EQ(text_of("file"), "first");
    EXPECT_EQ(names(), std::set<std::string>{"file"});
}

TEST_F(WholeFileTest, FilesOfOthersBesideItStay) {
    const std::set<std::string> others{"file.part", "file.new", "file.tmp", ".file.part"};
    for (const auto& other : others) put(other, "precious");
    WholeFile file{path("file")};
    file.commit();
    for (const auto& other : others) EXPECT_EQ(text_of(other), "precious") << other;
    EXPECT_EQ(names().size(), others.size() + 1);
}

TEST_F(WholeFileTest, ALinkStaysAndWhereItLeadsIsReplaced) {
    std::filesystem::create_directory(path("folder"));
    std::filesystem::create_symlink("folder/file", path("second"));
    std::filesystem::create_symlink(path("second"), path("first"));
    for (const auto* text : {"new", "newer"}) {  // at first the link's target does not exist
        WholeFile file{path("first")};
        file.write(text);
        file.commit();
        EXPECT_EQ(text_of("folder/file"), text);
    }
    EXPECT_TRUE(std::filesystem::is_symlink(path("first")) && std::filesystem::is_symlink(path("second")));
    std::filesystem::create_symlink("circle", path("circle"));
    EXPECT_THROW((WholeFile{path("circle")}), std::system_error);
}

TEST_F(WholeFileTest, APipeIsWrittenDirectly) {
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    const Descriptor reader{open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    WholeFile file{path("pipe")};
    file.write("text");
    std::string got(4, ' ');
    EXPECT_EQ(read(reader.get(), got.data(), got.size()), 4);
    EXPECT_EQ(got, "text");
    file.commit();
    EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
}

TEST_F(WholeFileTest, AnErrorNamesThePath) {
    std::filesystem::create_directory(path("folder"));
    for (const auto& wrong : {path("folder"), path("none/file"), path(std::string(256, 'x'))}) {
        try {
            WholeFile file{wrong};
            file.commit();
            ADD_FAILURE() << wrong;
        } catch (const std::system_error& error) {
            EXPECT_NE(std::string{error.what()}.find("cannot write '" + wrong + "'"), std::string::npos);
        }
    }
    EXPECT_EQ(names(), std::set<std::string>{"folder"});
}

TEST_F(WholeFileTest, ThePermissionsAreThoseThatTheUmaskLeaves) {
    const auto before = umask(027);
    WholeFile{path("file")}.commit();
    umask(before);
    EXPECT_EQ(std::filesystem::status(path("file")).permissions(), std::filesystem::perms{0640});
}

}  // namespace
}  // namespace millpond::core
