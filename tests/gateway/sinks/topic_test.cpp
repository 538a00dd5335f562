#include "gateway/sinks/topic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::gateway {
namespace {

const feed::Venue kVenue{"XNAS"};

TEST(TopicTemplate, PlacesAreFilledWithWhatTheInstrumentIsCalled) {
    EXPECT_EQ((TopicTemplate{"bbo/{symbol}", TopicRules::mqtt}.name(kVenue, feed::Symbol{"AAPL"})), "bbo/AAPL");
    EXPECT_EQ((TopicTemplate{"{venue}.{symbol}.x", TopicRules::kafka}.name(kVenue, feed::Symbol{"AAPL"})),
              "XNAS.AAPL.x");
    EXPECT_EQ((TopicTemplate{"bbo.{venue}", TopicRules::kafka}.name({}, feed::Symbol{"AAPL"})), "bbo.-");
}

TEST(TopicTemplate, WhatMeansSomethingInATopicIsEscaped) {
    EXPECT_EQ((TopicTemplate{"bbo/{symbol}", TopicRules::mqtt}.name(kVenue, feed::Symbol{"BRK/B+#%\x01"})),
              "bbo/BRK%2FB%2B%23%25%01");
    EXPECT_EQ((TopicTemplate{"bbo/{symbol}", TopicRules::mqtt}.name(kVenue, feed::Symbol{"AB C"})), "bbo/AB C");
    EXPECT_EQ((TopicTemplate{"{symbol}", TopicRules::kafka}.name(kVenue, feed::Symbol{"BRK/B é"})), "BRK_2FB_20_C3_A9");
}

TEST(TopicTemplate, ADollarAtTheStartOfAnMqttTopicIsEscaped) {
    const auto topic = [](std::string_view text, const char* symbol) {
        return TopicTemplate{text, TopicRules::mqtt}.name(kVenue, feed::Symbol{symbol});
    };
    EXPECT_EQ(topic("{symbol}", "$SPX"), "%24SPX");
    EXPECT_EQ(topic("{symbol}", "A$B"), "A$B");
    EXPECT_EQ(topic("bbo/{symbol}", "$SPX"), "bbo/$SPX");
    EXPECT_EQ(topic("$own/{symbol}", "X"), "$own/X") << "as it was written";
}

TEST(TopicTemplate, KafkaTopicsOfDifferentSymbolsDifferAlsoWhereABrokerTakesDotsForUnderscores) {
    const TopicTemplate topic{"c.{symbol}", TopicRules::kafka};
    const auto folded = [&](const std::string& symbol) {
        auto name = topic.name(kVenue, feed::Symbol{symbol});
        EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"),
                  std::string::npos);
        std::ranges::replace(name, '.', '_');
        return name;
    };
    EXPECT_EQ(topic.name(kVenue, feed::Symbol{"BRK.B"}), "c.BRK.B");
    EXPECT_EQ(topic.name(kVenue, feed::Symbol{"BTC-USD"}), "c.BTC-USD");
    // All names of up to four special characters, and the empty name.
    constexpr std::string_view kCharacters = "A2+._-B";
    std::vector<std::string> symbols{""};
    std::set<std::string> seen{folded("")};
    for (std::size_t begin = 0, length = 1; length <= 4; ++length) {
        const auto end = symbols.size();
        for (; begin < end; ++begin) {
            for (const char c : kCharacters) {
                symbols.push_back(symbols[begin] + c);
                EXPECT_TRUE(seen.insert(folded(symbols.back())).second) << symbols.back();
            }
        }
    }
}

TEST(TopicTemplate, WhatIsNoTopicIsRefused) {
    EXPECT_THROW((TopicTemplate{"", TopicRules::mqtt}), std::invalid_argument);
    EXPECT_THROW((TopicTemplate{"bbo/#", TopicRules::mqtt}), std::invalid_argument);
    EXPECT_THROW((TopicTemplate{"bbo/{sym}", TopicRules::mqtt}), std::invalid_argument);
    EXPECT_THROW((TopicTemplate{"bbo/{symbol", TopicRules::mqtt}), std::invalid_argument);
    EXPECT_THROW((TopicTemplate{"bbo/{symbol}", TopicRules::kafka}), std::invalid_argument);
}

}  // namespace
}  // namespace millpond::gateway
