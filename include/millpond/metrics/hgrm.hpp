#pragma once

#include <string>

#include <millpond/metrics/histogram_snapshot.hpp>

namespace millpond::metrics {

/// Formats HdrHistogram's percentile table (".hgrm"): value, percentile, number of values up to it, and
/// 1/(1-percentile), then mean, deviation, maximum and count.
///
/// nanos_per_unit:   the unit of the values: 1 for ns, 1000 for us.
/// steps_per_halving: lines for each halving of the distance to 100 %.
/// Source: HdrHistogram, AbstractHistogram.outputPercentileDistribution.
[[nodiscard]] std::string hgrm_text(const HistogramSnapshot& snapshot, double nanos_per_unit = 1.0,
                                    int steps_per_halving = 5);

}  // namespace millpond::metrics
