#include "bench/harness/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace millpond::bench {

namespace {

// P(at most k heads in n fair tosses).
double binomial_tail(std::size_t n, std::size_t k) {
    double term = std::pow(0.5, static_cast<double>(n));
    double sum = term;
    for (std::size_t i = 1; i <= k; ++i) {
        term *= static_cast<double>(n - i + 1) / static_cast<double>(i);
        sum += term;
    }
    return sum;
}

}  // namespace

double median(std::vector<double> values) {
    std::ranges::sort(values);
    const auto middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double quantile(std::span<const float> sorted, double p) {
    const auto count = static_cast<double>(sorted.size());
    const auto rank = static_cast<std::size_t>(std::clamp(std::ceil(p * count), 1.0, count));
    return static_cast<double>(sorted[rank - 1]);
}

std::optional<Estimate> estimate(std::vector<double> values) {
    constexpr double kOutside = 0.05;
    const auto n = values.size();
    if (n < 6) return std::nullopt;
    // The widest k with P(fewer than k values below the median) * 2 <= 5 %: the k-th smallest and the k-th largest
    // value bound the median.
    std::size_t k = 1;
    while (k < (n + 1) / 2 && 2 * binomial_tail(n, k) <= kOutside) ++k;
    std::ranges::sort(values);
    return Estimate{.median = median(values), .low = values[k - 1], .high = values[n - k], .count = n};
}

Verdict judge_at_most(const std::optional<Estimate>& found, double goal) noexcept {
    if (!found) return Verdict::not_resolved;
    if (found->high <= goal) return Verdict::met;
    return found->low > goal ? Verdict::missed : Verdict::not_resolved;
}

Verdict judge_at_least(const std::optional<Estimate>& found, double goal) noexcept {
    if (!found) return Verdict::not_resolved;
    if (found->low >= goal) return Verdict::met;
    return found->high < goal ? Verdict::missed : Verdict::not_resolved;
}

std::string_view to_string(Verdict verdict) noexcept {
    switch (verdict) {
        case Verdict::met: return "met";
        case Verdict::missed: return "missed";
        case Verdict::not_resolved: break;
    }
    return "not resolved on this machine";
}

Latency summarise(std::vector<float>& samples) {
    if (samples.empty()) return {};
    std::ranges::sort(samples);
    double sum = 0;
    for (const auto sample : samples) sum += static_cast<double>(sample);
    return {.min = quantile(samples, 0.0),
            .mean = sum / static_cast<double>(samples.size()),
            .p50 = quantile(samples, 0.5),
            .p95 = quantile(samples, 0.95),
            .p99 = quantile(samples, 0.99),
            .p999 = quantile(samples, 0.999),
            .max = quantile(samples, 1.0),
            .count = samples.size()};
}

std::span<const double> plotted_probabilities() noexcept {
    static constexpr std::array kProbabilities{
        0.0,  0.01, 0.05, 0.1,  0.2,   0.3,   0.4,   0.5,   0.6,   0.7,    0.75,   0.8,    0.85,   0.9,    0.93,
        0.95, 0.97, 0.98, 0.99, 0.993, 0.995, 0.997, 0.998, 0.999, 0.9993, 0.9995, 0.9997, 0.9998, 0.9999, 1.0};
    return kProbabilities;
}

std::vector<double> plotted_quantiles(std::span<const float> sorted) {
    std::vector<double> values;
    for (const auto p : plotted_probabilities()) values.push_back(quantile(sorted, p));
    return values;
}

}  // namespace millpond::bench
