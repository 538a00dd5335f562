#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include <millpond/core/clock.hpp>

#include "tests/apps/gateway_run.hpp"
#include "tests/apps/program.hpp"

namespace millpond::app {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string metrics_address(const GatewayRun& gateway) {
    const auto url = gateway.said("metrics: http://");
    return url.substr(0, url.find('/'));
}

TEST(Top, ShowsFeedsRingsAndSinksOnceAsTablesOrAsJson) {
    GatewayRun gateway{
        {.ring = unique_ring("top"), .format = "quotes", .more = {"--tcp", "name=lines,listen=127.0.0.1:0"}}};
    const auto address = metrics_address(gateway);
    const auto table = run({"top", "--once", "--gateway", address});
    EXPECT_EQ(table.exit_code, 0) << table.err;
    EXPECT_THAT(table.out, AllOf(StartsWith("good\n"), HasSubstr("\nf  "), HasSubstr(gateway.ring()),
                                 HasSubstr("wire to ring"), HasSubstr("reader lines"), HasSubstr("\nlines  ")));
    const auto json = run({"top", "--once", "--format", "json", "--gateway", address});
    EXPECT_EQ(json.exit_code, 0) << json.err;
    EXPECT_THAT(json.out, AllOf(StartsWith("{\"now\":"), HasSubstr("\"feeds\":[{\"name\":\"f\"")));
    EXPECT_EQ(gateway.end().exit_code, 0);
}

TEST(Top, ShowsHowFullPoolsAre) {
    GatewayRun gateway{
        {.ring = unique_ring("pools"), .format = "itch", .feed = ",max_orders=16", .ring_more = ",max_instruments=16"}};
    const auto table = run({"top", "--once", "--gateway", metrics_address(gateway)});
    EXPECT_THAT(table.out, AllOf(ContainsRegex("instruments +ring 'test-pools[^ ]* +0 +16 +0.0% +0\n"),
                                 ContainsRegex("orders +feed 'f' +0 +16 +0.0% +0\n")));
    Program sender{
        {"generate", "--format", "itch", "--to", gateway.feed_address(), "--quiet", "--live", "--rate", "2000"}};
    const auto deadline = core::monotonic_nanos() + 60'000'000'000;
    std::string full;
    const std::regex refused{"orders +feed 'f' +[0-9]+ +16 +[0-9.]+% +[1-9]"};
    do {
        full = run({"top", "--once", "--gateway", metrics_address(gateway)}).out;
    } while (!std::regex_search(full, refused) && core::monotonic_nanos() < deadline);
    EXPECT_TRUE(std::regex_search(full, refused)) << full;
    EXPECT_EQ(gateway.end().exit_code, 0);
}

TEST(Top, AGatewayThatIsNotThereIsNamed) {
    const auto outcome = run({"top", "--once", "--gateway", "127.0.0.1:1"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("127.0.0.1:1: cannot connect: Connection refused"));
    EXPECT_EQ(run({"top", "--once", "--gateway", "nowhere"}).exit_code, 2);
}

}  // namespace
}  // namespace millpond::app
