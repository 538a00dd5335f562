#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace millpond::bench {

/// Result of one run of a contender.
struct Finding {
    double value{0};                 ///< In the question's unit. With latencies and a value of 0, their p50 is used.
    std::uint64_t answer{0};         ///< A checksum or count that shows that the work was done; never 0.
    std::vector<float> latencies{};  ///< Samples in the question's unit; empty for a bench of rates.
    std::size_t block{1};            ///< Operations that were timed together; a sample is their mean.
};

/// A contender's place on a curve.
struct Point {
    std::string line;  ///< Name of the curve.
    double at{0};      ///< Amount of work: the place on the axis, above 0.
};

/// A way to answer the question. `run` does all of its work in each call, and may be called any number of times.
struct Contender {
    std::string name;
    std::function<Finding()> run;
    std::optional<Point> point{};  ///< Set for all contenders of a question with a curve, and for no others.
};

enum class Statistic : std::uint8_t { value, min, mean, p50, p95, p99, p999, max };

/// Goal of a contender: a ratio to another contender (or to the bracket) in the same round, or, without `to`,
/// a figure in the question's unit. Exactly one of at_most and at_least is set.
struct Goal {
    std::string contender;
    std::string to{};
    Statistic of{Statistic::value};
    std::optional<double> at_most{};
    std::optional<double> at_least{};
};

/// The bare limit, measured directly before and after every sample of every contender. Ratios are then to the mean of
/// the two; a sample whose two brackets differ by more than `tolerance` is discarded, counted, and repeated.
struct Bracket {
    std::string name;
    std::function<double()> run;
    double tolerance{0.10};
};

/// Contenders that are the parts of another one. `price`: the cost of one measurement, which every figure includes.
/// (sum of parts, each less the price) / (whole less the price) should be 1.
struct Parts {
    std::vector<std::string> parts;
    std::string whole;
    std::string price;
};

/// The reason why the cost changes at a place on the axis.
struct Knee {
    double at{0};
    std::string why;
};

/// A question about growth: every contender is a point, and answers agree among points at the same place.
struct Curve {
    std::string axis;  ///< The quantity that grows.
    std::vector<Knee> knees{};
};

/// A question, and how it is measured.
struct Question {
    std::string question{};
    std::string unit{};
    std::size_t runs{9};                      ///< Rounds; at least 9.
    std::optional<std::uint64_t> expected{};  ///< Every contender's answer; not set: all must agree.
    std::optional<Curve> curve{};
    std::string ratio_to{};  ///< A contender's name; empty: the first one.
    std::vector<Goal> goals{};
    std::optional<Bracket> bracket{};
    std::optional<Parts> sum{};
    std::string measured{};
    std::string not_measured{};
};

/// The reason why a bench prints no figure: a wrong answer, an invalid value, or an invalid question.
class Refused : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Runs interleaved rounds, prints the table and, with `--results FOLDER` on the command line, writes
/// FOLDER/<program>.json. Ends the program with status 1 if it must refuse (see Refused).
///
/// Each round runs every contender once, in an order shuffled with a fixed seed, after a warm-up round.
void compare(const Question& question, const std::vector<Contender>& contenders);

/// compare() with the words of a command line, starting with the program. Returns the exit status instead of exiting.
[[nodiscard]] int ask(const Question& question, const std::vector<Contender>& contenders,
                      const std::vector<std::string>& words);

/// True with `--quick` on the command line: a contender then does a tenth of its work.
[[nodiscard]] bool quick() noexcept;

/// `count`, a tenth of it (at least 1) with --quick.
[[nodiscard]] std::size_t scaled(std::size_t count) noexcept;

/// Keeps the compiler from removing `value`: it counts as read and changed here.
template <class T>
inline void keep(T& value) noexcept {
    asm volatile("" : "+m"(value) : : "memory");
}

}  // namespace millpond::bench
