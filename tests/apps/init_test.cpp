// Tests of `millpond init`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "gateway/settings/config.hpp"
#include "gateway/settings/read.hpp"
#include "tests/apps/gateway_run.hpp"
#include "tests/apps/program.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;

class Init : public ::testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    /// Runs init in a folder of the test: paths in the file begin there.
    [[nodiscard]] Outcome init(const std::string& arguments) const {
        Program program{"sh", {"-c", "cd " + folder_.string() + " && exec " + MILLPOND_PROGRAM + " init " + arguments}};
        return program.wait();
    }
    [[nodiscard]] std::string text(const std::string& name = "gateway.toml") const {
        std::ifstream file{folder_ / name};
        return {std::istreambuf_iterator<char>{file}, {}};
    }
    [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

private:
    std::filesystem::path folder_{std::filesystem::temp_directory_path() / unique_ring("init")};
};

TEST_F(Init, TheFileOfEveryFormatIsGood) {
    for (const auto* format : gateway::builtin_feed_formats()) {
        const std::string name{format->name()};
        const auto outcome = init("--format " + name + " " + name + ".toml");
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_THAT(outcome.out, HasSubstr(name + ".toml: good: rings 1, feeds 1; sinks: "));
        EXPECT_THAT(outcome.out, HasSubstr("clock source")) << "of doctor";
        EXPECT_EQ(run({"config", "check", path(name + ".toml")}).exit_code, 0);
    }
}

TEST_F(Init, TheFileOfEverySinkIsGoodAndHasThatSink) {
    for (const auto* kind : gateway::builtin_sink_kinds()) {
        const std::string name{kind->name()};
        const auto outcome = init("--format itch --sinks " + name + " " + name + ".toml");
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_THAT(outcome.out, HasSubstr(name + " 1"));
    }
}

TEST_F(Init, DefaultsInCommentsAreTheDefaults) {
    const auto outcome = init("--format itch --sinks tcp,web,csv,kafka,mqtt,udp");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto written = text();
    std::istringstream lines{written};
    std::string uncommented;
    int defaults = 0;
    const std::regex commented{"#([a-z0-9_]+ = (.+))"};
    for (std::string line; std::getline(lines, line);) {
        std::smatch key;
        // Forms of values, such as NAME, prefer|require or KEY=VALUE+..., are no defaults.
        const bool is_default =
            std::regex_match(line, key, commented) && (key.str(2).starts_with('"') || key.str(2).starts_with('[') ||
                                                       std::isdigit(static_cast<unsigned char>(key.str(2)[0])) != 0 ||
                                                       key.str(2) == "true" || key.str(2) == "false");
        defaults += is_default ? 1 : 0;
        uncommented += (is_default ? key.str(1) : line) + "\n";
    }
    EXPECT_GT(defaults, 50) << written;
    gateway::Config with_comments;
    gateway::Config without;
    gateway::read_toml(written, "a", with_comments);
    gateway::read_toml(uncommented, "b", without);
    EXPECT_EQ(with_comments.metrics, without.metrics);
    EXPECT_EQ(with_comments.file_mode, without.file_mode);
    EXPECT_EQ(with_comments.poll, without.poll);
    EXPECT_TRUE(with_comments.rings == without.rings);
    EXPECT_TRUE(with_comments.feeds == without.feeds);
    EXPECT_EQ(without.sinks.size(), 7U) << "a kafka sink brings a journal";
    EXPECT_TRUE(with_comments.sinks == without.sinks);
}

TEST_F(Init, AFileThatExistsIsKept) {
    std::ofstream{path("gateway.toml")} << "mine";
    const auto outcome = init("--format itch");
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("gateway.toml: File exists"));
    EXPECT_EQ(text(), "mine");
}

TEST_F(Init, UnknownFormatsAndSinksAreNamed) {
    const auto format = init("--format fast");
    EXPECT_EQ(format.exit_code, 2);
    EXPECT_THAT(format.err, HasSubstr("init: no format 'fast'; known are: "));
    const auto sink = init("--format itch --sinks tcp,nats");
    EXPECT_EQ(sink.exit_code, 2);
    EXPECT_THAT(sink.err, HasSubstr("init: no sink 'nats'; known are: "));
    EXPECT_FALSE(std::filesystem::exists(path("gateway.toml")));
}

}  // namespace
}  // namespace millpond::app
