#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "bench/gateway/tcp_socket.hpp"

namespace millpond::bench {

/// A blocking WebSocket client on loopback. Messages contain JSON lines; frame headers between them are not parsed, so
/// that a line may begin with one.
class WebSocket {
public:
    explicit WebSocket(std::uint16_t port) : socket_(TcpSocket::connect_to(port)) {
        socket_.write(
            "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
        if (!socket_.read_line().starts_with("HTTP/1.1 101")) throw std::runtime_error("there is no WebSocket");
        while (socket_.read_line() != "\r") {
        }
    }

    /// text: at most 125 bytes.
    void send_text(std::string_view text) const {
        std::string frame{"\x81"};
        frame += static_cast<char>(0x80U | text.size());
        frame += std::string(4, '\0');
        socket_.write(frame += text);
    }
    /// The next line, perhaps after a frame's header; valid until the next call.
    [[nodiscard]] std::string_view read_line() { return socket_.read_line(); }
    [[nodiscard]] const TcpSocket& socket() const { return socket_; }
    /// The connection, for readers of bytes.
    [[nodiscard]] TcpSocket release() && { return std::move(socket_); }

private:
    TcpSocket socket_;
};

}  // namespace millpond::bench
