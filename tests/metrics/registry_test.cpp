#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/metrics/registry.hpp>

namespace millpond::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Registry, AnEmptyOneWritesAnEmptyPage) { EXPECT_EQ(Registry().prometheus_text(), ""); }

TEST(Registry, CountersAndGaugesHaveOneHeaderPerFamily) {
    Registry registry;
    core::Tally a;
    core::Tally b;
    core::Tally depth;
    a.add(3);
    b.add(4);
    depth.set(17);
    const auto first = registry.add_counter({"millpond_drops_total", "Datagrams dropped.", {{"feed", "b"}}}, b);
    const auto second = registry.add_counter({"millpond_drops_total", "Datagrams dropped.", {{"feed", "a"}}}, a);
    const auto third = registry.add_gauge({"millpond_depth", "Messages queued.", {}}, depth);
    const auto fourth =
        registry.add_gauge({"millpond_load", "Share of the time spent working.", {}}, [] { return 0.25; });
    EXPECT_EQ(registry.prometheus_text(),
              "# HELP millpond_depth Messages queued.\n"
              "# TYPE millpond_depth gauge\n"
              "millpond_depth 17\n"
              "# HELP millpond_drops_total Datagrams dropped.\n"
              "# TYPE millpond_drops_total counter\n"
              "millpond_drops_total{feed=\"a\"} 3\n"
              "millpond_drops_total{feed=\"b\"} 4\n"
              "# HELP millpond_load Share of the time spent working.\n"
              "# TYPE millpond_load gauge\n"
              "millpond_load 0.25\n");
}

TEST(Registry, ASummaryHasQuantilesSumAndCountInSeconds) {
    Registry registry;
    LatencyHistogram histogram;
    const auto listed = registry.add_latency({"wire_seconds", "Wire to ring.", {{"feed", "x"}}}, histogram);
    EXPECT_THAT(registry.prometheus_text(), HasSubstr("wire_seconds{feed=\"x\",quantile=\"0.5\"} NaN\n"));
    for (int i = 0; i < 100; ++i) histogram.record(100 + i);
    EXPECT_EQ(registry.prometheus_text(),
              "# HELP wire_seconds Wire to ring.\n"
              "# TYPE wire_seconds summary\n"
              "wire_seconds{feed=\"x\",quantile=\"0.5\"} 1.49e-07\n"
              "wire_seconds{feed=\"x\",quantile=\"0.9\"} 1.89e-07\n"
              "wire_seconds{feed=\"x\",quantile=\"0.99\"} 1.98e-07\n"
              "wire_seconds{feed=\"x\",quantile=\"0.999\"} 1.99e-07\n"
              "wire_seconds{feed=\"x\",quantile=\"1\"} 1.99e-07\n"
              "wire_seconds_sum{feed=\"x\"} 1.495e-05\n"
              "wire_seconds_count{feed=\"x\"} 100\n");
}

TEST(Registry, AHistogramsBucketsAreCumulativeAndEndWithAll) {
    Registry registry;
    LatencyHistogram histogram;
    const auto listed = registry.add_latency({"hop_seconds", "One hop.", {}}, histogram, LatencyForm::histogram);
    for (const double micros : {0.1, 0.6, 0.7, 2e3, 2e7}) histogram.record(static_cast<std::int64_t>(micros * 1e3));
    const auto page = registry.prometheus_text();
    EXPECT_THAT(page, HasSubstr("# TYPE hop_seconds histogram\n"
                                "hop_seconds_bucket{le=\"2.5e-07\"} 1\n"
                                "hop_seconds_bucket{le=\"5e-07\"} 1\n"
                                "hop_seconds_bucket{le=\"1e-06\"} 3\n"));
    EXPECT_THAT(page, HasSubstr("hop_seconds_bucket{le=\"0.001\"} 3\nhop_seconds_bucket{le=\"0.0025\"} 4\n"));
    EXPECT_THAT(page, HasSubstr("hop_seconds_bucket{le=\"10\"} 4\n"
                                "hop_seconds_bucket{le=\"+Inf\"} 5\n"
                                "hop_seconds_sum 20.0020014\n"
                                "hop_seconds_count 5\n"));
}

TEST(Registry, QuotesBackslashesAndLineFeedsAreEscaped) {
    Registry registry;
    core::Tally tally;
    const auto listed = registry.add_gauge({"g", "a \\ and a\nline feed \"", {{"path", "C:\\x \"y\"\n"}}}, tally);
    EXPECT_EQ(registry.prometheus_text(),
              "# HELP g a \\\\ and a\\nline feed \"\n"
              "# TYPE g gauge\n"
              "g{path=\"C:\\\\x \\\"y\\\"\\n\"} 0\n");
}

