#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/line_client.hpp"

namespace millpond::test {

/// A WebSocket client of a port on this machine whose messages contain lines. It reads on request, and supports only
/// what a server may send: whole frames without a mask.
///
/// Connection: a LineClient, or a TlsClient.
/// Source: RFC 6455.
template <class Connection>
class WebSocketClientOf {
public:
    /// headers: additional headers, each with its line end. more: arguments of the connection.
    template <class... More>
    explicit WebSocketClientOf(std::uint16_t port, std::string_view headers = {}, More... more)
        : client_(port, more...) {
        client_.send_text("GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
                          std::string{headers} +
                          "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    }

    void send_text(std::string_view text) { send_frame(kText, text); }
    void send_frame(std::uint8_t opcode, std::string_view payload) {
        std::string frame{static_cast<char>(kLast | opcode)};
        if (payload.size() <= kMaxShort) {
            frame += static_cast<char>(kMasked | payload.size());
        } else {
            frame += static_cast<char>(kMasked | kTwoBytes);
            frame += static_cast<char>(payload.size() >> 8U);
            frame += static_cast<char>(payload.size() & 0xFFU);
        }
        frame += std::string(4, '\0');  // a mask of zeros
        client_.send_text(frame += payload);
    }
    void send_raw(std::string_view bytes) { client_.send_text(bytes); }

    void wait(int longest_ms = 1'000) const { client_.wait(longest_ms); }
    /// Reads available bytes without waiting.
    void receive() {
        client_.receive();
        const std::string_view text = client_.text();
        if (head_.empty()) {
            const auto end = text.find("\r\n\r\n");
            if (end == std::string_view::npos) return;
            head_ = text.substr(0, end + 4);
            parsed_ = head_.size();
        }
        while (parse_frame(text.substr(parsed_))) {
        }
    }

    /// The head of the response; empty until it is complete.
    [[nodiscard]] const std::string& head() const noexcept { return head_; }
    [[nodiscard]] bool agreed() const noexcept { return head_.starts_with("HTTP/1.1 101"); }
    [[nodiscard]] const std::vector<std::string>& lines() const noexcept { return lines_; }
    [[nodiscard]] std::size_t messages() const noexcept { return messages_; }
    /// Answers to pings.
    [[nodiscard]] const std::vector<std::string>& pongs() const noexcept { return pongs_; }
    /// Frames that a server with lines does not send.
    [[nodiscard]] std::size_t strange() const noexcept { return strange_; }
    /// Code of the close frame; 0 before it arrives.
    [[nodiscard]] std::uint16_t close_code() const noexcept { return close_code_; }
    [[nodiscard]] const std::string& close_reason() const noexcept { return close_reason_; }
    [[nodiscard]] bool over() const noexcept { return client_.over(); }
    /// Bytes received so far.
    [[nodiscard]] std::size_t bytes() const noexcept { return client_.text().size(); }
    void leave() { client_.leave(); }

private:
    static constexpr std::uint8_t kText = 1;
    static constexpr std::uint8_t kClose = 8;
    static constexpr std::uint8_t kPong = 10;
    static constexpr unsigned kLast = 0x80;
    static constexpr unsigned kMasked = 0x80;
    static constexpr std::size_t kMaxShort = 125;
    static constexpr std::size_t kTwoBytes = 126;

    bool parse_frame(std::string_view bytes) {
        const auto byte = [&](std::size_t at) {
            return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at]));
        };
        if (bytes.size() < 2) return false;
        std::size_t length = byte(1);
        std::size_t begin = 2;
        if (length > kMaxShort) {
            const std::size_t width = length == kTwoBytes ? 2 : 8;
            if (bytes.size() < begin + width) return false;
            length = 0;
            for (std::size_t i = 0; i < width; ++i) length = length << 8U | byte(begin++);
        }
        if (bytes.size() < begin + length) return false;
        handle(static_cast<std::uint8_t>(byte(0) & 0x0FU), bytes.substr(begin, length));
        parsed_ += begin + length;
        return true;
    }
    void handle(std::uint8_t opcode, std::string_view payload) {
        if (opcode == kText) {
            ++messages_;
            for (std::size_t end = payload.find('\n'); end != std::string_view::npos; end = payload.find('\n')) {
                lines_.emplace_back(payload.substr(0, end));
                payload.remove_prefix(end + 1);
            }
        } else if (opcode == kClose && payload.size() >= 2) {
            close_code_ = static_cast<std::uint16_t>(static_cast<unsigned char>(payload[0]) << 8U |
                                                     static_cast<unsigned char>(payload[1]));
            close_reason_ = payload.substr(2);
        } else if (opcode == kPong) {
            pongs_.emplace_back(payload);
        } else {
            ++strange_;
        }
    }

    Connection client_;
    std::string head_;
    std::size_t parsed_{0};
    std::size_t messages_{0};
    std::vector<std::string> pongs_;
    std::size_t strange_{0};
    std::vector<std::string> lines_;
    std::uint16_t close_code_{0};
    std::string close_reason_;
};

using WebSocketClient = WebSocketClientOf<LineClient>;

}  // namespace millpond::test
