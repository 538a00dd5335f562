#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace millpond::bench {

/// What one run of a contender found.
struct Finding {
    double value{0};          ///< In the question's unit. With latencies and a value of 0, their p50 stands here.
    std::uint64_t answer{0};  ///< A checksum or count that shows that the work was done; never 0.
    std::vector<float> latencies{};  ///< Single samples in the question's unit; empty for a bench of rates.
};

/// A contender's place on a curve.
struct Point {
    std::string line;  ///< What is measured along the axis.
    double at{0};      ///< How much work: a place on the axis, above 0.
};

/// One way to answer the question. `run` does all of its work each time and may be called any number of times.
struct Contender {
    std::string name;
    std::function<Finding()> run;
    std::optional<Point> point{};  ///< Set for all contenders of a question with a curve, and for no other.
};

enum class Statistic : std::uint8_t { value, min, mean, p50, p95, p99, p999, max };

/// What a contender shall reach: a ratio to another contender (or to the bracket) in the same round, or, without `to`,
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

/// Contenders who are the parts of another one. `price` is the cost of measuring one of them, which is in every figure:
/// (sum of parts, each less the price) / (whole less the price) should be 1.
struct Parts {
    std::vector<std::string> parts;
    std::string whole;
    std::string price;
};

/// Why the cost changes at a place on the axis.
struct Knee {
    double at{0};
    std::string why;
};

/// The question is how the cost grows: every contender is a point, and answers agree among those at the same place.
struct Curve {
    std::string axis;  ///< What grows.
    std::vector<Knee> knees{};
};

/// One question, and how it is asked.
struct Question {
    std::string question{};
    std::string unit{};
    std::size_t runs{9};                      ///< Rounds; at least 9.
    std::optional<std::uint64_t> expected{};  ///< Every contender's answer; without it all must agree.
    std::optional<Curve> curve{};
    std::string ratio_to{};  ///< A contender's name; the first one when empty.
    std::vector<Goal> goals{};
    std::optional<Bracket> bracket{};
    std::optional<Parts> sum{};
    std::string measured{};
    std::string not_measured{};
};

/// Why a bench prints no figure: an answer that is wrong, a value that is none, a question that is not well put.
class Refused : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Asks the question in interleaved rounds, prints the table and, where the command line says `--results FOLDER`,
/// writes FOLDER/<program>.json. Ends the program with status 1 when it must refuse (see Refused).
///
/// Every round runs every contender once, in an order shuffled with a fixed seed; a round before them warms up.
void compare(const Question& question, const std::vector<Contender>& contenders);

/// compare() with the words of a command line, the program first; returns the exit status instead of ending.
[[nodiscard]] int ask(const Question& question, const std::vector<Contender>& contenders,
                      const std::vector<std::string>& words);

/// True with `--quick` on the command line: a contender then does a tenth of its work.
[[nodiscard]] bool quick() noexcept;

/// `count`, a tenth of it (at least 1) with --quick.
[[nodiscard]] std::size_t scaled(std::size_t count) noexcept;

/// Makes the compiler believe that `value` is read and changed here.
template <class T>
inline void keep(T& value) noexcept {
    asm volatile("" : "+m"(value) : : "memory");
}

}  // namespace millpond::bench
