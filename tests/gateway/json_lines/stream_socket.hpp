#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include <millpond/core/clock.hpp>

namespace millpond::gateway::test {

inline constexpr std::int64_t kPatienceNs = 60'000'000'000;

/// A TCP socket that finds a free port for a broker, or probes the broker's port.
class StreamSocket {
public:
    ~StreamSocket() { ::close(fd_); }
    StreamSocket() = default;
    StreamSocket(const StreamSocket&) = delete;
    StreamSocket& operator=(const StreamSocket&) = delete;

    /// A free port of loopback, reserved as long as the socket exists.
    [[nodiscard]] std::uint16_t free_port() {
        sockaddr_in address = at("127.0.0.1", 0);
        socklen_t size = sizeof(address);
        if (::bind(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
            ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
            throw std::runtime_error("no free port");
        }
        return ntohs(address.sin_port);
    }
    [[nodiscard]] bool reaches(const std::string& host, std::uint16_t port) {
        sockaddr_in address = at(host, port);
        return ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    }

private:
    static sockaddr_in at(const std::string& host, std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        inet_pton(AF_INET, host.c_str(), &address.sin_addr);
        address.sin_port = htons(port);
        return address;
    }
    int fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

/// Waits until a process listens at the port. Throws std::runtime_error that names `who` after a timeout.
inline void wait_for_port(const std::string& who, const std::string& host, std::uint16_t port) {
    const auto until = core::monotonic_nanos() + kPatienceNs;
    while (!StreamSocket{}.reaches(host, port)) {
        if (core::monotonic_nanos() > until) throw std::runtime_error(who + " does not listen");
        ::poll(nullptr, 0, 5);
    }
}

}  // namespace millpond::gateway::test
