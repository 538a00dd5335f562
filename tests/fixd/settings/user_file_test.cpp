// The user file: malformed lines, changes, and several processes or threads that change it.

#include "fixd/settings/user_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <millpond/core/descriptor.hpp>

#include "service/config_error.hpp"
#include "service/password_hash.hpp"
#include "tests/fixd/accept/users.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fixd {
namespace {

using service::PasswordHash;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(UserFile, EachMistakeIsNamedWithItsLine) {
    const auto wrong_in = [](const std::string& text, int mode = 0640) -> std::string {
        const Users users{text};
        std::filesystem::permissions(users.path(), std::filesystem::perms{static_cast<unsigned>(mode)});
        try {
            static_cast<void>(UserFile{users.path()}.check());
        } catch (const service::ConfigError& error) {
            return error.what();
        }
        return "nothing";
    };
    const auto good = line_of("alice", "correct horse");
    EXPECT_EQ(wrong_in("\r\n  # a comment\n\n" + good), "nothing");
    EXPECT_EQ(wrong_in(""), "nothing");
    EXPECT_THAT(wrong_in(good + "bob\n"), HasSubstr("line 2: expects NAME:HASH"));
    EXPECT_THAT(wrong_in("\n" + good + good), HasSubstr("line 3: user 'alice' is listed twice"));
    EXPECT_THAT(wrong_in(" " + good), HasSubstr("line 1: expects NAME:HASH"));
    EXPECT_THAT(wrong_in("bob:hunter2\n"), HasSubstr("line 1: the hash does not begin with $scrypt$"));
    EXPECT_THAT(wrong_in("bob:hunter2\n"), Not(HasSubstr("hunter2")));
    EXPECT_THAT(wrong_in(good, 0644), HasSubstr("chmod o-rw"));
    EXPECT_THAT(wrong_in(good, 0642), HasSubstr("chmod o-rw"));
    EXPECT_THROW(static_cast<void>(UserFile{"/nonexistent/users"}.check()), service::ConfigError);
    EXPECT_THROW(static_cast<void>(UserFile{"/dev/null"}.check()), service::ConfigError);
}

TEST(UserFile, AUserIsNotHurtByTheLineOfAnother) {
    const auto good = line_of("alice", "correct horse");
    const Users users{"bob\n" + good + good + line_of("carol", "battery staple")};
    EXPECT_TRUE(UserFile{users.path()}.find("carol")->admits("battery staple"));
    EXPECT_FALSE(UserFile{users.path()}.find("dave"));
    EXPECT_THROW(static_cast<void>(UserFile{users.path()}.find("bob")), service::ConfigError);
    EXPECT_THROW(static_cast<void>(UserFile{users.path()}.find("alice")), service::ConfigError);
}

TEST(UserFile, AChangeThatCannotBeWrittenLeavesTheFileAndTheUser) {
    const auto folder = ::testing::TempDir() + test::scratch_name("users.d");
    std::filesystem::create_directory(folder);
    const auto path = folder + "/users";
    std::ofstream{path} << line_of("alice", "correct horse");
    std::filesystem::permissions(path, std::filesystem::perms{0600});
    const auto link = ::testing::TempDir() + test::scratch_name("users.link");
    std::filesystem::create_symlink(path, link);
    const UserFile users{link};
    const auto former = *users.find("alice");
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit none{0, before.rlim_max};  // like a full disk
    setrlimit(RLIMIT_FSIZE, &none);
    EXPECT_THROW(users.change("alice", former, PasswordHash::of("a new horse")), service::ConfigError);
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_TRUE(users.find("alice")->admits("correct horse"));
    users.change("alice", former, PasswordHash::of("a new horse"));
    EXPECT_TRUE(users.find("alice")->admits("a new horse"));
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0600});
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator{folder}, {}), 1);  // no other file remains
    std::filesystem::remove(link);
    std::filesystem::remove_all(folder);
}

TEST(UserFile, ALineThatChangedMeanwhileIsNotReplaced) {
    const Users users{line_of("alice", "correct horse")};
    const UserFile file{users.path()};
    const auto former = *file.find("alice");
    const auto by_operator = line_of("alice", "set manually");
    std::ofstream{users.path()} << by_operator;
    try {
        file.change("alice", former, PasswordHash::of("a new horse"));
        FAIL() << "it was replaced";
    } catch (const service::ConfigError& error) {
        EXPECT_THAT(error.what(), HasSubstr("the line of user 'alice' was changed in the meantime"));
    }
    EXPECT_EQ(text_in(users.path()), by_operator);
    std::ofstream{users.path()} << "# empty\n";
    EXPECT_THROW(file.change("alice", former, PasswordHash::of("a new horse")), service::ConfigError);
    EXPECT_EQ(text_in(users.path()), "# empty\n");
}

TEST(UserFile, LinesThatManyThreadsPutAreAllThere) {
    const auto path = ::testing::TempDir() + test::scratch_name("users");
    const auto hash = PasswordHash::of("correct horse");
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            for (int k = 0; k < 8; ++k) UserFile{path}.put("u" + std::to_string(i) + "." + std::to_string(k), hash);
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(UserFile{path}.check().size(), 32U);
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0640});
    std::filesystem::remove(path);
}

TEST(UserFile, TheWaitForALockedFileIsBounded) {
    const Users users{line_of("alice", "correct horse")};
    const core::Descriptor other{::open(users.path().c_str(), O_RDONLY | O_CLOEXEC)};
    ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
    try {
        UserFile{users.path()}.put("bob", PasswordHash::of("battery staple"));
        FAIL() << "it was written";
    } catch (const service::ConfigError& error) {
        EXPECT_THAT(error.what(), HasSubstr("another process keeps it locked"));
    }
    EXPECT_FALSE(UserFile{users.path()}.find("bob"));
}

}  // namespace
}  // namespace millpond::fixd
