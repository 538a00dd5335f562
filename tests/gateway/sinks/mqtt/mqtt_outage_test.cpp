// A whole gateway and a real mosquitto that is killed, or cut off by the network, while quotes are sent.
// MILLPOND_BROKER_QUOTES=1000000 sends a million quotes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <millpond/feed/decimal.hpp>

#include "gateway/settings/config.hpp"
#include "gateway/sinks/mqtt/settings.hpp"
#include "tests/gateway/network_cut.hpp"
#include "tests/gateway/receive/paced_quotes.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/gateway/sinks/mqtt/mosquitto_broker.hpp"
#include "tests/service/certificate.hpp"

namespace millpond::gateway {
namespace {

using test::metric_of;
using test::MosquittoBroker;
using test::MosquittoSubscriber;
using test::PacedQuotes;
using test::RunningGateway;

constexpr std::uint64_t kUsualQuotes = 24'000;

/// Adds two sinks to the broker: one for every quote, one for the newest quotes.
std::function<void(Config&)> with_mqtt(const MosquittoBroker& broker) {
    return [&broker](Config& config) {
        config.rings[0].capacity = 4'096;
        for (const auto mode : {Delivery::every, Delivery::conflate}) {
            auto& sink = config.add<mqtt::Settings>();
            sink.name = mode == Delivery::every ? "every" : "newest";
            sink.topic = sink.name + "/{symbol}";
            sink.host = broker.address();
            sink.port = broker.port();
            sink.qos = 1;
            sink.mode = mode;
            sink.window = 256;
            sink.reconnect = std::chrono::milliseconds{5};
            sink.max_reconnect = std::chrono::milliseconds{50};
        }
    };
}

const Consumer& sink_of(RunningGateway& gateway, std::string_view name) {
    for (const auto& sink : gateway.gateway().sinks()) {
        if (sink->name() == name) return *sink;
    }
    throw std::runtime_error("no such sink");
}

class MqttOutage : public ::testing::Test {
protected:
    void SetUp() override {
        if (!MosquittoBroker::is_installed()) GTEST_SKIP() << "mosquitto is not installed";
    }
    /// Waits until each sink is connected.
    static bool connects(RunningGateway& gateway, std::uint64_t times) {
        return gateway.watch_until([&](const health::State&) {
            return metric_of(sink_of(gateway, "every"), "connects_total") >= times &&
                   metric_of(sink_of(gateway, "newest"), "connects_total") >= times;
        });
    }
    /// Expects that all events are passed on and that each is counted once.
    static void expect_settled(RunningGateway& gateway, const PacedQuotes& quotes) {
        for (const auto* name : {"every", "newest"}) {
            const auto& sink = sink_of(gateway, name);
            EXPECT_TRUE(gateway.watch_until([&](const health::State&) { return sink.account().queued == 0; }));
            const auto account = sink.account();
            EXPECT_EQ(account.published, quotes.published()) << name;
            EXPECT_TRUE(account.closes()) << name;
        }
    }
    /// Expects that the broker has the last quote of each symbol.
    static void expect_newest(MosquittoSubscriber& subscriber, const std::string& topic, const PacedQuotes& quotes) {
        for (std::uint64_t n = 1; n <= PacedQuotes::kSymbols; ++n) {
            std::array<char, feed::kMaxPriceChars + feed::kDecimalSlack> price;
            const auto newest = static_cast<feed::Price>(PacedQuotes::newest_of(n, quotes.sent()));
            const std::string text{price.data(), feed::write_price(price.data(), newest)};
            const auto bid = fmt::format(R"("bid":{{"price":{},)", text);
            EXPECT_TRUE(subscriber.until([&] {
                return subscriber.newest(topic + PacedQuotes::symbol(n)).find(bid) != std::string::npos;
            })) << bid
                << subscriber.newest(topic + PacedQuotes::symbol(n));
        }
    }

    millpond::test::Folder folder_{"mqttoutage"};
};

TEST_F(MqttOutage, ABrokerThatIsKilledAmongTheQuotesCostsTheReceivePathNothingAndEveryQuoteIsCounted) {
    const auto count = test::broker_quotes(kUsualQuotes);
    MosquittoBroker broker{folder_};
    RunningGateway gateway{"mqttkill", with_mqtt(broker)};
    ASSERT_TRUE(connects(gateway, 1));
    PacedQuotes quotes{gateway, &sink_of(gateway, "newest")};
    quotes.send_up_to(count / 3);
    broker.kill_now();
    quotes.send_up_to(2 * count / 3);
    broker.start();
    ASSERT_TRUE(connects(gateway, 2));
    quotes.send_up_to(count);
    quotes.expect_all_received();
    expect_settled(gateway, quotes);
    EXPECT_NE(sink_of(gateway, "every").account().missed, 0U);  // the ring is much smaller than the outage
    EXPECT_NE(sink_of(gateway, "newest").account().conflated, 0U);
    EXPECT_EQ(sink_of(gateway, "newest").account().missed, 0U);
    MosquittoSubscriber subscriber{broker};
    expect_newest(subscriber, "newest/", quotes);
}

TEST_F(MqttOutage, ANetworkThatIsCutAmongTheQuotesLosesWhatIsCountedAndNothingElse) {
    const auto count = test::broker_quotes(kUsualQuotes);
    std::string why;
    const auto network = test::NetworkCut::make(why);
    if (!network) GTEST_SKIP() << why;
    network->enter_far();
    const MosquittoBroker broker{folder_, "allow_anonymous true\n", test::NetworkCut::kBroker};
    MosquittoSubscriber subscriber{broker};
    network->enter_near();
    RunningGateway gateway{"mqttcut", with_mqtt(broker)};
    ASSERT_TRUE(connects(gateway, 1));
    PacedQuotes quotes{gateway, &sink_of(gateway, "newest")};
    const auto receive = [&] { static_cast<void>(subscriber.until([] { return true; })); };
    quotes.send_up_to(count / 3);
    network->begin();
    quotes.send_up_to(2 * count / 3);
    network->end();
    quotes.send_up_to(count);
    quotes.expect_all_received();
    receive();
    expect_settled(gateway, quotes);
    expect_newest(subscriber, "every/", quotes);
    expect_newest(subscriber, "newest/", quotes);
    for (const auto* name : {"every", "newest"}) {
        std::set<std::int64_t> got;
        for (const auto& message : subscriber.received) {
            if (message.topic.starts_with(name)) got.insert(number_in(message.payload, "sequence"));
        }
        const auto account = sink_of(gateway, name).account();
        EXPECT_EQ(got.size(), account.delivered - account.snapshot) << name;
        EXPECT_EQ(account.delivered + account.filtered + account.conflated + account.missed, quotes.published());
    }
    EXPECT_NE(sink_of(gateway, "every").account().missed, 0U);
    EXPECT_NE(sink_of(gateway, "newest").account().conflated, 0U);
    EXPECT_EQ(sink_of(gateway, "newest").account().missed, 0U);
}

}  // namespace
}  // namespace millpond::gateway
