#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/fix/frame.hpp>
#include <millpond/fix/writer.hpp>

#include "bench/engine/session_path.hpp"
#include "bench/harness/timing.hpp"

namespace millpond::bench {

/// DESK of a FIX 4.4 session with HOUSE on a bare socket, which it reads spinning. It has no store and checks only
/// frame, CheckSum, type and ClOrdID of a message.
class RawDesk {
public:
    /// port: of loopback. Retries for up to ten seconds while HOUSE is not ready.
    explicit RawDesk(int port) {
        wait_until([&] { return try_logon(port); });
    }
    RawDesk(const RawDesk&) = delete;
    RawDesk& operator=(const RawDesk&) = delete;
    ~RawDesk() {
        try {
            write("5", [](fix::Writer&) {});
            // Waits two seconds for the peer to answer and close.
            const timeval patience{.tv_sec = 2, .tv_usec = 0};
            ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
            ::shutdown(socket_, SHUT_WR);
            while (::recv(socket_, buffer_.data(), buffer_.size(), 0) > 0) {
            }
        } catch (const std::exception&) {  // the connection has ended already
        }
        ::close(socket_);
    }

    /// ClOrdID of the report that answers the order.
    std::uint64_t round_trip(std::uint64_t id) {
        write("D", [&](fix::Writer& writer) { write_order(writer, id, core::utc_nanos()); });
        const auto report = read();
        if (!has(report, "35=8") || !has(report, "11=" + std::to_string(id))) {
            throw std::runtime_error("a peer of the bench answered something else");
        }
        return id;
    }

private:
    [[nodiscard]] bool try_logon(int port) {
        if (socket_ >= 0) ::close(socket_);
        socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
        sent_ = 0;
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int on = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return false;
        try {
            write("A", [](fix::Writer& writer) { writer.add<98>('0').add<108>(30); });
            return has(read(), "35=A");
        } catch (const std::runtime_error&) {  // a session that has not noticed its end refuses a second connection
            return false;
        }
    }

    template <class Body>
    void write(std::string_view type, Body body) {
        std::array<char, 512> buffer;
        fix::Writer writer{buffer, "FIX.4.4"};
        writer.add<35>(type).add<34>(++sent_).add<49>("DESK");
        writer.add_timestamp(52, core::utc_nanos(), fix::TimePrecision::millis).add<56>("HOUSE");
        body(writer);
        const auto bytes = writer.finish().value();
        if (::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
            throw std::runtime_error("the desk of the bench could not send");
        }
    }

    /// The next message, which is the only one in the socket: the next order is sent after the report.
    [[nodiscard]] std::string_view read() {
        std::size_t have = 0;
        std::string_view message;
        spin_until([&] {
            const auto got = ::recv(socket_, buffer_.data() + have, buffer_.size() - have, MSG_DONTWAIT);
            if (got == 0) throw std::runtime_error("a peer of the bench closed the session");
            if (got < 0) return false;
            have += static_cast<std::size_t>(got);
            const auto frame = fix::next_frame(std::as_bytes(std::span{buffer_.data(), have}));
            if (!frame) {
                if (frame.error().error != fix::FrameError::incomplete) {
                    throw std::runtime_error("a peer of the bench sent a garbled message");
                }
                return false;
            }
            message = {buffer_.data(), frame->bytes.size()};
            check(message, frame->trailer_offset);
            return true;
        });
        return message;
    }

    static void check(std::string_view message, std::size_t trailer) {
        const auto sum =
            std::accumulate(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(trailer), 0U,
                            [](unsigned total, char byte) { return total + static_cast<unsigned char>(byte); });
        const auto text = std::to_string(1'000 + sum % 256).substr(1);
        if (message.substr(trailer + 3, 3) != text) throw std::runtime_error("a report has a wrong CheckSum");
    }
    static bool has(std::string_view message, const std::string& field) {
        return message.find("\x01" + field + "\x01") != std::string_view::npos;
    }

    int socket_{-1};
    std::uint64_t sent_{0};
    std::array<char, 4096> buffer_{};
};

}  // namespace millpond::bench
