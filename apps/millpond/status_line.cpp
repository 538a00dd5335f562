#include "apps/millpond/status_line.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

namespace millpond::app {
namespace {

double per_second(std::uint64_t count, std::int64_t interval_ns) {
    return interval_ns <= 0 ? 0.0 : static_cast<double>(count) * 1e9 / static_cast<double>(interval_ns);
}

double micros(std::uint64_t nanos) { return static_cast<double>(nanos) / 1'000.0; }

}  // namespace

StatusLine::StatusLine() : before_(std::make_unique<gateway::Totals>()), now_(std::make_unique<gateway::Totals>()) {}

std::string StatusLine::next(const gateway::Gateway& gateway, std::int64_t interval_ns) {
    gateway.read_totals(*now_);
    auto wire = std::make_unique<metrics::HistogramSnapshot>(now_->wire);
    wire->subtract(before_->wire);
    auto line = fmt::format("packets/s {:.0f}  quotes/s {:.0f}  wire to ring p50 {:.1f} us p99 {:.1f} us  gaps {}",
                            per_second(now_->packets - before_->packets, interval_ns),
                            per_second(now_->quotes - before_->quotes, interval_ns), micros(wire->percentile(50)),
                            micros(wire->percentile(99)), now_->missing);
    if (now_->kernel_drops != 0) line += fmt::format("  kernel drops {}", now_->kernel_drops);
    if (now_->malformed != 0) line += fmt::format("  malformed {}", now_->malformed);
    for (const auto& sink : gateway.sinks()) {
        const auto account = sink->account();
        fmt::format_to(std::back_inserter(line), "  {}: missed {}", sink->name(), account.missed);
        if (account.queued != 0) fmt::format_to(std::back_inserter(line), " queued {}", account.queued);
    }
    before_.swap(now_);
    return line;
}

}  // namespace millpond::app
