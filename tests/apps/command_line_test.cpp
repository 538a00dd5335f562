#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include "gateway/settings/config.hpp"
#include "tests/apps/gateway_run.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

TEST(CommandLine, ABareProgramOrGroupOfCommandsPrintsItsHelp) {
    const auto bare = run({});
    EXPECT_EQ(bare.exit_code, 0);
    EXPECT_THAT(bare.out, AllOf(HasSubstr("Usage: millpond"), HasSubstr("gateway"), HasSubstr("tail")));
    const auto group = run({"fix"});
    EXPECT_EQ(group.exit_code, 0);
    EXPECT_THAT(group.out, AllOf(HasSubstr("Usage: millpond fix"), HasSubstr("acceptor")));
}

TEST(CommandLine, AMistypedCommandOrOptionSuggestsTheRightOne) {
    const auto refused = [](const std::vector<std::string>& arguments) {
        const auto outcome = run(arguments);
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_EQ(outcome.out, "");
        return outcome.err;
    };
    EXPECT_EQ(refused({"gateaway"}),
              "millpond: unknown command 'gateaway'; did you mean 'gateway'?\n"
              "Run `millpond --help` for more information.\n");
    EXPECT_THAT(refused({"fix", "sesions", "list"}),
                StartsWith("millpond fix: unknown command 'sesions'; did you mean 'sessions'?\n"));
    EXPECT_THAT(refused({"gateaway", "--help"}), StartsWith("millpond: unknown command 'gateaway'"));
    EXPECT_THAT(refused({"fix", "sesions", "--help"}), StartsWith("millpond fix: unknown command 'sesions'"));
    EXPECT_THAT(refused({"tail", "--symbol", "gateaway", "--rin", "x"}),
                StartsWith("millpond tail: unknown option '--rin'; did you mean '--ring'?\n"));
    EXPECT_THAT(refused({"doc"}), StartsWith("millpond: unknown command 'doc'; did you mean 'doctor'?\n"));
    EXPECT_THAT(refused({"top", "--interval", "5"}),
                StartsWith("millpond top: unknown option '--interval'; did you mean '--interval-ms'?\n"));
    EXPECT_EQ(refused({"manual", "gatewy"}), "millpond: manual: unknown command 'gatewy'; did you mean 'gateway'?\n");
    EXPECT_THAT(refused({"tail", "main"}),
                StartsWith("millpond tail: unexpected argument 'main'; did you mean '--ring main'?\n"));
    EXPECT_THAT(refused({"tail", "--symbol", "A", "B"}), StartsWith("millpond tail: unexpected argument 'B'\n"));
    EXPECT_THAT(refused({"config", "check", "a", "b"}), StartsWith("millpond config check: unexpected argument 'b'\n"));
    EXPECT_THAT(refused({"tail", "--format", "jsn"}),
                HasSubstr("--format: 'jsn' is not one of table, json, csv; did you mean 'json'?\n"));
    EXPECT_EQ(refused({"doctor", "--feed", "x"}),
              "millpond: doctor: --feed x needs --config FILE with the address of feed 'x'\n");
    EXPECT_THAT(refused({"gateway", "--tcp"}), StartsWith("millpond gateway: --tcp: needs a value, KEY=VALUE,...\n"));
    EXPECT_THAT(refused({"gateway", "--config", "a", "--config", "b"}),
                StartsWith("millpond gateway: --config: given more than once\n"));
    for (const auto* command : {"gateway", "doctor"}) {
        EXPECT_THAT(refused({command, "--config", ""}), HasSubstr("--config: it is empty\n"));
    }
    EXPECT_THAT(refused({"fix", "acceptor", "--config", ""}), HasSubstr("--config: it is empty\n"));
    EXPECT_THAT(refused({"zzzzzzzz"}), HasSubstr("unknown command 'zzzzzzzz'; known are: completion, config"));
}

