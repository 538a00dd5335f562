#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "tests/apps/program.hpp"
#include "tests/support/fix_dictionaries.hpp"

namespace millpond::app {
namespace {

namespace fs = std::filesystem;

/// QuickFIX's acceptance scripts and their runner, in the folder of the test data.
struct Field {
    fs::path runner;
    fs::path scripts;
    std::string dictionaries;
};

/// Finds the scripts and the runner; missing ones are empty.
Field field() {
    const char* const folder = std::getenv("MILLPOND_TEST_DATA");  // NOLINT(concurrency-mt-unsafe): never set here
    if (folder == nullptr) return {};
    const fs::path data{folder};
    const auto runner = data.parent_path() / "tools" / "fix_acceptance.py";
    if (!fs::exists(runner)) return {};
    return {.runner = runner, .scripts = data / "fix-acceptance", .dictionaries = test::fix_dictionaries()};
}

/// Numbers of scripts that passed and that ran, from the last line of each runner's output.
struct Score {
    int passed{0};
    int ran{0};
};

void add_score(const std::string& output, Score& score) {
    const auto total = output.rfind("total ");
    if (total == std::string::npos) return;
    int passed = 0;
    int ran = 0;
    if (std::sscanf(output.c_str() + total, "total %d of %d passed", &passed, &ran) != 2) return;
    score.passed += passed;
    score.ran += ran;
}

/// Shares of the scripts that run at the same time. Some scripts wait half a minute for a heartbeat, and two scripts of
/// one session cannot run at once, so slow ones get separate acceptors.
const std::vector<std::vector<std::string>> kShares{{"--skip", "/(6|4a)_"}, {"--only", "/6_"}, {"--only", "/4a_"}};

/// Makes an Orchestra repository, the format of FIX Latest, from QuickFIX's newest dictionary.
Outcome orchestra_of(const std::string& dictionary, const fs::path& output) {
    return Program{"python3", {MILLPOND_ORCHESTRA_OF, dictionary, output}}.wait();
}

TEST(FixAcceptance, ADictionaryIsTheSameInBothFormats) {
    const auto dictionaries = test::fix_dictionaries();
    if (dictionaries.empty()) GTEST_SKIP() << "tools/fetch_fix_dictionaries could not get the dictionaries";
    const auto orchestra = fs::path{::testing::TempDir()} / fmt::format("millpond_orchestra_{}.xml", getpid());
    for (const auto* name : {"FIX42.xml", "FIX50SP2.xml"}) {
        const auto quickfix = dictionaries + "/" + name;
        const auto made = orchestra_of(quickfix, orchestra);
        ASSERT_EQ(made.exit_code, 0) << made.err;
        const auto printed = [](const std::string& file, const std::string& message) {
            auto arguments = std::vector<std::string>{"fix", "dictionary", file};
            if (!message.empty()) arguments.insert(arguments.end(), {"--message", message});
            const auto out = run(arguments).out;
            return message.empty() ? out.substr(out.find(':')) : out;  // the text after the version's name
        };
        for (const auto* message : {"", "D", "8", "d", "V"}) {
            const auto expected = printed(quickfix, message);
            EXPECT_GT(expected.size(), 500U);
            EXPECT_EQ(printed(orchestra, message), expected) << name << " " << message;
        }
    }
    fs::remove(orchestra);
}

TEST(FixAcceptance, TheScriptsOfTheFieldAndThoseDerivedForOtherVersionsPass) {
    const auto given = field();
    if (given.runner.empty()) GTEST_SKIP() << "MILLPOND_TEST_DATA names no folder with the scripts";
    if (given.dictionaries.empty()) GTEST_SKIP() << "tools/fetch_fix_dictionaries could not get the dictionaries";
    const auto folder = fs::path{::testing::TempDir()} / fmt::format("millpond_fix_scripts_{}", getpid());
    const auto derived = folder / "scripts";
    const auto dictionaries = folder / "dictionaries";
    fs::create_directories(dictionaries);
    for (const auto& file : fs::directory_iterator{given.dictionaries}) {
        fs::create_symlink(file.path(), dictionaries / file.path().filename());
    }
    const auto latest = orchestra_of(given.dictionaries + "/FIX50SP2.xml", dictionaries / "FIXLatest.xml");
    ASSERT_EQ(latest.exit_code, 0) << latest.err;
    const auto made = Program{"python3", {MILLPOND_DERIVE_FIX_SCRIPTS, given.scripts / "fix44", derived}}.wait();
    ASSERT_EQ(made.exit_code, 0) << made.err;
    // Uses a folder for each session: two scripts of one session cannot run at once.
    fs::copy(fs::path{MILLPOND_FIX_SCRIPTS} / "fixlatest", derived / "fixlatest");

    std::vector<std::unique_ptr<Program>> acceptors;
    std::vector<std::unique_ptr<Program>> runners;
    for (std::size_t i = 0; i < kShares.size(); ++i) {
        acceptors.push_back(std::make_unique<Program>(
            std::vector<std::string>{"fix", "acceptor", "--echo", "--port", "0", "--dictionaries", dictionaries}));
    }
    for (std::size_t i = 0; i < kShares.size(); ++i) {
        ASSERT_TRUE(acceptors[i]->prints("listening on ")) << acceptors[i]->wait().err;
        std::vector<std::string> arguments{given.runner,
                                           given.scripts,
                                           derived,
                                           "--jobs",
                                           "8",
                                           "--timeout",
                                           "60",
                                           "--disconnect-timeout",
                                           "60",
                                           "--port",
                                           acceptors[i]->word_after("listening on 127.0.0.1:")};
        arguments.insert(arguments.end(), kShares[i].begin(), kShares[i].end());
        runners.push_back(std::make_unique<Program>("python3", arguments));
    }
    Score score;
    std::string faults;
    for (const auto& runner : runners) {
        const auto outcome = runner->wait(std::chrono::minutes{4});
        add_score(outcome.out, score);
        if (outcome.exit_code != 0) faults += outcome.out + outcome.err;
    }
    fs::remove_all(folder);
    EXPECT_EQ(score.ran, 117 + 347 + 59 + 3);
    EXPECT_EQ(score.passed, score.ran) << faults;
    for (const auto& acceptor : acceptors) {
        acceptor->signal(SIGTERM);
        EXPECT_EQ(acceptor->wait().exit_code, 0);
    }
}

}  // namespace
}  // namespace millpond::app
