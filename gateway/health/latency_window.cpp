#include "gateway/health/latency_window.hpp"

#include <cstdint>
#include <memory>

namespace millpond::gateway::health {
namespace {

constexpr std::int64_t kSampleEveryNs = 5'000'000'000;

LatencyState::Percentiles percentiles_of(const metrics::HistogramSnapshot& snapshot) {
    return {.count = snapshot.count(),
            .mean = static_cast<std::uint64_t>(snapshot.mean()),
            .p50 = snapshot.percentile(50),
            .p90 = snapshot.percentile(90),
            .p95 = snapshot.percentile(95),
            .p99 = snapshot.percentile(99),
            .p999 = snapshot.percentile(99.9),
            .max = snapshot.max()};
}

}  // namespace

LatencyState LatencyWindow::update(const metrics::LatencyHistogram& histogram, std::int64_t now_ns) {
    const auto all = std::make_unique<metrics::HistogramSnapshot>();
    histogram.read(*all);
    const auto recent = std::make_unique<metrics::HistogramSnapshot>(*all);
    recent->subtract(*base_);
    LatencyState state{.all = percentiles_of(*all), .recent = percentiles_of(*recent), .bars = {}};
    std::uint64_t before = 0;
    for (std::uint64_t decade = 100; decade <= 1'000'000'000; decade *= 10) {
        for (const std::uint64_t step : {1ULL, 2ULL, 5ULL}) {
            const auto up_to = recent->count_up_to(decade * step);
            state.bars.emplace_back(decade * step, up_to - before);
            before = up_to;
        }
    }
    if (now_ns - sampled_ns_ >= kSampleEveryNs) {
        sampled_ns_ = now_ns;
        base_.swap(next_);
        *next_ = *all;
    }
    return state;
}

}  // namespace millpond::gateway::health
