// A kind of sink that is only in the test's folder is configured, run, reloaded and shown like the built-in ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include <sys/stat.h>

#include "gateway/settings/config.hpp"
#include "gateway/settings/read.hpp"
#include "gateway/settings/value.hpp"
#include "tests/gateway/registry/beacon.hpp"
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
    EXPECT_EQ(error_of("[[beacon]]\n"), "[[beacon]] 'beacon': key 'place' is missing");
    EXPECT_EQ(error_of("[[beacon]]\nplace = 'a'\n[[beacon]]\nname = 'b'\nplace = 'a'\n"),
              "[[beacon]] 'b': output 'a' is used twice");
    EXPECT_THAT(error_of("[[tcp]]\n"), HasSubstr("unknown key 'tcp'"));
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
                AllOf(HasSubstr("millpond_beacon_flashes_total{sink=\"beacon\"} 1"),
                      HasSubstr("millpond_sink_delivered_total{sink=\"beacon\"} 1")));
    EXPECT_THAT(running.page({.path = "/api/health"}).body, HasSubstr(R"("name":"beacon","type":"beacon")"));
    EXPECT_EQ(running.page({.path = "/health"}).body, "good\n");

    auto next = config;
    next.first<beacon::Settings>()->password.file = folder / "missing";
    EXPECT_THROW(running.reconfigure(next), ConfigError);
    EXPECT_THROW(check_secrets(next), ConfigError);
    EXPECT_EQ(running.sinks().size(), 1U);

    const std::string secret = folder / "secret";
    std::ofstream{secret} << "open-sesame\n";
    chmod(secret.c_str(), 0600);
    next.first<beacon::Settings>()->password.file = secret;
    const auto result = running.reconfigure(next);
    EXPECT_THAT(result.done, ElementsAre("sink 'beacon' is closed", "sink 'beacon' runs"));
    EXPECT_THAT(result.refused, IsEmpty());
    EXPECT_THAT(running.page({.path = "/metrics"}).body, HasSubstr("millpond_beacon_flashes_total{sink=\"beacon\"} 0"));

    next.sinks.clear();
    EXPECT_THAT(running.reconfigure(next).done, ElementsAre("sink 'beacon' is closed"));
    EXPECT_THAT(running.page({.path = "/metrics"}).body, Not(HasSubstr("beacon")));
}

TEST(SinkRegistry, TheHelpPrintsTheDefaultsOfTheSettings) {
    for (const auto* kind : {&beacon::Settings::kind()}) {
        const auto keys = kind->keys();
        const auto bursts = std::ranges::find(keys, "bursts", &settings::KeyText::name);
        ASSERT_NE(bursts, keys.end());
        EXPECT_EQ(bursts->help, "Flashes for each quote. (default: 7)");
    }
    for (const auto* kind : builtin_sink_kinds()) {
        for (const auto& key : kind->keys()) EXPECT_THAT(key.help, Not(IsEmpty())) << kind->name() << ' ' << key.name;
    }
}

}  // namespace
}  // namespace millpond::gateway
