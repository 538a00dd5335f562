#include "gateway/metrics_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/health/state.hpp"
#include "gateway/sinks/account.hpp"
#include "gateway/sinks/consumer.hpp"
#include "service/http/page.hpp"

namespace millpond::gateway {
namespace {

using ::testing::HasSubstr;

/// A sink that passes on ten events whenever its account is read.
class Busy final : public Consumer {
public:
    void start() override {}
    void stop() override {}
    [[nodiscard]] const std::string& name() const noexcept override { return name_; }
    [[nodiscard]] const std::string& ring() const noexcept override { return name_; }
    [[nodiscard]] std::string_view type() const noexcept override { return "busy"; }
    [[nodiscard]] bool ended() const noexcept override { return false; }
    [[nodiscard]] Account account() const noexcept override {
        ++looks_;
        return {.published = 10 * looks_ + 1, .delivered = 10 * looks_, .queued = 1};
    }
    void visit_metrics(const MetricVisitor&) const override {}
    [[nodiscard]] SinkHealth health() const noexcept override { return {}; }

private:
    std::string name_{"busy"};
    mutable std::uint64_t looks_{0};
};

TEST(MetricsPage, AnAccountAddsUpOnEachPage) {
    const Busy sink;
    MetricsPage pages{[] { return std::make_shared<const health::State>(); }};
    pages.add(sink);
    for (int page = 1; page <= 2; ++page) {
        const auto text = pages.page({.path = "/metrics"}).body;
        const auto delivered = std::to_string(10 * page);
        EXPECT_THAT(text, HasSubstr("millpond_sink_published_total{sink=\"busy\"} " + std::to_string(10 * page + 1)));
        EXPECT_THAT(text, HasSubstr("millpond_sink_delivered_total{sink=\"busy\"} " + delivered));
        EXPECT_THAT(text, HasSubstr("millpond_sink_queued{sink=\"busy\"} 1"));
    }
    pages.remove(sink);
}

}  // namespace
}  // namespace millpond::gateway
