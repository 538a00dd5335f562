// A whole gateway and a real Kafka in KRaft mode that dies, or that the network hides, among the quotes.
//   MILLPOND_KAFKA_JARS=$(tools/fetch_kafka) ctest --preset dev -R KafkaOutage
// MILLPOND_BROKER_QUOTES=1000000 sends a million quotes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gateway/config/config.hpp"
#include "gateway/sinks/kafka/value.hpp"
#include "tests/gateway/certificate.hpp"
#include "tests/gateway/kafka_broker.hpp"
#include "tests/gateway/kafka_cluster.hpp"
#include "tests/gateway/network_cut.hpp"
#include "tests/gateway/paced_quotes.hpp"
#include "tests/gateway/running_gateway.hpp"

namespace millpond::gateway {
namespace {

using test::KafkaBroker;
using test::KafkaReader;
using test::PacedQuotes;
using test::RunningGateway;
using ::testing::HasSubstr;

constexpr std::uint64_t kUsualQuotes = 20'000;
constexpr int kPartitions = 3;  // tools/kafka_broker's

class KafkaOutage : public ::testing::Test {
protected:
    void SetUp() override {
        if (!KafkaBroker::is_there()) GTEST_SKIP() << "needs MILLPOND_KAFKA_JARS=$(tools/fetch_kafka)";
    }
    std::function<void(Config&)> with_kafka(const std::string& brokers, const std::vector<std::string>& properties) {
        return [this, brokers, properties](Config& config) {
            config.journals.emplace_back().folder = folder_ / "journal";
            auto& kafka = config.kafka.emplace_back();
            kafka.brokers = {brokers};
            kafka.format = kafka::Format::binary;
            kafka.properties = {"reconnect.backoff.ms=10", "reconnect.backoff.max.ms=200"};
            kafka.properties.insert(kafka.properties.end(), properties.begin(), properties.end());
        };
    }
    static const Consumer& sink_of(RunningGateway& gateway) { return *gateway.gateway().sinks().back(); }
    /// The journal must not be lapped: that would be a loss before Kafka.
    static const Consumer* journal_of(RunningGateway& gateway) { return gateway.gateway().sinks().front().get(); }
    static bool delivers(RunningGateway& gateway, std::uint64_t count) {
        constexpr std::int64_t kLongestNs = 600'000'000'000;
        const auto until = core::monotonic_nanos() + kLongestNs;
        while (sink_of(gateway).account().delivered < count) {
            if (core::monotonic_nanos() > until) return false;
            gateway.gateway().watch();
            ::poll(nullptr, 0, 1);
        }
        return true;
    }
    /// That the topic holds each quote, of each symbol in order; how many messages it holds.
    static std::size_t expect_complete(const std::string& brokers, std::uint64_t count) {
        KafkaReader reader{brokers, {"bbo"}, kPartitions};
        EXPECT_TRUE(reader.until([&] { return reader.sequences.size() == count; })) << reader.sequences.size();
        std::map<std::string, std::uint64_t> newest;
        std::map<std::string, std::uint64_t> next;
        for (std::uint64_t n = 1; n <= PacedQuotes::kSymbols; ++n) next[PacedQuotes::symbol(n)] = n;
        for (const auto& message : reader.received) {
            auto& last = newest[message.key];
            if (message.sequence <= last) continue;  // sent again
            last = message.sequence;
            feed::Quote quote;
            std::memcpy(&quote, message.value.data() + kafka::kValueHeadBytes, sizeof(quote));
            auto& expected = next.at(message.key);
            EXPECT_EQ(static_cast<std::uint64_t>(quote.bid_price), expected) << message.key;
            if (static_cast<std::uint64_t>(quote.bid_price) != expected) break;
            expected += PacedQuotes::kSymbols;
        }
        return reader.received.size();
    }
    static void expect_settled(RunningGateway& gateway, PacedQuotes& quotes) {
        quotes.expect_all_received();
        for (const auto& sink : gateway.gateway().sinks()) {
            const auto account = sink->account();
            EXPECT_TRUE(account.closes()) << sink->name();
            EXPECT_EQ(account.missed, 0U) << sink->name();
        }
    }