TEST(CommandLine, FlagsHaveHyphensAndMayBeWrittenWithUnderscores) {
    const auto completion = run({"completion", "bash"});
    EXPECT_THAT(completion.out, HasSubstr("--drop-copy"));
    EXPECT_THAT(completion.out, Not(ContainsRegex("--[a-z-]*_")));
    for (const auto* flag : {"--drop-copy", "--drop_copy"}) {
        const auto outcome = run({"fix", "acceptor", flag, "sorces=A"});
        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_THAT(outcome.err, HasSubstr("--drop-copy: unknown key 'sorces' of [[drop_copy]]"));
    }
    EXPECT_THAT(run({"gateway", "--log_format=a_b"}).err, HasSubstr("--log-format"));
    EXPECT_THAT(run({"gateway", "--log_format=a_b"}).err, HasSubstr("'a_b'"));
    EXPECT_THAT(run({"tail", "--count", "1", "--", "--a_b"}).err, HasSubstr("--a_b"));
}

TEST(CommandLine, ANumberOutOfItsBoundsIsRefusedWithReadableBounds) {
    struct Case {
        std::vector<std::string> arguments;
        std::string expected;
    };
    for (const auto& [arguments, expected] : {
             Case{{"tail", "--count", "-1"}, "expects a whole number of at least 0, found '-1'"},
             Case{{"tail", "--count", "99999999999999999999"}, "found '99999999999999999999'"},
             Case{{"generate", "--to", "127.0.0.1:9", "--rate", "-1"},
                  "expects a number from 0.001 to 1000000000, found '-1'"},
             Case{{"generate", "--to", "127.0.0.1:9", "--rate", "nan"}, "found 'nan'"},
             Case{{"gateway", "--demo", "--demo-rate", "0"}, "expects a number from 0.001 to 1000000000, found '0'"},
             Case{{"doctor", "--seconds", "x"}, "expects a number from 0.1 to 3600, found 'x'"},
             Case{{"doctor", "--seconds", "1e308"}, "expects a number from 0.1 to 3600, found '1e308'"},
             Case{{"gateway", "--demo", "--demo-speed", "abc"},
                  "expects 'max' or a number from 0.001 to 1000000, found 'abc'"},
             Case{{"replay", "x.pcap", "--to", "127.0.0.1:9", "--speed", "inf"}, "found 'inf'"},
             Case{{"generate", "--to", "127.0.0.1:9", "--speed", "1e300"}, "found '1e300'"},
             Case{{"replay", "x", "--ring", "r", "--readers", "18446744073709551615"}, "from 0 to 1000000, found"},
             Case{{"top", "--interval-ms", "0"}, "expects a whole number from 100 to 3600000, found '0'"},
         }) {
        const auto outcome = run(arguments);
        EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr(expected));
        EXPECT_LT(outcome.err.size(), 200U) << outcome.err;
    }
}

