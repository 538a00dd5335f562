#include "bench/harness/measure.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace millpond::bench {

namespace {

constexpr std::size_t kMinRuns = 9;
// With a bracket, at most this multiple of the rounds is tried; then the bench uses the rounds that it has.
constexpr std::size_t kPatience = 3;

bool is_bracket(const Question& question, const std::string& name) {
    return question.bracket && question.bracket->name == name;
}

void check(const Question& question, const std::vector<Contender>& contenders) {
    if (question.runs < kMinRuns) {
        throw Refused(fmt::format("{} runs are too few for an interval, at least {}", question.runs, kMinRuns));
    }
    if (contenders.empty()) throw Refused("no contender");
    for (const auto& contender : contenders) {
        if (contender.point.has_value() != question.curve.has_value()) {
            throw Refused(fmt::format("{} {} a place on a curve", contender.name, question.curve ? "lacks" : "has"));
        }
        if (contender.point && !(contender.point->at > 0)) {
            throw Refused(fmt::format("{} is at {}, which has no place on a logarithmic axis", contender.name,
                                      contender.point->at));
        }
    }
    std::set<std::string> names;
    for (const auto& contender : contenders) {
        if (!names.insert(contender.name).second) throw Refused(fmt::format("two contenders named {}", contender.name));
    }
    const auto known = [&](const std::string& name) { return names.contains(name) || is_bracket(question, name); };
    if (question.bracket && names.contains(question.bracket->name)) {
        throw Refused(fmt::format("a contender has the bracket's name {}", question.bracket->name));
    }
    if (!question.ratio_to.empty() && !known(question.ratio_to)) {
        throw Refused(fmt::format("ratios to {}, who does not run", question.ratio_to));
    }
    if (question.sum) {
        auto members = question.sum->parts;
        members.push_back(question.sum->whole);
        members.push_back(question.sum->price);
        for (const auto& name : members) {
            if (!names.contains(name)) throw Refused(fmt::format("a sum with {}, who does not run", name));
        }
    }
    for (const auto& goal : question.goals) {
        if (!names.contains(goal.contender))
            throw Refused(fmt::format("a goal for {}, who does not run", goal.contender));
        if (!goal.to.empty() && !known(goal.to))
            throw Refused(fmt::format("a goal against {}, who does not run", goal.to));
        if (goal.at_most.has_value() == goal.at_least.has_value()) {
            throw Refused(
                fmt::format("the goal for {} states not exactly one of at_most and at_least", goal.contender));
        }
    }
}

double figure(const Sample& sample, Statistic of) {
    switch (of) {
        case Statistic::value: break;
        case Statistic::min: return sample.latency.min;
        case Statistic::mean: return sample.latency.mean;
        case Statistic::p50: return sample.latency.p50;
        case Statistic::p95: return sample.latency.p95;
        case Statistic::p99: return sample.latency.p99;
        case Statistic::p999: return sample.latency.p999;
        case Statistic::max: return sample.latency.max;
    }
    return sample.value;
}

// All samples, by round.
class Rounds {
public:
    Rounds(const Question& question, const std::vector<Contender>& contenders)
        : question_(question), contenders_(contenders), outcomes_(contenders.size()), quantiles_(contenders.size()) {
        for (std::size_t i = 0; i < contenders.size(); ++i) {
            outcomes_[i].name = contenders[i].name;
            outcomes_[i].point = contenders[i].point;
        }
    }

