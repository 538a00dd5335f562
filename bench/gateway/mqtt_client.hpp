#pragma once

#include <mosquitto.h>
#include <mqtt_protocol.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace millpond::bench {

/// A client of a broker on loopback: libmosquitto without a thread.
class MqttClient {
public:
    /// Connects, and subscribes unless the topic is empty.
    explicit MqttClient(std::uint16_t port, const std::string& topic = {}) {
        mosquitto_lib_init();
        client_.reset(mosquitto_new(nullptr, true, this));
        mosquitto_int_option(client_.get(), MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
        mosquitto_int_option(client_.get(), MOSQ_OPT_TCP_NODELAY, 1);
        mosquitto_connect_callback_set(client_.get(), [](mosquitto*, void* self, int code) {
            static_cast<MqttClient*>(self)->is_connected_ = code == 0;
        });
        mosquitto_subscribe_callback_set(client_.get(), [](mosquitto*, void* self, int, int, const int*) {
            static_cast<MqttClient*>(self)->is_subscribed_ = true;
        });
        mosquitto_publish_callback_set(
            client_.get(), [](mosquitto*, void* self, int) { ++static_cast<MqttClient*>(self)->confirmed_; });
        mosquitto_message_callback_set(client_.get(), [](mosquitto*, void* self, const mosquitto_message* message) {
            static_cast<MqttClient*>(self)->received_.emplace_back(static_cast<const char*>(message->payload),
                                                                   static_cast<std::size_t>(message->payloadlen));
        });
        check(mosquitto_connect(client_.get(), "127.0.0.1", port, 60));
        while (!is_connected_) work();
        if (topic.empty()) return;
        check(mosquitto_subscribe(client_.get(), nullptr, topic.c_str(), 0));
        while (!is_subscribed_) work();
    }

    void publish(const std::string& topic, std::string_view text, int qos) {
        check(mosquitto_publish(client_.get(), nullptr, topic.c_str(), static_cast<int>(text.size()), text.data(), qos,
                                true));
        ++published_;
    }
    /// Publishes; the message is written (QoS 0) or acknowledged (QoS 1) later.
    [[nodiscard]] std::uint64_t unconfirmed() const { return published_ - confirmed_; }
    [[nodiscard]] bool wants_write() const { return mosquitto_want_write(client_.get()); }
    /// Reads from the connection for up to a second.
    void work() { check(mosquitto_loop(client_.get(), 1'000, 1)); }

    /// The next message, valid until the next call.
    [[nodiscard]] std::string_view read_line() {
        if (is_read_) received_.pop_front();
        while (received_.empty()) work();
        is_read_ = true;
        return received_.front();
    }

private:
    struct Destroy {
        void operator()(mosquitto* client) const noexcept { mosquitto_destroy(client); }
    };
    static void check(int error) {
        if (error != MOSQ_ERR_SUCCESS) throw std::runtime_error(mosquitto_strerror(error));
    }

    std::unique_ptr<mosquitto, Destroy> client_;
    bool is_connected_{false};
    bool is_subscribed_{false};
    bool is_read_{false};
    std::uint64_t published_{0};
    std::uint64_t confirmed_{0};
    std::deque<std::string> received_;
};

}  // namespace millpond::bench
