// A kind of sink and a feed format that are only in the tests' folder are in --help, the manual page, the
// completion and `config check`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "apps/millpond/command.hpp"
#include "apps/millpond/command_line/arguments.hpp"
#include "apps/millpond/gateway/config_check.hpp"
#include "apps/millpond/gateway/gateway_flags.hpp"
#include "gateway/settings/read.hpp"
#include "gateway/settings/value.hpp"
#include "tests/gateway/registry/registered.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The program with the test's kind and format in place of the built-in ones.
class Registry : public testing::Test {
protected:
    Registry() {
        program_.require_subcommand(1);
        auto* gateway = program_.add_subcommand("gateway", "Receive feeds.");
        flags_.add_to(*gateway);
    }
    static std::string printed(const std::function<int()>& run) {
        testing::internal::CaptureStdout();
        EXPECT_EQ(run(), 0);
        return testing::internal::GetCapturedStdout();
    }
    void parse(std::vector<std::string> words) {
        words.insert(words.begin(), "millpond");
        std::vector<char*> raw;
        for (auto& word : words) raw.push_back(word.data());
        EXPECT_TRUE(program_.parse(static_cast<int>(raw.size()), raw.data()));
    }

    Arguments program_{"millpond", "Test."};
    GatewayFlags flags_{gateway::beacon::kinds(), gateway::ticker::formats()};
};

TEST_F(Registry, AKindIsInTheHelpWithItsKeysAndTheirDefaults) {
    const auto help = program_.subcommands().front().help_page("millpond");
    EXPECT_THAT(help, AllOf(HasSubstr("--beacon"), HasSubstr("a light that flashes for each quote, as [[beacon]]"),
                            HasSubstr("Flashes for each quote. (default: 7)"), Not(HasSubstr("[[csv]]")),
                            HasSubstr("ticker: size of each quote. (default: 7)"), Not(HasSubstr("max_orders"))));
}

TEST_F(Registry, AKindIsInTheManualPage) {
    const auto manual = manual_command(program_);
    parse({"manual", "gateway"});
    EXPECT_THAT(printed(manual.run),
                AllOf(HasSubstr("beacon"), HasSubstr("(default: 7)"), HasSubstr("ticker: size of each quote.")));
}

TEST_F(Registry, AKindIsCompleted) {
    const auto completion = completion_command(program_);
    parse({"completion", "bash"});
    EXPECT_THAT(printed(completion.run), AllOf(HasSubstr("--beacon"), HasSubstr("place= bursts=")));
}

TEST_F(Registry, AFormatIsCompletedWithItsKeys) {
    const auto completion = completion_command(program_);
    parse({"completion", "bash"});
    EXPECT_THAT(printed(completion.run), AllOf(HasSubstr("\"format=ticker "), HasSubstr(" lot_size=")));
}

TEST_F(Registry, AKindsFlagIsRead) {
    parse({"gateway", "--beacon", "place=roof,bursts=2"});
    const auto config = flags_.read();
    ASSERT_EQ(config.sinks.size(), 1U);
    EXPECT_EQ(config.first<gateway::beacon::Settings>()->bursts, 2U);
}

TEST_F(Registry, AFormatsKeysAreReadFromTheFlag) {
    parse({"gateway", "--feed", "listen=127.0.0.1:9000,format=ticker,lot_size=8"});
    auto config = flags_.read();
    ASSERT_EQ(config.feeds.size(), 1U);
    EXPECT_EQ(config.feeds[0].use<gateway::ticker::Settings>().lot, 8U);
}

TEST(RegistryCheck, AFormatIsChecked) {
    gateway::Config defaults;
    defaults.feed_formats = gateway::ticker::formats();
    const std::string feed = "[[feed]]\nlisten = '127.0.0.1:9000'\n";
    const test::ScratchFile good{"millpond_ticker.toml", feed + "format = 'ticker'\nlot_size = 2\n"};
    EXPECT_THAT(check_config(good.path(), true, defaults), HasSubstr(": good: rings 1, feeds 1;"));
    const test::ScratchFile bad{"millpond_ticker_bad.toml", feed + "lot_size = 13\n"};
    EXPECT_THROW(static_cast<void>(check_config(bad.path(), true, defaults)), gateway::ConfigError);
}

TEST(RegistryCheck, AKindIsCheckedWithItsSecrets) {
    gateway::Config defaults;
    defaults.sink_kinds = gateway::beacon::kinds();
    const std::string feed = "[[feed]]\nlisten = '127.0.0.1:9000'\n";
    const test::ScratchFile good{"millpond_beacon.toml", feed + "[[beacon]]\nplace = 'roof'\n"};
    EXPECT_EQ(check_config(good.path(), true, defaults), good.path() + ": good: rings 1, feeds 1; sinks: beacon 1\n");
    const test::ScratchFile bad{"millpond_beacon_bad.toml",
                                feed + "[[beacon]]\nplace = 'roof'\npassword_file = '/nonexistent'\n"};
    EXPECT_THROW(static_cast<void>(check_config(bad.path(), true, defaults)), gateway::ConfigError);
    EXPECT_NO_THROW(static_cast<void>(check_config(bad.path(), false, defaults)));
}

TEST(PackagedConfiguration, PrintsTheDefaultsOfWhatItDoesNotChoose) {
    gateway::Config config;
    gateway::read_file(MILLPOND_DEPLOY "/gateway.toml", config);
    gateway::Config defaults;
    EXPECT_EQ(config.log_level, defaults.log_level);
    EXPECT_EQ(config.metrics, defaults.metrics);
    EXPECT_EQ(config.rings, std::vector{gateway::RingConfig{}});
    gateway::FeedConfig feed;
    feed.name = "first";
    feed.listen = net::SocketAddress::parse("127.0.0.1:14000");
    EXPECT_EQ(config.feeds, std::vector{feed});
    for (const auto& sink : config.sinks) EXPECT_EQ(sink, gateway::SinkConfig{sink.kind()}) << sink.name();
    EXPECT_EQ(config.sinks.size(), 2U);
}

}  // namespace
}  // namespace millpond::app
