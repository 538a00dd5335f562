#include "gateway/health/latency_window.hpp"

#include <cstddef>
#include <cstdint>

namespace millpond::gateway::health {
namespace {

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

LatencyWindow::LatencyWindow() : earlier_(kUpdates) {}

void LatencyWindow::subtract(const Earlier& earlier) {
    for (std::size_t i = 0; i < metrics::kBuckets; ++i) {
        interval_->counts[i] = static_cast<std::uint32_t>(all_->counts[i]) - earlier.counts[i];
    }
    interval_->sum = all_->sum - earlier.sum;
    interval_->min_value = all_->min_value;
    interval_->max_value = all_->max_value;
}

LatencyState LatencyWindow::update(const metrics::LatencyHistogram& histogram) {
    histogram.read(*all_);
    LatencyState state{.all = percentiles_of(*all_), .recent = {}, .newest = {}, .bars = {}};
    subtract(earlier_[(oldest_ + kUpdates - 1) % kUpdates]);
    state.newest = percentiles_of(*interval_);
    subtract(earlier_[oldest_]);
    state.recent = percentiles_of(*interval_);
    std::uint64_t before = 0;
    for (std::uint64_t decade = 100; decade <= 1'000'000'000; decade *= 10) {
        for (const std::uint64_t step : {1ULL, 2ULL, 5ULL}) {
            const auto up_to = interval_->count_up_to(decade * step);
            state.bars.emplace_back(decade * step, up_to - before);
            before = up_to;
        }
    }
    auto& replaced = earlier_[oldest_];
    for (std::size_t i = 0; i < metrics::kBuckets; ++i) {
        replaced.counts[i] = static_cast<std::uint32_t>(all_->counts[i]);
    }
    replaced.sum = all_->sum;
    oldest_ = (oldest_ + 1) % kUpdates;
    return state;
}

}  // namespace millpond::gateway::health
