#include "service/token.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "service/settings/value.hpp"
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
    } catch (const settings::ConfigError& error) {
        return error.what();
    }
    return "none";
}

TEST(Token, WithoutOneEverybodyIsAdmitted) {
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
    EXPECT_FALSE(token.admits_bearer(kSecret));
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

}  // namespace
}  // namespace millpond::service
