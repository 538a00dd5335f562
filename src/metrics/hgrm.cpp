#include <millpond/metrics/hgrm.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace millpond::metrics {
namespace {

template <class... Args>
void append(std::string& out, const char* format, Args... args) {
    std::array<char, 160> line{};
    const int length = std::snprintf(line.data(), line.size(), format, args...);
    out.append(line.data(), std::min(static_cast<std::size_t>(length), line.size() - 1));
}

/// Percentile of the next line: each halving of the distance to 100 has the same number of lines.
double next_level(double percent, int steps_per_halving) {
    const double halvings = std::floor(std::log2(100.0 / (100.0 - percent))) + 1.0;
    return percent + 100.0 / (static_cast<double>(steps_per_halving) * std::exp2(halvings));
}

}  // namespace

std::string hgrm_text(const HistogramSnapshot& snapshot, double nanos_per_unit, int steps_per_halving) {
    std::string out;
    append(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    const auto total = snapshot.count();
    const auto largest = snapshot.max();
    std::uint64_t seen = 0;
    double level = 0.0;
    std::size_t bucket = 0;
    const auto value = [&] {
        const auto high = bucket + 1 == kBuckets ? largest : std::min(bucket_high(bucket), largest);
        return static_cast<double>(high) / nanos_per_unit;
    };
    for (; bucket < kBuckets && seen < total; ++bucket) {
        if (snapshot.counts[bucket] == 0) continue;
        seen += snapshot.counts[bucket];
        const double reached = 100.0 * static_cast<double>(seen) / static_cast<double>(total);
        while (reached >= level && seen < total) {
            append(out, "%12.3f %2.12f %10llu %14.2f\n", value(), level / 100.0, static_cast<unsigned long long>(seen),
                   1.0 / (1.0 - level / 100.0));
            level = next_level(level, steps_per_halving);
        }
        if (seen == total) {
            if (reached >= level) {
                append(out, "%12.3f %2.12f %10llu %14.2f\n", value(), level / 100.0,
                       static_cast<unsigned long long>(seen), 1.0 / (1.0 - level / 100.0));
            }
            append(out, "%12.3f %2.12f %10llu\n", value(), 1.0, static_cast<unsigned long long>(seen));
        }
    }
    append(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", snapshot.mean() / nanos_per_unit,
           snapshot.standard_deviation() / nanos_per_unit);
    append(out, "#[Max     = %12.3f, Total count    = %12llu]\n", static_cast<double>(largest) / nanos_per_unit,
           static_cast<unsigned long long>(total));
    append(out, "#[Buckets = %12zu, SubBuckets     = %12zu]\n", kBuckets >> kBucketBits, std::size_t{1} << kBucketBits);
    return out;
}

}  // namespace millpond::metrics
