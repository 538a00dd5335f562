// A sink kind and a feed format of the tests are configured, run, reloaded and shown like the built-in ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include <sys/stat.h>

#include "gateway/settings/config.hpp"
#include "gateway/settings/read.hpp"
#include "gateway/settings/schema.hpp"
#include "gateway/settings/value.hpp"
#include "tests/gateway/registry/registered.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/service/certificate.hpp"

namespace millpond::gateway {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Config read(const std::string& text) {
    Config config;
    config.sink_kinds = beacon::kinds();
    read_toml(text, "gw.toml", config);
    complete(config);
    return config;
}

std::string error_of(const std::string& text) {
    try {
        read(text);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "no error";
}

TEST(SinkRegistry, AKindsKeysAreReadFromFileAndFlagAndCheckedWithPlaceAndName) {
    auto config = read("[[beacon]]\nplace = 'roof'\nbursts = 3\n");
    EXPECT_EQ(config.first<beacon::Settings>()->bursts, 3U);
    EXPECT_EQ(config.first<beacon::Settings>()->ring, config.rings[0].name);
    read_table_flag("beacon", "place=cellar,name=b2", config);
    EXPECT_EQ(config.sinks.back().name(), "b2");
    EXPECT_EQ(error_of("[[beacon]]\nbursts = 10\n"),
              "gw.toml:2: key 'bursts' of [[beacon]] expects an integer from 1 to 9, found the integer 10");
    EXPECT_EQ(error_of("[[beacon]]\nplaec = 'x'\n"),
              "gw.toml:2: unknown key 'plaec' of [[beacon]]; did you mean 'place'?");
    EXPECT_EQ(error_of("[[beacon]]\n"), "gw.toml:1: [[beacon]] 'beacon': key 'place' is missing");
    EXPECT_EQ(error_of("[[beacon]]\nplace = 'a'\n[[beacon]]\nname = 'b'\nplace = 'a'\n"),
              "gw.toml:3: [[beacon]] 'b': output 'a' is used twice");
    EXPECT_THAT(error_of("[[tcp]]\n"), HasSubstr("unknown table 'tcp'"));
}

TEST(SinkRegistry, AKindRunsAndIsReloadedWithItsSecretsAndShownInMetricsAndHealth) {
    const millpond::test::Folder folder{"lamp"};
    Config config;
    test::RunningGateway gateway{"lamp", [&](Config& made) {
                                     made.sink_kinds = beacon::kinds();
                                     made.add<beacon::Settings>().place = "roof";
                                     config = made;
                                 }};
    complete(config);
    gateway.send_quote();
    auto& running = gateway.gateway();
    ASSERT_TRUE(gateway.watch_until(
        [&](const health::State& state) { return !state.sinks.empty() && state.sinks[0].account.delivered == 1; }));
    EXPECT_THAT(running.page({.path = "/metrics"}).body,
                AllOf(HasSubstr("millpond_beacon_flashes_total{sink=\"beacon\"} 7"),
                      HasSubstr("millpond_beacon_lights{sink=\"beacon\"} 1"),
                      HasSubstr("millpond_sink_delivered_total{sink=\"beacon\"} 1")));
    EXPECT_THAT(running.page({.path = "/api/health"}).body, HasSubstr(R"("name":"beacon","type":"beacon")"));
    EXPECT_EQ(running.page({.path = "/health"}).body, "good\n");

    auto next = config;
    next.first<beacon::Settings>()->password_file = folder / "missing";
    EXPECT_THROW(running.reconfigure(next), ConfigError);
    EXPECT_THROW(check_start(next), ConfigError);
    EXPECT_EQ(running.sinks().size(), 1U);

    const std::string secret = folder / "secret";
    std::ofstream{secret} << "open-sesame\n";
    chmod(secret.c_str(), 0600);
    next.first<beacon::Settings>()->password_file = secret;
    const auto result = running.reconfigure(next);
    EXPECT_THAT(result.done, ElementsAre("sink 'beacon' is closed", "sink 'beacon' runs"));
    EXPECT_THAT(result.refused, IsEmpty());
    EXPECT_THAT(running.page({.path = "/metrics"}).body, HasSubstr("millpond_beacon_flashes_total{sink=\"beacon\"} 0"));

    next.sinks.clear();
    EXPECT_THAT(running.reconfigure(next).done, ElementsAre("sink 'beacon' is closed"));
    // The monitor removes the sink at its next update.
    const auto shows_it = [&] { return running.page({.path = "/metrics"}).body.find("beacon") != std::string::npos; };
    EXPECT_TRUE(gateway.watch_until([&](const health::State&) { return !shows_it(); }));
}

TEST(SinkRegistry, TheExampleMarksWhatIsIncomplete) {
    beacon::Beacon sink{1};
    for (feed::InstrumentId id = 0; id < 3; ++id) sink.name(id, {}, {}, feed::kDefaultDecimals);
    const auto quote = [](feed::InstrumentId id, std::uint16_t channel, std::uint16_t flags = 0) {
        auto made = quote_of(id, feed::kPriceScale);
        made.channel = channel;
        made.flags = flags;
        return made;
    };
    const auto lights = [&] {
        sink.step(0);
        std::uint64_t lit = 0;
        sink.visit_metrics([&](std::string_view name, std::string_view, const core::Tally& tally) {
            if (name == "lights") lit = tally.read();
        });
        return lit;
    };
    const auto light_all = [&] {
        EXPECT_EQ(sink.on(quote(0, 1), 1), Admission::kept);
        EXPECT_EQ(sink.on(quote(1, 1), 2), Admission::kept);
        sink.board(quote(2, 2), 2);
        EXPECT_EQ(lights(), 3U);
    };
    light_all();
    EXPECT_EQ(sink.on(feed::Gap{.channel = 1}, 3), Admission::kept);
    EXPECT_EQ(lights(), 1U);
    EXPECT_EQ(sink.on(quote(0, 1, feed::kIncomplete), 4), Admission::kept);
    EXPECT_EQ(lights(), 1U);
    light_all();
    EXPECT_EQ(sink.on(feed::Clear{.instrument = 1, .channel = 1}, 5), Admission::kept);
    EXPECT_EQ(lights(), 2U);
    EXPECT_EQ(sink.on(new_session_of(2), 6), Admission::kept);
    EXPECT_EQ(lights(), 1U);
    light_all();
    sink.missed(7, 9);
    EXPECT_EQ(lights(), 0U);
}

TEST(SinkRegistry, HealthNamesAKindsSinkThatLostEvents) {
    test::RunningGateway gateway{"dim", [](Config& made) {
                                     made.sink_kinds = beacon::kinds();
                                     made.rings.front().capacity = 64;
                                     auto& settings = made.add<beacon::Settings>();
                                     settings.place = "roof";
                                     settings.poll = core::Poll::block;
                                 }};
    ASSERT_TRUE(gateway.watch_until([&](const health::State& state) {
        for (int i = 0; i < 1'000; ++i) gateway.send_quote();
        return state.sinks[0].account.missed != 0;
    }));
    const auto lost = gateway.found(health::Stage::sink_lost);
    EXPECT_EQ(lost.of, "sink 'beacon'");
    EXPECT_THAT(gateway.gateway().page({.path = "/health"}).body, HasSubstr("sink 'beacon'"));
    EXPECT_THAT(gateway.gateway().page({.path = "/api/health"}).body, HasSubstr("\"of\":\"sink 'beacon'\""));
}

TEST(SinkRegistry, TheHelpPrintsTheDefaultsOfTheSettings) {
    for (const auto* kind : {&beacon::Settings::kind()}) {
        const auto keys = kind->keys();
        const auto bursts = std::ranges::find(keys, "bursts", &settings::KeyText::name);
        ASSERT_NE(bursts, keys.end());
        EXPECT_EQ(help_with_default(*bursts), "Flashes for each quote. (default: 7)");
    }
    for (const auto* kind : builtin_sink_kinds()) {
        for (const auto& key : kind->keys()) EXPECT_THAT(key.help, Not(IsEmpty())) << kind->name() << ' ' << key.name;
    }
}

/// Reads a configuration for a program whose only feed format is the test's.
Config read_ticker(const std::string& text, Config config = {}) {
    config.feed_formats = ticker::formats();
    config.feeds.clear();
    read_toml(text, "gw.toml", config);
    complete(config);
    return config;
}

std::string ticker_error(const std::string& text) {
    try {
        read_ticker(text);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "no error";
}

TEST(FeedRegistry, AFormatsKeysAreReadFromFileAndFlagInAnyOrderAndCheckedWithPlaceAndName) {
    const std::string feed = "[[feed]]\nlisten = '127.0.0.1:9000'\nname = 't'\n";
    auto config = read_ticker(feed + "lot_size = 3\nformat = 'ticker'\n");
    EXPECT_EQ(config.feeds[0].use<ticker::Settings>().lot, 3U);
    EXPECT_EQ(config.feeds[0], read_ticker(feed + "lot_size = 3\n").feeds[0]);
    EXPECT_NE(config.feeds[0], read_ticker(feed + "lot_size = 4\n").feeds[0]);
    read_table_flag("feed", "lot_size=5,listen=127.0.0.1:9001", config);
    EXPECT_EQ(config.feeds[1].use<ticker::Settings>().lot, 5U);
    EXPECT_EQ(ticker_error(feed + "lot_size = 0\n"),
              "gw.toml:4: key 'lot_size' of [[feed]] expects an integer from 1 to 1000, found the integer 0");
    EXPECT_EQ(ticker_error(feed + "lot_siez = 1\n"),
              "gw.toml:4: unknown key 'lot_siez' of [[feed]]; did you mean 'lot_size'?");
    EXPECT_EQ(ticker_error(feed + "lot_size = 13\n"), "gw.toml:1: [[feed]] 't': lot_size: 13 is not traded");
    EXPECT_EQ(ticker_error(feed + "format = 'itch'\n"),
              "gw.toml:4: key 'format' of [[feed]] expects one of ticker, found 'itch'");
    EXPECT_THAT(ticker_error(feed + "max_orders = 7\n"), HasSubstr("unknown key 'max_orders'"));
    EXPECT_EQ(ticker_error(feed + "line_b = '127.0.0.1:9002'\n"),
              "gw.toml:1: [[feed]] 't': line_b: ticker has no sequence numbers, so its lines cannot be merged");
}

TEST(FeedRegistry, KeysOfAnotherFormatAreRefusedWithTheirLine) {
    const auto error_of_builtin = [](const std::string& text) -> std::string {
        Config config;
        try {
            read_toml("[[feed]]\nlisten = '127.0.0.1:9000'\nname = 'f'\n" + text, "gw.toml", config);
            complete(config);
        } catch (const ConfigError& error) {
            return error.what();
        }
        return "no error";
    };
    EXPECT_EQ(
        error_of_builtin("max_orders = 16\nformat = 'bbo28'\n"),
        "gw.toml:4: key 'max_orders' of [[feed]] is for format 'itch' or 'iex-deep-plus', but the format is 'bbo28'");
    EXPECT_EQ(error_of_builtin("symbols = 'x'\nformat = 'bbo28'\n"),
              "gw.toml:4: key 'symbols' of [[feed]] is for format 'miax-tom', but the format is 'bbo28'");
    EXPECT_EQ(
        error_of_builtin("rerequest = '127.0.0.1:9'\nformat = 'miax-tom'\n"),
        "gw.toml:4: key 'rerequest' of [[feed]] is for format 'itch' or 'iex-tops' or 'iex-deep' or 'iex-deep-plus', "
        "but the format is 'miax-tom'");
    EXPECT_EQ(error_of_builtin("rebuild_from = 'x'\nformat = 'bbo28'\n"),
              "gw.toml:4: key 'rebuild_from' of [[feed]] is for format 'itch', but the format is 'bbo28'");
    EXPECT_EQ(error_of_builtin("rerequest = '127.0.0.1:9'\nformat = 'itch'\n"), "no error");
}

TEST(FeedRegistry, AFormatRunsAndIsShownInMetricsAndHealth) {
    test::RunningGateway gateway{"tick", [](Config& made) {
                                     made = read_ticker(
                                         "[[feed]]\nname = 'f'\nlisten = '127.0.0.1:0'\nlot_size = 9\n"
                                         "stale_seconds = 0\n",
                                         made);
                                 }};
    const std::int64_t price = 12'345;
    gateway.send(std::as_bytes(std::span{&price, 1}));
    gateway.send(std::as_bytes(std::span{"bad"}));
    auto& running = gateway.gateway();
    ASSERT_TRUE(gateway.watch_until([](const health::State& state) {
        return state.feeds[0].quotes == 1 && state.feeds[0].undecodable.count == 1;
    }));
    EXPECT_THAT(running.page({.path = "/metrics"}).body,
                AllOf(HasSubstr("millpond_feed_ticks_total{feed=\"f\"} 1"),
                      HasSubstr("millpond_feed_malformed_total{feed=\"f\"} 1")));
    EXPECT_THAT(running.page({.path = "/api/health"}).body,
                AllOf(HasSubstr(R"("name":"f")"), HasSubstr(R"("format":"ticker")")));
    EXPECT_THAT(running.page({.path = "/health"}).body, HasSubstr("feed 'f'"));
    const market::RingReader reader{{.name = gateway.ring()}};
    const auto quote = reader.board().quote(0);
    EXPECT_EQ(quote.event.ask_price, price);
    EXPECT_EQ(quote.event.ask_size, 9U);
    EXPECT_EQ(reader.board().instrument(0)->venue.view(), "TICK");
}

TEST(FeedRegistry, TheHelpPrintsTheDefaultsOfTheSettings) {
    const auto keys = feed_keys(ticker::formats());
    const auto help_of = [&](std::string_view name) {
        return help_with_default(*std::ranges::find(keys, name, &settings::KeyText::name));
    };
    EXPECT_EQ(help_of("lot_size"), "ticker: size of each quote. (default: 7)");
    EXPECT_EQ(help_of("format"), "Format of the datagrams. (default: ticker)");
}

}  // namespace
}  // namespace millpond::gateway
