#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <poll.h>

#include <millpond/core/clock.hpp>

#include "gateway/sinks/mqtt/mqtt_sink.hpp"
#include "gateway/sinks/sink_thread.hpp"
#include "tests/gateway/captured_log.hpp"
#include "tests/gateway/json_lines/stream_socket.hpp"
#include "tests/gateway/sinks/mqtt/mosquitto_broker.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/gateway/sinks/settings_with.hpp"
#include "tests/service/certificate.hpp"

namespace millpond::gateway::mqtt {

inline constexpr const char* kOnline = R"({"state":"online"})";
inline constexpr const char* kStarting = R"({"state":"offline","reason":"starting"})";
inline constexpr const char* kStopped = R"({"state":"offline","reason":"stopped"})";
inline constexpr const char* kLost = R"({"state":"offline","reason":"lost"})";

/// An mqtt sink that the test runs round by round, and a real broker.
class MqttSinkTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!test::MosquittoBroker::is_installed()) GTEST_SKIP() << "mosquitto is not installed";
    }

    static Settings to(const test::MosquittoBroker& broker, Delivery mode = Delivery::every, int qos = 1) {
        return to_port(broker.port(), mode, qos);
    }
    static Settings to_port(std::uint16_t port, Delivery mode = Delivery::every, int qos = 1) {
        return test::settings_with<Settings>([&](Settings& s) {
            s.port = port;
            s.state_topic = "millpond/mqtt";
            s.qos = qos;
            s.mode = mode;
            s.window = 256;
            s.reconnect = std::chrono::milliseconds{5};
            s.max_reconnect = std::chrono::milliseconds{50};
        });
    }
    std::unique_ptr<SinkThread> open(const TestRing& ring, const Settings& settings, const std::string& password = {}) {
        return std::make_unique<SinkThread>(SinkThread::Options{.ring = ring.name, .name = "mqtt"},
                                            mqtt::open(settings, password, log_.function()), log_.function());
    }
    static const Counters& counters(const SinkThread& sink) {
        return dynamic_cast<const MqttSink&>(sink.sink()).counters();
    }
    /// Runs the sink until `reached` returns true; false after a timeout.
    template <class Reached>
    static bool work(SinkThread& sink, Reached&& reached) {
        const auto until = core::monotonic_nanos() + test::kPatienceNs;
        while (!reached()) {
            if (core::monotonic_nanos() > until) return false;
            if (sink.round(core::monotonic_nanos()) == 0) ::poll(nullptr, 0, 1);
        }
        return true;
    }
    static bool is_connected(const SinkThread& sink) { return counters(sink).connected.read() == 1; }
    static bool is_idle(const SinkThread& sink) { return sink.account().queued == 0; }

    /// Waits until the broker's newest message of the topic is the text: messages that the sink has sent may still be
    /// in flight.
    static bool reaches(const test::MosquittoBroker& broker, SinkThread& sink, const std::string& topic,
                        const std::string& text) {
        test::MosquittoSubscriber subscriber{broker};
        return subscriber.until([&] { return subscriber.newest(topic).find(text) != std::string::npos; },
                                [&] { sink.round(core::monotonic_nanos()); });
    }

    millpond::test::Folder folder_{"mqtt"};
    CapturedLog log_;
};

}  // namespace millpond::gateway::mqtt
