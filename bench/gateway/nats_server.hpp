#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "bench/gateway/tcp_socket.hpp"
#include "bench/harness/timing.hpp"
#include "bench/rivals/free_port.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::bench {

/// A connection to nats-server in its text protocol, after the server's greeting.
///
/// Source: docs.nats.io, "NATS Protocols / Client Protocol".
inline TcpSocket connect_to_nats(std::uint16_t port, const std::string& further = {}) {
    auto socket = TcpSocket::connect_to(port);
    socket.write("CONNECT {\"verbose\":false,\"pedantic\":false}\r\n" + further + "PING\r\n");
    for (auto line = socket.read_line(); line != "PONG\r"; line = socket.read_line()) {
        if (line.starts_with("-ERR")) throw std::runtime_error("nats-server: " + std::string{line});
    }
    return socket;
}

inline constexpr std::string_view kNatsSubject = "quotes";

/// A subscriber, whose messages are read as bytes: the header of a payload ends with "\r\n", and so does the payload.
inline TcpSocket subscribe_to_nats(std::uint16_t port) {
    return connect_to_nats(port, "SUB " + std::string{kNatsSubject} + " 1\r\n");
}

/// Publishes one payload repeatedly.
class NatsPublisher {
public:
    NatsPublisher(std::uint16_t port, std::string_view payload) : socket_(connect_to_nats(port)) {
        message_ = "PUB " + std::string{kNatsSubject} + ' ' + std::to_string(payload.size()) + "\r\n";
        message_ += payload;
        message_ += "\r\n";
    }

    /// Publishes with one system call.
    void publish(std::size_t count) {
        while (messages_.size() < count * message_.size()) messages_ += message_;
        socket_.write(std::string_view{messages_}.substr(0, count * message_.size()));
    }

private:
    TcpSocket socket_;
    std::string message_;
    std::string messages_;
};

/// A nats-server on a free port of loopback, with its default settings and no log.
class NatsServer {
public:
    static constexpr const char* kProgram = "/usr/sbin/nats-server";
    [[nodiscard]] static bool is_installed() { return access(kProgram, X_OK) == 0; }

    /// Constructed while the process has one thread.
    NatsServer()
        : port_(static_cast<std::uint16_t>(free_port())), process_([port = std::to_string(port_)] {
              const int nowhere = ::open("/dev/null", O_RDWR);
              dup2(nowhere, STDERR_FILENO);
              execl(kProgram, kProgram, "--addr", "127.0.0.1", "--port", port.c_str(), nullptr);
              return 127;
          }) {
        wait_until([this] {
            try {
                (void)connect_to_nats(port_);
                return true;
            } catch (const std::runtime_error&) {
                return false;  // does not listen yet
            }
        });
    }

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    /// Processor time of its threads so far.
    [[nodiscard]] std::int64_t processor_nanos() const {
        std::int64_t sum = 0;
        for (const auto& task :
             std::filesystem::directory_iterator("/proc/" + std::to_string(process_.pid()) + "/task")) {
            std::int64_t nanos = 0;
            if (std::ifstream{task.path() / "schedstat"} >> nanos) sum += nanos;
        }
        return sum;
    }

private:
    std::uint16_t port_;
    test::ChildProcess process_;
};

}  // namespace millpond::bench
