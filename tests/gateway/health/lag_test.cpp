#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>

#include "gateway/health/monitor.hpp"
#include "gateway/sinks/account.hpp"
#include "gateway/sinks/consumer.hpp"
#include "service/last_error.hpp"

namespace millpond::gateway::health {
namespace {

/// A sink with an account and lag that the test sets.
class Planted final : public Consumer {
public:
    void start() override {}
    void stop() override {}
    [[nodiscard]] const std::string& name() const noexcept override { return name_; }
    [[nodiscard]] const std::string& ring() const noexcept override { return name_; }
    [[nodiscard]] std::string_view type() const noexcept override { return "planted"; }
    [[nodiscard]] bool ended() const noexcept override { return false; }
    [[nodiscard]] Account account() const noexcept override {
        return {.published = delivered + queued, .delivered = delivered, .queued = queued};
    }
    [[nodiscard]] std::uint64_t reset_max_lag() const noexcept override { return std::exchange(lag_ticks, 0); }
    void visit_metrics(const MetricVisitor&) const override {}
    [[nodiscard]] SinkHealth health() const noexcept override { return {}; }

    std::uint64_t delivered{0};
    std::uint64_t queued{0};
    mutable std::uint64_t lag_ticks{0};

private:
    std::string name_{"planted"};
};

class SinkLag : public testing::Test {
protected:
    static constexpr std::int64_t kLookNs = 100'000'000;

    /// The sink's lag at the next update.
    std::int64_t lag() {
        now_ns_ += kLookNs;
        monitor_.update({.utc_ns = now_ns_, .monotonic_ns = now_ns_});
        return monitor_.state()->sinks.at(0).lag_ns;
    }

    Planted sink;

private:
    std::int64_t now_ns_{1'000'000'000};
    std::vector<std::unique_ptr<Pipeline>> pipelines_;
    service::LastError error_;
    Monitor monitor_{pipelines_, {{&sink, &error_, {}}}, "", {.utc_ns = now_ns_, .monotonic_ns = now_ns_}};
};

TEST_F(SinkLag, AnEventOnItsWayAtALookHasNotWaitedSinceTheLookBefore) {
    for (int look = 0; look < 20; ++look) {
        ++sink.delivered;
        sink.queued = 1;
        EXPECT_EQ(lag(), 0);
    }
    EXPECT_EQ(lag(), kLookNs) << "the same event";
    EXPECT_EQ(lag(), 2 * kLookNs);
    sink.delivered += std::exchange(sink.queued, 0);
    EXPECT_EQ(lag(), 0);
    sink.queued = 1;  // few events
    EXPECT_EQ(lag(), 0);
    EXPECT_EQ(lag(), kLookNs);
}

TEST_F(SinkLag, IsTheLongestOfTheLastCountedSecond) {
    constexpr std::int64_t kLagNs = 3'000'000;
    const core::TickRate rate;
    sink.lag_ticks = static_cast<std::uint64_t>(static_cast<double>(kLagNs) / rate.nanos_per_tick());
    int looks_until_shown = 0;
    std::int64_t shown = 0;
    while ((shown = lag()) == 0) ASSERT_LT(++looks_until_shown, 10);
    EXPECT_NEAR(static_cast<double>(shown), static_cast<double>(kLagNs), static_cast<double>(kLagNs) / 10);
    for (int look = 0; look < 9; ++look) EXPECT_EQ(lag(), shown);
    EXPECT_EQ(lag(), 0);
}

TEST_F(SinkLag, GrowsWhileEventsWaitAlthoughOthersArePassedOn) {
    sink.queued = 1'000;
    for (int look = 1; look <= 5; ++look) {
        static_cast<void>(lag());
        ++sink.delivered;  // a sink that is much too slow
        --sink.queued;
    }
    EXPECT_EQ(lag(), 5 * kLookNs);
}

}  // namespace
}  // namespace millpond::gateway::health
