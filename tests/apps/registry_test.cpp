// The help, manual page, completion and `config check` include a sink kind and a feed format of the tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "apps/millpond/command_line/arguments.hpp"
#include "apps/millpond/command_line/command.hpp"
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

/// Runs the program with the test's sink kind and feed format instead of the built-in ones.
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
    /// False if it printed a help page.
    bool parse(std::vector<std::string> words) {
        words.insert(words.begin(), "millpond");
        std::vector<char*> raw;
        for (auto& word : words) raw.push_back(word.data());
        return program_.parse(static_cast<int>(raw.size()), raw.data());
    }
    std::string help(const std::vector<std::string>& topic) {
        std::vector<std::string> words{"gateway", "--help"};
        words.insert(words.end(), topic.begin(), topic.end());
        return printed([&] { return parse(words) ? 1 : 0; });
    }

    Arguments program_{"millpond", "Test."};
    GatewayFlags flags_{gateway::beacon::kinds(), gateway::ticker::formats()};
};

TEST_F(Registry, AKindIsInTheHelpWithItsKeysAndTheirDefaults) {
    EXPECT_THAT(help({"sink", "beacon"}),
                AllOf(HasSubstr("a light that flashes for each quote, as [[beacon]]"), HasSubstr("--beacon"),
                      HasSubstr("Flashes for each quote. (default: 7)"), Not(HasSubstr("[[csv]]"))));
    EXPECT_THAT(help({"feed"}),
                AllOf(HasSubstr("ticker: size of each quote. (default: 7)"), Not(HasSubstr("max_orders"))));
}

TEST_F(Registry, AKindIsInTheManualPage) {
    const auto manual = manual_command(program_);
    ASSERT_TRUE(parse({"manual", "gateway"}));
    EXPECT_THAT(printed(manual.run),
                AllOf(HasSubstr("beacon"), HasSubstr("(default: 7)"), HasSubstr("ticker: size of each quote.")));
}

TEST_F(Registry, AKindIsCompleted) {
    const auto completion = completion_command(program_);
    ASSERT_TRUE(parse({"completion", "bash"}));
    EXPECT_THAT(printed(completion.run), AllOf(HasSubstr("--beacon"), HasSubstr("place= bursts=")));
}

TEST_F(Registry, AFormatIsCompletedWithItsKeys) {
    const auto completion = completion_command(program_);
    ASSERT_TRUE(parse({"completion", "bash"}));
    EXPECT_THAT(printed(completion.run), AllOf(HasSubstr("\"format=ticker "), HasSubstr(" lot_size=")));
}

TEST_F(Registry, AKindsFlagIsRead) {
    ASSERT_TRUE(parse({"gateway", "--beacon", "place=roof,bursts=2"}));
    settings::Errors errors;
    const auto config = flags_.read({}, errors);
    EXPECT_TRUE(errors.all().empty());
    ASSERT_EQ(config.sinks.size(), 1U);
    EXPECT_EQ(config.first<gateway::beacon::Settings>()->bursts, 2U);
}

TEST_F(Registry, AFormatsKeysAreReadFromTheFlag) {
    ASSERT_TRUE(parse({"gateway", "--feed", "listen=127.0.0.1:9000,format=ticker,lot_size=8"}));
    settings::Errors errors;
    auto config = flags_.read({}, errors);
    EXPECT_TRUE(errors.all().empty());
    ASSERT_EQ(config.feeds.size(), 1U);
    EXPECT_EQ(config.feeds[0].use<gateway::ticker::Settings>().lot, 8U);
}

TEST(RegistryCheck, AFormatIsChecked) {
    gateway::Config defaults;
    defaults.feed_formats = gateway::ticker::formats();
    const std::string feed = "[[feed]]\nlisten = '127.0.0.1:9000'\n";
    const test::ScratchFile good{"millpond_ticker.toml", feed + "format = 'ticker'\nlot_size = 2\n"};
    EXPECT_THAT(check_config(good.path(), {}, defaults), HasSubstr(": good: rings 1, feeds 1;"));
    const test::ScratchFile bad{"millpond_ticker_bad.toml", feed + "lot_size = 13\n"};
    EXPECT_THROW(static_cast<void>(check_config(bad.path(), {}, defaults)), gateway::ConfigError);
}

TEST(RegistryCheck, AKindIsCheckedWithItsSecrets) {
    gateway::Config defaults;
    defaults.sink_kinds = gateway::beacon::kinds();
    const std::string feed = "[[feed]]\nlisten = '127.0.0.1:9000'\n";
    const test::ScratchFile good{"millpond_beacon.toml", feed + "[[beacon]]\nplace = 'roof'\n"};
    EXPECT_EQ(check_config(good.path(), {}, defaults), good.path() + ": good: rings 1, feeds 1; sinks: beacon 1\n");
    const test::ScratchFile bad{"millpond_beacon_bad.toml",
                                feed + "[[beacon]]\nplace = 'roof'\npassword_file = '/nonexistent'\n"};
    EXPECT_THROW(static_cast<void>(check_config(bad.path(), {}, defaults)), gateway::ConfigError);
    EXPECT_NO_THROW(static_cast<void>(check_config(bad.path(), {.machine = false}, defaults)));
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
