#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/json_string.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/number_checks.hpp"
#include "apps/millpond/doctor/finding.hpp"
#include "apps/millpond/doctor/observe.hpp"
#include "apps/millpond/doctor/report.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/settings/read.hpp"
#include "service/http/get.hpp"

namespace millpond::app {
namespace {

using doctor::Finding;
using doctor::Level;

struct DoctorOptions {
    std::string config;
    std::string feed;
    double seconds{3};
    std::string format{"text"};
};

void print_json(const std::vector<Finding>& findings) {
    std::string out = "{\"findings\":[";
    for (const auto& one : findings) {
        out += fmt::format("{}{{\"check\":{},\"level\":\"{}\",\"what\":{},\"fix\":{}}}",
                           &one == findings.data() ? "" : ",", core::json_string(one.check), to_string(one.level),
                           core::json_string(one.what), core::json_string(one.fix));
    }
    fmt::print("{}]}}\n", out);
}

const gateway::FeedConfig& feed_of(const gateway::Config& config, const std::string& name) {
    std::string known;
    for (const auto& feed : config.feeds) {
        if (feed.name == name) return feed;
        known += (known.empty() ? "" : ", ") + feed.name;
    }
    throw UsageError(fmt::format("doctor: no feed '{}'; known are: {}", name, known));
}

/// Returns a function that fetches /api/health from the gateway of this configuration; empty if it does not serve it.
doctor::FetchHealth health_source_of(const gateway::Config& config) {
    if (config.metrics.empty() || config.metrics.port() == 0) return {};
    return [at = config.metrics] { return http::get(at, "/api/health", {}); };
}

int run(const DoctorOptions& options) {
    if (!options.feed.empty() && options.config.empty()) {
        throw UsageError(
            fmt::format("doctor: --feed {0} needs --config FILE with the address of feed '{0}'", options.feed));
    }
    gateway::Config config;
    if (!options.config.empty()) gateway::read_file(options.config, config);
    gateway::complete(config);
    std::vector<Finding> findings;
    if (options.feed.empty()) {
        findings = doctor::check_machine_for(config);
    } else {
        const std::chrono::milliseconds timeout{static_cast<std::int64_t>(options.seconds * 1'000)};
        findings = doctor::diagnose(doctor::observe(feed_of(config, options.feed), timeout, health_source_of(config)));
    }
    options.format == "json" ? print_json(findings) : fmt::print("{}", doctor::to_text(findings));
    return std::ranges::any_of(findings, [](const Finding& one) { return one.level == Level::bad; }) ? 1 : 0;
}

}  // namespace

Command doctor_command(Arguments& program) {
    auto* command =
        program.add_subcommand("doctor", "Check the machine for low latency, or find where a feed's datagrams stop.");
    command->footer(
        "A finding comes with the command that fixes it, or with advice. The exit code is 1 if a check is bad.\n"
        "Examples:\n"
        "  millpond doctor\n"
        "  millpond doctor --config /etc/millpond/gateway.toml --format json\n"
        "  millpond doctor --config /etc/millpond/gateway.toml --feed miax --seconds 10");
    auto options = std::make_shared<DoctorOptions>();
    command->add_option("--config", options->config, "the gateway's configuration: what it needs, and its feeds")
        ->nonempty()
        ->type_name("FILE");
    command->add_option("--feed", options->feed, "follow the datagrams of this feed, from the link to the decoder")
        ->type_name("NAME");
    command->add_option("--seconds", options->seconds, "maximum time to observe the feed, in seconds")
        ->check(number_between(0.1, 3'600))
        ->capture_default_str();
    command->add_option("--format", options->format, "output format")->one_of({"text", "json"})->capture_default_str();
    return {command, [options] { return run(*options); }};
}

}  // namespace millpond::app