    std::size_t run() {
        for (std::size_t i = 0; i < contenders_.size(); ++i) (void)checked_run(i);
        constexpr std::uint64_t kSeed = 20'261'121;
        std::mt19937_64 random(kSeed);
        std::vector<std::size_t> order(contenders_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        if (question_.bracket) bracket_ = bracket_run();
        const auto most = question_.bracket ? question_.runs * kPatience : question_.runs;
        std::size_t round = 0;
        for (; round < most && (round < question_.runs || !complete()); ++round) {
            std::shuffle(order.begin(), order.end(), random);
            for (const auto i : order) sample(i, round);
        }
        return round;
    }

    std::vector<Outcome> outcomes() {
        for (std::size_t i = 0; i < outcomes_.size(); ++i) outcomes_[i].quantiles = medians(quantiles_[i]);
        return std::move(outcomes_);
    }

private:
    Finding checked_run(std::size_t i) {
        const auto& name = contenders_[i].name;
        auto found = contenders_[i].run();
        if (found.answer == 0) throw Refused(fmt::format("{} gave no answer", name));
        const auto& point = contenders_[i].point;
        const auto first = question_.expected.value_or(found.answer);
        const auto expected = expected_.try_emplace(point ? point->at : 0, first).first->second;
        if (found.answer != expected) {
            throw Refused(fmt::format("{} answered {}, expected {}", name, found.answer, expected));
        }
        return found;
    }

    double bracket_run() {
        const auto value = question_.bracket->run();
        if (!std::isfinite(value) || value <= 0) {
            throw Refused(fmt::format("{} measured {}, which is no figure", question_.bracket->name, value));
        }
        return value;
    }

    void sample(std::size_t i, std::size_t round) {
        auto found = checked_run(i);
        Sample kept{.round = round, .latency = summarise(found.latencies)};
        kept.is_p50 = found.value == 0 && !found.latencies.empty();
        kept.value = kept.is_p50 ? kept.latency.p50 : found.value;
        outcomes_[i].block = found.block;
        if (!std::isfinite(kept.value) || kept.value <= 0) {
            throw Refused(fmt::format("{} measured {}, which is no figure", contenders_[i].name, kept.value));
        }
        if (question_.bracket) {
            const auto before = std::exchange(bracket_, bracket_run());
            kept.bracket = (before + bracket_) / 2;
            if (std::abs(before - bracket_) > question_.bracket->tolerance * std::min(before, bracket_)) {
                ++outcomes_[i].discarded;
                return;
            }
        }
        outcomes_[i].samples.push_back(kept);
        if (!found.latencies.empty()) quantiles_[i].push_back(plotted_quantiles(found.latencies));
    }

    [[nodiscard]] bool complete() const {
        return std::ranges::all_of(outcomes_,
                                   [&](const Outcome& outcome) { return outcome.samples.size() >= question_.runs; });
    }

    static std::vector<double> medians(const std::vector<std::vector<double>>& rows) {
        std::vector<double> middle;
        for (std::size_t column = 0; !rows.empty() && column < rows.front().size(); ++column) {
            std::vector<double> values;
            for (const auto& row : rows) values.push_back(row[column]);
            middle.push_back(median(std::move(values)));
        }
        return middle;
    }

    const Question& question_;
    const std::vector<Contender>& contenders_;
    std::map<double, std::uint64_t> expected_;  // by place on the curve
    std::vector<Outcome> outcomes_;
    std::vector<std::vector<std::vector<double>>> quantiles_;
    double bracket_{0};
};

const Outcome& find(const std::vector<Outcome>& outcomes, const std::string& name) {
    return *std::ranges::find(outcomes, name, &Outcome::name);
}

std::vector<double> figures(const Outcome& outcome, Statistic of) {
    std::vector<double> values;
    for (const auto& sample : outcome.samples) values.push_back(figure(sample, of));
    return values;
}

// Ratios by round; with brackets, both sides are first divided by their own.
std::vector<double> ratios(const Result& result, const Outcome& outcome, const std::string& to, Statistic of) {
    std::vector<double> values;
    if (is_bracket(result.question, to)) {
        for (const auto& sample : outcome.samples) values.push_back(figure(sample, of) / sample.bracket);
        return values;
    }
    std::map<std::size_t, const Sample*> others;
    for (const auto& sample : find(result.outcomes, to).samples) others.emplace(sample.round, &sample);
    for (const auto& sample : outcome.samples) {
        const auto other = others.find(sample.round);
        if (other == others.end()) continue;
        const auto related = [&](const Sample& one) { return figure(one, of) / (one.bracket > 0 ? one.bracket : 1.0); };
        values.push_back(related(sample) / related(*other->second));
    }
    return values;
}

Latency median_latency(const Outcome& outcome) {
    const auto middle = [&](Statistic of) { return median(figures(outcome, of)); };
    return {.min = middle(Statistic::min),
            .mean = middle(Statistic::mean),
            .p50 = middle(Statistic::p50),
            .p95 = middle(Statistic::p95),
            .p99 = middle(Statistic::p99),
            .p999 = middle(Statistic::p999),
            .max = std::ranges::max(figures(outcome, Statistic::max)),
            .count = outcome.samples.front().latency.count};
}

// (sum of parts, each less the price) / (whole less the price), by round. Incomplete rounds are omitted.
std::vector<double> shares(const Result& result, const Parts& sum) {
    std::map<std::size_t, std::map<std::string, double>> rounds;
    for (const auto& outcome : result.outcomes) {
        for (const auto& sample : outcome.samples) rounds[sample.round][outcome.name] = sample.value;
    }
    std::vector<double> values;
    for (const auto& [round, found] : rounds) {
        if (found.size() != result.outcomes.size()) continue;
        const auto price = found.at(sum.price);
        double parts = 0;
        for (const auto& part : sum.parts) parts += found.at(part) - price;
        values.push_back(parts / (found.at(sum.whole) - price));
    }
    return values;
}

void conclude(Result& result) {
    for (auto& outcome : result.outcomes) {
        if (outcome.samples.empty()) continue;
        const auto values = figures(outcome, Statistic::value);
        outcome.value = estimate(values);
        outcome.min = std::ranges::min(values);
        outcome.max = std::ranges::max(values);
        if (outcome.name != result.ratio_to) {
            outcome.ratio = estimate(ratios(result, outcome, result.ratio_to, Statistic::value));
        }
        if (outcome.samples.front().latency.count > 0) outcome.latency = median_latency(outcome);
    }
    if (result.question.sum) result.sum = estimate(shares(result, *result.question.sum));
    for (const auto& goal : result.question.goals) {
        const auto& outcome = find(result.outcomes, goal.contender);
        GoalOutcome judged{
            .goal = goal,
            .found = estimate(goal.to.empty() ? figures(outcome, goal.of) : ratios(result, outcome, goal.to, goal.of))};
        judged.verdict =
            goal.at_most ? judge_at_most(judged.found, *goal.at_most) : judge_at_least(judged.found, *goal.at_least);
        const auto resolves = [&](const Outcome& one) {
            return one.samples.empty() || result.is_resolved(one, goal.of, median(figures(one, goal.of)));
        };
        const bool has_other = !goal.to.empty() && !is_bracket(result.question, goal.to);
        if (!resolves(outcome) || (has_other && !resolves(find(result.outcomes, goal.to))))
            judged.verdict = Verdict::not_resolved;
        result.goals.push_back(std::move(judged));
    }
}

}  // namespace

bool Result::is_resolved(const Outcome& outcome, Statistic of, double figure) const noexcept {
    if (outcome.samples.empty() || of == Statistic::mean) return true;
    if (of == Statistic::value && !outcome.samples.front().is_p50) return true;
    return figure * static_cast<double>(outcome.block) >= kResolvedSteps * clock_step;
}

Result measure(const Question& question, const std::vector<Contender>& contenders, double clock_step_ns) {
    check(question, contenders);
    Result result;
    result.question = question;
    if (const auto unit = unit_nanos(question.unit); unit != 0) result.clock_step = clock_step_ns / unit;
    result.ratio_to = question.ratio_to;
    if (result.ratio_to.empty()) result.ratio_to = question.bracket ? question.bracket->name : contenders.front().name;
    Rounds rounds(question, contenders);
    result.rounds = rounds.run();
    result.outcomes = rounds.outcomes();
    conclude(result);
    return result;
}

}  // namespace millpond::bench
