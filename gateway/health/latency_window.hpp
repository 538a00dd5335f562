#pragma once

#include <cstdint>
#include <memory>

#include <millpond/metrics/histogram_snapshot.hpp>
#include <millpond/metrics/latency_histogram.hpp>

#include "gateway/health/state.hpp"

namespace millpond::gateway::health {

/// Percentiles of a histogram over the last 5 to 10 seconds, and in total.
class LatencyWindow {
public:
    [[nodiscard]] LatencyState update(const metrics::LatencyHistogram& histogram, std::int64_t now_ns);

private:
    // Snapshots of the histogram 5 to 10 seconds ago, and up to 5 seconds ago.
    std::unique_ptr<metrics::HistogramSnapshot> base_{std::make_unique<metrics::HistogramSnapshot>()};
    std::unique_ptr<metrics::HistogramSnapshot> next_{std::make_unique<metrics::HistogramSnapshot>()};
    std::int64_t sampled_ns_{0};
};

}  // namespace millpond::gateway::health
