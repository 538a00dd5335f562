// The mqtt sink's connection: certificates, pauses, messages that are not retained.
#include "gateway/sinks/mqtt/link.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <poll.h>

#include <millpond/core/clock.hpp>

#include "tests/gateway/captured_log.hpp"
#include "tests/gateway/json_lines/stream_socket.hpp"
#include "tests/gateway/sinks/mqtt/mosquitto_broker.hpp"
#include "tests/gateway/sinks/settings_with.hpp"
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
    /// Waits until `reached` returns true; false after a timeout.
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
        return {.topic = &topic, .payload = std::string{text}};
    }

    static Settings settings_for(std::uint16_t port) {
        return test::settings_with<Settings>([&](Settings& s) {
            s.port = port;
            s.state_topic = "millpond/mqtt";
        });
    }

    millpond::test::Folder folder_{"mqttlink"};
    CapturedLog log_;
};

TEST_F(MqttLink, ABrokerThatAsksForACertificateIsShownOurs) {
    const millpond::test::Certificate theirs{folder_, "localhost"};
    const millpond::test::Certificate ours{folder_, "gateway"};
    const MosquittoBroker broker{folder_, "allow_anonymous true\nrequire_certificate true\ncafile " + ours.certificate +
                                              "\ncertfile " + theirs.certificate + "\nkeyfile " + theirs.key + "\n"};
    auto settings = settings_for(broker.port());
    settings.host = "localhost";
    settings.tls = {.on = true, .authority = theirs.certificate};
    settings.reconnect = std::chrono::milliseconds{5};
    {
        const Link link{settings, {}, log_.function()};
        ASSERT_TRUE(wait([&] { return link.counters().failed_connects.read() >= 1; }));
        EXPECT_EQ(link.connections(), 0U);
    }
    settings.tls.certificate = ours.certificate;
    settings.tls.key = ours.key;
    const Link link{settings, {}, log_.function()};
    EXPECT_TRUE(wait([&] { return link.connections() == 1; })) << log_.texts().back();
}

TEST_F(MqttLink, PausesBetweenAttemptsDoubleUpToTheLongest) {
    using std::chrono::milliseconds;
    const auto started = core::monotonic_nanos();
    auto settings = settings_for(test::StreamSocket{}.free_port());
    settings.reconnect = milliseconds{20};
    settings.max_reconnect = milliseconds{160};
    const Link link{settings, {}, log_.function()};
    ASSERT_TRUE(wait([&] { return link.counters().failed_connects.read() >= 6; }));
    const auto pauses = milliseconds{20 + 40 + 80 + 160 + 160};
    EXPECT_GE(core::monotonic_nanos() - started, std::chrono::nanoseconds{pauses}.count());
}

/// Retained quotes of an earlier run: their number, and what a search with limits finds.
class MqttScan : public MqttLink {
protected:
    static std::string topic(int i) { return "bbo/S" + std::to_string(10 + i); }
    /// Runs a link until it is online, with `count` retained quotes at the broker. Returns how many are marked then.
    int marked(int count, const ScanLimits& limits) {
        const MosquittoBroker broker{folder_};
        MosquittoSubscriber live{broker};
        for (int i = 0; i < count; ++i) live.retain(topic(i), R"({"type":"quote","bid":1,"incomplete":false})");
        auto settings = settings_for(broker.port());
        const Link link{settings, {}, log_.function(), limits};
        EXPECT_TRUE(live.until([&] { return live.newest("millpond/mqtt") == R"({"state":"online"})"; }));
        unfinished_ = link.counters().unfinished_scans.read();
        int found = 0;
        for (int i = 0; i < count; ++i) found += live.newest(topic(i)).ends_with(R"("incomplete":true})") ? 1 : 0;
        return found;
    }
    [[nodiscard]] bool has_warned() const { return log_.has("those of an earlier run may look valid"); }

    std::uint64_t unfinished_{0};
};

TEST_F(MqttScan, RepeatsUntilAllAreMarkedWithinItsLimits) {
    EXPECT_EQ(marked(5, {.messages = 2}), 5);
    EXPECT_EQ(unfinished_, 0U);
    EXPECT_FALSE(has_warned());
}

TEST_F(MqttScan, TopicsCountInTheLimitOfItsBytes) {
    const auto one = topic(0).size() + std::string_view{R"({"type":"quote","bid":1,"incomplete":true})"}.size();
    EXPECT_EQ(marked(3, {.bytes = one}), 3);
    EXPECT_FALSE(has_warned());
    EXPECT_EQ(marked(3, {.bytes = one - 1}), 0);
    EXPECT_EQ(unfinished_, 1U);
    EXPECT_TRUE(log_.has("had not sent all in 1 searches of its retained messages for 'bbo/+'"));
    EXPECT_TRUE(has_warned());
}

TEST_F(MqttScan, AnEndBeforeASearchFindsNoneIsAWarning) {
    EXPECT_EQ(marked(3, {.messages = 1, .scans = 2}), 2);
    EXPECT_EQ(unfinished_, 1U);
    EXPECT_TRUE(has_warned());
}

TEST_F(MqttLink, WhatIsNotToBeRetainedIsNotThereForThoseWhoComeLate) {
    const MosquittoBroker broker{folder_};
    MosquittoSubscriber early{broker};
    const std::string topic = "bbo/AAPL";  // the link uses both strings until the broker has confirmed the message
    const std::string mark = "mark";       // arrives after all retained messages
    auto settings = settings_for(broker.port());
    settings.retain = false;
    Link link{settings, {}, log_.function()};
    ASSERT_TRUE(wait([&] { return link.available() != 0; }));
    link.enqueue(message(topic, "{}"));
    link.wake();
    ASSERT_TRUE(early.until([&] { return early.newest(topic) == "{}"; }));
    MosquittoSubscriber late{broker};
    link.enqueue(message(mark, "{}"));
    link.wake();
    ASSERT_TRUE(late.until([&] { return late.newest(mark) == "{}"; }));
    EXPECT_NE(late.newest("millpond/mqtt"), "");
    EXPECT_EQ(late.newest(topic), "");
}

}  // namespace
}  // namespace millpond::gateway::mqtt
