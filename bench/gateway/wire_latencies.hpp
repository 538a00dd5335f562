#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <millpond/metrics/histogram_buckets.hpp>
#include <millpond/metrics/histogram_snapshot.hpp>

#include "bench/gateway/running_gateway.hpp"

namespace millpond::bench {

using Snapshot = std::unique_ptr<metrics::HistogramSnapshot>;

/// Latencies from the kernel's receive time to the ring so far, as recorded by the gateway.
[[nodiscard]] inline Snapshot wire_latencies(const RunningGateway& running) {
    auto snapshot = std::make_unique<metrics::HistogramSnapshot>();
    running.pipeline().publisher().latencies().wire.read(*snapshot);
    return snapshot;
}

/// The samples of a histogram, each as the middle of its bucket.
[[nodiscard]] inline std::vector<float> values_of(const metrics::HistogramSnapshot& snapshot) {
    std::vector<float> values;
    for (std::size_t i = 0; i < metrics::kBuckets; ++i) {
        const auto middle =
            (static_cast<float>(metrics::bucket_low(i)) + static_cast<float>(metrics::bucket_high(i))) / 2;
        values.insert(values.end(), snapshot.counts[i], middle);
    }
    return values;
}

}  // namespace millpond::bench
