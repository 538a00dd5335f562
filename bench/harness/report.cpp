#include "bench/harness/report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <millpond/core/json_string.hpp>

namespace millpond::bench {

using core::json_string;

namespace {

constexpr const char* kNotResolved = "not resolved";
constexpr std::array<std::string_view, 8> kStatisticNames{"", "least", "mean", "p50", "p95", "p99", "p99.9", "max"};

std::string_view name_of(Statistic of) { return kStatisticNames[static_cast<std::size_t>(of)]; }

// Formats rows of cells as aligned text: the first column left, the others right.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += i == 0 ? fmt::format("  {:<{}}", row[i], widths[i]) : fmt::format(" | {:>{}}", row[i], widths[i]);
        }
        text += line + "\n";
    }
    return text;
}

std::string json_number(double value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : "null"; }

std::string json_estimate(const std::optional<Estimate>& found) {
    if (!found) return "null";
    return fmt::format(R"({{"median":{},"low":{},"high":{},"count":{}}})", json_number(found->median),
                       json_number(found->low), json_number(found->high), found->count);
}

template <class Items, class ToText>
std::string json_list(const Items& items, ToText to_json) {
    std::string text;
    for (const auto& item : items) text += (text.empty() ? "" : ",") + to_json(item);
    return "[" + text + "]";
}

std::string json_latency(const Latency& latency) {
    return fmt::format(R"({{"min":{},"mean":{},"p50":{},"p95":{},"p99":{},"p999":{},"max":{},"count":{}}})",
                       json_number(latency.min), json_number(latency.mean), json_number(latency.p50),
                       json_number(latency.p95), json_number(latency.p99), json_number(latency.p999),
                       json_number(latency.max), latency.count);
}

std::string json_outcome(const Outcome& outcome) {
    auto text = fmt::format(R"({{"name":{},"value":{},"min":{},"max":{},"ratio":{},"discarded":{},"samples":{})",
                            json_string(outcome.name), json_estimate(outcome.value), json_number(outcome.min),
                            json_number(outcome.max), json_estimate(outcome.ratio), outcome.discarded,
                            json_list(outcome.samples, [](const Sample& one) { return json_number(one.value); }));
    if (outcome.point) {
        text += fmt::format(R"(,"line":{},"at":{})", json_string(outcome.point->line), json_number(outcome.point->at));
    }
    if (outcome.latency) {
        text += fmt::format(R"(,"latency":{},"quantiles":{})", json_latency(*outcome.latency),
                            json_list(outcome.quantiles, [](double value) { return json_number(value); }));
    }
    if (outcome.block > 1) text += fmt::format(R"(,"block":{})", outcome.block);
    return text + "}";
}

std::string sum_text(const Parts& sum) {
    return fmt::format("{}, each less {}, to {} less {}", fmt::join(sum.parts, " + "), sum.price, sum.whole, sum.price);
}

}  // namespace

std::string to_text(double figure) {
    const auto size = figure == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(figure))));
    return fmt::format("{:.{}f}", figure, std::clamp(3 - size, 0, 6));
}

std::string to_text(const std::optional<Estimate>& found) {
    if (!found) return "-";
    return fmt::format("{:.3f} [{:.3f}..{:.3f}]", found->median, found->low, found->high);
}

std::string to_text(const Goal& goal, const std::string& unit) {
    const auto of = name_of(goal.of);
    return fmt::format("{}{}{} {} {} {}", of, of.empty() ? "" : " of ", goal.contender,
                       goal.at_most ? "<=" : ">=", to_text(goal.at_most ? *goal.at_most : *goal.at_least),
                       goal.to.empty() ? unit : "x " + goal.to);
}

