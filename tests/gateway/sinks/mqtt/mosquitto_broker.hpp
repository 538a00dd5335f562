#pragma once

#include <mosquitto.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include <millpond/core/clock.hpp>

#include "tests/gateway/json_lines/stream_socket.hpp"
#include "tests/service/certificate.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::gateway::test {

/// A mosquitto process on a free port, in the caller's network namespace.
class MosquittoBroker {
public:
    static constexpr const char* kProgram = "/usr/sbin/mosquitto";
    [[nodiscard]] static bool is_installed() { return access(kProgram, X_OK) == 0; }

    /// settings: further lines for its configuration.
    explicit MosquittoBroker(const millpond::test::Folder& folder,
                             const std::string& settings = "allow_anonymous true\n", std::string address = "127.0.0.1")
        : config_(folder / "mosquitto.conf"), address_(std::move(address)), port_(StreamSocket{}.free_port()) {
        std::ofstream{config_} << "listener " << port_ << " " << address_
                               << "\nuser root\npersistence false\nlog_dest none\n"
                               << "max_queued_messages 0\n"
                               << settings;
        start();
    }

    [[nodiscard]] const std::string& address() const noexcept { return address_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

    void start() {
        process_.emplace([this] {
            const int nowhere = ::open("/dev/null", O_RDWR);
            dup2(nowhere, STDERR_FILENO);
            execl(kProgram, kProgram, "-c", config_.c_str(), nullptr);
            return 127;
        });
        wait_for_port("mosquitto", address_, port_);
    }
    void kill_now() { process_.reset(); }
    void halt() const { ::kill(process_->pid(), SIGSTOP); }
    void go_on() const { ::kill(process_->pid(), SIGCONT); }

private:
    std::string config_;
    std::string address_;
    std::uint16_t port_;
    std::optional<millpond::test::ChildProcess> process_;
};

/// A client of the broker that keeps all messages.
class MosquittoSubscriber {
public:
    struct Received {
        std::string topic;
        std::string payload;
        bool retained;
    };

    explicit MosquittoSubscriber(const MosquittoBroker& broker, int qos = 1) {
        mosquitto_lib_init();
        client_.reset(mosquitto_new(nullptr, true, this));
        mosquitto_message_callback_set(client_.get(), [](mosquitto*, void* self, const mosquitto_message* message) {
            static_cast<MosquittoSubscriber*>(self)->received.push_back(
                {message->topic,
                 {static_cast<const char*>(message->payload), static_cast<std::size_t>(message->payloadlen)},
                 message->retain});
        });
        mosquitto_subscribe_callback_set(client_.get(), [](mosquitto*, void* self, int, int, const int*) {
            static_cast<MosquittoSubscriber*>(self)->subscribed_ = true;
        });
        if (mosquitto_connect(client_.get(), broker.address().c_str(), broker.port(), 60) != MOSQ_ERR_SUCCESS ||
            mosquitto_subscribe(client_.get(), nullptr, "#", qos) != MOSQ_ERR_SUCCESS ||
            !until([&] { return subscribed_; })) {
            throw std::runtime_error("cannot subscribe");
        }
    }

    /// Receives messages and calls `meanwhile` until `reached` returns true; false after a timeout.
    bool until(const std::function<bool()>& reached, const std::function<void()>& meanwhile = [] {}) {
        const auto until = core::monotonic_nanos() + kPatienceNs;
        while (!reached()) {
            if (core::monotonic_nanos() > until) return false;
            meanwhile();
            mosquitto_loop(client_.get(), 2, 1'000);
        }
        return true;
    }
    /// Publishes a retained message, and waits until the broker has sent it to its subscribers.
    void retain(const std::string& topic, const std::string& payload) {
        if (mosquitto_publish(client_.get(), nullptr, topic.c_str(), static_cast<int>(payload.size()), payload.data(),
                              1, true) != MOSQ_ERR_SUCCESS ||
            !until([&] { return newest(topic) == payload; })) {
            throw std::runtime_error("cannot publish");
        }
    }
    /// The newest payload of a topic; empty if there is none.
    [[nodiscard]] std::string newest(const std::string& topic) const {
        for (auto at = received.rbegin(); at != received.rend(); ++at) {
            if (at->topic == topic) return at->payload;
        }
        return {};
    }

    std::vector<Received> received;

private:
    struct Destroy {
        void operator()(mosquitto* client) const noexcept { mosquitto_destroy(client); }
    };
    std::unique_ptr<mosquitto, Destroy> client_;
    bool subscribed_{false};
};

}  // namespace millpond::gateway::test
