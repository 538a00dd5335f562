#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <millpond/metrics/histogram_snapshot.hpp>
#include <millpond/metrics/latency_histogram.hpp>

#include "gateway/health/state.hpp"

namespace millpond::gateway::health {

/// Percentiles of a histogram over the last update, the last ten updates, and in total. Updates are a second apart.
///
/// Memory: 250 KiB, in the constructor.
class LatencyWindow {
public:
    LatencyWindow();
    [[nodiscard]] LatencyState update(const metrics::LatencyHistogram& histogram);

private:
    static constexpr std::size_t kUpdates = 10;
    /// Counts at an earlier update, modulo 2^32: only differences are used.
    struct Earlier {
        std::vector<std::uint32_t> counts = std::vector<std::uint32_t>(metrics::kBuckets);
        std::uint64_t sum{0};
    };
    /// Sets interval_ to what was recorded since then.
    void subtract(const Earlier& earlier);

    std::vector<Earlier> earlier_;  // a ring
    std::size_t oldest_{0};
    std::unique_ptr<metrics::HistogramSnapshot> all_{std::make_unique<metrics::HistogramSnapshot>()};
    std::unique_ptr<metrics::HistogramSnapshot> interval_{std::make_unique<metrics::HistogramSnapshot>()};
};

}  // namespace millpond::gateway::health
