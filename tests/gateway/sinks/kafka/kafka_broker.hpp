#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/gateway/json_lines/stream_socket.hpp"
#include "tests/service/certificate.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::gateway::test {

/// A real Kafka of one node, started by tools/kafka_broker in the caller's network namespace.
class KafkaBroker {
public:
    /// Whether the environment names the folder of Kafka: MILLPOND_KAFKA_JARS=$(tools/fetch_kafka)
    [[nodiscard]] static bool is_there() { return std::getenv("MILLPOND_KAFKA_JARS") != nullptr; }

    /// address: a number, or localhost, which certificates can name. settings: further properties, each KEY=VALUE.
    explicit KafkaBroker(const millpond::test::Folder& folder, std::string address = "127.0.0.1",
                         std::vector<std::string> settings = {})
        : address_(std::move(address)) {
        StreamSocket first;
        StreamSocket second;
        port_ = first.free_port();
        arguments_ = {MILLPOND_KAFKA_BROKER, folder / "kafka", address_, std::to_string(port_),
                      std::to_string(second.free_port())};
        arguments_.insert(arguments_.end(), settings.begin(), settings.end());
    }

    [[nodiscard]] std::string brokers() const { return address_ + ":" + std::to_string(port_); }

    void start() {
        process_.emplace([this] {
            const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
            dup2(nowhere, STDERR_FILENO);
            std::vector<char*> words;
            for (auto& argument : arguments_) words.push_back(argument.data());
            words.push_back(nullptr);
            execv(words[0], words.data());
            return 127;
        });
        wait_for_port("Kafka", address_ == "localhost" ? "127.0.0.1" : address_, port_);
    }
    void kill_now() { process_.reset(); }

private:
    std::string address_;
    std::uint16_t port_{0};
    std::vector<std::string> arguments_;
    std::optional<millpond::test::ChildProcess> process_;
};

}  // namespace millpond::gateway::test
