#include "gateway/sinks/mqtt/mqtt_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <millpond/core/clock.hpp>

#include "tests/gateway/json_lines/stream_socket.hpp"
#include "tests/gateway/sinks/mqtt/mosquitto_broker.hpp"
#include "tests/gateway/sinks/mqtt/mqtt_sink_fixture.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/service/certificate.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::gateway::mqtt {
namespace {

using test::MosquittoBroker;
using test::MosquittoSubscriber;
using ::testing::Contains;
using ::testing::HasSubstr;

const char* topic_of(std::uint64_t quote) { return quote % 2 == 0 ? "bbo/AAPL" : "bbo/MSFT"; }

class MqttVersions : public MqttSinkTest, public ::testing::WithParamInterface<std::tuple<Protocol, int>> {};

INSTANTIATE_TEST_SUITE_P(All, MqttVersions,
                         ::testing::Combine(::testing::Values(Protocol::v3_1_1, Protocol::v5), ::testing::Values(0, 1)),
                         [](const auto& all) {
                             return std::string{std::get<0>(all.param) == Protocol::v5 ? "V5" : "V3"} + "Qos" +
                                    std::to_string(std::get<1>(all.param));
                         });

TEST_P(MqttVersions, ASubscriberGetsEveryQuoteInOrderAndAsItIs) {
    constexpr std::uint64_t kQuotes = 1'000;
    const MosquittoBroker broker{folder_};
    MosquittoSubscriber subscriber{broker};
    TestRing ring{"mqtt1"};
    auto settings = to(broker, Delivery::every, std::get<1>(GetParam()));
    settings.protocol = std::get<0>(GetParam());
    auto sink = open(ring, settings);
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink); }));
    ring.publish_quotes(kQuotes);
    ASSERT_TRUE(subscriber.until([&] { return subscriber.received.size() == kQuotes + 2; },
                                 [&] { sink->round(core::monotonic_nanos()); }));
    EXPECT_EQ(subscriber.received[0].topic, "millpond/mqtt");
    EXPECT_EQ(subscriber.received[0].payload, kStarting);
    EXPECT_EQ(subscriber.received[1].payload, kOnline);
    for (std::uint64_t n = 1; n <= kQuotes; ++n) {
        ASSERT_EQ(subscriber.received[n + 1].topic, topic_of(n));
        ASSERT_EQ(subscriber.received[n + 1].payload, json_of(n));
    }
    ASSERT_TRUE(work(*sink, [&] { return is_idle(*sink); }));
    EXPECT_EQ(sink->account().delivered, kQuotes);
    EXPECT_TRUE(sink->account().closes());
    EXPECT_EQ(counters(*sink).messages.read(), kQuotes + 2);
}

TEST_F(MqttSinkTest, MessagesThatTheBrokerRefusesAreMissedWithTheReason) {
    constexpr std::uint64_t kQuotes = 40;
    std::ofstream{folder_ / "acl"} << "topic readwrite millpond/mqtt\ntopic readwrite bbo/AAPL\ntopic read bbo/MSFT\n";
    const MosquittoBroker broker{folder_, "allow_anonymous true\nacl_file " + folder_ / "acl" + "\n"};
    TestRing ring{"mqttacl"};
    auto sink = open(ring, to(broker));
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink); }));
    ring.publish_quotes(kQuotes);
    ASSERT_TRUE(work(*sink, [&] { return is_idle(*sink); }));
    const auto account = sink->account();
    EXPECT_EQ(account.delivered, kQuotes / 2);
    EXPECT_EQ(account.missed, kQuotes / 2);
    EXPECT_EQ(account.refused, kQuotes / 2);
    EXPECT_TRUE(account.closes());
    EXPECT_GE(counters(*sink).refused.read(), kQuotes / 2);
    EXPECT_TRUE(log_.has("the broker refuses a message for 'bbo/MSFT': Not authorized"));
}

