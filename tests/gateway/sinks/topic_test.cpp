#include "gateway/sinks/topic.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

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
    EXPECT_EQ((TopicTemplate{"{symbol}", TopicRules::kafka}.name(kVenue, feed::Symbol{"BRK/B é"})), "BRK_B___");
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
