#include "bench/harness/compare.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/harness/machine.hpp"

namespace millpond::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<Contender> kRight{{"right", [] { return Finding{.value = 1234.5, .answer = 7}; }}};
const std::vector<Contender> kWrong{{"wrong", [] { return Finding{.value = 1234.5, .answer = 8}; }}};
const Question kQuestion{.question = "How many?", .unit = "ns", .expected = 7};

class Ask : public testing::Test {
protected:
    void SetUp() override { std::filesystem::remove_all(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("millpond_ask_test." + std::to_string(getpid()));
};

TEST_F(Ask, WritesTheResultToTheFolderOnTheCommandLine) {
    EXPECT_EQ(ask(kQuestion, kRight, {"bench", "--results", folder_.string()}), 0);
    std::ifstream file(folder_ / (program_name() + ".json"));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_THAT(text, HasSubstr("How many?"));
    EXPECT_THAT(text, HasSubstr("1234.5"));
}

TEST_F(Ask, PrintsNoFigureAndFailsWhenAnAnswerIsWrong) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_EQ(ask(kQuestion, kWrong, {"bench", "--results", folder_.string()}), 1);
    EXPECT_THAT(testing::internal::GetCapturedStdout(), Not(HasSubstr("1234")));
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no figures: wrong answered 8, expected 7"));
    EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(Ask, RefusesAnOptionThatItDoesNotKnow) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(ask(kQuestion, kRight, {"bench", "--fast"}), 1);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("unknown option --fast"));
}

TEST(Machine, EveryHeaderFieldIsFilledIn) {
    const auto machine = describe_machine();
    for (const auto& text : {machine.cpu, machine.cores, machine.kernel, machine.compiler, machine.flags,
                             machine.commit, machine.date, machine.command, machine.load}) {
        EXPECT_FALSE(text.empty());
    }
    EXPECT_EQ(machine.date.size(), 20U);
    EXPECT_THAT(machine.command, HasSubstr(program_name()));
#if defined(__x86_64__)
    EXPECT_THAT(machine.cpu, HasSubstr("family "));  // processors with the same model may differ
#endif
}

}  // namespace
}  // namespace millpond::bench