TEST_F(MqttSinkTest, MessagesThatAreTooLargeForTheBrokerAreMissedWithTheReason) {
    constexpr std::uint64_t kQuotes = 40;
    for (const auto* limit : {"message_size_limit 100\n", "max_packet_size 100\n"}) {
        const MosquittoBroker broker{folder_, std::string{"allow_anonymous true\n"} + limit};
        TestRing ring{"mqttlarge"};
        auto sink = open(ring, to(broker));
        ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink); })) << limit;
        ring.publish_quotes(kQuotes);
        ASSERT_TRUE(work(*sink, [&] { return is_idle(*sink); })) << limit;
        EXPECT_EQ(sink->account().delivered, 0U) << limit;
        EXPECT_EQ(sink->account().refused, kQuotes) << limit;
        EXPECT_TRUE(sink->account().closes()) << limit;
        EXPECT_TRUE(log_.has("the broker refuses a message for 'bbo/MSFT': ")) << limit;
    }
}

TEST_P(MqttVersions, RetainedQuotesOfAnEarlierRunDoNotLookGood) {
    const MosquittoBroker broker{folder_};
    auto settings = to(broker, Delivery::conflate, std::get<1>(GetParam()));
    settings.protocol = std::get<0>(GetParam());
    {
        TestRing ring{"mqttold"};
        auto sink = open(ring, settings);
        ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink); }));
        ring.publish_quotes(2);
        ASSERT_TRUE(reaches(broker, *sink, "bbo/AAPL", R"("incomplete":false)"));
        ASSERT_TRUE(reaches(broker, *sink, "bbo/MSFT", R"("incomplete":false)"));
    }
    MosquittoSubscriber live{broker};
    TestRing ring{"mqttnew"};
    auto sink = open(ring, settings);
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink); }));
    ASSERT_TRUE(live.until([&] { return live.newest("millpond/mqtt") == kOnline; }));
    for (const auto* topic : {"bbo/AAPL", "bbo/MSFT"}) {
        EXPECT_THAT(live.newest(topic), HasSubstr(R"("incomplete":true)")) << "before the sink is online";
    }
    MosquittoSubscriber late{broker};
    ASSERT_TRUE(late.until([&] { return late.received.size() >= 3; }));
    for (const auto* topic : {"bbo/AAPL", "bbo/MSFT"})
        EXPECT_THAT(late.newest(topic), HasSubstr(R"("incomplete":true)"));
    EXPECT_EQ(late.newest("millpond/mqtt"), kOnline);
    ring.publish_quotes(1);
    EXPECT_TRUE(reaches(broker, *sink, topic_of(1), R"("incomplete":false)"));
}

TEST_P(MqttVersions, AWrongPasswordIsNamedAndTriedAgain) {
    const auto passwords = folder_ / "passwords";
    ASSERT_EQ(std::system(("mosquitto_passwd -b -c '" + passwords + "' feed right 2>/dev/null").c_str()), 0);
    const MosquittoBroker broker{folder_, "allow_anonymous false\npassword_file " + passwords + "\n"};
    TestRing ring{"mqtt2"};
    auto settings = to(broker);
    settings.protocol = std::get<0>(GetParam());
    settings.user = "feed";
    {
        auto sink = open(ring, settings, "wrong");
        ASSERT_TRUE(work(*sink, [&] { return counters(*sink).failed_connects.read() >= 2; }));
        EXPECT_FALSE(is_connected(*sink));
        EXPECT_TRUE(log_.has("refuses us as user 'feed': ")) << log_.texts().back();
        EXPECT_FALSE(log_.has("wrong"));
    }
    auto sink = open(ring, settings, "right");
    EXPECT_TRUE(work(*sink, [&] { return is_connected(*sink); }));
}

TEST_F(MqttSinkTest, WhoComesLateGetsTheRetainedQuotes) {
    const MosquittoBroker broker{folder_};
    TestRing ring{"mqtt3"};
    ring.publish_quotes(10);  // before the sink joins: it gets them from the board
    auto sink = open(ring, to(broker, Delivery::conflate));
    // A lost and restored connection causes more messages.
    ASSERT_TRUE(work(*sink, [&] { return counters(*sink).messages.read() >= 4; }));
    ring.publish_quotes(1);
    ASSERT_TRUE(reaches(broker, *sink, "bbo/MSFT", json_of(11)));
    MosquittoSubscriber late{broker};
    ASSERT_TRUE(late.until([&] { return late.received.size() == 3; }));
    for (const auto& message : late.received) EXPECT_TRUE(message.retained);
    EXPECT_EQ(late.newest("bbo/AAPL"), json_of(10));
    EXPECT_EQ(late.newest("bbo/MSFT"), json_of(11));
    EXPECT_EQ(late.newest("millpond/mqtt"), kOnline);
}

