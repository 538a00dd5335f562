#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>

#include "gateway/config/config.hpp"
#include "gateway/gateway.hpp"
#include "tests/gateway/certificate.hpp"
#include "tests/gateway/config_text.hpp"
#include "tests/gateway/kafka_cluster.hpp"
#include "tests/gateway/ring_fixture.hpp"
#include "tests/gateway/running_gateway.hpp"

namespace millpond::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kJournal = "[[journal]]\nname = 'all'\nfolder = '/var/tmp/all'\n";

TEST(KafkaConfig, EveryKeyIsRead) {
    std::string text{kJournal};
    text += R"(
        [[kafka]]
        name = "k"
        brokers = ["a:9092", "b:9092"]
        topic = "bbo.{venue}"
        events_topic = "events"
        format = "binary"
        compression = "zstd"
        window = 100
        password_env = "SECRET"
        properties = ["security.protocol=sasl_ssl", "sasl.mechanisms=SCRAM-SHA-512", "sasl.username=me"]
    )";
    const auto config = from_toml(text);
    ASSERT_EQ(config.kafka.size(), 1U);
    const auto& kafka = config.kafka[0];
    EXPECT_EQ(kafka.journal, "all");
    EXPECT_EQ(kafka.ring, "main");
    EXPECT_EQ(kafka.position_file, "/var/tmp/all/k.position");
    const auto options = unchecked_kafka_options(kafka);
    EXPECT_EQ(options.brokers, "a:9092,b:9092");
    EXPECT_EQ(options.topic, "bbo.{venue}");
    EXPECT_EQ(options.format, kafka::Format::binary);
    EXPECT_EQ(options.compression, "zstd");
    EXPECT_EQ(options.window, 100U);
    EXPECT_EQ(options.properties[1].first, "sasl.mechanisms");
    EXPECT_EQ(options.properties[1].second, "SCRAM-SHA-512");
}

TEST(KafkaConfig, WhatIsWrongIsNamed) {
    const std::string journal{kJournal};
    EXPECT_EQ(error_of("[[kafka]]"), "[[kafka]] 'kafka': needs a [[journal]] to follow");
    EXPECT_EQ(error_of(journal + "[[kafka]]\njournal = 'some'"), "[[kafka]] 'kafka': journal 'some' does not exist");
    EXPECT_EQ(error_of(journal + "[[kafka]]\nproperties = ['acks=1']"),
              "[[kafka]] 'kafka': property 'acks' is not to be changed");
    EXPECT_EQ(error_of(journal + "[[kafka]]\nproperties = ['lingr.ms=1']"),
              "[[kafka]] 'kafka': No such configuration property: \"lingr.ms\"");
    EXPECT_EQ(error_of(journal + "[[kafka]]\nproperties = ['linger.ms']"),
              "[[kafka]] 'kafka': property 'linger.ms': expects KEY=VALUE");
    EXPECT_EQ(error_of(journal + "[[kafka]]\ntopic = 'bbo/{symbol}'"),
              "[[kafka]] 'kafka': topic 'bbo/{symbol}': character '/' has no place in a topic");
}

/// A gateway with a journal and a kafka sink that follows it.
std::function<void(Config&)> with_kafka(const test::Folder& folder, const std::string& brokers) {
    return [&folder, brokers](Config& config) {
        auto& journal = config.journals.emplace_back();
        journal.folder = folder / "journal";
        journal.segment_bytes = 1U << 20U;
        config.kafka.emplace_back().brokers = {brokers};
    };
}

TEST(KafkaGateway, ADeadBrokerIsNamedByItsHealthAndTheEventsWait) {
    const test::Folder folder{"kafkahealth"};
    const test::MockCluster cluster;
    cluster.take_down();
    test::RunningGateway gateway{"kafkahealth", with_kafka(folder, cluster.brokers())};
    gateway.send_quote();
    const auto found = gateway.found(health::Stage::sink_behind);
    EXPECT_EQ(found.of, "sink 'kafka'");
    EXPECT_THAT(found.text, AllOf(HasSubstr("1 events wait"), HasSubstr("kafka sink 'kafka': ")));
    cluster.bring_up();
    EXPECT_TRUE(gateway.becomes_good());
}

TEST(KafkaGateway, ASinkGoesAndComesWithItsJournal) {
    const test::Folder folder{"kafkareload"};
    const test::MockCluster cluster;
    Config config;
    test::RunningGateway gateway{"kafkareload", [&](Config& begun) {
                                     with_kafka(folder, cluster.brokers())(begun);
                                     config = begun;
                                 }};
    complete(config);
    const auto& sinks = gateway.gateway().sinks();
    ASSERT_EQ(sinks.size(), 2U);
    EXPECT_EQ(sinks[1]->type(), "kafka");
    EXPECT_EQ(sinks[1]->ring(), config.rings[0].name);
    EXPECT_THAT(gateway.gateway().reconfigure(config).done, IsEmpty());
    config.journals[0].keep_hours = 1;
    EXPECT_THAT(
        gateway.gateway().reconfigure(config).done,
        ElementsAre("sink 'kafka' is closed", "sink 'journal' is closed", "sink 'journal' runs", "sink 'kafka' runs"));
    gateway.send_quote();
    EXPECT_TRUE(gateway.watch_until([&](const health::State&) { return sinks[1]->account().delivered == 1; }));
    config.kafka[0].properties = {"linger.ms=1"};
    EXPECT_THAT(gateway.gateway().reconfigure(config).done, ElementsAre("sink 'kafka' is closed", "sink 'kafka' runs"));
    EXPECT_TRUE(sinks[1]->account().closes());
    EXPECT_FALSE(sinks[1]->ended());
}

}  // namespace
}  // namespace millpond::gateway
