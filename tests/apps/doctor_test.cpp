// What the doctor makes of made-up machines and of what was seen of a feed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "apps/millpond/doctor/diagnose.hpp"
#include "apps/millpond/doctor/kernel_text.hpp"
#include "apps/millpond/doctor/machine.hpp"

namespace millpond::app::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A made-up machine: a folder that holds /proc and /sys.
class Machine {
public:
    Machine() : root_(std::filesystem::temp_directory_path() / ("millpond-machine-" + std::to_string(getpid()))) {
        std::filesystem::remove_all(root_);
        std::filesystem::create_directories(root_);
    }
    ~Machine() { std::filesystem::remove_all(root_); }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    Machine& with(const std::string& path, const std::string& text) {
        std::filesystem::create_directories((root_ / path).parent_path());
        std::ofstream{root_ / path} << text << '\n';
        return *this;
    }
    [[nodiscard]] Finding finding(const std::string& check, const Needs& needs) const {
        const auto all = check_machine(root_, needs);
        const auto found = std::ranges::find(all, check, &Finding::check);
        return found == all.end() ? Finding{check, Level::good, "no such finding", {}} : *found;
    }

private:
    std::filesystem::path root_;
};

Needs wanting_huge(std::uint64_t bytes) {
    Needs needs;
    needs.huge_bytes = bytes;
    return needs;
}

Needs wanting_buffer(std::uint64_t bytes) {
    Needs needs;
    needs.receive_buffer = bytes;
    return needs;
}

constexpr const char* kIsolated = "sys/devices/system/cpu/isolated";

TEST(DoctorMachine, APinnedCoreThatOthersMayUseIsNamedWithTheBootLine) {
    Machine machine;
    machine.with(kIsolated, "2-3,6");
    EXPECT_EQ(machine.finding("isolated cores", {.pinned = {2, 6}}).level, Level::good);
    const auto shared = machine.finding("isolated cores", {.pinned = {1, 2}});
    EXPECT_EQ(shared.level, Level::advice);
    EXPECT_THAT(shared.what, HasSubstr("other work may use: 1"));
    EXPECT_THAT(shared.mend, HasSubstr("isolcpus=1 nohz_full=1"));
    EXPECT_EQ(machine.with(kIsolated, "").finding("isolated cores", {}).level, Level::advice);
}

