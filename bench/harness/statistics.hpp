#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

/// Statistics of a bench's samples. They assume no distribution: intervals come from order
/// statistics.
namespace millpond::bench {

/// A median and the interval that contains the true median with a probability of at least 95 %.
struct Estimate {
    double median{0};
    double low{0};
    double high{0};
    std::size_t count{0};
};

/// Middle value, the mean of the two middle ones for an even count. `values` must not be empty.
[[nodiscard]] double median(std::vector<double> values);

/// The value at rank ceil(p * count) of ascending `sorted`, which must not be empty; p within 0..1.
[[nodiscard]] double quantile(std::span<const float> sorted, double p);

/// Empty for fewer than 6 values, which cannot bound the median with 95 %. Source: the distribution-free interval for a
/// median, bounds from the binomial distribution with p = 1/2 (Conover, Practical Nonparametric Statistics, section
/// 3.2).
[[nodiscard]] std::optional<Estimate> estimate(std::vector<double> values);

enum class Verdict : std::uint8_t { met, missed, not_resolved };

/// met: the interval's upper end is at or below the goal. missed: its lower end is above it.
[[nodiscard]] Verdict judge_at_most(const std::optional<Estimate>& found, double goal) noexcept;
/// met: the interval's lower end is at or above the goal. missed: its upper end is below it.
[[nodiscard]] Verdict judge_at_least(const std::optional<Estimate>& found, double goal) noexcept;

[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;

/// A distribution's figures, in the unit of its samples.
struct Latency {
    double min{0};
    double mean{0};
    double p50{0};
    double p95{0};
    double p99{0};
    double p999{0};
    double max{0};
    std::size_t count{0};
};

/// Sorts `samples`. All figures are zero if there are none.
[[nodiscard]] Latency summarise(std::vector<float>& samples);

/// The probabilities at which a distribution is stored for plots, ascending from 0 to 1.
[[nodiscard]] std::span<const double> plotted_probabilities() noexcept;

/// The values of ascending `sorted` at plotted_probabilities().
[[nodiscard]] std::vector<double> plotted_quantiles(std::span<const float> sorted);

}  // namespace millpond::bench