TEST_F(MqttSinkTest, AHaltIsRetainedWithTheQuoteUntilItEnds) {
    const MosquittoBroker broker{folder_};
    TestRing ring{"mqtthalt"};
    auto sink = open(ring, to(broker));
    auto quote = quote_of(0, feed::price_from<10'000>(10'000));
    quote.flags = feed::kHalted;
    ring.writer.publish(quote);
    EXPECT_TRUE(reaches(broker, *sink, "bbo/AAPL", R"("incomplete":false,"halted":true})"));
    ring.writer.publish(feed::TradeBreak{.instrument = 0, .trade_id = 4'711});
    quote.flags = 0;
    ring.writer.publish(quote);
    EXPECT_TRUE(reaches(broker, *sink, "bbo/AAPL", R"("incomplete":false})"));
    EXPECT_EQ(sink->account().filtered, 1U) << "a broken trade changes no quote";
}

TEST_F(MqttSinkTest, ABrokerThatIsKilledAndStartedAgainGetsEveryQuote) {
    constexpr std::uint64_t kPart = 300;
    MosquittoBroker broker{folder_};
    auto first = std::make_unique<MosquittoSubscriber>(broker);
    TestRing ring{"mqtt4"};
    auto sink = open(ring, to(broker));
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink); }));
    ring.publish_quotes(kPart);
    ASSERT_TRUE(first->until([&] { return first->received.size() > kPart / 2; },
                             [&] { sink->round(core::monotonic_nanos()); }));
    broker.kill_now();
    ring.publish_quotes(kPart);
    ASSERT_TRUE(work(*sink, [&] { return counters(*sink).failed_connects.read() >= 2; }));
    EXPECT_TRUE(log_.has("retrying"));
    EXPECT_GT(sink->account().queued, 0U);
    broker.start();
    MosquittoSubscriber second{broker};
    ASSERT_TRUE(second.until([&] { return second.newest(topic_of(2 * kPart)) == json_of(2 * kPart); },
                             [&] { sink->round(core::monotonic_nanos()); }));
    ASSERT_TRUE(work(*sink, [&] { return is_idle(*sink); }));
    const auto account = sink->account();
    EXPECT_EQ(account.delivered, 2 * kPart);
    EXPECT_TRUE(account.closes());
    EXPECT_EQ(counters(*sink).losses.read(), 1U);
    // Messages that neither subscriber got were acknowledged by the first broker and lost with it; no later message is.
    EXPECT_EQ(second.newest(topic_of(2 * kPart - 1)), json_of(2 * kPart - 1));
    std::vector<std::string> all;
    for (const auto& message : second.received) all.push_back(message.payload);
    for (std::uint64_t n = kPart + 1; n <= 2 * kPart; ++n) ASSERT_THAT(all, Contains(json_of(n)));
}

TEST_F(MqttSinkTest, ABrokerThatRestartsWithoutPersistenceGetsTheCurrentQuotesAgain) {
    MosquittoBroker broker{folder_};
    TestRing ring{"mqtt5"};
    auto sink = open(ring, to(broker, Delivery::conflate));
    ring.publish_quotes(2);
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink) && is_idle(*sink); }));
    broker.kill_now();
    ASSERT_TRUE(work(*sink, [&] { return !is_connected(*sink); }));
    broker.start();
    ASSERT_TRUE(work(*sink, [&] { return counters(*sink).connects.read() == 2; }));
    MosquittoSubscriber late{broker};
    EXPECT_TRUE(
        late.until([&] { return late.newest("bbo/AAPL") == json_of(2) && late.newest("bbo/MSFT") == json_of(1); },
                   [&] { sink->round(core::monotonic_nanos()); }));
}

