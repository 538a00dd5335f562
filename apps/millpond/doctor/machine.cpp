#include "apps/millpond/doctor/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include <linux/capability.h>

#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>

namespace millpond::app::doctor {
namespace {

namespace fs = std::filesystem;

/// Returns the file's text without the final line end; nullopt if it cannot be read.
std::optional<std::string> text_of(const fs::path& path) {
    std::ifstream in{path};
    if (!in) return std::nullopt;
    std::ostringstream text;
    text << in.rdbuf();
    auto result = text.str();
    while (!result.empty() && result.back() == '\n') result.pop_back();
    return result;
}

std::optional<std::uint64_t> number_of(const fs::path& path) {
    const auto text = text_of(path);
    std::uint64_t number = 0;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc{}) {
        return std::nullopt;
    }
    return number;
}

/// Returns the rest of the line that begins with `key`.
std::string line_behind(const std::string& text, std::string_view key) {
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with(key)) return line.substr(key.size());
    }
    return {};
}

class Checks {
public:
    Checks(fs::path root, const Needs& needs, std::uint64_t granted_buffer)
        : root_(std::move(root)), needs_(needs), granted_buffer_(granted_buffer) {}

    std::vector<Finding> all() {
        isolated_cores();
        governor();
        huge_pages();
        irq_affinity();
        busy_poll();
        clock_source();
        receive_buffer();
        limits();
        return std::move(findings_);
    }

private:
    void good(std::string check, std::string what) {
        findings_.push_back({std::move(check), Level::good, std::move(what), {}});
    }
    void found(std::string check, Level level, std::string what, std::string fix) {
        findings_.push_back({std::move(check), level, std::move(what), std::move(fix)});
    }

    /// Returns the command that adds options to the kernel's command line; the restart is left to the operator.
    static std::string isolate(const std::string& cores) {
        return fmt::format(
            "mkdir -p /etc/default/grub.d && "
            "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX isolcpus={0} nohz_full={0} rcu_nocbs={0}\"' "
            "> /etc/default/grub.d/millpond.cfg && update-grub; it takes effect with the next restart of the machine",
            cores);
    }

    void isolated_cores() {
        isolated_ = parse_cpus(text_of(root_ / "sys/devices/system/cpu/isolated").value_or(""));
        std::set<std::uint32_t> shared;
        std::ranges::set_difference(needs_.pinned, isolated_, std::inserter(shared, shared.end()));
        if (isolated_.empty() && needs_.pinned.empty()) {
            found("isolated cores", Level::advice, "no core is isolated for receive threads, and no thread is pinned",
                  isolate("1") + "; set pin = 1 in [[ring]]");
        } else if (!shared.empty()) {
            const auto list = fmt::format("{}", fmt::join(shared, ","));
            found("isolated cores", Level::advice,
                  fmt::format("receive threads are pinned to cores that other work may use: {}", list), isolate(list));
        } else {
            good("isolated cores",
                 fmt::format("isolated: {}; pinned: {}", fmt::join(isolated_, ","),
                             needs_.pinned.empty() ? "none" : fmt::format("{}", fmt::join(needs_.pinned, ","))));
        }
    }

