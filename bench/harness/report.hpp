#pragma once

#include <string>

#include "bench/harness/machine.hpp"
#include "bench/harness/measure.hpp"

namespace millpond::bench {

/// The table for readers: contender | median | min..max | ratio with its 95 % interval, percentiles, goals.
[[nodiscard]] std::string text_table(const Result& result, const Machine& machine);

/// JSON for bench/report, with all samples; its keys are described in docs/internals/bench.md.
[[nodiscard]] std::string json(const Result& result, const Machine& machine);

/// "median [low..high]", or "-" if there are too few samples.
[[nodiscard]] std::string to_text(const std::optional<Estimate>& found);

/// A figure with four significant digits, without an exponent.
[[nodiscard]] std::string to_text(double figure);

/// Text of the goal: "p99 of A <= 1.10 x B".
[[nodiscard]] std::string to_text(const Goal& goal, const std::string& unit);

}  // namespace millpond::bench
