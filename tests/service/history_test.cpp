#include "service/history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/allocation_counter.hpp"

namespace millpond::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNan;

constexpr SeriesKind kPartSeries[] = {{"rate", Combine::mean}, {"lost", Combine::sum}, {"lag", Combine::max}};
constexpr SourceKind kPart{"part", "", kPartSeries};
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
/// A time that is a multiple of a day.
constexpr std::int64_t kDayBegin = 20'000 * 86'400;

std::array<History::Capacity, 1> room(std::size_t sources) { return {{{&kPart, sources}}}; }

/// The views of a range.
std::vector<History::View> views_of(const History& history, const History::Range& range) {
    std::vector<History::View> all;
    history.visit(
        range, [](const History::View&) { return true; }, [&](const History::View& view) { all.push_back(view); });
    return all;
}

std::vector<float> values_of(const History& history, std::size_t series, std::int64_t from, std::int64_t step,
                             std::size_t samples) {
    return views_of(history, {.from = from, .step = step, .samples = samples}).at(0).series.at(series);
}

TEST(History, SecondsWithoutASampleAreMissing) {
    History history{room(1)};
    const auto part = history.add(kPart, "a");
    history.sample(kDayBegin).set(*part, {1, 0, 5});
    history.sample(kDayBegin + 3).set(*part, {2, 0, kNone});
    EXPECT_THAT(values_of(history, 0, kDayBegin - 1, 1, 6), ElementsAre(IsNan(), 1, IsNan(), IsNan(), 2, IsNan()));
    EXPECT_THAT(values_of(history, 1, kDayBegin, 1, 4), ElementsAre(0, IsNan(), IsNan(), 0));
    EXPECT_THAT(values_of(history, 2, kDayBegin, 1, 4), ElementsAre(5, IsNan(), IsNan(), IsNan()));
}

TEST(History, LongerStepsHaveTheMeanOfRatesTheSumOfCountsAndTheLargestOfTheRest) {
    History history{room(1)};
    const auto part = history.add(kPart, "a");
    for (int second = 0; second < 10; ++second) {
        if (second != 4) history.sample(kDayBegin + second).set(*part, {100.0 + second, 1, 10.0 - second});
    }
    EXPECT_THAT(values_of(history, 0, kDayBegin, 5, 3), ElementsAre(101.5F, 107, IsNan()));
    EXPECT_THAT(values_of(history, 1, kDayBegin, 5, 3), ElementsAre(4, 5, IsNan()));
    EXPECT_THAT(values_of(history, 2, kDayBegin, 5, 3), ElementsAre(10, 5, IsNan()));
}

