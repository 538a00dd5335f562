#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/apps/program.hpp"
#include "tests/apps/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;

TEST(CommandLine, WithoutASubcommandItSaysHowItIsUsedAndExitsWithTwo) {
    const auto outcome = run({});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("--help"));
}

TEST(CommandLine, AnUnknownSubcommandExitsWithTwo) { EXPECT_EQ(run({"gateaway"}).exit_code, 2); }

TEST(CommandLine, VersionIsTheProjects) {
    const auto outcome = run({"--version"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.out, MILLPOND_VERSION "\n");
}

TEST(CommandLine, HelpOfASubcommandHasAnExample) {
    const auto outcome = run({"config", "check", "--help"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("millpond config check /etc/millpond/gateway.toml"));
}

TEST(ConfigCheck, AGoodFileIsSaidToBeGood) {
    const ScratchFile file{"millpond_good.toml", "[[feed]]\nlisten = '127.0.0.1:9000'\n[[tcp]]\n"};
    const auto outcome = run({"config", "check", file.path()});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.out, file.path() +
                               ": good: rings 1, feeds 1, tcp sinks 1, csv sinks 0, udp sinks 0, journals 0, mqtt "
                               "sinks 0, kafka sinks 0\n");
}

TEST(ConfigCheck, AFaultIsOneLineWithFileAndLineAndExitCodeOne) {
    const ScratchFile file{"millpond_bad.toml", "[[feed]]\nlisten = '127.0.0.1:9000'\nfromat = 'itch'\n"};
    const auto outcome = run({"config", "check", file.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err,
              "millpond: " + file.path() + ":3: unknown key 'fromat' of [[feed]]; did you mean 'format'?\n");
    EXPECT_EQ(outcome.out, "");
}

TEST(ConfigCheck, AFileWithoutFeedsIsNoConfigurationOfAGateway) {
    const ScratchFile file{"millpond_no_feed.toml", "[[tcp]]\n"};
    const auto outcome = run({"config", "check", file.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "millpond: " + file.path() + ": no [[feed]]: a gateway needs one\n");
    EXPECT_EQ(outcome.out, "");
}

TEST(ConfigCheck, AMissingFileIsOneLineAndExitCodeOne) {
    const auto outcome = run({"config", "check", "/nonexistent/x.toml"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "millpond: /nonexistent/x.toml: cannot read: No such file or directory\n");
}

}  // namespace
}  // namespace millpond::app
