#include "service/password_hash.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace millpond::service {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// RFC 7914, section 12: scrypt ("pleaseletmein", "SodiumChloride", 16384, 8, 1, 64).
constexpr const char* kOfTheRfc =
    "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$"
    "cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUkKpr55h6F3A1lHkDfzwF7RVdYhw";

TEST(PasswordHash, TheVectorOfTheRfcIsAdmittedAndNothingElse) {
    const auto hash = PasswordHash::parse(kOfTheRfc);
    EXPECT_TRUE(hash.admits("pleaseletmein"));
    EXPECT_FALSE(hash.admits("pleaseletmeim"));
    EXPECT_FALSE(hash.admits("pleaseletmein "));
    EXPECT_FALSE(hash.admits(""));
    EXPECT_EQ(hash.text(), kOfTheRfc);
}

TEST(PasswordHash, EachOneHasItsOwnSaltAndReadsBackFromItsText) {
    const std::string password{"a pass\xC3\xBCword with blanks"};
    const auto one = PasswordHash::of(password);
    const auto other = PasswordHash::of(password);
    EXPECT_THAT(one.text(), StartsWith("$scrypt$ln=15,r=8,p=1$"));
    EXPECT_NE(one.text(), other.text());
    EXPECT_EQ(one.text().find("pass"), std::string::npos);
    EXPECT_TRUE(PasswordHash::parse(one.text()).admits(password));
    EXPECT_FALSE(PasswordHash::parse(one.text()).admits(password.substr(0, 15)));
}

TEST(PasswordHash, APasswordHas8To64BytesAndNoControlCharacters) {
    EXPECT_EQ(wrong_with_password("8 bytes!"), "");
    EXPECT_EQ(wrong_with_password(std::string(64, 'x')), "");
    EXPECT_EQ(wrong_with_password("7 bytes"), "has less than 8 bytes");
    EXPECT_EQ(wrong_with_password(std::string(65, 'x')), "has more than 64 bytes");
    for (const char c : {'\x01', '\n', '\0', '\x7F'}) {
        EXPECT_EQ(wrong_with_password("correct horse" + std::string(1, c)), "has a control character");
    }
    EXPECT_THROW(static_cast<void>(PasswordHash::of("short")), std::invalid_argument);
}

TEST(PasswordHash, APasswordThatHmacTreatsAsEqualIsNotEqual) {
    const auto hash = PasswordHash::of("correct horse");
    EXPECT_FALSE(hash.admits(std::string{"correct horse\0", 14}));
    EXPECT_FALSE(hash.admits(std::string{"correct horse\0\0\0", 16}));
    EXPECT_TRUE(hash.admits("correct horse"));
}

TEST(PasswordHash, TextThatIsNotAHashIsRefusedWithTheReason) {
    const auto wrong_in = [](const std::string& text) -> std::string {
        try {
            static_cast<void>(PasswordHash::parse(text));
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "nothing";
    };
    const std::string salt = "U29kaXVtQ2hsb3JpZGU";
    const std::string hash = "cCO9yzr9c0hGHAbNgf046/2o+7qQT44+";
    EXPECT_EQ(wrong_in("$scrypt$ln=10,r=8,p=1$" + salt + "$" + hash), "nothing");
    EXPECT_THAT(wrong_in(""), HasSubstr("$scrypt$"));
    EXPECT_THAT(wrong_in("secret"), HasSubstr("$scrypt$"));
    EXPECT_THAT(wrong_in("$argon2id$v=19$m=65536"), HasSubstr("$scrypt$"));
    EXPECT_THAT(wrong_in("$scrypt$"), HasSubstr("no ln="));
    EXPECT_THAT(wrong_in("$scrypt$ln=10,p=1,r=8$" + salt + "$" + hash), HasSubstr("no r="));
    EXPECT_THAT(wrong_in("$scrypt$ln=10,r=8$" + salt + "$" + hash), HasSubstr("no p="));
    EXPECT_THAT(wrong_in("$scrypt$ln=10,r=8,p=1,x=1$" + salt + "$" + hash), HasSubstr("not ln, r and p"));
    EXPECT_THAT(wrong_in("$scrypt$ln=-1,r=8,p=1$" + salt + "$" + hash), HasSubstr("no ln="));
    for (const auto* costs : {"ln=9,r=8,p=1", "ln=21,r=1,p=1", "ln=20,r=8,p=1", "ln=10,r=0,p=1", "ln=10,r=33,p=1",
                              "ln=10,r=8,p=0", "ln=10,r=8,p=5", "ln=99999999999,r=8,p=1"}) {
        EXPECT_THAT(wrong_in("$scrypt$" + std::string{costs} + "$" + salt + "$" + hash), HasSubstr("out of range"));
    }
    EXPECT_THAT(wrong_in("$scrypt$ln=10,r=8,p=1$$" + hash), HasSubstr("the salt"));
    EXPECT_THAT(wrong_in("$scrypt$ln=10,r=8,p=1$AAAA$" + hash), HasSubstr("the salt"));
    EXPECT_THAT(wrong_in("$scrypt$ln=10,r=8,p=1$" + salt + "=$" + hash), HasSubstr("the salt"));
    EXPECT_THAT(wrong_in("$scrypt$ln=10,r=8,p=1$" + salt), HasSubstr("the hash"));
    EXPECT_THAT(wrong_in("$scrypt$ln=10,r=8,p=1$" + salt + "$AAAA"), HasSubstr("the hash"));
    EXPECT_THAT(wrong_in("$scrypt$ln=10,r=8,p=1$" + salt + "$" + hash + "!"), HasSubstr("the hash"));
    EXPECT_THAT(wrong_in("$scrypt$ln=10,r=8,p=1$" + salt + "$" + std::string(1000, 'A')), HasSubstr("the hash"));
}

}  // namespace
}  // namespace millpond::service
