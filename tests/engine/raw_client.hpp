#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace millpond::engine {

/// A TCP client of a port on this machine that reads only on request.
class RawClient {
public:
    /// receive_bytes: approximate size of the kernel's buffer; 0: the kernel's default.
    explicit RawClient(std::uint16_t port, int receive_bytes = 0)
        : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        if (receive_bytes != 0) {
            ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
        }
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            throw std::runtime_error("cannot connect to port " + std::to_string(port));
        }
    }
    RawClient(RawClient&& other) noexcept
        : socket_(std::exchange(other.socket_, -1)), text_(std::move(other.text_)), over_(other.over_) {}
    RawClient& operator=(RawClient&&) = delete;
    ~RawClient() {
        if (socket_ >= 0) ::close(socket_);
    }

    void send(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return;  // the other side has closed, which the test will notice
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }
    /// Reads available bytes without waiting.
    void receive() {
        std::array<char, 65'536> buffer;
        for (;;) {
            const auto got = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
            if (got > 0) {
                text_.append(buffer.data(), static_cast<std::size_t>(got));
                continue;
            }
            if (got == 0 || (errno != EAGAIN && errno != EINTR)) over_ = true;
            return;
        }
    }
    /// All bytes received so far.
    [[nodiscard]] const std::string& received() {
        receive();
        return text_;
    }
    void forget() { text_.clear(); }
    /// Sends no more; the other side reads the end of the stream.
    void end() { ::shutdown(socket_, SHUT_WR); }
    [[nodiscard]] bool over() const noexcept { return over_; }

private:
    int socket_;
    std::string text_;
    bool over_{false};
};

}  // namespace millpond::engine
