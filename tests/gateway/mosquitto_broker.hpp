#pragma once

#include <mosquitto.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

#include <millpond/core/clock.hpp>

#include "tests/gateway/certificate.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::gateway::test {

inline constexpr std::int64_t kPatienceNs = 60'000'000'000;

/// A socket on a loopback port; a broker's port is found and tried with it.
class LoopbackSocket {
public:
    ~LoopbackSocket() { ::close(fd_); }
    LoopbackSocket() = default;
    LoopbackSocket(const LoopbackSocket&) = delete;
    LoopbackSocket& operator=(const LoopbackSocket&) = delete;

    /// A port that nobody uses.
    [[nodiscard]] std::uint16_t free_port() {
        sockaddr_in address = at(0);
        socklen_t size = sizeof(address);
        if (::bind(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
            ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
            throw std::runtime_error("no free port");
        }
        return ntohs(address.sin_port);
    }
    [[nodiscard]] bool reaches(std::uint16_t port) {
        sockaddr_in address = at(port);
        return ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    }

private:
    static sockaddr_in at(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port);
        return address;
    }
    int fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

/// A mosquitto of our own on a free port of 127.0.0.1.
class MosquittoBroker {
public:
    static constexpr const char* kProgram = "/usr/sbin/mosquitto";
    [[nodiscard]] static bool is_installed() { return access(kProgram, X_OK) == 0; }

    /// settings: further lines of its configuration.
    explicit MosquittoBroker(const Folder& folder, const std::string& settings = "allow_anonymous true\n")
        : config_(folder / "mosquitto.conf"), port_(LoopbackSocket{}.free_port()) {
        std::ofstream{config_} << "listener " << port_ << " 127.0.0.1\nuser root\npersistence false\nlog_dest none\n"
                               << "max_queued_messages 0\n"
                               << settings;
        start();
    }

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

    void start() {
        process_.emplace([this] {
            const int nowhere = ::open("/dev/null", O_RDWR);
            dup2(nowhere, STDERR_FILENO);
            execl(kProgram, kProgram, "-c", config_.c_str(), nullptr);
            return 127;
        });
        const auto until = core::monotonic_nanos() + kPatienceNs;
        while (!LoopbackSocket{}.reaches(port_)) {
            if (core::monotonic_nanos() > until) throw std::runtime_error("mosquitto does not listen");
            ::poll(nullptr, 0, 5);
        }
    }
    void kill_now() { process_.reset(); }
    void halt() const { ::kill(process_->pid(), SIGSTOP); }
    void go_on() const { ::kill(process_->pid(), SIGCONT); }

private:
    std::string config_;
    std::uint16_t port_;
    std::optional<millpond::test::ChildProcess> process_;
};

/// A client of the broker that keeps all that it gets.
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
        if (mosquitto_connect(client_.get(), "127.0.0.1", broker.port(), 60) != MOSQ_ERR_SUCCESS ||
            mosquitto_subscribe(client_.get(), nullptr, "#", qos) != MOSQ_ERR_SUCCESS ||
            !until([&] { return subscribed_; })) {
            throw std::runtime_error("cannot subscribe");
        }
    }

    /// Receives, and does `meanwhile`, until `reached`; false when that takes too long.
    bool until(const std::function<bool()>& reached, const std::function<void()>& meanwhile = [] {}) {
        const auto until = core::monotonic_nanos() + kPatienceNs;
        while (!reached()) {
            if (core::monotonic_nanos() > until) return false;
            meanwhile();
            mosquitto_loop(client_.get(), 2, 1'000);
        }
        return true;
    }
    /// The newest payload of a topic; empty when there is none.
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