TEST_F(MqttSinkTest, WhileTheBrokerAcceptsNothingQuotesAreConflatedAndTheNewestArriveLater) {
    constexpr std::uint64_t kBurst = 500;
    constexpr std::uint64_t kMaxQuotes = 200'000;
    const MosquittoBroker broker{folder_};
    TestRing ring{"mqtt6"};
    auto settings = to(broker, Delivery::conflate, 0);
    settings.send_buffer = 4'096;
    auto sink = open(ring, settings);
    ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink); }));
    broker.halt();
    while (sink->account().conflated < 5'000 && ring.quotes < kMaxQuotes) {
        ring.publish_quotes(kBurst);
        sink->round(core::monotonic_nanos());
    }
    broker.go_on();
    EXPECT_GE(sink->account().conflated, 5'000U);
    EXPECT_EQ(sink->account().missed, 0U);
    EXPECT_TRUE(sink->account().closes());
    MosquittoSubscriber late{broker};
    EXPECT_TRUE(late.until(
        [&] {
            return late.newest(topic_of(ring.quotes)) == json_of(ring.quotes) &&
                   late.newest(topic_of(ring.quotes - 1)) == json_of(ring.quotes - 1);
        },
        [&] { sink->round(core::monotonic_nanos()); }));
    ASSERT_TRUE(work(*sink, [&] { return is_idle(*sink); }));
    const auto account = sink->account();
    EXPECT_EQ(account.delivered + account.conflated, ring.quotes);
}

TEST_F(MqttSinkTest, ACleanEndAndAKilledProcessAreToldApart) {
    const MosquittoBroker broker{folder_};
    TestRing ring{"mqtt7"};
    millpond::test::ChildProcess killed{[&] {
        auto sink = open(ring, to(broker));
        work(*sink, [] { return false; });
        return 0;
    }};
    MosquittoSubscriber subscriber{broker};
    ASSERT_TRUE(subscriber.until([&] { return subscriber.newest("millpond/mqtt") == kOnline; }));
    killed.kill_now();
    EXPECT_TRUE(subscriber.until([&] { return subscriber.newest("millpond/mqtt") == kLost; }));
    {
        auto sink = open(ring, to(broker));
        ASSERT_TRUE(work(*sink, [&] { return is_connected(*sink); }));
        EXPECT_TRUE(subscriber.until([&] { return subscriber.newest("millpond/mqtt") == kOnline; }));
    }
    EXPECT_TRUE(subscriber.until([&] { return subscriber.newest("millpond/mqtt") == kStopped; }));
}

TEST_F(MqttSinkTest, AClearEmptiesWhatIsRetainedBeforeTheNextQuote) {
    const MosquittoBroker broker{folder_};
    TestRing ring{"mqtt8"};
    auto sink = open(ring, to(broker));
    ring.publish_quotes(2);
    ring.writer.publish(feed::Clear{});
    ring.publish_quotes(1);  // MSFT
    ASSERT_TRUE(work(*sink, [&] { return sink->account().delivered == 4; }));
    ASSERT_TRUE(reaches(broker, *sink, "bbo/MSFT", R"("sequence":4,)"));
    MosquittoSubscriber late{broker};
    ASSERT_TRUE(late.until([&] { return late.received.size() == 3; }));
    EXPECT_THAT(late.newest("bbo/AAPL"), HasSubstr(R"("sequence":3,"bid":{"price":null,"shares":0})"));
    EXPECT_THAT(late.newest("bbo/MSFT"), HasSubstr(R"("bid":{"price":0.000000003)"));
}

