// Real faults around a running gateway, in network namespaces of the test: /health, `top` and the doctor name each.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event.hpp>

#include "apps/millpond/doctor/kernel_text.hpp"
#include "tests/apps/planted_network.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/line_client.hpp"

namespace millpond::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class PlantedFailure : public PlantedNetwork {
protected:
    /// Expected finding of /health: its stage, its subject, and a part of its text.
    struct ReportedFinding {
        std::string status;
        std::string stage;
        std::string what;
    };
    /// Expected finding of the doctor.
    struct DoctorFinding {
        std::string check;
        std::string level;
        std::string what;
        std::string fix;
    };
    static constexpr const char* kError = "503 Service Unavailable";
    static constexpr const char* kGoodBut = "good, but ";

    /// again: repeats a fault that does not last.
    void expect_named(
        const ReportedFinding& reported, const DoctorFinding& found, const std::function<void()>& again = [] {}) {
        EXPECT_THAT(health_with(reported.stage),
                    AllOf(HasSubstr(reported.status), HasSubstr(reported.what), HasSubstr("since 20")));
        const auto title = reported.stage.substr(0, reported.stage.rfind(": "));
        EXPECT_THAT(run({"top", "--once"}).out, AllOf(HasSubstr(title), HasSubstr(reported.what)));
        const auto finding = "{\"check\":\"" + found.check + "\",\"level\":\"" + found.level + "\"";
        const auto deadline = core::monotonic_nanos() + 60'000'000'000;
        Outcome outcome;
        do {
            again();
            outcome = ask_doctor("1");
        } while (outcome.out.find(finding) == std::string::npos && core::monotonic_nanos() < deadline);
        EXPECT_THAT(outcome.out, AllOf(HasSubstr(finding), HasSubstr(found.what), HasSubstr(found.fix)));
        EXPECT_EQ(outcome.exit_code, found.level == "bad" ? 1 : 0);
    }
};

TEST_F(PlantedFailure, ALinkThatGoesDown) {
    configure(kGroup, "near0");
    const auto gateway = start_gateway();
    ASSERT_TRUE(shell("ip link set near0 down"));
    expect_named({kError, "link: feed 'f': ", "interface near0 is down"},
                 {"link", "bad", "near0 is down", "ip link set near0 up"});
}

TEST_F(PlantedFailure, AGroupThatTheKernelHasForgotten) {
    add_other_link();
    ASSERT_TRUE(shell("ip route add 239.1.1.1/32 dev other0"));
    configure(kGroup, "");
    const auto gateway = start_gateway();
    // Like a driver reload: the interface exists again, but its group memberships are lost. Only a feed that names its
    // interface joins again.
    ASSERT_TRUE(shell("ip link del other0"));
    add_other_link();
    expect_named({kError, "group not joined: feed 'f': ", "the group of 239.1.1.1:14000 is not joined"},
                 {"IGMP", "bad", "no process has joined group 239.1.1.1", "systemctl restart millpond"});
}

TEST_F(PlantedFailure, AFeedThatIsSilent) {
    configure(kGroup, "near0");
    const auto gateway = start_gateway();
    expect_named({kError, "no datagrams: feed 'f': nothing received", "nothing received at 239.1.1.1:14000 on near0"},
                 {"datagrams", "bad", "no datagram to 239.1.1.1:14000 reached near0", "IGMP snooping"});
}

TEST_F(PlantedFailure, AFeedThatFallsSilent) {
    configure(kGroup, "near0");
    const auto gateway = start_gateway();
    {
        const auto sender = send(kGroup);
        wait_for_datagrams();
    }
    expect_named({kError, "stale: feed 'f': ", "nothing received for"},
                 {"datagrams", "bad", "no datagram to 239.1.1.1:14000 reached near0", "IGMP snooping"});
}

TEST_F(PlantedFailure, OneOfTwoLinesThatFallsSilent) {
    configure(kHost, "near0", "line_b = '10.99.0.1:14001'\n");
    const auto gateway = start_gateway();
    const auto line_a = send_quotes_with(0);
    wait_for_datagrams();
    {
        const auto line_b = send_quotes_with(0, "10.99.0.1:14001");
        wait_for_count(R"(millpond_feed_line_duplicates_total\{feed="f",line="[ab]"\})");
        EXPECT_THAT(health_with("good\n"), HasSubstr("200 OK"));
    }
    expect_named(
        {kGoodBut, "line: feed 'f': ", "line b (10.99.0.1:14001) is silent: losses of the other line are final"},
        {"line", "bad", "the gateway reports for feed 'f': line b (10.99.0.1:14001) is silent",
         "Check the line's group"});
}

TEST_F(PlantedFailure, ARuleOfNftablesThatDropsTheFeed) {
    configure(kHost, "near0");
    const auto gateway = start_gateway();
    if (!drop_by_nft()) GTEST_SKIP() << "needs nft and the kernel's nf_tables";
    const auto sender = send(kHost);
    expect_named(
        {kError, "no datagrams: feed 'f': nothing received", "nothing received at 10.99.0.1:14000"},
        {"firewall", "bad", "udp dport 14000 drop", "nft insert rule inet guard entry udp dport 14000 accept"});
    ASSERT_TRUE(shell("nft insert rule inet guard entry udp dport 14000 accept"));
    // The sender's session had started before the gateway.
    EXPECT_THAT(health_with("good, but joined late"), HasSubstr("200 OK")) << "the command fixes it";
}

