// A whole gateway and a real Kafka in KRaft mode that is killed, or cut off by the network, while quotes are sent.
//   MILLPOND_KAFKA_JARS=$(tools/fetch_kafka) ctest --preset dev -R KafkaOutage
// MILLPOND_BROKER_QUOTES=1000000 sends a million quotes.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/gateway/network_cut.hpp"
#include "tests/gateway/receive/paced_quotes.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/gateway/sinks/kafka/kafka_broker.hpp"
#include "tests/gateway/sinks/kafka/real_kafka.hpp"

namespace millpond::gateway {
namespace {

using test::KafkaBroker;
using test::PacedQuotes;
using test::RunningGateway;

constexpr std::uint64_t kUsualQuotes = 20'000;

class KafkaOutage : public test::RealKafka {};

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
        EXPECT_EQ(messages, count);  // one producer repeats nothing
    }
}

TEST_F(KafkaOutage, ABrokerThatTakesOnlySmallBatchesGetsEveryQuoteInOrder) {
    KafkaBroker broker{folder_, "127.0.0.1", {"message.max.bytes=5000"}};
    broker.start();
    RunningGateway gateway{"kafkasmall", with_kafka(broker.brokers(), {})};
    PacedQuotes quotes{gateway, journal_of(gateway)};
    quotes.send_up_to(kUsualQuotes);
    ASSERT_TRUE(delivers(gateway, kUsualQuotes));
    EXPECT_TRUE(gateway.watch_until([](const health::State& state) {  // the reason, instead of "purged"
        return state.sinks.back().last_error.find("Message size too large") != std::string::npos;
    }));
    expect_settled(gateway, quotes);
    expect_complete(broker.brokers(), kUsualQuotes);
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
        EXPECT_EQ(gateway.found(health::Stage::sink_disconnected).of, "sink 'kafka'");
        EXPECT_TRUE(gateway.watch_until([](const health::State& state) {  // detecting the silence takes a while
            return state.sinks.back().last_error.find("kafka sink 'kafka': ") != std::string::npos;
        }));
        network->end();
        quotes.send_up_to(count);
        ASSERT_TRUE(delivers(gateway, count));
        expect_settled(gateway, quotes);
    }
    expect_complete(broker.brokers(), count);
}

}  // namespace
}  // namespace millpond::gateway