TEST(DoctorMachine, AGovernorThatSlowsCoresDownIsNamed) {
    Machine machine;
    EXPECT_EQ(machine.finding("governor", {}).level, Level::good) << "a virtual machine has none";
    machine.with("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
    EXPECT_EQ(machine.finding("governor", {}).level, Level::good);
    machine.with("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave");
    const auto slow = machine.finding("governor", {});
    EXPECT_EQ(slow.level, Level::advice);
    EXPECT_THAT(slow.what, HasSubstr("powersave"));
    EXPECT_EQ(slow.mend, "cpupower frequency-set -g performance");
}

TEST(DoctorMachine, TooFewHugePagesAreCounted) {
    Machine machine;
    machine.with("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "3").with("proc/sys/vm/nr_hugepages", "4");
    EXPECT_EQ(machine.finding("huge pages", wanting_huge(6'000'000)).level, Level::good);
    const auto few = machine.finding("huge pages", wanting_huge(10'000'000));
    EXPECT_EQ(few.level, Level::advice);
    EXPECT_THAT(few.what, HasSubstr("3 free of 2 MiB, 5 wanted"));
    EXPECT_EQ(few.mend, "sysctl -w vm.nr_hugepages=9");
}

TEST(DoctorMachine, InterruptsOnAPinnedCoreAreNamed) {
    Machine machine;
    machine.with("proc/irq/24/smp_affinity_list", "0-7").with("proc/irq/24/effective_affinity_list", "0");
    EXPECT_EQ(machine.finding("IRQ affinity", {.pinned = {3}}).level, Level::good);
    machine.with("proc/irq/25/smp_affinity_list", "2-3");
    const auto disturbed = machine.finding("IRQ affinity", {.pinned = {3}});
    EXPECT_THAT(disturbed.what, HasSubstr("cores: 25"));
    EXPECT_THAT(disturbed.mend, HasSubstr("for i in 25; do echo 0 > /proc/irq/$i/smp_affinity_list"));
}

TEST(DoctorMachine, BusyPollAndClockSourceAreLookedAt) {
    Machine machine;
    machine.with("proc/sys/net/core/busy_read", "0")
        .with("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet");
    EXPECT_EQ(machine.finding("busy poll", {}).mend, "sysctl -w net.core.busy_read=50");
    EXPECT_THAT(machine.finding("clock source", {}).what, HasSubstr("hpet"));
    machine.with("proc/sys/net/core/busy_read", "50")
        .with("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
    EXPECT_EQ(machine.finding("busy poll", {}).level, Level::good);
    EXPECT_EQ(machine.finding("clock source", {}).level, Level::good);
}

TEST(DoctorMachine, AReceiveBufferThatTheKernelDoesNotGrantIsBad) {
    Machine machine;
    machine.with("proc/sys/net/core/rmem_max", "212992");
    const auto small = machine.finding("receive buffer", wanting_buffer(8'388'608));
    EXPECT_EQ(small.level, Level::bad);
    EXPECT_EQ(small.mend, "sysctl -w net.core.rmem_max=8388608");
    EXPECT_EQ(machine.finding("receive buffer", wanting_buffer(100'000)).level, Level::good);
}

TEST(DoctorMachine, LimitsAndCapabilitiesAreComparedWithWhatIsAskedFor) {
    Machine machine;
    machine
        .with("proc/self/limits",
              "Limit                     Soft Limit           Hard Limit           Units\n"
              "Max locked memory         65536                65536                bytes\n"
              "Max realtime priority     0                    0")
        .with("proc/self/status", "Name:\tmillpond\nCapEff:\t0000000000000000");
    EXPECT_EQ(machine.finding("limits", {}).level, Level::good);
    EXPECT_THAT(machine.finding("limits", {.pinned = {}, .realtime = true}).mend, HasSubstr("LimitRTPRIO=99"));
    EXPECT_THAT(machine.finding("limits", {.pinned = {}, .realtime = false, .lock = true}).what,
                HasSubstr("65536 bytes"));
    machine.with("proc/self/status", "CapEff:\t0000000000804000");  // CAP_IPC_LOCK and CAP_SYS_NICE
    EXPECT_EQ(machine.finding("limits", {.pinned = {}, .realtime = true, .lock = true}).level, Level::good);
    EXPECT_THAT(machine.finding("capabilities", {}).what,
                HasSubstr("CAP_SYS_NICE yes, CAP_IPC_LOCK yes, CAP_NET_ADMIN no"));
}

TEST(DoctorKernelText, FindsWhoJoinedAGroup) {
    const std::string igmp =
        "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n"
        "1\tlo        :     1      V3\n\t\t\t\t010000E0     1 0:00000000\t\t0\n"
        "2\teth1      :     2      V3\n\t\t\t\t026900E0     1 0:00000000\t\t0\n\t\t\t\t010000E0     1 "
        "0:00000000\t\t0\n";
    EXPECT_THAT(joined_on(igmp, net::SocketAddress::parse("224.0.105.2:1")), ElementsAre("eth1"));
    EXPECT_THAT(joined_on(igmp, net::SocketAddress::parse("224.0.0.1:1")), ElementsAre("lo", "eth1"));
    EXPECT_THAT(joined_on(igmp, net::SocketAddress::parse("239.1.1.1:1")), IsEmpty());
}

TEST(DoctorKernelText, FollowsTheLongestRoute) {
    const std::string routes =
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
        "eth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
        "eth1\t0000630A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
    EXPECT_EQ(route_to(routes, net::SocketAddress::parse("10.99.0.7:1")), "eth1");
    EXPECT_EQ(route_to(routes, net::SocketAddress::parse("10.98.0.7:1")), "eth0");
    EXPECT_EQ(route_to("", net::SocketAddress::parse("10.98.0.7:1")), "");
}

TEST(DoctorKernelText, CountsTheDropsOfAPort) {
    const std::string sockets =
        "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer "
        "drops\n"
        "  100: 0100007F:36B0 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1 2 0 17\n"
        "  101: 00000000:36B1 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1 2 0 0\n";
    EXPECT_EQ(drops_of_port(sockets, 14'000), 17U);
    EXPECT_EQ(drops_of_port(sockets, 14'001), 0U);
    EXPECT_EQ(drops_of_port(sockets, 14'002), std::nullopt);
}

TEST(DoctorKernelText, FindsTheRuleThatDropsAFeedAndNoOther) {
    const std::string rules =
        "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy accept;\n"
        "\t\ttcp dport 22 drop\n\t\tudp dport 9000 drop\n\t\tudp dport 14000 counter packets 3 bytes 9 drop\n"
        "\t\tip daddr 239.9.9.9 drop\n\t}\n"
        "\tchain output {\n\t\ttype filter hook output priority filter; policy drop;\n\t\tudp dport 14000 "
        "drop\n\t}\n}\n";
    const auto to = net::SocketAddress::parse("239.1.1.1:14000");
    EXPECT_THAT(dropping_rules(rules, to),
                ElementsAre("inet filter / input: udp dport 14000 counter packets 3 bytes 9 drop"));
    EXPECT_THAT(
        dropping_rules(
            "table ip raw {\n\tchain pre {\n\t\ttype filter hook prerouting priority raw; policy drop;\n\t}\n}\n", to),
        ElementsAre(HasSubstr("ip raw / pre: type filter hook prerouting")));
}

/// A feed that is well: each test spoils one thing.
FeedFacts well() {
    FeedFacts facts;
    facts.feed = "miax";
    facts.format = "miax-tom";
    facts.listen = net::SocketAddress::parse("224.0.105.2:51002");
    facts.interface = "eth1";
    facts.joined_on = {"eth1"};
    facts.gateway_runs = true;
    facts.link_watched = true;
    facts.on_link = 60;
    facts.sender = net::SocketAddress::parse("10.1.2.3:4000");
    facts.route_to_sender = "eth1";
    facts.socket_opened = true;
    facts.at_socket = 60;
    facts.decoded = 60;
    facts.receive_buffer = 1'000'000;
    facts.seconds = 3;
    return facts;
}

Finding verdict(const FeedFacts& facts) { return diagnose(facts).back(); }

TEST(DoctorFeed, AFeedThatIsWellPassesEveryStage) {
    for (const auto& finding : diagnose(well())) EXPECT_EQ(finding.level, Level::good) << finding.check << finding.what;
    EXPECT_EQ(verdict(well()).check, "decoder");
}

TEST(DoctorFeed, NamesTheStageWhereDatagramsStopAndTheCommandThatMendsIt) {
    const auto expect = [](auto&& spoil, const std::string& check, const std::string& what, const std::string& mend) {
        auto facts = well();
        spoil(facts);
        const auto found = verdict(facts);
        EXPECT_EQ(found.level, Level::bad);
        EXPECT_EQ(found.check, check);
        EXPECT_THAT(found.what, HasSubstr(what));
        EXPECT_THAT(found.mend, HasSubstr(mend));
    };
    expect([](auto& f) { f.interface_exists = false; }, "link", "no interface 'eth1'", "ip link");
    expect([](auto& f) { f.interface_up = false; }, "link", "eth1 is down", "ip link set eth1 up");
    expect([](auto& f) { f.carrier = false; }, "link", "no carrier", "ethtool eth1");
    expect([](auto& f) { f.joined_on = {}; }, "IGMP", "nobody has joined", "restart");
    expect([](auto& f) { f.joined_on = {"eth0"}; }, "IGMP", "joined on eth0, not on eth1", "interface = \"eth1\"");
    expect([](auto& f) { f.vlan = 42; }, "VLAN", "tag 42", "type vlan id 42");
    expect([](auto& f) { f.on_link = 0; }, "packets", "no datagram", "IGMP snooping");
    expect([](auto& f) { f.on_link = 0, f.on_other_link = 5, f.other_interface = "eth2"; }, "IGMP", "come in by eth2",
           "interface = \"eth2\"");
    expect([](auto& f) { f.at_socket = 0, f.rp_filter = 1, f.route_to_sender = "eth0"; }, "rp_filter", "leave by eth0",
           "net.ipv4.conf.eth1.rp_filter=0");
    expect([](auto& f) { f.at_socket = 0, f.rp_filter = 2, f.route_to_sender = ""; }, "rp_filter", "find no route",
           "rp_filter=0");
    expect([](auto& f) { f.at_socket = 0, f.dropping_rules = {"inet t / c: udp dport 51002 drop"}; }, "firewall",
           "udp dport 51002 drop", "nft insert rule inet t c udp dport 51002 accept");
    expect([](auto& f) { f.at_socket = 0; }, "socket", "do not come to a socket", "nft list ruleset");
    expect([](auto& f) { f.kernel_drops = 7; }, "socket buffer", "dropped 7", "rmem_max=2000000");
    expect([](auto& f) { f.decoded = 1, f.rejected = 2, f.first_error = "bad magic", f.first_rejected_hex = "dead"; },
           "decoder", "2 of 3 datagrams are no 'miax-tom': bad magic; the first one: dead",
           "format of [[feed]] 'miax'");
}

TEST(DoctorFeed, WithoutTheRightToLookAtTheLinkTheSocketTells) {
    auto facts = well();
    facts.link_watched = false;
    facts.on_link = 0;
    EXPECT_EQ(verdict(facts).level, Level::good);
    facts.at_socket = facts.decoded = 0;
    EXPECT_THAT(verdict(facts).mend, HasSubstr("as root"));
}

}  // namespace
}  // namespace millpond::app::doctor
