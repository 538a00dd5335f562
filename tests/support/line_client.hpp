#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace millpond::test {

/// A TCP client of a port on this machine that reads lines on request.
class LineClient {
public:
    /// receive_buffer: bytes that the kernel buffers for a client that does not read; 0: the default.
    explicit LineClient(std::uint16_t port, int receive_buffer = 0) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (receive_buffer != 0) {
            setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        }
        if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
            throw std::runtime_error("cannot connect to port " + std::to_string(port));
        }
    }
    ~LineClient() { leave(); }
    LineClient(LineClient&& other) noexcept
        : socket_(std::exchange(other.socket_, -1)), text_(std::move(other.text_)), over_(other.over_) {}
    LineClient& operator=(LineClient&&) = delete;

    void leave() {
        if (socket_ >= 0) close(std::exchange(socket_, -1));
    }
    /// Ends the connection with a TCP reset.
    void reset() {
        const linger none{.l_onoff = 1, .l_linger = 0};
        setsockopt(socket_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
        leave();
    }
    void send_text(std::string_view text) {
        while (!text.empty()) {
            const auto sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0) throw std::runtime_error("the connection is gone");
            text.remove_prefix(static_cast<std::size_t>(sent));
        }
    }
    /// Sends the part that the kernel accepts at once, possibly nothing.
    void try_send(std::string_view text) {
        [[maybe_unused]] const auto sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    void send_no_more() { shutdown(socket_, SHUT_WR); }

    /// Waits until bytes are available, or for that time.
    void wait(int longest_ms = 1'000) const {
        pollfd readable{socket_, POLLIN, 0};
        poll(&readable, 1, longest_ms);
    }
    /// Reads available bytes without waiting.
    void receive() {
        std::array<char, 16'384> buffer;
        for (;;) {
            const auto got = recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
            if (got > 0) {
                text_.append(buffer.data(), static_cast<std::size_t>(got));
                continue;
            }
            if (got == 0 || (errno != EAGAIN && errno != EINTR)) over_ = true;
            return;
        }
    }
    /// Removes and returns received bytes.
    void skip_at_most(std::size_t bytes) {
        std::array<char, 16'384> buffer;
        const auto got = recv(socket_, buffer.data(), std::min(bytes, buffer.size()), MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) over_ = true;
    }
    /// Complete lines received so far, without their newlines.
    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> result;
        std::size_t begin = 0;
        for (auto end = text_.find('\n'); end != std::string::npos; end = text_.find('\n', begin)) {
            result.push_back(text_.substr(begin, end - begin));
            begin = end + 1;
        }
        return result;
    }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    [[nodiscard]] bool ends_in_a_line() const { return text_.empty() || text_.back() == '\n'; }
    /// Whether the other side has closed.
    [[nodiscard]] bool over() const noexcept { return over_; }

private:
    int socket_{-1};
    std::string text_;
    bool over_{false};
};

}  // namespace millpond::test