    test::Folder folder_{"kafkaoutage"};
};

TEST_F(KafkaOutage, ABrokerThatIsKilledAmongTheQuotesLeavesTheTopicCompleteAndInOrder) {
    const auto count = test::broker_quotes(kUsualQuotes);
    KafkaBroker broker{folder_};
    broker.start();
    RunningGateway gateway{"kafkakill", with_kafka(broker.brokers(), {})};
    PacedQuotes quotes{gateway, journal_of(gateway)};
    quotes.send_up_to(count / 3);
    ASSERT_TRUE(delivers(gateway, 1));
    quotes.send_up_to(count / 2);
    broker.kill_now();
    quotes.send_up_to(2 * count / 3);
    broker.start();
    quotes.send_up_to(count);
    ASSERT_TRUE(delivers(gateway, count));
    expect_settled(gateway, quotes);
    const auto messages = expect_complete(broker.brokers(), count);
    if (test::metric_of(sink_of(gateway), "restarts_total") == 0) {
        EXPECT_EQ(messages, count);  // nothing is repeated while the producer lives
    }
}

TEST_F(KafkaOutage, ANetworkThatIsCutAmongTheQuotesLeavesTheTopicCompleteAndInOrder) {
    const auto count = test::broker_quotes(kUsualQuotes);
    std::string why;
    const auto network = test::NetworkCut::make(why);
    if (!network) GTEST_SKIP() << why;
    network->enter_far();
    KafkaBroker broker{folder_, test::NetworkCut::kBroker};
    broker.start();
    network->enter_near();
    {
        RunningGateway gateway{"kafkacut", with_kafka(broker.brokers(), {"socket.timeout.ms=2000"})};
        PacedQuotes quotes{gateway, journal_of(gateway)};
        quotes.send_up_to(count / 3);
        ASSERT_TRUE(delivers(gateway, 1));
        network->begin();
        quotes.send_up_to(2 * count / 3);
        EXPECT_EQ(gateway.found(health::Stage::sink_behind).of, "sink 'kafka'");
        EXPECT_TRUE(
            gateway.watch_until([](const health::State& state) {  // it takes a while to know that nobody answers
                return state.sinks.back().last_error.find("kafka sink 'kafka': ") != std::string::npos;
            }));
        network->end();
        quotes.send_up_to(count);
        ASSERT_TRUE(delivers(gateway, count));
        expect_settled(gateway, quotes);
    }
    expect_complete(broker.brokers(), count);
}

TEST_F(KafkaOutage, AWrongPasswordIsNamedAndTheRightOneDeliversWhatWaited) {
    KafkaBroker broker{folder_,
                       "127.0.0.1",
                       {"listener.security.protocol.map=PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
                        "sasl.enabled.mechanisms=PLAIN", "sasl.mechanism.inter.broker.protocol=PLAIN",
                        "listener.name.plaintext.plain.sasl.jaas.config="
                        "org.apache.kafka.common.security.plain.PlainLoginModule required "
                        "username=\"feed\" password=\"right\" user_feed=\"right\";"}};
    broker.start();
    const auto with_password = [&](const char* file) {
        return [this, file, &broker](Config& config) {
            with_kafka(broker.brokers(),
                       {"security.protocol=sasl_plaintext", "sasl.mechanisms=PLAIN", "sasl.username=feed"})(config);
            config.kafka[0].password.file = folder_ / file;
        };
    };
    for (const std::string password : {"wrong", "right"}) {
        std::ofstream{folder_ / password} << password << '\n';
        std::filesystem::permissions(folder_ / password, std::filesystem::perms::owner_read);
    }
    {
        RunningGateway gateway{"kafkasasl", with_password("wrong")};
        gateway.send_quote();
        EXPECT_THAT(gateway.found(health::Stage::sink_behind).text,
                    ::testing::AllOf(HasSubstr("1 events wait"), HasSubstr("Authentication failed")));
        EXPECT_EQ(sink_of(gateway).account().delivered, 0U);
    }
    RunningGateway gateway{"kafkasasl", with_password("right")};
    EXPECT_TRUE(delivers(gateway, 1));
}

}  // namespace
}  // namespace millpond::gateway
