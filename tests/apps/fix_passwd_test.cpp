#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "fixd/settings/user_file.hpp"
#include "service/password_hash.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Runs the program with this text on standard input.
Outcome fed(const std::string& input, const std::string& arguments) {
    const test::ScratchFile file{test::scratch_name("input"), input};
    const auto command = fmt::format("{} {} < '{}'", MILLPOND_PROGRAM, arguments, file.path());
    return Program{"/bin/sh", {"-c", command}}.wait();
}

TEST(FixPasswd, PrintsALineThatAdmitsThePasswordAndNoOther) {
    const auto made = fed("correct horse\nmore\n", "fix passwd desk");
    ASSERT_EQ(made.exit_code, 0) << made.err;
    ASSERT_THAT(made.out, StartsWith("desk:$scrypt$"));
    ASSERT_TRUE(made.out.ends_with('\n'));
    const auto hash = service::PasswordHash::parse(made.out.substr(5, made.out.size() - 6));
    EXPECT_TRUE(hash.admits("correct horse"));
    EXPECT_FALSE(hash.admits("correct horse\n"));
    EXPECT_EQ(made.err, "");
}

TEST(FixPasswd, WhatCannotBeIsNamed) {
    const auto refused = [](const std::string& input, const std::string& arguments) {
        const auto outcome = fed(input, arguments);
        EXPECT_EQ(outcome.exit_code, 2) << arguments;
        EXPECT_EQ(outcome.out, "");
        return outcome.err;
    };
    EXPECT_THAT(refused("short\n", "fix passwd desk"), HasSubstr("the password has less than 8 bytes"));
    EXPECT_THAT(refused("", "fix passwd desk"), HasSubstr("the password has less than 8 bytes"));
    EXPECT_THAT(refused(fmt::format("{:x<65}\n", ""), "fix passwd desk"), HasSubstr("has more than 64 bytes"));
    EXPECT_THAT(refused("correct\x01horse\n", "fix passwd desk"), HasSubstr("has a control character"));
    EXPECT_THAT(refused("correct horse\n", "fix passwd de:sk"), HasSubstr("'de:sk' is not a user name"));
    EXPECT_THAT(refused("correct horse\n", "fix passwd '#desk'"), HasSubstr("is not a user name"));
    EXPECT_THAT(refused("correct horse\n", "fix passwd"), HasSubstr("USER"));
}

TEST(FixPasswd, AFileGetsTheLineInPlaceOfTheFormerOne) {
    const auto path = ::testing::TempDir() + test::scratch_name("users");
    const auto put = [&](const std::string& user, const std::string& password) {
        const auto outcome = fed(password + "\n", fmt::format("fix passwd {} --file '{}'", user, path));
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(outcome.out + outcome.err, "");
    };
    put("desk", "correct horse");
    put("other", "battery staple");
    put("desk", "another horse");
    const fixd::UserFile users{path};
    EXPECT_EQ(users.check().size(), 2U);
    EXPECT_TRUE(users.find("desk")->admits("another horse"));
    EXPECT_TRUE(users.find("other")->admits("battery staple"));
    std::filesystem::remove(path);
    const auto nowhere = fed("correct horse\n", "fix passwd desk --file /nonexistent/users");
    EXPECT_NE(nowhere.exit_code, 0);
    EXPECT_THAT(nowhere.err, HasSubstr("user file '/nonexistent/users': cannot create it: No such file or directory"));
}

/// Output on a terminal when these lines are typed, each at the next prompt.
std::string at_terminal(const std::vector<std::string>& lines, int& status) {
    int master = -1;
    const auto child = forkpty(&master, nullptr, nullptr, nullptr);
    if (child == 0) {
        execl(MILLPOND_PROGRAM, "millpond", "fix", "passwd", "desk", nullptr);
        _exit(127);
    }
    std::string screen;
    std::size_t looked_at = 0;
    auto next = lines.begin();
    for (;;) {
        pollfd ready{.fd = master, .events = POLLIN, .revents = 0};
        std::array<char, 4096> buffer;
        if (poll(&ready, 1, 60'000) != 1) break;
        const auto got = read(master, buffer.data(), buffer.size());
        if (got <= 0) break;
        screen.append(buffer.data(), static_cast<std::size_t>(got));
        const auto prompt = screen.find("assword: ", looked_at);
        if (prompt == std::string::npos || next == lines.end()) continue;
        looked_at = prompt + 1;
        // The prompt appears shortly before echo is switched off.
        termios now{};
        for (int looks = 0; looks < 10'000 && tcgetattr(master, &now) == 0 && (now.c_lflag & ECHO) != 0; ++looks) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
        const auto line = *next++;
        EXPECT_EQ(write(master, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    }
    waitpid(child, &status, 0);
    close(master);
    return screen;
}

TEST(FixPasswd, ATerminalAsksTwiceAndShowsNothingOfIt) {
    int status = -1;
    const auto good = at_terminal({"correct horse\n", "correct horse\n"}, status);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << good;
    EXPECT_THAT(good, HasSubstr("desk:$scrypt$"));
    EXPECT_THAT(good, Not(HasSubstr("horse")));
    const auto differ = at_terminal({"correct horse\n", "correct house\n"}, status);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << differ;
    EXPECT_THAT(differ, HasSubstr("the two entries differ"));
    const auto interrupted = at_terminal({"\x03"}, status);
    EXPECT_TRUE(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 2)) << interrupted;
    EXPECT_THAT(interrupted, Not(HasSubstr("$scrypt$")));
}

}  // namespace
}  // namespace millpond::app
