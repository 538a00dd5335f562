#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "gateway/gateway.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/settings/read.hpp"
#include "gateway/settings/value.hpp"
#include "gateway/sinks/mqtt/settings.hpp"
#include "tests/gateway/settings/config_text.hpp"
#include "tests/gateway/sinks/mqtt/mosquitto_broker.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/service/certificate.hpp"

namespace millpond::gateway {
namespace {

TEST(MqttConfig, EveryKeyIsRead) {
    const auto config = from_toml(R"(
        [[mqtt]]
        broker = "[::1]:8883"
        topic = "q/{venue}/{symbol}"
        book_topic = "b/{symbol}"
        book_depth = 5
        client_id = "gw1"
        protocol = "3.1.1"
        qos = 1
        retain = false
        mode = "every"
        user = "feed"
        password_env = "SECRET"
        tls_ca = "ca.pem"
    )");
    ASSERT_EQ(config.sinks.size(), 1U);
    const auto& mqtt = *config.first<mqtt::Settings>();
    EXPECT_EQ(mqtt.host, "::1");
    EXPECT_EQ(mqtt.port, 8'883);
    EXPECT_EQ(mqtt.topic, "q/{venue}/{symbol}");
    EXPECT_EQ(mqtt.book_topic, "b/{symbol}");
    EXPECT_EQ(mqtt.book_depth, 5U);
    EXPECT_EQ(mqtt.state_topic, "millpond/mqtt");
    EXPECT_EQ(mqtt.protocol, mqtt::Protocol::v3_1_1);
    EXPECT_EQ(mqtt.qos, 1);
    EXPECT_FALSE(mqtt.retain);
    EXPECT_EQ(mqtt.mode, Delivery::every);
    EXPECT_EQ(mqtt.password.environment, "SECRET");
    EXPECT_TRUE(mqtt.tls.on);
}

TEST(MqttConfig, WhatIsWrongIsNamed) {
    EXPECT_EQ(error_of("[[mqtt]]\nbroker = 'localhost'"),
              "gw.toml:2: key 'broker' of [[mqtt]] expects HOST:PORT, found 'localhost'");
    EXPECT_EQ(error_of("[[mqtt]]\nbroker = 'localhost:99999'"),
              "gw.toml:2: key 'broker' of [[mqtt]] expects HOST:PORT, found 'localhost:99999'");
    EXPECT_EQ(error_of("[[mqtt]]\ntopic = 'bbo/{sym}'"),
              "gw.toml:1: [[mqtt]] 'mqtt': topic 'bbo/{sym}': '{sym}' is unknown; known are {symbol} and {venue}");
    EXPECT_EQ(error_of("[[mqtt]]\ntls_key = 'k.pem'"),
              "gw.toml:1: [[mqtt]] 'mqtt': tls_certificate and tls_key go together");
    EXPECT_EQ(error_of("[[mqtt]]\npassword_env = 'X'"), "gw.toml:1: [[mqtt]] 'mqtt': password without a user");
    EXPECT_EQ(error_of("[[mqtt]]\ntopic = 'bbo'"),
              "gw.toml:1: [[mqtt]] 'mqtt': topic 'bbo' has no {symbol}: the broker would retain a single "
              "quote for all instruments; use retain = false");
    EXPECT_EQ(error_of("[[mqtt]]\ntopic = 'bbo'\nretain = false"), "no error");
    EXPECT_EQ(error_of("[[mqtt]]\n[[mqtt]]\nname = 'b'"),
              "gw.toml:2: [[mqtt]] 'b': output 'bbo/{symbol} of ring main at 127.0.0.1:1883' is used twice");
    EXPECT_EQ(error_of("[[mqtt]]\nclient_id = 'x'\n[[mqtt]]\nname = 'b'\ntopic = 'b/{symbol}'\nclient_id = 'x'"),
              "gw.toml:3: [[mqtt]] 'b': output 'client x at 127.0.0.1:1883' is used twice");
    EXPECT_EQ(error_of("[[mqtt]]\n[[mqtt]]"),
              "gw.toml:2: [[mqtt]] 'mqtt': name 'mqtt' is used twice\n"
              "gw.toml:2: [[mqtt]] 'mqtt': output 'bbo/{symbol} of ring main at 127.0.0.1:1883' is used twice");
}

TEST(MqttConfig, WhatIsWrongWithABookTopicIsNamed) {
    EXPECT_EQ(
        error_of("[[mqtt]]\nbook_topic = 'book/{sym}'"),
        "gw.toml:1: [[mqtt]] 'mqtt': book_topic 'book/{sym}': '{sym}' is unknown; known are {symbol} and {venue}");
    EXPECT_EQ(error_of("[[mqtt]]\nbook_topic = 'book/{venue}'"),
              "gw.toml:1: [[mqtt]] 'mqtt': book_topic 'book/{venue}' has no {symbol}: the broker would retain a single "
              "book for all instruments; use retain = false");
    EXPECT_EQ(error_of("[[mqtt]]\nbook_topic = 'bbo/{symbol}'"),
              "gw.toml:1: [[mqtt]] 'mqtt': book_topic 'bbo/{symbol}' is the topic of the quotes");
    EXPECT_EQ(error_of("[[mqtt]]\nbook_depth = 5"), "gw.toml:1: [[mqtt]] 'mqtt': book_depth: needs book_topic");
    EXPECT_EQ(error_of("[[mqtt]]\nbook_topic = 'b/{symbol}'\nbook_depth = 51"),
              "gw.toml:3: key 'book_depth' of [[mqtt]] expects an integer from 1 to 50, found the integer 51");
    EXPECT_EQ(error_of("[[mqtt]]\nbook_topic = 'b/{symbol}'\n[[mqtt]]\nname = 'b'\ntopic = 'b/{symbol}'"),
              "gw.toml:3: [[mqtt]] 'b': output 'b/{symbol} of ring main at 127.0.0.1:1883' is used twice");
}

TEST(MqttConfig, AGatewayRunsWhatItSays) {
    if (!test::MosquittoBroker::is_installed()) GTEST_SKIP() << "mosquitto is not installed";
    const millpond::test::Folder folder{"mqttconfig"};
    const test::MosquittoBroker broker{folder};
    test::MosquittoSubscriber subscriber{broker};
    Config config;
    read_flag("metrics", "off", config);
    read_table_flag("ring", "name=" + ring_name("mqttconfig") + ",capacity=1024,max_instruments=16", config);
    read_table_flag("mqtt", "state_topic=here,broker=127.0.0.1:" + std::to_string(broker.port()), config);
    complete(config);
    service::Log log{service::Severity::warning, service::LogFormat::text};
    {
        Gateway gateway{config, log};
        gateway.start();
        EXPECT_TRUE(subscriber.until([&] { return subscriber.newest("here") == R"({"state":"online"})"; }));
    }
    EXPECT_TRUE(
        subscriber.until([&] { return subscriber.newest("here") == R"({"state":"offline","reason":"stopped"})"; }));
}

}  // namespace
}  // namespace millpond::gateway
