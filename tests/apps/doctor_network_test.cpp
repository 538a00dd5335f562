// Failures planted for real, in network namespaces of our own: the doctor names the stage.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>

#include "tests/apps/gateway_run.hpp"
#include "tests/apps/http_page.hpp"
#include "tests/apps/program.hpp"
#include "tests/net/network_pair.hpp"

namespace millpond::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Runs in the namespace that the thread is in.
bool shell(const std::string& command) { return std::system(("(" + command + ") >/dev/null 2>&1").c_str()) == 0; }

class DoctorNetwork : public testing::Test {
protected:
    void SetUp() override {
        std::string why;
        pair_ = net::test::NetworkPair::make(why);
        if (!pair_) GTEST_SKIP() << why;
        const int probe = socket(AF_PACKET, SOCK_RAW, 0);
        if (probe < 0) GTEST_SKIP() << "this machine allows no packet sockets";
        close(probe);
        ASSERT_TRUE(shell("ip route add 239.0.0.0/8 dev near0"));
        config_ = (std::filesystem::temp_directory_path() / ("millpond-doctor-" + std::to_string(getpid()) + ".toml"))
                      .string();
    }
    void TearDown() override { std::filesystem::remove(config_); }

    void configure(const std::string& listen, const std::string& interface) const {
        std::ofstream{config_} << "[[feed]]\nname = 'f'\nformat = 'quotes'\nlisten = '" << listen << "'\n"
                               << (interface.empty() ? "" : "interface = '" + interface + "'\n")
                               << "stale_seconds = 1\n";
    }
    /// A sender on the far side, for as long as it lives.
    [[nodiscard]] std::unique_ptr<Program> send(const std::string& to, const std::string& format = "quotes") const {
        pair_->enter_far();
        std::vector<std::string> words{"generate", "--format", format, "--rate", "500", "--to", to, "--live"};
        if (to.starts_with("239.")) words.insert(words.end(), {"--interface", "far0"});
        auto sender = std::make_unique<Program>(words);
        pair_->enter_near();
        return sender;
    }
    /// patience: how long the doctor looks when the answer is not clear before.
    [[nodiscard]] Outcome ask(const std::string& patience) const {
        return run({"doctor", "--config", config_, "--feed", "f", "--seconds", patience, "--format", "json"});
    }
    void expect(const std::string& stage, const std::string& what, const std::string& mend,
                const std::string& patience = "3") {
        const auto outcome = ask(patience);
        EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
        const auto last = outcome.out.substr(outcome.out.rfind("{\"check\""));
        EXPECT_THAT(
            last, AllOf(HasSubstr("\"check\":\"" + stage + "\",\"level\":\"bad\""), HasSubstr(what), HasSubstr(mend)));
    }

    /// A second interface on the near side, up, by which nothing comes.
    static void add_other_link() {
        ASSERT_TRUE(
            shell("ip link add other0 type veth peer name other1 && ip link set other1 up && "
                  "ip link set other0 up"));
    }
    /// A gateway of the configured feed on the near side.
    [[nodiscard]] std::unique_ptr<Program> start_gateway() const {
        auto gateway = std::make_unique<Program>(
            std::vector<std::string>{"gateway", "--config", config_, "--metrics", "127.0.0.1:0", "--quiet", "--ring",
                                     "huge_pages=none,name=" + unique_ring("planted")});
        EXPECT_TRUE(gateway->says("metrics: http://"));
        return gateway;
    }
    /// Health, `top` and the doctor name the same failure.
    void expect_named(const Program& gateway, const std::string& stage, const std::string& what) const {
        const auto url = gateway.word_behind("metrics: http://");
        const auto address = url.substr(0, url.find('/'));
        const auto port = static_cast<std::uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str()));
        const auto deadline = core::monotonic_nanos() + 60'000'000'000;
        std::string health;
        while (health.find(stage + ": feed 'f': ") == std::string::npos && core::monotonic_nanos() < deadline) {
            health = page_of(port, "/health");
            std::this_thread::yield();
        }
        EXPECT_THAT(health, AllOf(HasSubstr("503 Service Unavailable"), HasSubstr(stage + ": feed 'f': "),
                                  HasSubstr(what), HasSubstr("since 20")));
        EXPECT_THAT(run({"top", "--once", "--gateway", address}).out, HasSubstr(stage + ": feed 'f': "));
    }

    std::unique_ptr<net::test::NetworkPair> pair_;
    std::string config_;
};

TEST_F(DoctorNetwork, AFeedThatComesIsGood) {
    configure("239.1.1.1:14000", "near0");
    const auto sender = send("239.1.1.1:14000");
    const auto outcome = ask("20");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("datagrams decoded"), HasSubstr("on the link from 10.99.0.2:")));
}

TEST_F(DoctorNetwork, AnInterfaceThatIsDownIsNamed) {
    configure("239.1.1.1:14000", "near0");
    ASSERT_TRUE(shell("ip link set near0 down"));
    expect("link", "near0 is down", "ip link set near0 up", "0.1");
}

TEST_F(DoctorNetwork, ASilentFeedIsNamed) {
    configure("239.1.1.1:14000", "near0");
    expect("packets", "no datagram to 239.1.1.1:14000 reached near0", "IGMP snooping", "0.2");
}