std::string text_table(const Result& result, const Machine& machine) {
    const auto& question = result.question;
    auto text = fmt::format("{}\n  {} | cores {} | {} | {} | {}\n  commit {} | {} | load {} | {}\n", question.question,
                            machine.cpu, machine.cores, machine.kernel, machine.compiler, machine.flags, machine.commit,
                            machine.date, machine.load, machine.command);
    if (!question.measured.empty()) text += "  Measured:     " + question.measured + "\n";
    if (!question.not_measured.empty()) text += "  Not measured: " + question.not_measured + "\n";
    const bool latencies =
        std::ranges::any_of(result.outcomes, [](const Outcome& outcome) { return outcome.latency.has_value(); });
    std::vector<std::vector<std::string>> rows{
        {question.unit, "median", "min..max", "ratio to " + result.ratio_to + " [95 %]"}};
    if (latencies)
        std::ranges::copy(std::array{"least", "mean", "p50", "p95", "p99", "p99.9", "max", "p99 - least"},
                          std::back_inserter(rows[0]));
    for (const auto& outcome : result.outcomes) {
        const auto text_of = [&](double figure, Statistic of) {
            return result.is_resolved(outcome, of, figure) ? to_text(figure) : kNotResolved;
        };
        const bool is_resolved =
            result.is_resolved(outcome, Statistic::value, outcome.value ? outcome.value->median : 0);
        std::vector<std::string> row{outcome.name,
                                     outcome.value ? text_of(outcome.value->median, Statistic::value) : "-",
                                     to_text(outcome.min) + ".." + to_text(outcome.max),
                                     outcome.name == result.ratio_to ? "1"
                                     : is_resolved                   ? to_text(outcome.ratio)
                                                                     : kNotResolved};
        if (latencies) {
            const auto latency = outcome.latency.value_or(Latency{});
            const std::array<std::pair<double, Statistic>, 8> figures{{{latency.min, Statistic::min},
                                                                       {latency.mean, Statistic::mean},
                                                                       {latency.p50, Statistic::p50},
                                                                       {latency.p95, Statistic::p95},
                                                                       {latency.p99, Statistic::p99},
                                                                       {latency.p999, Statistic::p999},
                                                                       {latency.max, Statistic::max},
                                                                       {latency.p99 - latency.min, Statistic::p99}}};
            for (const auto& [figure, of] : figures) {
                row.push_back(outcome.latency ? text_of(figure, of) : "-");
            }
            if (outcome.block > 1) row.push_back(fmt::format("means of {}", outcome.block));
        }
        if (outcome.discarded > 0) row.push_back(fmt::format("{} discarded, brackets disagreed", outcome.discarded));
        rows.push_back(std::move(row));
    }
    text += aligned(rows);
    text += fmt::format("  {} rounds\n", result.rounds);
    if (latencies && result.clock_step > 0) {
        text +=
            fmt::format("  the clock's step is {} {}; a quantile below {} of them is not resolved\n",
                        to_text(result.clock_step), question.unit.substr(0, question.unit.find('/')), kResolvedSteps);
    }
    if (question.sum) text += fmt::format("  {}: {}\n", sum_text(*question.sum), to_text(result.sum));
    if (question.curve) {
        for (const auto& knee : question.curve->knees) {
            text += fmt::format("  at {} {}: {}\n", to_text(knee.at), question.curve->axis, knee.why);
        }
    }
    for (const auto& judged : result.goals) {
        text += fmt::format("  goal {}: {}, {}\n", to_text(judged.goal, question.unit), to_text(judged.found),
                            to_string(judged.verdict));
    }
    return text;
}

std::string json(const Result& result, const Machine& machine) {
    const auto& question = result.question;
    const auto pair = [](std::string_view key, std::string_view value) {
        return json_string(key) + ":" + json_string(value);
    };
    const auto goal_json = [&](const GoalOutcome& judged) {
        return fmt::format(R"({{"text":{},"found":{},"verdict":{}}})", json_string(to_text(judged.goal, question.unit)),
                           json_estimate(judged.found), json_string(to_string(judged.verdict)));
    };
    const auto probability_json = [](double p) { return fmt::format("{}", p); };
    auto text = "{" + pair("name", program_name()) + ",\n" + pair("question", question.question) + "," +
                pair("unit", question.unit) + ",\n" + pair("measured", question.measured) + ",\n" +
                pair("not_measured", question.not_measured) + ",\n";
    text +=
        fmt::format("\"machine\":{{{},{},{},{},{},{},{},{},{}}},\n", pair("cpu", machine.cpu),
                    pair("cores", machine.cores), pair("kernel", machine.kernel), pair("compiler", machine.compiler),
                    pair("flags", machine.flags), pair("commit", machine.commit), pair("date", machine.date),
                    pair("command", machine.command), pair("load", machine.load));
    text += fmt::format("\"rounds\":{},\"quick\":{},{},\n", result.rounds, quick(), pair("ratio_to", result.ratio_to));
    if (result.clock_step > 0) text += fmt::format("\"clock_step\":{},\n", json_number(result.clock_step));
    text += "\"probabilities\":" + json_list(plotted_probabilities(), probability_json) + ",\n";
    text += "\"contenders\":" + json_list(result.outcomes, json_outcome) + ",\n";
    if (question.sum) {
        text += fmt::format("\"sum\":{{{},\"found\":{}}},\n", pair("text", sum_text(*question.sum)),
                            json_estimate(result.sum));
    }
    if (question.curve) {
        const auto knee_json = [&](const Knee& knee) {
            return fmt::format(R"({{"at":{},{}}})", json_number(knee.at), pair("why", knee.why));
        };
        text += fmt::format("\"curve\":{{{},\"knees\":{}}},\n", pair("axis", question.curve->axis),
                            json_list(question.curve->knees, knee_json));
    }
    text += "\"goals\":" + json_list(result.goals, goal_json) + "}\n";
    return text;
}

}  // namespace millpond::bench
