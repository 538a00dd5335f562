#include "service/token.hpp"
#include "service/config_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/stat.h>

#include "service/settings/toml.hpp"
#include "service/tls.hpp"
#include "tests/service/certificate.hpp"

namespace millpond::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSecret = "correct-horse-battery";

std::string file_with(const test::Folder& folder, const std::string& text, unsigned mode = 0600) {
    const auto path = folder / "token";
    std::ofstream{path} << text;
    std::filesystem::permissions(path, std::filesystem::perms{mode});
    return path;
}

std::string refusal(const TokenSource& source) {
    try {
        const Token token{source};
    } catch (const service::ConfigError& error) {
        return error.what();
    }
    return "none";
}

TEST(Token, WithoutOneAllClientsAreAdmitted) {
    const Token none;
    EXPECT_FALSE(none.required());
    EXPECT_TRUE(none.admits(""));
    EXPECT_TRUE(none.admits_bearer(""));
}

TEST(Token, OnlyTheWholeSecretIsAdmitted) {
    const test::Folder folder{"token"};
    const Token token{{.file = file_with(folder, std::string{kSecret} + "\nnot part of it\n"), .environment = {}}};
    EXPECT_TRUE(token.required());
    EXPECT_TRUE(token.admits(kSecret));
    for (const std::string wrong : {"", "correct-horse-batterY", "correct-horse-batter", "correct-horse-batteryc",
                                    "correct-horse-batterycorrect-horse-battery"}) {
        EXPECT_FALSE(token.admits(wrong)) << wrong;
    }
    EXPECT_TRUE(token.admits_bearer(std::string{"Bearer "} + kSecret));
    EXPECT_TRUE(token.admits_bearer(std::string{"bEARER "} + kSecret));
    EXPECT_FALSE(token.admits_bearer(kSecret));
    EXPECT_FALSE(token.admits_bearer("Bearer"));
    EXPECT_FALSE(token.admits_bearer(std::string{"Basic "} + kSecret));
}

TEST(Token, ComesFromTheEnvironmentByName) {
    setenv("MILLPOND_TEST_TOKEN", kSecret, 1);
    EXPECT_TRUE((Token{{.file = {}, .environment = "MILLPOND_TEST_TOKEN"}}.admits(kSecret)));
    unsetenv("MILLPOND_TEST_TOKEN");
    EXPECT_THAT(refusal({.file = {}, .environment = "MILLPOND_TEST_TOKEN"}),
                AllOf(HasSubstr("MILLPOND_TEST_TOKEN"), HasSubstr("not set")));
}

TEST(Token, ARefusedOneIsNamedByItsPlaceAndNeverShown) {
    const test::Folder folder{"token-bad"};
    EXPECT_THAT(refusal({.file = folder / "absent", .environment = {}}), HasSubstr("No such file"));
    EXPECT_THAT(refusal({.file = file_with(folder, kSecret, 0644), .environment = {}}),
                AllOf(HasSubstr("any user may read"), HasSubstr("chmod"), Not(HasSubstr(kSecret))));
    EXPECT_THAT(refusal({.file = file_with(folder, "short-secret"), .environment = {}}),
                AllOf(HasSubstr("12 characters"), Not(HasSubstr("short-secret"))));
    EXPECT_THAT(refusal({.file = file_with(folder, "a secret with blanks"), .environment = {}}),
                AllOf(HasSubstr("visible ASCII"), Not(HasSubstr("with blanks"))));
    EXPECT_THAT(refusal({.file = file_with(folder, kSecret), .environment = "ALSO"}), HasSubstr("keep one"));
}

std::string password_refusal(const TokenSource& source) {
    try {
        return "accepted: " + read_secret(source, "password");
    } catch (const service::ConfigError& error) {
        return error.what();
    }
}

TEST(Secret, AFileWithoutAUsableFirstLineIsRefused) {
    const test::Folder folder{"secret"};
    const auto refused = [&](const std::string& text) {
        return password_refusal({.file = file_with(folder, text), .environment = {}});
    };
    for (const std::string text : {"", "\n", "\r\n", "\nsecond line", "  \t\n"}) {
        EXPECT_THAT(refused(text), AllOf(HasSubstr(folder / "token"), HasSubstr("its first line is empty"))) << text;
    }
    EXPECT_THAT(refused(std::string(8, '\0')), HasSubstr("holds control characters"));
    EXPECT_THAT(refused(std::string("pass\0word", 9)), HasSubstr("holds control characters"));
    EXPECT_EQ(refused("pass word\r\nmore"), "accepted: pass word");
}

TEST(Secret, APipeIsRefusedWithoutWaitingForItAndALinkToAFileIsFollowed) {
    const test::Folder folder{"secret"};
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_THAT(password_refusal({.file = folder / "pipe", .environment = {}}), HasSubstr("is not a regular file"));
    EXPECT_THAT(password_refusal({.file = folder / "", .environment = {}}), HasSubstr("is not a regular file"));
    const auto file = file_with(folder, "secret\n");
    std::filesystem::create_symlink(file, folder / "link");
    EXPECT_EQ(password_refusal({.file = folder / "link", .environment = {}}), "accepted: secret");
    EXPECT_THROW(static_cast<void>(settings::text_of(folder / "pipe")), service::ConfigError);
    const tls::Options tls{.certificate = folder / "pipe", .key = folder / "pipe"};
    EXPECT_THROW(static_cast<void>(server_tls(tls)), service::ConfigError);
    EXPECT_THROW(check_client_files(folder / "pipe", "", ""), service::ConfigError);
}

}  // namespace
}  // namespace millpond::service
