// Real faults on a feed's path, in network namespaces of the test where no gateway runs: the doctor names the stage.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/apps/planted_network.hpp"

namespace millpond::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DoctorNetwork : public PlantedNetwork {
protected:
    void expect(const std::string& stage, const std::string& what, const std::string& fix,
                const std::string& patience = "3") {
        const auto outcome = ask_doctor(patience);
        EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
        const auto last = outcome.out.substr(outcome.out.rfind("{\"check\""));
        EXPECT_THAT(last,
                    AllOf(HasSubstr("\"check\":\"" + stage + "\",\"level\":\"bad\""), HasSubstr(what), HasSubstr(fix)));
    }
};

TEST_F(DoctorNetwork, AFeedThatComesIsGood) {
    configure(kGroup, "near0");
    const auto sender = send(kGroup);
    const auto outcome = ask_doctor("20");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("datagrams decoded"), HasSubstr("on the link from 10.99.0.2:")));
}

TEST_F(DoctorNetwork, AnInterfaceThatIsDownIsNamed) {
    configure(kGroup, "near0");
    ASSERT_TRUE(shell("ip link set near0 down"));
    expect("link", "near0 is down", "ip link set near0 up", "0.1");
}

TEST_F(DoctorNetwork, ASilentFeedIsNamed) {
    configure(kGroup, "near0");
    expect("datagrams", "no datagram to 239.1.1.1:14000 reached near0", "IGMP snooping", "0.2");
}

TEST_F(DoctorNetwork, AGroupJoinedOnTheWrongInterfaceIsNamed) {
    add_other_link();
    configure(kGroup, "other0");
    const auto sender = send(kGroup);
    expect("IGMP", "arrive on near0, but the feed listens on other0", "interface = \\\"near0\\\"");
}

TEST_F(DoctorNetwork, AFirewallRuleIsQuotedWithTheOneThatFixesIt) {
    if (!drop_by_nft()) GTEST_SKIP() << "needs nft and the kernel's nf_tables";
    configure(kHost, "near0");
    const auto sender = send(kHost);
    expect("firewall", "udp dport 14000 drop", "nft insert rule inet guard entry udp dport 14000 accept");
    ASSERT_TRUE(shell("nft insert rule inet guard entry udp dport 14000 accept"));
    EXPECT_EQ(ask_doctor("20").exit_code, 0) << "the command fixes it";
}

TEST_F(DoctorNetwork, AStrictReversePathIsNamed) {
    // Routes the sender's address through another interface, as in a network with asymmetric routes.
    add_other_link();
    ASSERT_TRUE(shell("ip route add 10.55.0.0/24 dev other0"));
    if (!shell("echo 1 > /proc/sys/net/ipv4/conf/near0/rp_filter")) GTEST_SKIP() << "rp_filter cannot be set here";
    pair().enter_far();
    ASSERT_TRUE(shell(
        "ip address flush dev far0 && ip address add 10.55.0.9/24 dev far0 && ip route add 10.99.0.0/24 dev far0"));
    pair().enter_near();
    configure(kGroup, "near0");
    const auto sender = send(kGroup);
    expect("rp_filter", "leave by other0", "net.ipv4.conf.near0.rp_filter=0");
}

TEST_F(DoctorNetwork, GarbageIsShownInHex) {
    configure(kGroup, "near0");
    const auto sender = send(kGroup, "itch");
    expect("decoder", "are not 'quotes': bad magic", "format of [[feed]] 'f'", "20");
}

TEST_F(DoctorNetwork, AVlanThatNothingTakesOffIsNamed) {
    configure(kTaggedTo, "near0");
    const auto sender = send_tagged();
    expect("VLAN", "VLAN tag 42", "type vlan id 42", "0.5");
}

}  // namespace
}  // namespace millpond::app