TEST_F(MqttSinkTest, AGapMarksWhatIsRetainedOfItsChannelAndALossMarksAll) {
    const MosquittoBroker broker{folder_};
    TestRing ring{"mqtt13"};
    auto sink = open(ring, to(broker));
    ring.publish_quotes(2);
    ring.writer.publish(feed::Gap{.channel = 1});
    ring.writer.publish(feed::Gap{.channel = 0});
    ring.publish_quotes(1);  // MSFT
    ASSERT_TRUE(work(*sink, [&] { return sink->account().delivered == 4; }));
    EXPECT_EQ(sink->account().filtered, 1U) << "channel 1 has no quotes";
    EXPECT_EQ(sink->account().queued, 0U);
    {
        MosquittoSubscriber late{broker};
        ASSERT_TRUE(late.until([&] { return late.received.size() == 3; }));
        EXPECT_THAT(late.newest("bbo/AAPL"), HasSubstr(R"("incomplete":true)"));
        EXPECT_THAT(late.newest("bbo/AAPL"), HasSubstr(R"("sequence":2,)"));
        EXPECT_THAT(late.newest("bbo/MSFT"), HasSubstr(R"("incomplete":false)"));
    }
    ASSERT_TRUE(work(*sink, [&] {
        if (sink->account().missed != 0) return true;
        for (int i = 0; i < 2'000; ++i) ring.writer.publish(trade_of(0, 1));
        return false;
    }));
    ASSERT_TRUE(reaches(broker, *sink, "bbo/MSFT", R"("incomplete":true)"));
}

TEST_F(MqttSinkTest, TlsChecksTheBrokersNameAndSignature) {
    const millpond::test::Certificate good{folder_, "localhost"};
    const millpond::test::Certificate other{folder_, "other"};
    const MosquittoBroker broker{folder_,
                                 "allow_anonymous true\ncertfile " + good.certificate + "\nkeyfile " + good.key + "\n"};
    TestRing ring{"mqtt9"};
    ring.publish_quotes(2);
    auto settings = to(broker);
    settings.tls = {.on = true, .authority = other.certificate};
    settings.host = "localhost";
    {
        auto sink = open(ring, settings);
        ASSERT_TRUE(work(*sink, [&] { return counters(*sink).failed_connects.read() >= 1; }));
        EXPECT_FALSE(is_connected(*sink));
        EXPECT_TRUE(log_.has("TLS") || log_.has("certificate")) << log_.texts().back();
    }
    settings.tls.authority = good.certificate;
    {
        auto sink = open(ring, settings);
        ASSERT_TRUE(work(*sink, [&] { return counters(*sink).messages.read() == 4; })) << log_.texts().back();
    }
    settings.host = "127.0.0.1";  // differs from the certificate's name
    auto sink = open(ring, settings);
    ASSERT_TRUE(work(*sink, [&] { return counters(*sink).failed_connects.read() >= 1; }));
    EXPECT_FALSE(is_connected(*sink));
}

TEST_F(MqttSinkTest, WithoutABrokerNothingWaitsAndTheEndIsAtOnce) {
    TestRing ring{"mqtt10"};
    auto sink = open(ring, to_port(test::StreamSocket{}.free_port(), Delivery::conflate));
    ring.publish_quotes(1'000);
    ASSERT_TRUE(work(*sink, [&] { return counters(*sink).failed_connects.read() >= 1; }));
    sink->round(core::monotonic_nanos());
    EXPECT_TRUE(log_.has("Connection refused; retrying")) << log_.texts().back();
    EXPECT_EQ(sink->account().conflated, 998U);
    EXPECT_EQ(sink->account().queued, 2U);
    // Events that change no published quote.
    ring.writer.publish(feed::Clear{});
    ring.writer.publish(feed::Gap{});
    ASSERT_TRUE(work(*sink, [&] { return sink->account().published == 1'002; }));
    EXPECT_EQ(sink->account().delivered, 0U);
}

TEST_F(MqttSinkTest, FilesOfTlsThatAreNotThereAreRefusedAtTheStart) {
    TestRing ring{"mqtt11"};
    auto settings = to_port(1);
    settings.tls = {.on = true, .authority = folder_ / "nothing.crt"};
    EXPECT_THROW(static_cast<void>(open(ring, settings)), std::runtime_error);
}

TEST_F(MqttSinkTest, WhatIsNoQuoteIsFiltered) {
    TestRing ring{"mqtt12"};
    const auto sink = mqtt::open(to_port(test::StreamSocket{}.free_port()), {}, log_.function());
    EXPECT_EQ(sink->on(trade_of(0, 1), 1), Admission::filtered);
    EXPECT_EQ(sink->on(feed::Status{.instrument = 0}, 2), Admission::filtered);
    EXPECT_EQ(sink->held(), 0U);
}

}  // namespace
}  // namespace millpond::gateway::mqtt
