// The doctor's checks of simulated machines, and its parsing of the kernel's output.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <millpond/core/descriptor.hpp>

#include "apps/millpond/doctor/finding.hpp"
#include "apps/millpond/doctor/kernel_text.hpp"
#include "apps/millpond/doctor/machine.hpp"

namespace millpond::app::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A simulated machine: a folder with /proc and /sys.
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
    [[nodiscard]] Finding finding(const std::string& check, const Needs& needs,
                                  std::uint64_t granted_buffer = 0) const {
        const auto all = check_machine(root_, needs, granted_buffer);
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
    EXPECT_THAT(shared.fix, AllOf(HasSubstr("\"$GRUB_CMDLINE_LINUX isolcpus=1 nohz_full=1"),
                                  HasSubstr("> /etc/default/grub.d/millpond.cfg"), Not(HasSubstr("reboot"))));
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
    EXPECT_EQ(slow.fix, "cpupower frequency-set -g performance");
}

TEST(DoctorMachine, TooFewHugePagesAreCounted) {
    Machine machine;
    machine.with("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "3").with("proc/sys/vm/nr_hugepages", "4");
    EXPECT_EQ(machine.finding("huge pages", wanting_huge(6'000'000)).level, Level::good);
    const auto few = machine.finding("huge pages", wanting_huge(10'000'000));
    EXPECT_EQ(few.level, Level::advice);
    EXPECT_THAT(few.what, HasSubstr("3 free of 2 MiB, 5 wanted"));
    EXPECT_EQ(few.fix, "sysctl -w vm.nr_hugepages=9");
}

TEST(DoctorMachine, InterruptsOnAPinnedCoreAreNamed) {
    Machine machine;
    machine.with("proc/irq/24/smp_affinity_list", "0-7").with("proc/irq/24/effective_affinity_list", "0");
    EXPECT_EQ(machine.finding("IRQ affinity", {.pinned = {3}}).level, Level::good);
    machine.with("proc/irq/25/smp_affinity_list", "2-3");
    const auto disturbed = machine.finding("IRQ affinity", {.pinned = {3}});
    EXPECT_THAT(disturbed.what, HasSubstr("cores: 25"));
    EXPECT_THAT(disturbed.fix, HasSubstr("for i in 25; do echo 0 > /proc/irq/$i/smp_affinity_list"));
}

TEST(DoctorMachine, BusyPollAndClockSourceAreLookedAt) {
    Machine machine;
    machine.with("proc/sys/net/core/busy_read", "0")
        .with("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet");
    EXPECT_EQ(machine.finding("busy poll", {}).fix, "sysctl -w net.core.busy_read=50");
    EXPECT_THAT(machine.finding("clock source", {}).what, HasSubstr("hpet"));
    machine.with("proc/sys/net/core/busy_read", "50")
        .with("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
    EXPECT_EQ(machine.finding("busy poll", {}).level, Level::good);
    EXPECT_EQ(machine.finding("clock source", {}).level, Level::good);
}

TEST(DoctorMachine, AReceiveBufferThatTheKernelDoesNotGrantIsBad) {
    const Machine machine;
    const auto small = machine.finding("receive buffer", wanting_buffer(8'388'608), 212'992);
    EXPECT_EQ(small.level, Level::bad);
    EXPECT_THAT(small.what, HasSubstr("a feed requests 8388608 bytes, the kernel grants 212992"));
    EXPECT_EQ(small.fix, "sysctl -w net.core.rmem_max=8388608");
    EXPECT_EQ(machine.finding("receive buffer", wanting_buffer(100'000), 212'992).level, Level::good);
}

TEST(DoctorMachine, AReceiveBufferIsTriedAsAFeedRequestsIt) {
    std::uint64_t largest = 0;
    std::ifstream{"/proc/sys/net/core/rmem_max"} >> largest;
    const auto wanted = largest + 4096;
    EXPECT_GE(granted_receive_buffer(largest / 2), largest / 2);
    // Beyond net.core.rmem_max only with CAP_NET_ADMIN, which the gateway uses if it has it.
    const bool may_force = [&] {
        const core::Descriptor socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
        const auto bytes = static_cast<int>(wanted);
        return setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) == 0;
    }();
    const auto level =
        Machine{}.finding("receive buffer", wanting_buffer(wanted), granted_receive_buffer(wanted)).level;
    EXPECT_EQ(level, may_force ? Level::good : Level::bad);
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
    EXPECT_THAT(machine.finding("limits", {.pinned = {}, .realtime = true}).fix, HasSubstr("LimitRTPRIO=99"));
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

}  // namespace
}  // namespace millpond::app::doctor
