#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
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

/// The error of a command line that is refused.
std::string refused(const std::vector<std::string>& arguments) {
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
}

TEST(CommandLine, AMistypedCommandOrOptionSuggestsTheRightOne) {
    EXPECT_EQ(refused({"gateaway"}),
              "millpond: unknown command 'gateaway'; did you mean 'gateway'?\n"
              "Run `millpond --help` for more information.\n");
    EXPECT_THAT(refused({"fix", "sesions", "list"}),
                StartsWith("millpond fix: unknown command 'sesions'; did you mean 'sessions'?\n"));
    EXPECT_THAT(refused({"gateaway", "--help"}), StartsWith("millpond: unknown command 'gateaway'"));
    EXPECT_THAT(refused({"fix", "sesions", "--help"}), StartsWith("millpond fix: unknown command 'sesions'"));
    EXPECT_THAT(refused({"tail", "--symbol", "gateaway", "--rin", "x"}),
                StartsWith("millpond tail: unknown option '--rin'; did you mean '--ring'?\n"));
    EXPECT_THAT(refused({"fix", "acceptor", "--raw_log_ring=9"}),
                StartsWith("millpond fix acceptor: option '--raw-log-ring' was removed; it is fixed to: 16 MiB\n"));
    EXPECT_THAT(refused({"fix", "acceptor", "--session", "sender=A,target=B,connect_ms=9"}),
                HasSubstr("--session: key 'connect_ms' of [[session]] was removed; it is fixed to: 5000\n"));
    EXPECT_THAT(refused({"tail", "--quiet"}), StartsWith("millpond tail: unknown option '--quiet'"));
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
    EXPECT_THAT(refused({"zzzzzzzz"}),
                HasSubstr("unknown command 'zzzzzzzz'; known are: book, capture-report, completion, config"));
    EXPECT_THAT(refused({"manual", "nope"}), HasSubstr("unknown command 'nope'; known are: "));
    EXPECT_THAT(refused({"tpo"}), HasSubstr("did you mean 'top'?"));
    EXPECT_THAT(refused({"help", "gatewy"}), HasSubstr("unknown command 'gatewy'; did you mean 'gateway'?"));
}

TEST(CommandLine, HelpAndVersionHaveTheirUsualNames) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{}, std::vector<std::string>{"gateway"},
                                                  std::vector<std::string>{"fix", "acceptor"}}) {
        auto help = words;
        help.insert(help.begin(), "help");
        auto flag = words;
        flag.emplace_back("--help");
        const auto printed = run(help);
        EXPECT_EQ(printed.exit_code, 0);
        EXPECT_EQ(printed.out, run(flag).out);
        EXPECT_THAT(printed.out, HasSubstr("Usage: "));
    }
    EXPECT_EQ(run({"-V"}).out, run({"--version"}).out);
    EXPECT_EQ(run({"version"}).out, run({"--version"}).out);
    EXPECT_THAT(run({"-V"}).out, StartsWith("millpond "));
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream{text};
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// Calls check(words) for each command of the program.
template <class Check>
void for_each_command(const Check& check, const std::vector<std::string>& path = {}) {
    auto words = path;
    words.emplace_back("--help");
    check(path);
    bool listed = false;
    for (const auto& line : lines_of(run(words).out)) {
        if (line.starts_with("Subcommands:")) {
            listed = true;
        } else if (line.empty() || line.front() != ' ') {
            listed = false;
        } else if (listed && line[2] != ' ') {
            auto below = path;
            below.push_back(line.substr(2, line.find(' ', 2) - 2));
            for_each_command(check, below);
        }
    }
}

TEST(CommandLine, HelpFitsInto80Columns) {
    int commands = 0;
    for_each_command([&](const std::vector<std::string>& path) {
        ++commands;
        for (const std::vector<std::string>& topic :
             {std::vector<std::string>{}, std::vector<std::string>{"all"}, std::vector<std::string>{"keys"}}) {
            auto words = path;
            words.emplace_back("--help");
            words.insert(words.end(), topic.begin(), topic.end());
            if (path.size() < 1 && topic == std::vector<std::string>{"keys"}) continue;
            for (const auto& line : lines_of(run(words).out)) {
                const bool one_word = line.find(' ', line.find_first_not_of(' ')) == std::string::npos;
                EXPECT_TRUE(line.size() <= 80 || one_word) << fmt::format("{}: {}", fmt::join(words, " "), line);
            }
        }
    });
    EXPECT_GE(commands, 20);
}

TEST(CommandLine, HelpOfTheGatewayIsOneScreenOfTopics) {
    const auto page = run({"gateway", "--help"}).out;
    EXPECT_LE(lines_of(page).size(), 40U) << page;
    EXPECT_THAT(page, AllOf(HasSubstr("\n  feed "), HasSubstr("\n  ring "), HasSubstr("\n  sink kafka "),
                            HasSubstr("\n  keys "), HasSubstr("--config FILE")));
    const auto feed = run({"gateway", "--help", "feed"});
    EXPECT_EQ(feed.exit_code, 0);
    EXPECT_THAT(feed.out, AllOf(HasSubstr("  listen = ADDRESS:PORT\n      Address to receive on;"),
                                HasSubstr("Keys of [[feed]] in the file, and of --feed KEY=VALUE,...:\n")));
    EXPECT_EQ(run({"help", "gateway", "feed"}).out, feed.out);
    const auto kafka = run({"gateway", "--help", "sink", "kafka"}).out;
    EXPECT_THAT(kafka, HasSubstr("  brokers = "));
    EXPECT_EQ(run({"gateway", "-h", "kafka"}).out, kafka);
    EXPECT_THAT(run({"gateway", "--help", "keys"}).out, HasSubstr("  log_level = debug|info|warning|error\n"));
    EXPECT_THAT(run({"gateway", "--help", "all"}).out, AllOf(HasSubstr("--log-level"), HasSubstr("line_b ")));
    EXPECT_THAT(refused({"gateway", "--help", "sink", "kafak"}),
                HasSubstr("--help: no topic 'sink kafak'; did you mean "
                          "'sink kafka'?"));
}

