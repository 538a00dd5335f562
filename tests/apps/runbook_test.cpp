// "Quotes stopped" of docs/guides/operate.md: runs the commands of each step with a healthy gateway and with one that
// has the step's fault, in network namespaces of the test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <millpond/core/clock.hpp>

#include "tests/apps/planted_network.hpp"

namespace millpond::app {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// Converts a title to a test name: "The socket and the decoder" is TheSocketAndTheDecoder.
std::string test_name_of(const std::string& title) {
    std::string name;
    bool begins = true;
    for (const char c : title) {
        if (c != ' ') name += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
        begins = c == ' ';
    }
    return name;
}

std::string replaced(const std::string& text, const std::string& what, const std::string& by) {
    return std::regex_replace(text, std::regex{"\\b" + what + "\\b"}, by);
}

/// The page's numbered steps by test name, each as one line of text.
std::map<std::string, std::string> steps() {
    std::ifstream page{std::filesystem::path{MILLPOND_DOCS} / "guides/operate.md"};
    const std::regex begin{R"((\d)\. ([A-Z][^:]*): (.*))"};
    std::map<std::string, std::string> found;
    std::string name;
    bool here = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("## ")) here = line == "## Quotes stopped";
        std::smatch parts;
        if (!here) continue;
        if (std::regex_match(line, parts, begin)) {
            name = test_name_of(parts[2]);
            found[name] = parts[3];
        } else if (!name.empty() && line.starts_with("   ")) {
            found[name] += line.substr(2);
        }
    }
    return found;
}

class Runbook : public PlantedNetwork {
protected:
    void SetUp() override {
        PlantedNetwork::SetUp();
        if (IsSkipped()) return;
        for (const std::string tool : {"curl", "tcpdump", "nft"}) {
            if (!shell("command -v " + tool)) GTEST_SKIP() << "needs " << tool;
        }
    }

    /// Output of the command of this test's step that begins with `begin`. The test's name begins with the step's name.
    static std::string command(const std::string& begin) {
        const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
        const std::regex quoted{"`([^`]*)`"};
        for (const auto& [name, text] : steps()) {
            if (!test.starts_with(name)) continue;
            for (std::sregex_iterator at{text.begin(), text.end(), quoted}, end; at != end; ++at) {
                const auto found = at->str(1);
                if (!found.starts_with(begin)) continue;
                return replaced(replaced(replaced(replaced(found, "NAME", "f"), "PORT", "14000"), "eth1", "near0"),
                                "millpond top", std::string{MILLPOND_PROGRAM} + " top");
            }
        }
        ADD_FAILURE() << "the step of " << test << " has no command that begins with " << begin;
        return "false";
    }
    static std::string prints(const std::string& begin) { return output_of(command(begin)); }
    /// Repeats the command until its output matches the pattern; returns that output.
    static std::string comes_to_say(const std::string& begin, const std::string& pattern) {
        const auto line = command(begin);
        const auto deadline = core::monotonic_nanos() + 60'000'000'000;
        std::string output;
        do {
            output = output_of(line);
        } while (!std::regex_search(output, std::regex{pattern}) && core::monotonic_nanos() < deadline);
        return output;
    }
};

TEST_F(Runbook, EveryStepOfThePageHasATestOfItsName) {
    const auto* const suite = testing::UnitTest::GetInstance();
    std::string tests;
    for (int i = 0; i < suite->total_test_suite_count(); ++i) {
        const auto* const one = suite->GetTestSuite(i);
        if (std::string{one->name()} != "Runbook") continue;
        for (int j = 0; j < one->total_test_count(); ++j) tests += "\n" + std::string{one->GetTestInfo(j)->name()};
    }
    EXPECT_EQ(steps().size(), 8U);
    for (const auto& [name, text] : steps()) EXPECT_THAT(tests, HasSubstr("\n" + name)) << text;
}

TEST_F(Runbook, TheGatewayAnswersOrIsNotThere) {
    configure(kHost, "near0");
    EXPECT_THAT(prints("curl"), HasSubstr("Failed to connect"));
    const auto gateway = start_gateway();
    EXPECT_THAT(comes_to_say("curl", "since"), HasSubstr("no datagrams: feed 'f': "));
    const auto sender = send(kHost);
    EXPECT_EQ(comes_to_say("curl", "good\n"), "good\n");
}

TEST_F(Runbook, TheFeedsCountGrowsWhileItComes) {
    configure(kHost, "near0");
    const auto gateway = start_gateway();
    {
        const auto sender = send(kHost);
        const auto first = comes_to_say("curl", "[1-9]\n");
        const auto deadline = core::monotonic_nanos() + 60'000'000'000;
        auto second = first;
        while (second == first && core::monotonic_nanos() < deadline) second = prints("curl");
        EXPECT_NE(second, first);
    }
    health_with("stale");
    const auto stopped = prints("curl");
    EXPECT_THAT(stopped, HasSubstr("millpond_feed_packets_total{feed=\"f\""));
    EXPECT_EQ(prints("curl"), stopped);
}