TEST(CommandLine, AnUnknownRingListsTheExistingOnes) {
    GatewayRun gateway{{.ring = unique_ring("there")}};
    const auto outcome = run({"tail", "--ring", "not-there"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, AllOf(StartsWith("millpond: no ring 'not-there'; there are: "), HasSubstr(gateway.ring()),
                                   Not(HasSubstr("reader")), Not(HasSubstr(".lock"))));
    EXPECT_EQ(gateway.end().exit_code, 0);
}

TEST(CommandLine, VersionNamesTheProjectsVersionAndTheCommit) {
    const auto outcome = run({"--version"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, MatchesRegex("millpond " MILLPOND_VERSION " \\(([0-9a-f]{10,}(-dirty)?|unknown)\\)\n"));
}

TEST(CommandLine, HelpAndVersionThatCannotBeWrittenAreAFailure) {
    if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "needs /dev/full";
    for (const std::string arguments : {"--version", "--help", "", "gateway --help", "fix"}) {
        for (const std::string out : {">/dev/full", ">&-"}) {
            Program shell{"/bin/sh", {"-c", "exec " MILLPOND_PROGRAM " " + arguments + " " + out}};
            const auto outcome = shell.wait();
            EXPECT_EQ(outcome.exit_code, 1) << arguments << out;
            EXPECT_THAT(outcome.err, StartsWith("millpond: cannot write to standard output: "));
        }
    }
}

TEST(CommandLine, AFileAtTheLimitOfItsSizeIsAFailedWrite) {
    const auto file = std::filesystem::temp_directory_path() / fmt::format("millpond-limit-{}.itch", getpid());
    Program shell{"/bin/sh",
                  {"-c", "ulimit -f 8; exec " MILLPOND_PROGRAM " generate --format itch --count 10000 --quiet --out " +
                             file.string()}};
    const auto outcome = shell.wait();
    std::filesystem::remove(file);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("File too large"));
}

TEST(CommandLine, AnErrorIsOneLineWithoutControlCharactersWhateverItQuotes) {
    const test::ScratchFile file{"millpond_control.toml", "[[csv]]\npath = 'x'\npoll = \"a\\n\\u001b[2Jb\"\n"};
    const auto outcome = run({"config", "check", file.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("found 'a\\n\\x1b[2Jb'\n"));
    const auto missing = run({"config", "check", "no\nfile"});
    EXPECT_THAT(missing.err, StartsWith("millpond: no\\nfile: "));
}

TEST(CommandLine, HelpOfASubcommandHasAnExample) {
    const auto outcome = run({"config", "check", "--help"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("millpond config check /etc/millpond/gateway.toml"));
}

TEST(ConfigCheck, AGoodFileIsSaidToBeGood) {
    const test::ScratchFile file{"millpond_good.toml", "[[feed]]\nlisten = '127.0.0.1:9000'\n[[tcp]]\n[[web]]\n"};
    const auto outcome = run({"config", "check", file.path()});
    EXPECT_EQ(outcome.exit_code, 0);
    std::string sinks;
    for (const auto* kind : gateway::builtin_sink_kinds()) {
        const bool configured = kind->name() == "tcp" || kind->name() == "web";
        sinks += fmt::format("{}{} {}", sinks.empty() ? "" : ", ", kind->name(), configured ? 1 : 0);
    }
    EXPECT_EQ(outcome.out, file.path() + ": good: rings 1, feeds 1; sinks: " + sinks + "\n");
}

TEST(ConfigCheck, ATokenFileThatCannotBeReadIsFound) {
    const std::string feed = "[[feed]]\nlisten = '127.0.0.1:9000'\n";
    for (const auto& text :
         {"admin_token_file = '/nonexistent'\n" + feed, feed + "[[tcp]]\ntoken_file = '/nonexistent'\n"}) {
        const test::ScratchFile file{"millpond_secret.toml", text};
        const auto outcome = run({"config", "check", file.path()});
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_THAT(outcome.err, AllOf(HasSubstr(file.path()), HasSubstr("/nonexistent")));
    }
}

TEST(ConfigCheck, ASecretThatCannotBeReadIsNamedWithItsTable) {
    const test::ScratchFile file{"millpond_password.toml",
                                 "[[feed]]\nlisten = '127.0.0.1:9000'\n[[mqtt]]\nbroker = '127.0.0.1:1883'\n"
                                 "user = 'me'\npassword_file = '/nonexistent'\n"};
    const auto outcome = run({"config", "check", file.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "millpond: " + file.path() +
                               ":3: [[mqtt]] 'mqtt': password file '/nonexistent': No such file or directory\n");
}

TEST(ConfigCheck, AFaultIsOneLineWithFileAndLineAndExitCodeOne) {
    const test::ScratchFile file{"millpond_bad.toml", "[[feed]]\nlisten = '127.0.0.1:9000'\nfromat = 'itch'\n"};
    const auto outcome = run({"config", "check", file.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err,
              "millpond: " + file.path() + ":3: unknown key 'fromat' of [[feed]]; did you mean 'format'?\n");
    EXPECT_EQ(outcome.out, "");
}

TEST(ConfigCheck, AFileWithoutFeedsIsNoConfigurationOfAGateway) {
    const test::ScratchFile file{"millpond_no_feed.toml", "[[tcp]]\n"};
    const auto outcome = run({"config", "check", file.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "millpond: " + file.path() + ": no [[feed]]: a gateway needs at least one\n");
    EXPECT_EQ(outcome.out, "");
}

TEST(ConfigCheck, AFolderIsRefusedAsSuch) {
    const auto outcome = run({"config", "check", "/etc"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "millpond: /etc: cannot read: is not a regular file\n");
}

TEST(ConfigCheck, AMissingFileIsOneLineAndExitCodeOne) {
    const auto outcome = run({"config", "check", "/nonexistent/x.toml"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "millpond: /nonexistent/x.toml: cannot read: No such file or directory\n");
}

}  // namespace
}  // namespace millpond::app
