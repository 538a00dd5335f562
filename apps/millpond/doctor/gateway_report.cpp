#include "apps/millpond/doctor/gateway_report.hpp"

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

Finding finding_of(const Tree& finding, double now) {
    constexpr double kSecondNs = 1e9;
    const bool fault = text(finding, "severity") != "info";
    return {.check = text(finding, "stage"),
            .level = fault ? Level::bad : Level::good,
            .what = fmt::format("the gateway reports for {}: {} (for {:.1f} s)", text(finding, "of"),
                                text(finding, "text"), (now - member(finding, "since").asDouble()) / kSecondNs),
            .fix = fault ? text(finding, "advice") : std::string{}};
}

}  // namespace

std::optional<GatewayReport> parse_report(const std::string& health_json, const std::string& feed) try {
    const auto page = service::parse_json(health_json);
    GatewayReport report{.now_utc_ns = member(page, "now").asInt64(), .datagrams = 0, .findings = {}};
    std::set<std::string> ours;
    for (const auto& one : member(page, "feeds")) {
        if (text(one, "name") != feed) continue;
        report.datagrams = member(one, "packets").asUInt64();
        const auto ring = text(one, "ring");
        ours = {fmt::format("feed '{}'", feed), fmt::format("ring '{}'", ring)};
        for (const auto& sink : member(page, "sinks")) {
            if (text(sink, "ring") == ring) ours.insert(fmt::format("sink '{}'", text(sink, "name")));
        }
    }
    if (ours.empty()) return std::nullopt;
    for (const auto& finding : member(page, "findings")) {
        if (ours.contains(text(finding, "of"))) {
            report.findings.push_back(finding_of(finding, static_cast<double>(report.now_utc_ns)));
        }
    }
    return report;
} catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("its /api/health cannot be parsed: {}", error.what()));
}

std::optional<GatewayReport> GatewayClient::query(std::int64_t since_utc_ns, std::string& error_text) const try {
    constexpr std::int64_t kTimeoutNs = 2'000'000'000;
    constexpr std::chrono::milliseconds kPause{50};
    if (fetch_ == nullptr) return std::nullopt;
    for (const auto deadline = core::monotonic_nanos() + kTimeoutNs;;) {
        auto report = parse_report(fetch_(), feed_);
        if (!report) {
            error_text = fmt::format("it has no feed '{}'", feed_);
            return report;
        }
        if (report->now_utc_ns >= since_utc_ns || core::monotonic_nanos() > deadline) return report;
        std::this_thread::sleep_for(kPause);
    }
} catch (const std::exception& error) {
    error_text = error.what();
    return std::nullopt;
}

}  // namespace millpond::app::doctor
