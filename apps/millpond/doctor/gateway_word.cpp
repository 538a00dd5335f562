#include "apps/millpond/doctor/gateway_word.hpp"

#include <fmt/format.h>
#include <json/value.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <millpond/core/clock.hpp>

#include "service/json.hpp"

namespace millpond::app::doctor {
namespace {

using service::member;
using Tree = Json::Value;

std::string text(const Tree& tree, const char* key) { return member(tree, key).asString(); }

constexpr std::string_view kRestart = "systemctl restart millpond; journalctl -u millpond -n 50";

/// What to do about a stage of gateway/health/findings.hpp that this check did not find.
constexpr std::array<std::pair<std::string_view, std::string_view>, 21> kFixes{{
    {"link", "ip -s link; ethtool for the feed's interface: check the cable and the switch port"},
    {"group not joined", kRestart},
    {"no packets", kRestart},
    {"stale", kRestart},
    {"kernel drops",
     "sysctl -w net.core.rmem_max=67108864; receive_buffer = \"64MiB\" in the [[feed]], pin in the [[ring]]"},
    {"checksum errors",
     "ethtool -S for the feed's interface; a sender on veth: switch its checksum offload off with ethtool -K"},
    {"line", "ip -s link; ip maddress: interface_b and the group of line B as for any feed"},
    {"undecodable", "journalctl -u millpond: the decoder's error for the first one; compare format of the [[feed]]"},
    {"rejected messages", "millpond gateway --capture keeps the datagrams; compare format of the [[feed]]"},
    {"other session", "find the senders with tcpdump; set source of the [[feed]] to accept only one"},
    {"request server",
     "ip route get, with the address of rerequest; missing messages stay missing until there is a route"},
    {"gap",
     "nstat -az UdpRcvbufErrors; ethtool -S for the feed's interface: if nothing was lost here, check the sender and "
     "the network"},
    {"quotes incomplete",
     "the cause of the loss: kernel drops, gap, stale; rebuild_from or rerequest of an ITCH [[feed]] completes its "
     "books"},
    {"books incomplete", "rebuild_from and rerequest of the [[feed]]: the lost messages must be in one of them"},
    {"table full", "max_instruments of the [[ring]], max_orders of the [[feed]]: raise the one named, then restart"},
    {"implausible delay", "timedatectl; timezone and date of the [[feed]]"},
    {"receive thread", kRestart},
    {"capture", "df -h: the disk of the capture's folder"},
    {"sink disconnected", "journalctl -u millpond: the broker's reason; ss -tn: its address; password_file, tls_ca"},
    {"sink behind", "df -h; ss -tn: a Send-Q that does not shrink; mode = \"conflate\" keeps the newest quotes only"},
    {"sink lost events",
     "a larger capacity of the [[ring]], or mode = \"conflate\"; df -h: is the disk of the sink full?"},
}};

std::string fix_of(std::string_view stage) {
    const auto* const known = std::ranges::find(kFixes, stage, &std::pair<std::string_view, std::string_view>::first);
    return known == kFixes.end() ? std::string{} : std::string{known->second};
}

Finding finding_of(const Tree& said, double now) {
    constexpr double kSecondNs = 1e9;
    const auto stage = text(said, "stage");
    const bool fault = text(said, "severity") != "info";
    return {.check = stage,
            .level = fault ? Level::bad : Level::good,
            .what = fmt::format("the gateway reports for {}: {} (for {:.1f} s)", text(said, "of"), text(said, "text"),
                                (now - member(said, "since").asDouble()) / kSecondNs),
            .fix = fix_of(stage)};
}

}  // namespace

std::optional<GatewayWord> word_of(const std::string& health_json, const std::string& feed) try {
    const auto page = service::parse_json(health_json);
    GatewayWord word{.now_utc_ns = member(page, "now").asInt64(), .packets = 0, .findings = {}};
    std::set<std::string> ours;
    for (const auto& one : member(page, "feeds")) {
        if (text(one, "name") != feed) continue;
        word.packets = member(one, "packets").asUInt64();
        const auto ring = text(one, "ring");
        ours = {fmt::format("feed '{}'", feed), fmt::format("ring '{}'", ring)};
        for (const auto& sink : member(page, "sinks")) {
            if (text(sink, "ring") == ring) ours.insert(fmt::format("sink '{}'", text(sink, "name")));
        }
    }
    if (ours.empty()) return std::nullopt;
    for (const auto& said : member(page, "findings")) {
        if (ours.contains(text(said, "of"))) {
            word.findings.push_back(finding_of(said, static_cast<double>(word.now_utc_ns)));
        }
    }
    return word;
} catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("its /api/health cannot be parsed: {}", error.what()));
}

std::optional<GatewayWord> GatewayEar::ask(std::int64_t since_utc_ns, std::string& silence) const try {
    constexpr std::int64_t kPatienceNs = 2'000'000'000;
    constexpr std::chrono::milliseconds kPause{50};
    if (ask_ == nullptr) return std::nullopt;
    for (const auto deadline = core::monotonic_nanos() + kPatienceNs;;) {
        auto word = word_of(ask_(), feed_);
        if (!word) {
            silence = fmt::format("it has no feed '{}'", feed_);
            return word;
        }
        if (word->now_utc_ns >= since_utc_ns || core::monotonic_nanos() > deadline) return word;
        std::this_thread::sleep_for(kPause);
    }
} catch (const std::exception& error) {
    silence = error.what();
    return std::nullopt;
}

}  // namespace millpond::app::doctor
