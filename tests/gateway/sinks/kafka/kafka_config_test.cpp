#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "gateway/settings/config.hpp"
#include "gateway/sinks/kafka/settings.hpp"
#include "tests/gateway/settings/config_text.hpp"

namespace millpond::gateway {
namespace {

constexpr std::string_view kJournal = "[[journal]]\nname = 'all'\nfolder = '/var/tmp/all'\n";

TEST(KafkaConfig, EveryKeyIsRead) {
    std::string text{kJournal};
    text += R"(
        [[kafka]]
        name = "k"
        brokers = ["a:9092", "b:9092"]
        topic = "bbo.{venue}"
        events_topic = "events"
        levels_topic = "levels.{symbol}"
        orders_topic = "orders"
        format = "binary"
        compression = "zstd"
        password_env = "SECRET"
        properties = ["security.protocol=sasl_ssl", "sasl.mechanisms=SCRAM-SHA-512", "sasl.username=me"]
    )";
    const auto config = from_toml(text);
    const auto* settings = config.first<kafka::Settings>();
    ASSERT_NE(settings, nullptr);
    const auto& kafka = *settings;
    EXPECT_EQ(kafka.journal, "all");
    EXPECT_EQ(kafka.ring, "main");
    EXPECT_THAT(kafka.brokers, ::testing::ElementsAre("a:9092", "b:9092"));
    EXPECT_EQ(kafka.topic, "bbo.{venue}");
    EXPECT_EQ(kafka.levels_topic, "levels.{symbol}");
    EXPECT_EQ(kafka.orders_topic, "orders");
    EXPECT_EQ(kafka.format, kafka::Format::binary);
    EXPECT_EQ(kafka.compression, "zstd");
    EXPECT_EQ(kafka::key_and_value(kafka.properties[1]),
              (std::pair<std::string, std::string>{"sasl.mechanisms", "SCRAM-SHA-512"}));
}

TEST(KafkaConfig, WhatIsWrongIsNamed) {
    const std::string journal{kJournal};
    EXPECT_EQ(error_of("[[kafka]]"), "gw.toml:1: [[kafka]] 'kafka': needs a [[journal]] to follow");
    EXPECT_EQ(error_of(journal + "[[kafka]]\njournal = 'some'"),
              "gw.toml:4: [[kafka]] 'kafka': journal 'some' does not exist");
    EXPECT_EQ(error_of(journal + "[[kafka]]\nproperties = ['acks=1']"),
              "gw.toml:4: [[kafka]] 'kafka': property 'acks' must not be changed");
    EXPECT_EQ(error_of(journal + "[[kafka]]\nproperties = ['lingr.ms=1']"),
              "gw.toml:4: [[kafka]] 'kafka': No such configuration property: \"lingr.ms\"");
    EXPECT_EQ(error_of(journal + "[[kafka]]\nproperties = ['linger.ms']"),
              "gw.toml:4: [[kafka]] 'kafka': property 'linger.ms': expects KEY=VALUE");
    EXPECT_EQ(error_of(journal + "[[kafka]]\ntopic = 'bbo/{symbol}'"),
              "gw.toml:4: [[kafka]] 'kafka': topic 'bbo/{symbol}': character '/' is not allowed in a topic");
    EXPECT_EQ(error_of(journal + "[[kafka]]\nlevels_topic = 'l/{symbol}'"),
              "gw.toml:4: [[kafka]] 'kafka': levels_topic 'l/{symbol}': character '/' is not allowed in a topic");
    EXPECT_EQ(error_of(journal + "[[kafka]]\norders_topic = '{name}'"),
              "gw.toml:4: [[kafka]] 'kafka': orders_topic '{name}': '{name}' is unknown; known are {symbol} and "
              "{venue}");
    EXPECT_EQ(error_of(journal + "[[kafka]]\nlevels_topic = 'books'\norders_topic = 'books'"),
              "gw.toml:4: [[kafka]] 'kafka': orders_topic 'books' is the same as levels_topic");
    EXPECT_EQ(error_of(journal + "[[kafka]]\nlevels_topic = 'bbo'"),
              "gw.toml:4: [[kafka]] 'kafka': levels_topic 'bbo' is the same as topic");
    EXPECT_EQ(error_of(journal + "[[kafka]]\norders_topic = 'millpond.events'"),
              "gw.toml:4: [[kafka]] 'kafka': orders_topic 'millpond.events' is the same as events_topic");
}

}  // namespace
}  // namespace millpond::gateway
