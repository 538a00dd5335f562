#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/clock_step.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/statistics.hpp"

namespace millpond::bench {

/// An accepted run and its round.
struct Sample {
    std::size_t round{0};
    double value{0};
    double bracket{0};   ///< Mean of the limit before and after; 0 without a bracket.
    bool is_p50{false};  ///< The value is the p50 of the latencies.
    Latency latency{};
};

struct Outcome {
    std::string name;
    std::optional<Point> point;
    std::vector<Sample> samples;
    std::size_t discarded{0};       ///< Number of runs whose brackets disagreed.
    std::optional<Estimate> value;  ///< In the question's unit.
    std::optional<Estimate> ratio;  ///< To Result::ratio_to; empty for that contender itself.
    double min{0};
    double max{0};
    std::optional<Latency> latency;  ///< Medians over the rounds, separately for each figure; max is the greatest.
    std::vector<double> quantiles;   ///< Medians over the rounds at plotted_probabilities().
    std::size_t block{1};            ///< Finding::block.
};

struct GoalOutcome {
    Goal goal;
    std::optional<Estimate> found;
    Verdict verdict{Verdict::not_resolved};
};

struct Result {
    Question question;
    std::string ratio_to;
    std::size_t rounds{0};
    std::vector<Outcome> outcomes;
    std::vector<GoalOutcome> goals;
    std::optional<Estimate> sum;  ///< Question::sum: the sum of the parts as a share of the whole.
    double clock_step{0};         ///< In the question's unit; 0 if that is not one of time.

    /// False for a quantile of the outcome's latencies, or a value that is one, that takes less than kResolvedSteps:
    /// it is a number of steps. A mean of many is none.
    [[nodiscard]] bool is_resolved(const Outcome& outcome, Statistic of, double figure) const noexcept;
};

/// Runs the rounds of compare() and evaluates them; prints nothing. clock_step_ns: of the clock of the latencies.
/// Throws Refused.
[[nodiscard]] Result measure(const Question& question, const std::vector<Contender>& contenders,
                             double clock_step_ns = clock_step_nanos());

}  // namespace millpond::bench