TEST_F(Runbook, TheLinkThatIsDownIsShownAndSetUp) {
    EXPECT_THAT(prints("ip -s"), AllOf(HasSubstr("state UP"), HasSubstr("RX:")));
    ASSERT_TRUE(shell("ip link set near0 down"));
    EXPECT_THAT(prints("ip -s"), HasSubstr("DOWN"));
    ASSERT_TRUE(shell(command("ip link set")));
    EXPECT_THAT(prints("ip -s"), HasSubstr("state UP"));
    pair().enter_far();
    ASSERT_TRUE(shell("ip link set far0 down"));
    pair().enter_near();
    EXPECT_THAT(prints("ip -s"), HasSubstr("NO-CARRIER"));
}

TEST_F(Runbook, TheGroupIsListedWhereItIsJoined) {
    add_other_link();
    configure(kGroup, "other0");
    {
        const auto gateway = start_gateway();
        EXPECT_THAT(prints("ip maddress"), Not(HasSubstr("239.1.1.1")));
    }
    configure(kGroup, "near0");
    const auto gateway = start_gateway();
    EXPECT_THAT(prints("ip maddress"), HasSubstr("239.1.1.1"));
}

TEST_F(Runbook, TheFramesAreSeenAndTheirTagsToo) {
    EXPECT_THAT(prints("timeout"), HasSubstr("0 packets captured"));
    {
        const auto sender = send(kHost);
        EXPECT_THAT(comes_to_say("timeout", "1 packet captured"), HasSubstr("10.99.0.1.14000: UDP"));
    }
    const auto sender = send_tagged();
    EXPECT_THAT(comes_to_say("timeout", "vlan"), HasSubstr("vlan 42"));
}

TEST_F(Runbook, BetweenLinkAndSocketAStrictReversePathIsCounted) {
    add_other_link();
    ASSERT_TRUE(shell("ip route add 10.55.0.0/24 dev other0"));
    if (!shell("echo 1 > /proc/sys/net/ipv4/conf/near0/rp_filter")) GTEST_SKIP() << "rp_filter cannot be set here";
    pair().enter_far();
    ASSERT_TRUE(
        shell("ip address flush dev far0 && ip address add 10.55.0.9/24 dev far0 && "
              "ip route add 10.99.0.0/24 dev far0"));
    pair().enter_near();
    EXPECT_THAT(prints("nstat"), ContainsRegex("IPReversePathFilter +0 "));
    configure(kGroup, "near0");
    const auto gateway = start_gateway();
    const auto sender = send(kGroup);
    EXPECT_THAT(comes_to_say("nstat", "IPReversePathFilter +[1-9]"), ContainsRegex("IPReversePathFilter +[1-9]"));
    EXPECT_THAT(prints("sysctl"), HasSubstr("rp_filter = 1"));
}

TEST_F(Runbook, BetweenLinkAndSocketARuleIsListed) {
    EXPECT_EQ(prints("nft"), "");
    if (!drop_by_nft()) GTEST_SKIP() << "needs the kernel's nf_tables";
    EXPECT_THAT(prints("nft"), HasSubstr("udp dport 14000 drop"));
    if (!shell("iptables -w -A INPUT -p udp --dport 14000 -j DROP")) GTEST_SKIP() << "needs iptables by nf_tables";
    EXPECT_THAT(prints("nft"), ContainsRegex("udp dport 14000 counter packets [0-9]+ bytes [0-9]+ drop"));
}

TEST_F(Runbook, TheSocketAndTheDecoderCountWhatTheyLose) {
    configure(kHost, "near0", "receive_buffer = '64KiB'\n");
    const auto gateway = start_gateway();
    EXPECT_THAT(prints("curl"),
                AllOf(ContainsRegex("kernel_drops_total[^ ]* 0\n"), ContainsRegex("malformed_total[^ ]* 0\n")));
    const auto sender = send(kHost, "itch");
    EXPECT_THAT(comes_to_say("curl", "malformed_total[^ ]* [1-9]"), ContainsRegex("malformed_total[^ ]* [1-9]"));
    EXPECT_TRUE(gateway->prints("bad magic at byte 0: found"));
    const auto burst = send(kHost, "quotes", {"--speed", "max", "--burst", "1000"});
    EXPECT_THAT(comes_to_say("curl", "kernel_drops_total[^ ]* [1-9]"), ContainsRegex("kernel_drops_total[^ ]* [1-9]"));
}

TEST_F(Runbook, TheSinksSayWhatWaitsAndWhy) {
    if (!shell("test -w /dev/full")) GTEST_SKIP() << "needs /dev/full";
    configure(kHost, "near0", "", "[[csv]]\npath = '/dev/full'\nflush_ms = 10\n");
    const auto gateway = start_gateway();
    EXPECT_THAT(prints("curl"),
                AllOf(ContainsRegex("sink_queued[^ ]* 0\n"), ContainsRegex("sink_missed_total[^ ]* 0\n")));
    const auto sender = send(kHost);
    EXPECT_THAT(comes_to_say("curl", "sink_queued[^ ]* [1-9]"), ContainsRegex("sink_queued[^ ]* [1-9]"));
    EXPECT_THAT(comes_to_say("curl", "write_errors_total[^ ]* [1-9]"), ContainsRegex("write_errors_total[^ ]* [1-9]"));
    EXPECT_THAT(comes_to_say("millpond top", "No space left on device"), HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace millpond::app