TEST(History, SecondsAreKeptForAnHourAndMinutesForADay) {
    History history{room(1)};
    const auto part = history.add(kPart, "a");
    constexpr std::int64_t kSpan = 25 * 3'600;
    for (std::int64_t second = 0; second < kSpan; ++second) {
        history.sample(kDayBegin + second).set(*part, {1, 1, static_cast<double>(second)});
    }
    const auto end = kDayBegin + kSpan;
    const auto hour = values_of(history, 2, end - 3'602, 1, 3'602);
    EXPECT_THAT(hour[0], IsNan());
    EXPECT_THAT(hour[1], IsNan());
    for (std::size_t i = 2; i < hour.size(); ++i) ASSERT_EQ(hour[i], kSpan - 3'602 + static_cast<std::int64_t>(i));
    const auto lost = values_of(history, 1, end - 25 * 3'600, 60, 25 * 60);
    EXPECT_THAT(lost.front(), IsNan());
    EXPECT_EQ(lost.back(), 60) << "the minute in progress comes from its seconds";
    EXPECT_EQ(std::ranges::count(lost, 60.0F), 24 * 60 + 1);
    EXPECT_THAT(values_of(history, 1, end - 3'600, 1'800, 2), ElementsAre(1'800, 1'800));
}

TEST(History, ASourceThatComesBackContinuesItsSamples) {
    History history{room(2)};
    const auto a = history.add(kPart, "a");
    const auto b = history.add(kPart, "b");
    ASSERT_TRUE(a && b);
    EXPECT_EQ(history.add(kPart, "c"), std::nullopt);
    {
        auto sample = history.sample(kDayBegin);
        sample.set(*a, {1, 1, 1});
        sample.set(*b, {2, 2, 2});
    }
    history.remove(*a);
    auto views = views_of(history, {.from = kDayBegin, .step = 1, .samples = 1});
    ASSERT_EQ(views.size(), 2U);
    EXPECT_EQ(views[0].name, "b");
    EXPECT_EQ(views[1].name, "a") << "removed ones are last";
    EXPECT_EQ(views[1].series[0][0], 1);
    EXPECT_EQ(history.add(kPart, "a"), a);
    history.remove(*a);
    history.remove(*b);
    EXPECT_EQ(history.add(kPart, "c"), a) << "the one that was removed first";
    views = views_of(history, {.from = kDayBegin, .step = 1, .samples = 1});
    EXPECT_EQ(views[0].name, "c");
    EXPECT_THAT(views[0].series[0][0], IsNan());
    EXPECT_EQ(views[1].series[0][0], 2);
}

TEST(History, ASampleAllocatesNothing) {
    History history{room(64)};
    for (int i = 0; i < 64; ++i) ASSERT_TRUE(history.add(kPart, "part " + std::to_string(i)));
    const test::AllocationCounter counter;
    for (std::int64_t second = 0; second < 200; ++second) {
        auto sample = history.sample(kDayBegin + second);
        for (History::Handle part = 0; part < 64; ++part) sample.set(part, {1, 2, 3});
    }
    const auto allocations = counter.allocations();
    EXPECT_EQ(allocations, 0U);
}

TEST(History, ASecondThatComesTwiceKeepsTheLossesOfBoth) {
    History history{room(1)};
    const auto part = *history.add(kPart, "a");
    history.sample(kDayBegin + 1).set(part, {10, 7, 50});
    history.sample(kDayBegin + 2).set(part, {20, 1, 40});
    history.sample(kDayBegin + 1).set(part, {30, 2, 60});  // the clock was set back
    EXPECT_THAT(values_of(history, 0, kDayBegin + 1, 1, 1), ElementsAre(20));
    EXPECT_THAT(values_of(history, 1, kDayBegin + 1, 1, 1), ElementsAre(9));
    EXPECT_THAT(values_of(history, 2, kDayBegin + 1, 1, 1), ElementsAre(60));
    EXPECT_THAT(values_of(history, 1, kDayBegin, 60, 1), ElementsAre(10));
    EXPECT_THAT(values_of(history, 2, kDayBegin, 60, 1), ElementsAre(60));
}

// The seconds of the first time are not kept any more, but their minutes are.
TEST(History, AMinuteThatComesTwiceKeepsTheLossesOfBoth) {
    History history{room(1)};
    const auto part = *history.add(kPart, "a");
    for (std::int64_t second = 0; second < 3 * 3'600; ++second) history.sample(kDayBegin + second).set(part, {1, 1, 5});
    for (std::int64_t second = 0; second < 120; ++second) history.sample(kDayBegin + second).set(part, {1, 2, 4});
    EXPECT_THAT(values_of(history, 1, kDayBegin, 60, 3), ElementsAre(180, 180, 60));
    EXPECT_THAT(values_of(history, 2, kDayBegin, 60, 3), ElementsAre(5, 5, 5));
    EXPECT_THAT(values_of(history, 1, kDayBegin + 3 * 3'600 - 60, 60, 1), ElementsAre(60));
}

/// The same with maps: seconds and minutes by their times, of which those that share no place with a later one are
/// kept.
class Model {
public:
    void sample(std::int64_t second, std::array<double, 3> values) {
        if (newest_ != 0 && newest_ / 60 != second / 60) minutes_[newest_ / 60][0] = mean_of_seconds(newest_ / 60);
        make_room(minutes_, second / 60, History::kMinutes);
        make_room(seconds_, second, History::kSeconds);
        merge(minutes_[second / 60], values);
        merge(seconds_[second], values);
        newest_ = second;
    }
    [[nodiscard]] std::array<double, 3> value(std::int64_t from, std::int64_t step) const {
        if (step < 60) return combined(from, step, seconds_);
        std::map<std::int64_t, std::array<double, 3>> minutes = minutes_;
        minutes[newest_ / 60][0] = mean_of_seconds(newest_ / 60);
        return combined(from / 60, step / 60, minutes);
    }

private:
    using Values = std::map<std::int64_t, std::array<double, 3>>;
    /// Erases others that have the place of this time.
    static void make_room(Values& values, std::int64_t time, std::int64_t places) {
        std::erase_if(values, [&](const auto& one) { return one.first != time && (one.first - time) % places == 0; });
        values.try_emplace(time, std::array{kNone, kNone, kNone});
    }
    static void merge(std::array<double, 3>& into, const std::array<double, 3>& values) {
        if (std::isnan(into[1])) {
            into = values;
            return;
        }
        into = {(into[0] + values[0]) / 2, into[1] + values[1], std::max(into[2], values[2])};
    }
    [[nodiscard]] double mean_of_seconds(std::int64_t minute) const { return combined(minute * 60, 60, seconds_)[0]; }
    static std::array<double, 3> combined(std::int64_t from, std::int64_t count, const Values& of) {
        std::array<double, 3> result{kNone, kNone, kNone};
        double found = 0;
        for (auto at = of.lower_bound(from); at != of.end() && at->first < from + count; ++at) {
            const auto& [mean, sum, max] = at->second;
            if (std::isnan(mean)) continue;
            result[0] = found == 0 ? mean : result[0] + mean;
            result[1] = found == 0 ? sum : result[1] + sum;
            result[2] = found == 0 ? max : std::max(result[2], max);
            ++found;
        }
        if (found > 0) result[0] /= found;
        return result;
    }

    Values seconds_;
    Values minutes_;
    std::int64_t newest_{0};
};

// The clock is also set forwards and backwards.
TEST(History, IsLikeANaiveModelWhateverTheClockDoes) {
    for (unsigned seed = 1; seed <= 2; ++seed) {
        std::mt19937 random{seed};
        const auto below = [&](int limit) {
            return static_cast<std::int64_t>(random() % static_cast<unsigned>(limit));
        };
        History history{room(1)};
        const auto part = *history.add(kPart, "a");
        Model model;
        auto second = kDayBegin;
        for (int i = 0; i < 6'000; ++i) {
            const auto dice = below(1'000);
            second += dice == 0 ? below(5'000) : dice == 1 ? -below(5'000) : dice < 20 ? below(90) : 1;
            const std::array<double, 3> values{static_cast<double>(below(1'000)), static_cast<double>(below(3)),
                                               static_cast<double>(below(100'000))};
            history.sample(second).set(part, {values[0], values[1], values[2]});
            model.sample(second, values);
            if (i % 400 != 399) continue;
            for (const std::int64_t step : {1, 7, 30, 60, 180, 1'800}) {
                constexpr std::size_t kSamples = 60;
                const auto from = std::max<std::int64_t>(second - below(8'000), 0) / step * step;
                const auto view = views_of(history, {.from = from, .step = step, .samples = kSamples}).at(0);
                for (std::size_t sample = 0; sample < kSamples; ++sample) {
                    const auto wanted = model.value(from + static_cast<std::int64_t>(sample) * step, step);
                    for (std::size_t series = 0; series < wanted.size(); ++series) {
                        const double found = view.series[series][sample];
                        if (std::isnan(wanted[series])) {
                            ASSERT_TRUE(std::isnan(found)) << seed << ' ' << i << ' ' << step << ' ' << found;
                        } else {
                            ASSERT_NEAR(found, wanted[series], 0.01) << seed << ' ' << i << ' ' << step;
                        }
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace millpond::service
