#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/compare.hpp"
#include "bench/harness/statistics.hpp"

namespace millpond::bench {

/// One run that counted, with its place.
struct Sample {
    std::size_t round{0};
    double value{0};
    double bracket{0};  ///< Mean of the limit before and after; 0 without a bracket.
    Latency latency{};
};

struct Outcome {
    std::string name;
    std::optional<Point> point;
    std::vector<Sample> samples;
    std::size_t discarded{0};       ///< Runs whose brackets disagreed.
    std::optional<Estimate> value;  ///< In the question's unit.
    std::optional<Estimate> ratio;  ///< To Result::ratio_to; empty for that one itself.
    double min{0};
    double max{0};
    std::optional<Latency> latency;  ///< Medians over the rounds, of each figure separately; max is the greatest.
    std::vector<double> quantiles;   ///< Medians over the rounds at plotted_probabilities().
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
    std::optional<Estimate> sum;  ///< Of Question::sum: the parts' share of the whole.
};

/// Does the rounds of compare() and draws the conclusions; prints nothing. Throws Refused.
[[nodiscard]] Result measure(const Question& question, const std::vector<Contender>& contenders);

}  // namespace millpond::bench
