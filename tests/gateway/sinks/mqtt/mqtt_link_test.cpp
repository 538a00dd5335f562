// What the mqtt sink's connection is asked for: certificates, pauses, messages that are not retained.
#include "gateway/sinks/mqtt/link.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <poll.h>

#include <millpond/core/clock.hpp>

#include "tests/gateway/json_lines/stream_socket.hpp"
#include "tests/gateway/said.hpp"
#include "tests/gateway/sinks/mqtt/mosquitto_broker.hpp"
#include "tests/service/certificate.hpp"

namespace millpond::gateway::mqtt {
namespace {

using test::MosquittoBroker;
using test::MosquittoSubscriber;

class MqttLink : public ::testing::Test {
protected:
    void SetUp() override {
        if (!MosquittoBroker::is_installed()) GTEST_SKIP() << "mosquitto is not installed";
    }
    /// Waits until; false when that takes too long.
    template <class Reached>
    static bool wait(Reached&& reached) {
        const auto until = core::monotonic_nanos() + test::kPatienceNs;
        while (!reached()) {
            if (core::monotonic_nanos() > until) return false;
            ::poll(nullptr, 0, 1);
        }
        return true;
    }
    static Message message(const std::string& topic, std::string_view text) {
        Message message{.topic = &topic, .length = static_cast<std::uint16_t>(text.size())};
        text.copy(message.payload.data(), text.size());
        return message;
    }

    millpond::test::Folder folder_{"mqttlink"};
    Said said_;
};

TEST_F(MqttLink, ABrokerThatAsksForACertificateIsShownOurs) {
    const millpond::test::Certificate theirs{folder_, "localhost"};
    const millpond::test::Certificate ours{folder_, "gateway"};
    const MosquittoBroker broker{folder_, "allow_anonymous true\nrequire_certificate true\ncafile " + ours.certificate +
                                              "\ncertfile " + theirs.certificate + "\nkeyfile " + theirs.key + "\n"};
    Options options{.host = "localhost",
                    .port = broker.port(),
                    .tls = {.on = true, .authority = theirs.certificate},
                    .reconnect = std::chrono::milliseconds{5}};
    {
        const Link link{options, said_.say()};
        ASSERT_TRUE(wait([&] { return link.counters().failed_connects.read() >= 1; }));
        EXPECT_EQ(link.connections(), 0U);
    }
    options.tls.certificate = ours.certificate;
    options.tls.key = ours.key;
    const Link link{options, said_.say()};
    EXPECT_TRUE(wait([&] { return link.connections() == 1; })) << said_.texts().back();
}

TEST_F(MqttLink, PausesBetweenAttemptsDoubleUpToTheLongest) {
    using std::chrono::milliseconds;
    const auto started = core::monotonic_nanos();
    const Link link{{.port = test::StreamSocket{}.free_port(),
                     .reconnect = milliseconds{20},
                     .reconnect_longest = milliseconds{160}},
                    said_.say()};
    ASSERT_TRUE(wait([&] { return link.counters().failed_connects.read() >= 6; }));
    const auto pauses = milliseconds{20 + 40 + 80 + 160 + 160};
    EXPECT_GE(core::monotonic_nanos() - started, std::chrono::nanoseconds{pauses}.count());
}

TEST_F(MqttLink, WhatIsNotToBeRetainedIsNotThereForThoseWhoComeLate) {
    const MosquittoBroker broker{folder_};
    MosquittoSubscriber early{broker};
    const std::string topic = "bbo/AAPL";  // the link holds both until the broker has confirmed them
    const std::string mark = "mark";       // behind all that is retained
    Link link{{.port = broker.port(), .retain = false}, said_.say()};
    ASSERT_TRUE(wait([&] { return link.room() != 0; }));
    link.offer(message(topic, "{}"));
    link.wake();
    ASSERT_TRUE(early.until([&] { return early.newest(topic) == "{}"; }));
    MosquittoSubscriber late{broker};
    link.offer(message(mark, "{}"));
    link.wake();
    ASSERT_TRUE(late.until([&] { return late.newest(mark) == "{}"; }));
    EXPECT_NE(late.newest("millpond/mqtt"), "");
    EXPECT_EQ(late.newest(topic), "");
}

}  // namespace
}  // namespace millpond::gateway::mqtt