    void governor() {
        std::set<std::string> slow;
        bool any = false;
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(root_ / "sys/devices/system/cpu", error)) {
            const auto governor = text_of(entry.path() / "cpufreq/scaling_governor");
            if (!governor) continue;
            any = true;
            if (*governor != "performance") slow.insert(*governor);
        }
        if (!any) return good("governor", "the clock rate is fixed, or the machine does not report it");
        if (slow.empty()) return good("governor", "performance on every core");
        found("governor", Level::advice,
              fmt::format("cores may lower their clock rate: governor {}", fmt::join(slow, ", ")),
              "cpupower frequency-set -g performance");
    }

    void huge_pages() {
        constexpr std::uint64_t kHugePage = 2ULL * 1024 * 1024;
        const auto free = number_of(root_ / "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages").value_or(0);
        const auto pages = (needs_.huge_bytes + kHugePage - 1) / kHugePage;
        const auto transparent = text_of(root_ / "sys/kernel/mm/transparent_hugepage/shmem_enabled").value_or("");
        if (free >= pages && free != 0)
            return good("huge pages", fmt::format("{} free of 2 MiB, {} wanted", free, pages));
        if (pages == 0) return good("huge pages", "none wanted");
        found("huge pages", Level::advice,
              fmt::format(
                  "{} free of 2 MiB, {} wanted{}", free, pages,
                  transparent.find("[never]") != std::string::npos ? "; no transparent ones for shared memory" : ""),
              fmt::format("sysctl -w vm.nr_hugepages={}",
                          pages + number_of(root_ / "proc/sys/vm/nr_hugepages").value_or(0)));
    }

    void irq_affinity() {
        auto quiet = isolated_;
        quiet.insert(needs_.pinned.begin(), needs_.pinned.end());
        if (quiet.empty()) return;
        std::vector<std::string> disturbing;
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(root_ / "proc/irq", error)) {
            // Effective processors of the interrupt; the list of allowed ones may be longer.
            auto cpus = text_of(entry.path() / "effective_affinity_list");
            if (!cpus || cpus->empty()) cpus = text_of(entry.path() / "smp_affinity_list");
            if (!cpus) continue;
            const auto where = parse_cpus(*cpus);
            const bool hits = std::ranges::any_of(where, [&](auto cpu) { return quiet.contains(cpu); });
            if (hits) disturbing.push_back(entry.path().filename().string());
        }
        std::ranges::sort(disturbing);
        if (disturbing.empty()) return good("IRQ affinity", "no interrupt goes to an isolated or pinned core");
        found("IRQ affinity", Level::advice,
              fmt::format("interrupts go to isolated or pinned cores: {}", fmt::join(disturbing, ", ")),
              fmt::format("systemctl stop irqbalance; for i in {}; do echo 0 > /proc/irq/$i/smp_affinity_list; done",
                          fmt::join(disturbing, " ")));
    }

    void busy_poll() {
        const auto read = number_of(root_ / "proc/sys/net/core/busy_read");
        if (!read) return;
        if (*read != 0)
            return good("busy poll", fmt::format("sockets busy-poll the network card's queue for {} us", *read));
        found("busy poll", Level::advice, "sockets wait for the network card's interrupt",
              "sysctl -w net.core.busy_read=50");
    }

    void clock_source() {
        const auto source = text_of(root_ / "sys/devices/system/clocksource/clocksource0/current_clocksource");
        if (!source) return;
        if (*source == "tsc" || *source == "arch_sys_counter" || *source == "kvm-clock") {
            return good("clock source", *source);
        }
        found("clock source", Level::advice,
              fmt::format("reading the time is slow, because it is a system call: {}", *source),
              "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource");
    }

    void receive_buffer() {
        if (needs_.receive_buffer == 0) return;
        if (granted_buffer_ >= needs_.receive_buffer) {
            return good("receive buffer", fmt::format("the kernel grants {} bytes", granted_buffer_));
        }
        found("receive buffer", Level::bad,
              fmt::format("a feed requests {} bytes, the kernel grants {}: bursts may be dropped",
                          needs_.receive_buffer, granted_buffer_),
              fmt::format("sysctl -w net.core.rmem_max={}", needs_.receive_buffer));
    }

    [[nodiscard]] bool has_capability(unsigned number) const {
        const auto status = text_of(root_ / "proc/self/status").value_or("");
        const auto mask = std::strtoull(line_behind(status, "CapEff:").c_str(), nullptr, 16);
        return (mask >> number & 1U) != 0;
    }
    /// Returns the soft limit from /proc/self/limits.
    [[nodiscard]] std::string limit(std::string_view name) const {
        std::istringstream rest{line_behind(text_of(root_ / "proc/self/limits").value_or(""), name)};
        std::string soft;
        rest >> soft;
        return soft;
    }

    void limits() {
        const auto priority = limit("Max realtime priority");
        if (needs_.realtime && (priority == "0" || priority.empty()) && !has_capability(CAP_SYS_NICE)) {
            found("limits", Level::bad, "realtime priority is requested but not allowed",
                  "LimitRTPRIO=99 in the unit, or ulimit -r 99, or setcap cap_sys_nice+ep /usr/bin/millpond");
        }
        const auto locked = limit("Max locked memory");
        if (needs_.lock && locked != "unlimited" && !has_capability(CAP_IPC_LOCK)) {
            found("limits", Level::bad,
                  fmt::format("locked memory is requested; {} bytes are allowed", locked.empty() ? "0" : locked),
                  "LimitMEMLOCK=infinity in the unit, or ulimit -l unlimited");
        }
        const bool none = findings_.empty() || findings_.back().check != "limits";
        if (none) good("limits", fmt::format("realtime priority {}, locked memory {}", priority, locked));
        good("capabilities",
             fmt::format("CAP_SYS_NICE {}, CAP_IPC_LOCK {}, CAP_NET_ADMIN {}, CAP_NET_RAW {}",
                         has_capability(CAP_SYS_NICE) ? "yes" : "no", has_capability(CAP_IPC_LOCK) ? "yes" : "no",
                         has_capability(CAP_NET_ADMIN) ? "yes" : "no", has_capability(CAP_NET_RAW) ? "yes" : "no"));
    }

    fs::path root_;
    const Needs& needs_;
    std::uint64_t granted_buffer_;
    std::set<std::uint32_t> isolated_;
    std::vector<Finding> findings_;
};

}  // namespace

std::set<std::uint32_t> parse_cpus(const std::string& text) {
    std::set<std::uint32_t> cpus;
    std::istringstream in{text};
    for (std::string part; std::getline(in, part, ',');) {
        std::uint32_t first = 0;
        const auto* end = part.data() + part.size();
        const auto read = std::from_chars(part.data(), end, first);
        if (read.ec != std::errc{}) continue;
        std::uint32_t last = first;
        if (read.ptr != end && *read.ptr == '-') std::from_chars(read.ptr + 1, end, last);
        for (auto cpu = first; cpu <= last && cpu - first < 4'096; ++cpu) cpus.insert(cpu);
    }
    return cpus;
}

std::uint64_t granted_receive_buffer(std::uint64_t bytes) {
    const net::UdpReceiver receiver{
        {.local = net::SocketAddress::parse("127.0.0.1:0"), .receive_buffer = static_cast<std::size_t>(bytes)}};
    return receiver.report().receive_buffer;
}

std::vector<Finding> check_machine(const std::filesystem::path& root, const Needs& needs,
                                   std::uint64_t granted_buffer) {
    return Checks{root, needs, granted_buffer}.all();
}

}  // namespace millpond::app::doctor
