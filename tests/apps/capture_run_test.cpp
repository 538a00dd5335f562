// Captures of a gateway, which `millpond replay` sends again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <unistd.h>

#include <millpond/core/clock.hpp>

#include "tests/apps/gateway_run.hpp"
#include "tests/apps/program.hpp"

namespace millpond::app {
namespace {

bool comes_to(const GatewayRun& gateway, std::string_view metric, std::int64_t value) {
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    while (gateway.metric(metric) != value) {
        if (core::monotonic_nanos() > deadline) return false;
        usleep(10'000);
    }
    return true;
}

TEST(CaptureRun, AReplayOfTheCaptureGivesTheSameQuotesAgain) {
    const auto folder = std::filesystem::temp_directory_path() / unique_ring("capture");
    const auto name = unique_ring("captured");
    constexpr std::int64_t kQuotes = 3'000;
    std::int64_t packets = 0;
    {
        GatewayRun gateway{{.ring = name, .format = "quotes", .more = {"--capture", folder.string()}}};
        const auto sent = run({"generate", "--format", "quotes", "--count", std::to_string(kQuotes), "--rate", "20000",
                               "--to", gateway.feed_address(), "--quiet"});
        ASSERT_EQ(sent.exit_code, 0) << sent.err;
        ASSERT_TRUE(comes_to(gateway, "millpond_feed_quotes_total", kQuotes));
        packets = gateway.metric("millpond_feed_packets_total");
        EXPECT_TRUE(comes_to(gateway, "millpond_capture_datagrams_total", packets));
        EXPECT_EQ(gateway.metric("millpond_capture_lost_total"), 0);
        EXPECT_EQ(gateway.end().exit_code, 0);
    }
    GatewayRun again{{.ring = unique_ring("again"), .format = "quotes"}};
    const auto sent =
        run({"replay", (folder / (name + ".pcap")).string(), "--to", again.feed_address(), "--speed", "10", "--quiet"});
    EXPECT_EQ(sent.exit_code, 0) << sent.err;
    EXPECT_TRUE(comes_to(again, "millpond_feed_quotes_total", kQuotes));
    EXPECT_TRUE(comes_to(again, "millpond_feed_packets_total", packets));
    EXPECT_EQ(again.metric("millpond_feed_sequence_missing_total"), 0);
    EXPECT_EQ(again.end().exit_code, 0);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace millpond::app