TEST(Registry, NumbersThatAreNoneAreWrittenAsPrometheusReadsThem) {
    Registry registry;
    constexpr auto kInfinity = std::numeric_limits<double>::infinity();
    const auto nan = registry.add_gauge({"a", "A.", {}}, [] { return std::numeric_limits<double>::quiet_NaN(); });
    const auto above = registry.add_gauge({"b", "B.", {}}, [] { return kInfinity; });
    const auto below = registry.add_gauge({"c", "C.", {}}, [] { return -kInfinity; });
    const auto large = registry.add_gauge({"d", "D.", {}}, [] { return 1e15; });
    const auto page = registry.prometheus_text();
    EXPECT_THAT(page, HasSubstr("\na NaN\n"));
    EXPECT_THAT(page, HasSubstr("\nb +Inf\n"));
    EXPECT_THAT(page, HasSubstr("\nc -Inf\n"));
    EXPECT_THAT(page, HasSubstr("\nd 1000000000000000\n"));
}

TEST(Registry, NamesAndLabelsThatAreInvalidInPrometheusAreRefused) {
    Registry registry;
    core::Tally tally;
    const auto refused = [&](MetricName name) {
        EXPECT_THROW(static_cast<void>(registry.add_gauge(std::move(name), tally)), std::invalid_argument);
    };
    refused({"", "h", {}});
    refused({"1abc", "h", {}});
    refused({"a-b", "h", {}});
    refused({"ok", "h", {{"", "v"}}});
    refused({"ok", "h", {{"a:b", "v"}}});
    refused({"ok", "h", {{"__name", "v"}}});
    refused({"ok", "h", {{"le", "v"}}});
    refused({"ok", "h", {{"quantile", "v"}}});
    refused({"ok", "h", {{"twice", "1"}, {"twice", "2"}}});
    EXPECT_THROW(static_cast<void>(registry.add_counter({"no_ending", "h", {}}, tally)), std::invalid_argument);
    LatencyHistogram histogram;
    EXPECT_THROW(static_cast<void>(registry.add_latency({"no_unit", "h", {}}, histogram)), std::invalid_argument);
    EXPECT_EQ(registry.prometheus_text(), "") << "a refused metric leaves nothing behind";
}

TEST(Registry, TheSameNameAndLabelsTwiceAreRefusedAsIsAnotherKindOrHelp) {
    Registry registry;
    core::Tally tally;
    const auto first = registry.add_gauge({"g", "Help.", {{"a", "1"}, {"b", "2"}}}, tally);
    EXPECT_THROW(static_cast<void>(registry.add_gauge({"g", "Help.", {{"b", "2"}, {"a", "1"}}}, tally)),
                 std::invalid_argument)
        << "the order of labels makes no difference";
    EXPECT_THROW(static_cast<void>(registry.add_gauge({"g", "Other.", {}}, tally)), std::invalid_argument);
    const auto counter = registry.add_counter({"x_total", "Help.", {}}, tally);
    EXPECT_THROW(static_cast<void>(registry.add_gauge({"x_total", "Help.", {{"l", "1"}}}, tally)),
                 std::invalid_argument);
}

TEST(Registry, AMetricIsListedAsLongAsItsRegistrationLives) {
    Registry registry;
    core::Tally tally;
    Registration kept;
    {
        auto listed = registry.add_gauge({"g", "Help.", {}}, tally);
        kept = std::move(listed);
    }
    EXPECT_THAT(registry.prometheus_text(), HasSubstr("g 0"));
    kept = Registration();
    EXPECT_EQ(registry.prometheus_text(), "");
    const auto again = registry.add_counter({"g_total", "Now another kind.", {}}, [] { return 7.0; });
    EXPECT_THAT(registry.prometheus_text(), HasSubstr("g_total 7\n"));
}

TEST(Registry, ARegistrationMayOutliveTheRegistry) {
    const auto value = std::make_shared<double>(7);
    std::optional<Registry> registry(std::in_place);
    {
        const auto listed = registry->add_gauge({"g", "Help.", {}}, [value] { return *value; });
        registry.reset();
        EXPECT_EQ(value.use_count(), 2) << "what is listed is kept by its registration";
    }
    EXPECT_EQ(value.use_count(), 1);
}

TEST(Registry, MetricsComeAndGoWhileThePageIsWritten) {
    Registry registry;
    std::atomic<bool> stop{false};
    std::thread reader([&] {
        while (!stop.load(std::memory_order_relaxed)) {
            EXPECT_THAT(registry.prometheus_text(), Not(HasSubstr("{} ")));
            std::this_thread::yield();
        }
    });
    for (int i = 0; i < 200; ++i) {
        const auto tally = std::make_unique<core::Tally>();
        const auto histogram = std::make_unique<LatencyHistogram>();
        const auto one = registry.add_counter({"c_total", "Help.", {{"i", std::to_string(i)}}}, *tally);
        const auto two = registry.add_latency({"l_seconds", "Help.", {}}, *histogram);
        tally->add();
        histogram->record(i);
    }
    stop.store(true, std::memory_order_relaxed);
    reader.join();
    EXPECT_EQ(registry.prometheus_text(), "");
}

}  // namespace
}  // namespace millpond::metrics
