// Checks web/openapi.yaml against responses of gateways.

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

#include <sys/stat.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/quotes_encoder.hpp>
#include <millpond/net/udp_sender.hpp>

#include "tests/apps/gateway_run.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

constexpr const char* kToken = "openapi-token-0123456789";

/// Sends two quotes, one of them with all optional fields, then a gap and another quote.
void send_quotes(const GatewayRun& gateway) {
    net::UdpSender sender{{.to = net::SocketAddress::parse(gateway.feed_address())}};
    feed::QuotesEncoder encoder{{.channel = 0, .session = 1}};
    std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
    const feed::Quote empty{.instrument = 0};
    const feed::Quote full{.instrument = 1,
                           .flags = feed::kQuoteFlags,
                           .bid_price = feed::kPriceScale,
                           .ask_price = feed::price_from<100>(101),
                           .bid_size = 1,
                           .ask_size = 2,
                           .exchange_utc_ns = core::utc_nanos()};
    for (int i = 0; i < 2; ++i) {
        encoder.begin(buffer);
        ASSERT_TRUE(encoder.add(empty, feed::Venue{"X"}, feed::Symbol{"NONE"}));
        ASSERT_TRUE(encoder.add(full, feed::Venue{"X"}, feed::Symbol{"AAPL"}));
        ASSERT_TRUE(sender.send(encoder.finish(core::utc_nanos())));
        encoder.skip(3);
    }
}

void wait_for(const GatewayRun& gateway, const std::string& text, const std::string& page = "/health") {
    const auto deadline = core::monotonic_nanos() + 60'000'000'000;
    while (gateway.page(page).find(text) == std::string::npos) ASSERT_LT(core::monotonic_nanos(), deadline);
}

/// Sends quotes of two instruments to one of two venues of a composite.
void send_to_composite(const GatewayRun& gateway) {
    const auto outcome = run({"generate", "--to", gateway.word_after("feed 'x': listens on "), "--format", "itch",
                              "--symbols", "2", "--count", "20", "--rate", "1000"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    wait_for(gateway, R"("symbols":2,"locked")", "/api/health");
}

std::string web_address(const GatewayRun& gateway) {
    const auto url = gateway.word_after("web sink 'web': http://");
    return url.substr(0, url.find('/'));
}

std::string metrics_address(const GatewayRun& gateway) {
    const auto url = gateway.word_after("metrics: http://");
    return url.substr(0, url.find('/'));
}

TEST(OpenApi, EveryAnswerIsAsItIsDescribedAndEverythingDescribedIsAnswered) {
    setenv("MILLPOND_TEST_TOKEN", kToken, 1);  // NOLINT(concurrency-mt-unsafe): one thread
    const test::ScratchFile config{test::scratch_name("openapi.toml"), ""};
    GatewayRun good{{.ring = unique_ring("api-good"),
                     .format = "quotes",
                     .feed = ",stale_seconds=0",
                     .more = {"--web", "listen=127.0.0.1:0,max_clients=1"}}};
    GatewayRun bad{
        {.ring = unique_ring("api-bad"),
         .format = "quotes",
         .feed = ",stale_seconds=0,line_b=127.0.0.1:0",
         .more = {"--feed", "name=x,format=itch,listen=127.0.0.1:0,max_orders=64,stale_seconds=0", "--feed",
                  "name=y,format=itch,venue=XBOS,listen=127.0.0.1:0,max_orders=64,stale_seconds=0", "--composite",
                  "feeds=x+y", "--web", "listen=127.0.0.1:0", "--csv", "path=/dev/full,flush_ms=10"}}};
    GatewayRun locked{{.ring = unique_ring("api-locked"),
                       .format = "quotes",
                       .more = {"--config", config.path(), "--admin-token-env", "MILLPOND_TEST_TOKEN", "--web",
                                "listen=127.0.0.1:0,token_env=MILLPOND_TEST_TOKEN"}}};
    send_quotes(bad);
    send_to_composite(bad);
    wait_for(bad, "sink behind");
    Program script{"python3",
                   {MILLPOND_OPENAPI_ANSWERS, MILLPOND_OPENAPI, "--good", web_address(good), "--bad", web_address(bad),
                    "--locked", web_address(locked), "--token", kToken, "--admin", metrics_address(locked),
                    "--admin-token", kToken, "--config", config.path(), "--no-admin", metrics_address(good)}};
    const auto outcome = script.wait();
    for (auto* gateway : {&good, &bad, &locked}) gateway->end();
    constexpr int kSkips = 77;
    if (outcome.exit_code == kSkips) GTEST_SKIP() << outcome.out;
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

}  // namespace
}  // namespace millpond::app
