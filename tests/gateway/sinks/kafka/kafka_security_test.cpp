// A whole gateway and a real Kafka that requires TLS, a password, or both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gateway/settings/config.hpp"
#include "gateway/sinks/kafka/settings.hpp"
#include "tests/gateway/receive/paced_quotes.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/gateway/sinks/kafka/kafka_broker.hpp"
#include "tests/gateway/sinks/kafka/real_kafka.hpp"
#include "tests/service/certificate.hpp"

namespace millpond::gateway {
namespace {

using test::KafkaBroker;
using test::PacedQuotes;
using test::RunningGateway;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kQuotes = 2'000;

class KafkaSecurity : public test::RealKafka {
protected:
    /// Writes `password` to a file for password_file; returns its path.
    std::string password_file(const std::string& password) {
        const auto path = folder_ / password;
        std::ofstream{path} << password << '\n';
        std::filesystem::permissions(path, std::filesystem::perms::owner_read);
        return path;
    }
    /// Properties of a broker that has this certificate and requires one from clients.
    std::vector<std::string> with_certificate(const millpond::test::Certificate& ours) {
        const auto keystore = folder_ / "keystore.pem";
        std::ofstream{keystore} << std::ifstream{ours.key}.rdbuf() << std::ifstream{ours.certificate}.rdbuf();
        return {"ssl.keystore.type=PEM",    "ssl.keystore.location=" + keystore,
                "ssl.truststore.type=PEM",  "ssl.truststore.location=" + ours.certificate,
                "ssl.client.auth=required", "ssl.endpoint.identification.algorithm="};
    }

    millpond::test::Certificate ours_{folder_, "localhost"};
    millpond::test::Certificate other_{folder_, "other"};
};

/// Properties, besides its protocol, of a broker that requires the password "right" from user "feed".
std::vector<std::string> with_password() {
    return {"sasl.enabled.mechanisms=PLAIN", "sasl.mechanism.inter.broker.protocol=PLAIN",
            "listener.name.plaintext.plain.sasl.jaas.config="
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            "username=\"feed\" password=\"right\" user_feed=\"right\";"};
}

std::string protocol(const std::string& name) {
    return fmt::format("listener.security.protocol.map=PLAINTEXT:{},CONTROLLER:PLAINTEXT", name);
}

/// Properties of a client that has a certificate and trusts `authority`.
std::vector<std::string> tls(const std::string& name, const std::string& authority,
                             const millpond::test::Certificate& ours) {
    return {"security.protocol=" + name, "ssl.ca.location=" + authority, "ssl.certificate.location=" + ours.certificate,
            "ssl.key.location=" + ours.key};
}

test::KafkaSettings pairs(const std::vector<std::string>& properties) {
    test::KafkaSettings pairs;
    for (const auto& property : properties) {
        const auto equals = property.find('=');
        pairs.emplace_back(property.substr(0, equals), property.substr(equals + 1));
    }
    return pairs;
}

TEST_F(KafkaSecurity, AWrongAuthorityIsNamedAndTheRightOneDeliversWhatWaitedOverTls) {
    auto settings = with_certificate(ours_);
    settings.push_back(protocol("SSL"));
    KafkaBroker broker{folder_, "localhost", settings};
    broker.start();
    Config config;
    RunningGateway gateway{"kafkatls", [&](Config& started) {
                               with_kafka(broker.brokers(), tls("ssl", other_.certificate, ours_))(started);
                               config = started;
                           }};
    complete(config);
    PacedQuotes quotes{gateway, journal_of(gateway)};
    quotes.send_up_to(kQuotes);
    EXPECT_THAT(gateway.found(health::Stage::sink_disconnected).text,
                AllOf(HasSubstr("events queued"), HasSubstr("certificate"), HasSubstr("ssl.ca.location")));
    EXPECT_EQ(sink_of(gateway).account().delivered, 0U);
    const auto right = tls("ssl", ours_.certificate, ours_);
    config.first<kafka::Settings>()->properties = right;
    EXPECT_THAT(gateway.gateway().reconfigure(config).done, ElementsAre("sink 'kafka' is closed", "sink 'kafka' runs"));
    EXPECT_TRUE(delivers(gateway, kQuotes));
    quotes.send_up_to(2 * kQuotes);
    EXPECT_TRUE(delivers(gateway, 2 * kQuotes));
    expect_settled(gateway, quotes);
    EXPECT_EQ(expect_complete(broker.brokers(), 2 * kQuotes, pairs(right)), 2 * kQuotes);
}

TEST_F(KafkaSecurity, ABrokerThatRequiresACertificateGetsOursOrNothingIsSent) {
    auto settings = with_certificate(ours_);
    settings.push_back(protocol("SSL"));
    KafkaBroker broker{folder_, "localhost", settings};
    broker.start();
    RunningGateway gateway{
        "kafkamtls", with_kafka(broker.brokers(), {"security.protocol=ssl", "ssl.ca.location=" + ours_.certificate})};
    gateway.send_quote();
    EXPECT_THAT(gateway.found(health::Stage::sink_disconnected).text,
                AllOf(HasSubstr("1 events queued"), HasSubstr("certificate")));
    EXPECT_EQ(sink_of(gateway).account().delivered, 0U);
}

class KafkaPassword : public KafkaSecurity, public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(All, KafkaPassword, ::testing::Values("SASL_PLAINTEXT", "SASL_SSL"),
                         [](const auto& all) { return std::string{all.param}; });

TEST_P(KafkaPassword, AWrongPasswordIsNamedAndTheRightOneDeliversWhatWaited) {
    auto settings = with_password();
    settings.push_back(protocol(GetParam()));
    auto properties = tls(GetParam(), ours_.certificate, ours_);
    if (GetParam() == std::string{"SASL_SSL"}) {
        const auto more = with_certificate(ours_);
        settings.insert(settings.end(), more.begin(), more.end());
    }
    KafkaBroker broker{folder_, "localhost", settings};
    broker.start();
    properties.insert(properties.end(), {"sasl.mechanisms=PLAIN", "sasl.username=feed"});
    const auto with = [&](const std::string& password) {
        return [&, file = password_file(password)](Config& config) {
            with_kafka(broker.brokers(), properties)(config);
            config.first<kafka::Settings>()->password.file = file;
        };
    };
    {
        RunningGateway gateway{"kafkasasl", with("wrong")};
        gateway.send_quote();
        EXPECT_THAT(gateway.found(health::Stage::sink_disconnected).text,
                    AllOf(HasSubstr("1 events queued"), HasSubstr("Authentication failed")));
        EXPECT_EQ(sink_of(gateway).account().delivered, 0U);
    }
    RunningGateway gateway{"kafkasasl", with("right")};
    EXPECT_TRUE(delivers(gateway, 1));
}

}  // namespace
}  // namespace millpond::gateway
