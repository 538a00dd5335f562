#include "tests/apps/gateway_run.hpp"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include "tests/apps/http_page.hpp"

namespace millpond::app {
namespace {

std::uint16_t port_of(const std::string& address) {
    return static_cast<std::uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str()));
}

}  // namespace

std::string unique_ring(std::string_view what) { return "test-" + std::string{what} + "-" + std::to_string(getpid()); }

std::vector<std::string> GatewayRun::arguments(const Options& options, const std::string& ring) {
    // Pauses of a slow machine are not losses, unless the test sets a limit.
    const auto* patience = options.feed.find("stale_seconds") == std::string::npos ? ",stale_seconds=0" : "";
    std::vector<std::string> result{
        "gateway",
        "--ring",
        "name=" + ring + ",huge_pages=" + options.huge_pages + options.ring_more,
        "--feed",
        (options.connect.empty() ? "name=f,listen=127.0.0.1:0" : "name=f,connect=" + options.connect) +
            ",receive_buffer=16MiB,format=" + options.format + options.feed + patience,
        "--metrics",
        options.metrics};
    result.insert(result.end(), options.more.begin(), options.more.end());
    return result;
}

GatewayRun::GatewayRun(const Options& options) : ring_(options.ring), program_(arguments(options, options.ring)) {
    if (!program_.prints("Ctrl-C stops it."))
        throw std::runtime_error("the gateway did not start: " + program_.wait().err);
}

std::uint16_t GatewayRun::tcp_port(const std::string& sink) const {
    return port_of(program_.word_after("tcp sink '" + sink + "': listens on "));
}

std::string GatewayRun::page(const std::string& path) const {
    const auto url = program_.word_after("metrics: http://");
    return page_of(port_of(url.substr(0, url.find('/'))), path);
}

std::int64_t GatewayRun::metric(std::string_view name) const {
    const auto text = page("/metrics");
    const auto begin_of_line = "\n" + std::string{name};
    for (auto at = text.find(begin_of_line); at != std::string::npos; at = text.find(begin_of_line, at + 1)) {
        const auto after = at + begin_of_line.size();
        if (text[after] != ' ' && text[after] != '{') continue;
        return std::atoll(text.c_str() + text.find(' ', after) + 1);
    }
    return -1;
}

Outcome GatewayRun::end() {
    program_.signal(SIGTERM);
    return program_.wait();
}

std::vector<std::string> GatewayRun::shared_names() const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
        const auto name = entry.path().filename().string();
        if (name.starts_with("millpond." + ring_)) result.push_back(name);
    }
    return result;
}

}  // namespace millpond::app