TEST_F(PlantedFailure, ARuleOfIptablesThatDropsTheFeed) {
    // Debian's iptables creates nf_tables rules, which the doctor reads.
    if (!shell("iptables -w -A INPUT -p udp --dport 14000 -j DROP")) GTEST_SKIP() << "needs iptables by nf_tables";
    configure(kHost, "near0");
    const auto gateway = start_gateway();
    const auto sender = send(kHost);
    expect_named({kError, "no datagrams: feed 'f': nothing received", "nothing received at 10.99.0.1:14000"},
                 {"firewall", "bad", "ip filter / INPUT: udp dport 14000 counter packets",
                  "nft insert rule ip filter INPUT udp dport 14000 accept"});
    ASSERT_TRUE(shell("nft insert rule ip filter INPUT udp dport 14000 accept"));
    // The sender's session had started before the gateway.
    EXPECT_THAT(health_with("good, but joined late"), HasSubstr("200 OK")) << "the command fixes it";
}

TEST_F(PlantedFailure, Garbage) {
    configure(kGroup, "near0");
    const auto gateway = start_gateway();
    const auto sender = send(kGroup, "itch");
    expect_named({kError, "undecodable: feed 'f': ", "datagrams were not decoded"},
                 {"decoder", "bad", "are not 'quotes': bad magic", "format of [[feed]] 'f'"});
}

TEST_F(PlantedFailure, Gaps) {
    configure(kHost, "near0");
    const auto gateway = start_gateway();
    const auto sender = send(kHost, "quotes", {"--drop", "0.2"});
    expect_named({kGoodBut, "gap: feed 'f': ", "sequence numbers are missing"},
                 {"gap", "bad", "the gateway reports for feed 'f': ", "then at the sender and the network"});
}

TEST_F(PlantedFailure, AHaltedInstrumentIsNoFaultAndIsNamed) {
    configure(kHost, "near0");
    const auto gateway = start_gateway();
    const auto sender = send_quotes_with(feed::kHalted);
    expect_named({kGoodBut, "halted: feed 'f': ", "instruments not trading: 1"},
                 {"halted", "good", "the gateway reports for feed 'f': instruments not trading: 1", ""});
}

TEST_F(PlantedFailure, AClientThatTakesNothing) {
    configure(kHost, "near0", "",
              "[[tcp]]\nlisten = '127.0.0.1:9100'\nbacklog = 64\nsend_buffer = 4096\nstall_seconds = 1\n");
    const auto gateway = start_gateway();
    const auto sender = send(kHost);
    constexpr int kSmallBuffer = 4'096;
    std::vector<test::LineClient> stuck;
    const auto again = [&] { stuck.emplace_back(std::uint16_t{9100}, kSmallBuffer); };
    again();
    expect_named({kGoodBut, "slow client: sink 'tcp': ", "clients lost "},
                 {"slow client", "bad", "the gateway reports for sink 'tcp': clients lost ", "ss -tn"}, again);
}

TEST_F(PlantedFailure, ASinkThatCannotWrite) {
    if (!shell("test -w /dev/full")) GTEST_SKIP() << "needs /dev/full";
    configure(kHost, "near0", "", "[[csv]]\npath = '/dev/full'\nflush_ms = 10\n");
    const auto gateway = start_gateway();
    const auto sender = send(kHost);
    expect_named({kError, "sink behind: sink 'csv': ", "No space left on device"},
                 {"sink behind", "bad", "the gateway reports for sink 'csv': ", "df -h"});
}

TEST_F(PlantedFailure, ABrokerThatIsNotThere) {
    configure(kHost, "near0", "", "[[mqtt]]\nbroker = '127.0.0.1:1'\n");
    Program gateway{{"gateway", "--config", config(), "--quiet"}};
    if (!gateway.prints("metrics: http://")) {
        EXPECT_THAT(gateway.wait().err, HasSubstr("libmosquitto"));
        GTEST_SKIP() << "built without libmosquitto";
    }
    const auto sender = send(kHost);
    expect_named({kError, "sink disconnected: sink 'mqtt': it is not connected", "Connection refused"},
                 {"sink disconnected", "bad", "the gateway reports for sink 'mqtt': ", "ss -tn"});
}

TEST_F(PlantedFailure, AFullSocketBuffer) {
    configure(kHost, "near0", "receive_buffer = '64KiB'\n");
    const auto gateway = start_gateway();
    const auto sender = send(kHost, "quotes", {"--speed", "10"});
    wait_for_datagrams();
    const auto drops = [] {
        std::ostringstream sockets;
        sockets << std::ifstream{"/proc/thread-self/net/udp"}.rdbuf();
        return doctor::drops_of_port(sockets.str(), 14'000).value_or(0);
    };
    const auto deadline = core::monotonic_nanos() + 60'000'000'000;
    gateway->signal(SIGSTOP);  // the stopped gateway does not read its socket
    while (drops() == 0 && core::monotonic_nanos() < deadline) std::this_thread::yield();
    const auto stopped = ask_doctor("3");
    EXPECT_THAT(stopped.out, AllOf(HasSubstr(R"({"check":"gateway","level":"bad","what":"has a socket on the feed's)"),
                                   HasSubstr(R"({"check":"socket buffer","level":"bad","what":"the kernel dropped)"),
                                   HasSubstr("net.core.rmem_max=131072")));
    gateway->signal(SIGCONT);
    expect_named({kGoodBut, "kernel drops: feed 'f': ", "because the socket buffer was full"},
                 {"kernel drops", "bad", "because the socket buffer was full", "net.core.rmem_max"});
}

}  // namespace
}  // namespace millpond::app
