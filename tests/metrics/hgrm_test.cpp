#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/metrics/hgrm.hpp>
#include <millpond/metrics/latency_histogram.hpp>

namespace millpond::metrics {
namespace {

std::unique_ptr<HistogramSnapshot> of_values(std::initializer_list<std::int64_t> values) {
    LatencyHistogram histogram;
    for (const auto value : values) histogram.record(value);
    auto snapshot = std::make_unique<HistogramSnapshot>();
    histogram.read(*snapshot);
    return snapshot;
}

// The lines that HdrHistogram's PercentileIterator gives, computed manually: from 0 on, each halving of the distance to
// 100 % has five lines.
TEST(Hgrm, FourValuesGiveTheLinesOfHdrHistogram) {
    EXPECT_EQ(hgrm_text(*of_values({1, 2, 3, 4})),
              "       Value     Percentile TotalCount 1/(1-Percentile)\n"
              "\n"
              "       1.000 0.000000000000          1           1.00\n"
              "       1.000 0.100000000000          1           1.11\n"
              "       1.000 0.200000000000          1           1.25\n"
              "       2.000 0.300000000000          2           1.43\n"
              "       2.000 0.400000000000          2           1.67\n"
              "       2.000 0.500000000000          2           2.00\n"
              "       3.000 0.550000000000          3           2.22\n"
              "       3.000 0.600000000000          3           2.50\n"
              "       3.000 0.650000000000          3           2.86\n"
              "       3.000 0.700000000000          3           3.33\n"
              "       3.000 0.750000000000          3           4.00\n"
              "       4.000 0.775000000000          4           4.44\n"
              "       4.000 1.000000000000          4\n"
              "#[Mean    =        2.500, StdDeviation   =        1.118]\n"
              "#[Max     =        4.000, Total count    =            4]\n"
              "#[Buckets =           36, SubBuckets     =          128]\n");
}

TEST(Hgrm, ValuesAreShownInTheRequestedUnit) {
    const auto text = hgrm_text(*of_values({2'000, 2'000}), 1'000.0);
    EXPECT_THAT(text, testing::HasSubstr("\n       2.000 1.000000000000          2\n"));
    EXPECT_THAT(text, testing::HasSubstr("#[Max     =        2.000, Total count    =            2]"));
}

TEST(Hgrm, AnEmptyHistogramIsAHeadAndAFoot) {
    EXPECT_EQ(hgrm_text(HistogramSnapshot()),
              "       Value     Percentile TotalCount 1/(1-Percentile)\n"
              "\n"
              "#[Mean    =        0.000, StdDeviation   =        0.000]\n"
              "#[Max     =        0.000, Total count    =            0]\n"
              "#[Buckets =           36, SubBuckets     =          128]\n");
}

}  // namespace
}  // namespace millpond::metrics
