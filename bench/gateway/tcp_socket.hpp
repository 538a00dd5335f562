#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace millpond::bench {

/// A blocking TCP socket on loopback, connected.
class TcpSocket {
public:
    explicit TcpSocket(int descriptor) : descriptor_(descriptor) {
        const int on = 1;
        if (descriptor_ < 0 || setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) {
            throw std::runtime_error("a TCP socket of the bench failed");
        }
    }
    static TcpSocket connect_to(std::uint16_t port) {
        const auto address = loopback(port);
        TcpSocket made(socket(AF_INET, SOCK_STREAM, 0));
        if (connect(made.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            throw std::runtime_error("a TCP client of the bench could not connect");
        }
        return made;
    }
    TcpSocket(TcpSocket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    TcpSocket& operator=(TcpSocket&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        std::swap(buffer_, other.buffer_);
        std::swap(line_bytes_, other.line_bytes_);
        return *this;
    }
    ~TcpSocket() {
        if (descriptor_ >= 0) close(descriptor_);
    }

    [[nodiscard]] int descriptor() const { return descriptor_; }
    /// Shuts down both directions: a blocked read returns.
    void shut_down() const { shutdown(descriptor_, SHUT_RDWR); }

    void write(std::string_view text) const {
        if (send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
            throw std::runtime_error("a TCP socket of the bench took a part only");
        }
    }

    /// Number of bytes read, 0 at the end.
    [[nodiscard]] std::size_t read(char* into, std::size_t size) const {
        const auto found = recv(descriptor_, into, size, 0);
        return found > 0 ? static_cast<std::size_t>(found) : 0;
    }

    /// The next line, without newline, valid until the next call. Throws if the connection ends.
    [[nodiscard]] std::string_view read_line() {
        if (line_bytes_ > 0) buffer_.erase(0, line_bytes_);
        std::size_t end = 0;
        while ((end = buffer_.find('\n')) == std::string::npos) {
            std::array<char, 4096> more;
            const auto size = read(more.data(), more.size());
            if (size == 0) throw std::runtime_error("the TCP connection of the bench ended");
            buffer_.append(more.data(), size);
        }
        line_bytes_ = end + 1;
        return std::string_view(buffer_).substr(0, end);
    }

    [[nodiscard]] static sockaddr_in loopback(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return address;
    }

private:
    int descriptor_;
    std::string buffer_;
    std::size_t line_bytes_{0};
};

/// Listens on a free port of loopback.
class TcpListener {
public:
    TcpListener() : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {
        auto address = TcpSocket::loopback(0);
        socklen_t length = sizeof address;
        if (descriptor_ < 0 || bind(descriptor_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
            listen(descriptor_, 1) != 0 ||
            getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
            throw std::runtime_error("the bench cannot listen on loopback");
        }
        port_ = ntohs(address.sin_port);
    }
    TcpListener(const TcpListener&) = delete;
    TcpListener& operator=(const TcpListener&) = delete;
    ~TcpListener() { close(descriptor_); }

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] TcpSocket accept_one() const { return TcpSocket(accept(descriptor_, nullptr, nullptr)); }

private:
    int descriptor_;
    std::uint16_t port_{0};
};

}  // namespace millpond::bench