TEST(CommandLine, ManualOnATerminalIsPaged) {
    // script(1) gives the program a terminal; PATH has no man, so that the help is shown by the pager.
    if (std::system("command -v script >/dev/null") != 0) GTEST_SKIP() << "needs script";
    const auto folder = std::filesystem::path{::testing::TempDir()} / fmt::format("millpond_pager_{}", getpid());
    std::filesystem::create_directories(folder);
    Program shell{
        "script",
        {"-qec", "PATH=" + folder.string() + " PAGER='/usr/bin/sed s/^/paged:/' " MILLPOND_PROGRAM " manual tail",
         "/dev/null"}};
    const auto outcome = shell.wait();
    std::filesystem::remove_all(folder);
    EXPECT_THAT(outcome.out, HasSubstr("paged:Usage: millpond tail "));
}

TEST(CommandLine, TopTakesAUrlAsABrowserShowsIt) {
    for (const char* url : {"http://localhost:1", "http://localhost:1/", "http://127.0.0.1:1/health?x#y"}) {
        const auto outcome = run({"top", "--once", "--json", url});
        EXPECT_EQ(outcome.exit_code, 1) << url << ": " << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr("127.0.0.1:1"));
    }
    EXPECT_THAT(refused({"top", "--once", "https://localhost:9464"}), HasSubstr("HTTP without TLS only"));
    EXPECT_THAT(refused({"top", "--once", "http://localhost/health"}),
                HasSubstr("'http://localhost/health' has no port"));
}

TEST(CommandLine, TopTakesItsGatewayWithoutTheFlagAndByTheNameLocalhost) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"top", "--once", "localhost:1"},
          std::vector<std::string>{"top", "--once", "--gateway", "localhost:1"}}) {
        const auto refused = run(words);
        EXPECT_EQ(refused.exit_code, 1) << refused.err;
        EXPECT_THAT(refused.err, HasSubstr("127.0.0.1:1"));
    }
}

TEST(CommandLine, EachSubcommandHasAManualPage) {
    const auto folder = std::filesystem::path{::testing::TempDir()} / fmt::format("millpond_manual_{}", getpid());
    std::filesystem::create_directories(folder);
    EXPECT_EQ(run({"manual", "--all", folder}).exit_code, 0);
    for (const auto* page : {"millpond.1", "millpond-gateway.1", "millpond-fix.1", "millpond-fix-acceptor.1",
                             "millpond-config-check.1", "millpond-journal-verify.1"}) {
        EXPECT_TRUE(std::filesystem::exists(folder / page)) << page;
    }
    std::filesystem::remove_all(folder);
    EXPECT_THAT(run({"manual", "fix", "acceptor"}).out, HasSubstr(".SH NAME\nmillpond\\-fix\\-acceptor"));
}

TEST(CommandLine, AManualPageOnATerminalIsFormatted) {
    Program terminal{"script",
                     {"-qefc", fmt::format("PAGER=cat MANPAGER=cat {} manual top", MILLPOND_PROGRAM), "/dev/null"}};
    const auto shown = terminal.wait();
    EXPECT_EQ(shown.exit_code, 0);
    if (Program{"sh", {"-c", "command -v man"}}.wait().exit_code != 0) GTEST_SKIP() << "man is missing";
    EXPECT_THAT(shown.out, Not(HasSubstr(".SH NAME")));
    const std::regex overstruck{".\b"};  // bold and underlined text of man without a pager
    EXPECT_THAT(std::regex_replace(shown.out, overstruck, ""), HasSubstr("SYNOPSIS"));
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
             Case{{"demo", "--rate", "0"}, "expects a number from 0.001 to 1000000000, found '0'"},
             Case{{"doctor", "--seconds", "x"}, "expects a number from 0.1 to 3600, found 'x'"},
             Case{{"doctor", "--seconds", "1e308"}, "expects a number from 0.1 to 3600, found '1e308'"},
             Case{{"demo", "--speed", "abc"}, "expects 'max' or a number from 0.001 to 1000000, found 'abc'"},
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
    const test::ScratchFile file{"millpond_control.toml", "[[csv]]\npath = 'x'\nmode = \"a\\n\\u001b[2Jb\"\n"};
    const auto outcome = run({"config", "check", file.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("found 'a\\n\\x1b[2Jb'\n"));
    const auto missing = run({"config", "check", "no\nfile"});
    EXPECT_THAT(missing.err, StartsWith("millpond: no\\nfile: "));
}

TEST(ConfigCheck, EachErrorIsALine) {
    const test::ScratchFile file{"millpond_errors.toml",
                                 "[[feed]]\nchanel = 1\n[[csv]]\npath = '/nonexistent/a.csv'\n"};
    const auto outcome = run({"config", "check", file.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err,
              "millpond: " + file.path() + ":2: unknown key 'chanel' of [[feed]]; did you mean 'channel'?\n" +
                  "millpond: " + file.path() +
                  ":3: [[csv]] 'csv': path '/nonexistent/a.csv': folder '/nonexistent': No such file or directory\n");
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