TEST_F(DoctorNetwork, AGroupJoinedOnTheWrongInterfaceIsNamed) {
    add_other_link();
    ASSERT_TRUE(shell("ip address add 10.77.0.1/24 dev other0"));
    configure("239.1.1.1:14000", "other0");
    const auto sender = send("239.1.1.1:14000");
    expect("IGMP", "come in by near0, the feed listens on other0", "interface = \\\"near0\\\"");
}

TEST_F(DoctorNetwork, AFirewallRuleIsQuotedWithTheOneThatMendsIt) {
    if (!shell("nft add table inet guard && nft add chain inet guard entry "
               "'{ type filter hook input priority 0; policy accept; }' && "
               "nft add rule inet guard entry udp dport 14000 drop")) {
        GTEST_SKIP() << "needs nft and the kernel's nf_tables";
    }
    configure("10.99.0.1:14000", "near0");
    const auto sender = send("10.99.0.1:14000");
    expect("firewall", "udp dport 14000 drop", "nft insert rule inet guard entry udp dport 14000 accept");
    ASSERT_TRUE(shell("nft insert rule inet guard entry udp dport 14000 accept"));
    EXPECT_EQ(ask("20").exit_code, 0) << "the command mends it";
}

TEST_F(DoctorNetwork, AStrictReversePathIsNamed) {
    // The sender's address has its route by another interface, as in a network where answers go another way.
    add_other_link();
    ASSERT_TRUE(shell("ip route add 10.55.0.0/24 dev other0"));
    if (!shell("echo 1 > /proc/sys/net/ipv4/conf/near0/rp_filter")) GTEST_SKIP() << "rp_filter cannot be set here";
    pair_->enter_far();
    ASSERT_TRUE(shell(
        "ip address flush dev far0 && ip address add 10.55.0.9/24 dev far0 && ip route add 10.99.0.0/24 dev far0"));
    pair_->enter_near();
    configure("239.1.1.1:14000", "near0");
    const auto sender = send("239.1.1.1:14000");
    expect("rp_filter", "leave by other0", "net.ipv4.conf.near0.rp_filter=0");
}

TEST_F(DoctorNetwork, GarbageIsShownInHex) {
    configure("239.1.1.1:14000", "near0");
    const auto sender = send("239.1.1.1:14000", "itch");
    expect("decoder", "are no 'quotes': bad magic", "format of [[feed]] 'f'", "20");
}

/// A datagram from 10.42.0.2 to 10.42.0.1, port 14000, in an Ethernet frame with the tag of VLAN 42.
constexpr std::array<unsigned char, 50> kTagged{
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02, 0, 0,  0,  0, 1,                              // to all, from somebody
    0x81, 0x00, 0x00, 42,   0x08, 0x00,                                                     // 802.1Q, IPv4
    0x45, 0,    0,    32,   0,    0,    0x40, 0, 64, 17, 0, 0, 10, 42, 0, 2, 10, 42, 0, 1,  // UDP
    0x10, 0x00, 0x36, 0xB0, 0,    12,   0,    0, 1,  2,  3, 4};                             // 4096 to 14000, 4 bytes

TEST_F(DoctorNetwork, AVlanThatNothingTakesOffIsNamed) {
    configure("10.42.0.1:14000", "near0");
    pair_->enter_far();
    const int socket = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_ifindex = static_cast<int>(if_nametoindex("far0"));
    pair_->enter_near();
    std::atomic<bool> over{false};
    std::thread sender{[&] {
        while (!over) {
            sendto(socket, kTagged.data(), kTagged.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
            std::this_thread::yield();
        }
    }};
    expect("VLAN", "VLAN tag 42", "type vlan id 42", "0.5");
    over = true;
    sender.join();
    close(socket);
}

TEST_F(DoctorNetwork, BesideAGatewayALinkThatGoesDownIsNamedByAll) {
    configure("239.1.1.1:14000", "near0");
    const auto gateway = start_gateway();
    ASSERT_TRUE(shell("ip link set near0 down"));
    expect_named(*gateway, "link", "interface near0 is down");
    expect("link", "near0 is down", "ip link set near0 up", "0.1");
}

TEST_F(DoctorNetwork, BesideAGatewayAFirewallRuleIsSilence) {
    configure("10.99.0.1:14000", "near0");
    const auto gateway = start_gateway();
    if (!shell("nft add table inet guard && nft add chain inet guard entry "
               "'{ type filter hook input priority 0; policy accept; }' && "
               "nft add rule inet guard entry udp dport 14000 drop")) {
        GTEST_SKIP() << "needs nft and the kernel's nf_tables";
    }
    const auto sender = send("10.99.0.1:14000");
    expect_named(*gateway, "no packets", "nothing has come to 10.99.0.1:14000");
}

TEST_F(DoctorNetwork, BesideAGatewayASilentFeedIsNamedByAll) {
    configure("239.1.1.1:14000", "near0");
    const auto gateway = start_gateway();
    expect_named(*gateway, "no packets", "nothing has come to 239.1.1.1:14000 on near0");
    expect("packets", "no datagram to 239.1.1.1:14000 reached near0", "IGMP snooping", "0.2");
}

TEST_F(DoctorNetwork, BesideAGatewayGarbageIsNamedByAll) {
    configure("239.1.1.1:14000", "near0");
    const auto gateway = start_gateway();
    const auto sender = send("239.1.1.1:14000", "itch");
    expect_named(*gateway, "undecodable", "datagrams were not decoded");
    expect("decoder", "are no 'quotes': bad magic", "format of [[feed]] 'f'", "20");
}

}  // namespace
}  // namespace millpond::app
