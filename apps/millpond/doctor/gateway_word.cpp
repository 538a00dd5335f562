#include "apps/millpond/doctor/gateway_word.hpp"

#include <fmt/format.h>
#include <json/value.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <millpond/core/clock.hpp>

#include "service/json.hpp"

namespace millpond::app::doctor {
namespace {

using service::member;
using Tree = Json::Value;

std::string text(const Tree& tree, const char* key) { return member(tree, key).asString(); }

Finding finding_of(const Tree& said, double now) {
    constexpr double kSecondNs = 1e9;
    const bool fault = text(said, "severity") != "info";
    return {.check = text(said, "stage"),
            .level = fault ? Level::bad : Level::good,
            .what = fmt::format("the gateway reports for {}: {} (for {:.1f} s)", text(said, "of"), text(said, "text"),
                                (now - member(said, "since").asDouble()) / kSecondNs),
            .fix = fault ? text(said, "advice") : std::string{}};
}

}  // namespace

std::optional<GatewayWord> word_of(const std::string& health_json, const std::string& feed) try {
    const auto page = service::parse_json(health_json);
    GatewayWord word{.now_utc_ns = member(page, "now").asInt64(), .datagrams = 0, .findings = {}};
    std::set<std::string> ours;
    for (const auto& one : member(page, "feeds")) {
        if (text(one, "name") != feed) continue;
        word.datagrams = member(one, "packets").asUInt64();
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
