#include "apps/millpond/gateway/status_line.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace millpond::app {
namespace {

double per_second(std::uint64_t count, std::int64_t interval_ns) {
    return interval_ns <= 0 ? 0.0 : static_cast<double>(count) * 1e9 / static_cast<double>(interval_ns);
}

double micros(std::uint64_t nanos) { return static_cast<double>(nanos) / 1'000.0; }

}  // namespace

StatusLine::StatusLine() : before_(std::make_unique<gateway::Totals>()), now_(std::make_unique<gateway::Totals>()) {}

StatusLine::Numbers StatusLine::sample(const gateway::Gateway& gateway, std::int64_t interval_ns) {
    gateway.read_totals(*now_);
    auto wire = std::make_unique<metrics::HistogramSnapshot>(now_->wire);
    wire->subtract(before_->wire);
    Numbers numbers{
        .counts = {fmt::format("{:.0f} datagrams/s", per_second(now_->datagrams - before_->datagrams, interval_ns)),
                   fmt::format("{:.0f} quotes/s", per_second(now_->quotes - before_->quotes, interval_ns)),
                   fmt::format("gaps {}", now_->missing)},
        .latency =
            fmt::format("p50 {:.1f} us p99 {:.1f} us", micros(wire->percentile(50)), micros(wire->percentile(99)))};
    if (now_->kernel_drops != 0) numbers.counts.push_back(fmt::format("kernel drops {}", now_->kernel_drops));
    if (now_->malformed != 0) numbers.counts.push_back(fmt::format("malformed {}", now_->malformed));
    before_.swap(now_);
    return numbers;
}

std::string StatusLine::next(const gateway::Gateway& gateway, std::int64_t interval_ns, std::size_t columns) {
    auto [parts, latency] = sample(gateway, interval_ns);
    std::uint64_t missed = 0;
    for (const auto& sink : gateway.sinks()) missed += sink->account().missed;
    if (missed != 0) parts.push_back(fmt::format("missed {}", missed));
    parts.push_back(latency);
    std::string line;
    for (const auto& part : parts) {
        const std::string_view between = line.empty() ? "" : "  ";
        if (line.size() + between.size() + part.size() <= columns) line.append(between).append(part);
    }
    return line;
}

}  // namespace millpond::app
