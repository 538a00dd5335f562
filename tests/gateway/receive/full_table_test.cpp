// A running gateway with more instruments or orders than its tables hold: health, log and page name the limit.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/health/findings.hpp"
#include "gateway/health/report_json.hpp"
#include "tests/gateway/receive/itch_sender.hpp"
#include "tests/gateway/running_gateway.hpp"

namespace millpond::gateway::health {
namespace {

using test::ItchSender;
using test::RunningGateway;
using ::testing::HasSubstr;

constexpr std::uint16_t kSymbols = 100;

void send_one_order_each(ItchSender& sender, std::uint64_t first_order) {
    for (std::uint16_t i = 0; i < kSymbols; ++i) {
        sender.itch.set_head(static_cast<std::uint16_t>(i + 1), 5);
        sender.send(sender.itch.order_added(first_order + i, 'B', 100, fmt::format("S{}", i), 10'000));
    }
}

bool has_stage(const State& state, Stage stage) {
    for (const auto& finding : findings(state, state.now)) {
        if (finding.stage == stage) return true;
    }
    return false;
}

TEST(FullTable, InstrumentsThatDoNotFitAreAFindingALogLineAndOnThePage) {
    RunningGateway gateway{"full", [](Config& config) {
                               test::use_itch(config);
                               config.feeds[0].use<itch::Settings>().max_orders = 1'000;
                               config.rings[0].max_instruments = 64;
                           }};
    ItchSender sender{gateway};
    send_one_order_each(sender, 1);
    ASSERT_TRUE(gateway.watch_until([](const State& state) { return state.pools[0].missing == 36; }));
    const auto found = gateway.found(Stage::table_full);
    EXPECT_EQ(found.severity, service::Severity::error);
    EXPECT_THAT(found.of, HasSubstr("ring '"));
    EXPECT_EQ(found.text, "the table of 64 instruments is full: 36 messages did not fit; raise max_instruments");
    const auto state = gateway.gateway().health();
    EXPECT_FALSE(is_good(*state));
    EXPECT_THAT(report_json(*state), HasSubstr(R"("used":64,"capacity":64,"refused":36,"missing":36,)"
                                               R"("bound":"max_instruments")"));
    EXPECT_THAT(gateway.logged(), HasSubstr("the table of 64 instruments is full"));
    EXPECT_THAT(gateway.logged(), HasSubstr("raise max_instruments"));
    // Instruments keep their ids: missing ones stay missing in the next session.
    ItchSender next{gateway, "S2"};
    for (int i = 0; i < 2; ++i) next.send(next.itch.system_event('O'));
    ASSERT_TRUE(gateway.watch_until([](const State& seen) { return seen.pools[1].used == 0; }));
    EXPECT_EQ(gateway.found(Stage::table_full).text, found.text);
}

TEST(FullTable, OrdersThatDoNotFitAreAFindingUntilTheNextSession) {
    RunningGateway gateway{"orders", [](Config& config) {
                               test::use_itch(config);
                               config.feeds[0].use<itch::Settings>().max_orders = 16;
                               config.rings[0].max_instruments = 128;
                           }};
    ItchSender sender{gateway};
    send_one_order_each(sender, 1);
    ASSERT_TRUE(gateway.watch_until([](const State& state) { return state.pools[1].missing == 84; }));
    const auto found = gateway.found(Stage::table_full);
    EXPECT_EQ(found.severity, service::Severity::error);
    EXPECT_EQ(found.of, "feed 'f'");
    EXPECT_EQ(found.text, "the table of 16 orders is full: 84 messages did not fit; raise max_orders");
    EXPECT_THAT(report_json(*gateway.gateway().health()),
                HasSubstr(R"("used":16,"capacity":16,"refused":84,"missing":84,"bound":"max_orders")"));
    EXPECT_THAT(gateway.logged(), HasSubstr("feed 'f': the table of 16 orders is full"));
    ItchSender next{gateway, "S2"};
    for (int i = 0; i < 2; ++i) next.send(next.itch.system_event('O'));
    EXPECT_TRUE(gateway.watch_until([](const State& state) { return !has_stage(state, Stage::table_full); }));
    EXPECT_EQ(gateway.gateway().health()->pools[1].refused, 84U) << "the count goes on";
}

}  // namespace
}  // namespace millpond::gateway::health
