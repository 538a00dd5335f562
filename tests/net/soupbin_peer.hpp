#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/soupbin_packet.hpp>

namespace millpond::net::test {

/// The server's end of SoupBinTCP connections, one at a time, which sends exactly what a test tells it.
class SoupBinPeer {
public:
    SoupBinPeer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_storage address{};
        auto length = SocketAddress::parse("127.0.0.1:0").to_kernel(address);
        if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
            ::listen(socket_.get(), 4) != 0)
            throw std::runtime_error("no socket");
        length = sizeof address;
        ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length);
        address_ = SocketAddress::from_kernel(address);
    }

    [[nodiscard]] const SocketAddress& address() const noexcept { return address_; }
    /// Whether a client waits to be accepted.
    [[nodiscard]] bool has_caller() const {
        pollfd wait{socket_.get(), POLLIN, 0};
        return ::poll(&wait, 1, 0) == 1;
    }
    void accept() {
        client_ = core::Descriptor{::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
        received_.clear();
    }
    /// Closes the connection.
    void hang_up() { client_ = {}; }
    /// Descriptor of the connection.
    [[nodiscard]] int client() const noexcept { return client_.get(); }
    /// Stops listening: clients are refused.
    void stop() { socket_ = {}; }

    /// Sends bytes; a client that has left does not get them.
    void send(std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const auto sent = ::send(client_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent > 0) {
                bytes = bytes.subspan(static_cast<std::size_t>(sent));
            } else if (errno != EAGAIN) {
                return;
            }
        }
    }
    void send(char type, std::string_view payload = {}) {
        std::vector<std::byte> packet(soupbin::kHeaderBytes + payload.size());
        soupbin::write_header(packet.data(), type, payload.size());
        for (std::size_t i = 0; i < payload.size(); ++i) packet[soupbin::kHeaderBytes + i] = std::byte(payload[i]);
        send(packet);
    }
    void accept_login(std::string_view session, std::uint64_t next) {
        std::array<std::byte, soupbin::kLoginAcceptedBytes> packet;
        write(soupbin::LoginAccepted{.session = soupbin::Session{session}, .sequence = next}, packet);
        send(packet);
    }

    /// Bytes of the client so far.
    [[nodiscard]] const std::string& received() {
        std::array<char, 4'096> bytes;
        for (;;) {
            const auto got = ::recv(client_.get(), bytes.data(), bytes.size(), 0);
            if (got <= 0) {
                has_left_ = got == 0;
                return received_;
            }
            received_.append(bytes.data(), static_cast<std::size_t>(got));
        }
    }
    /// Whether the client has closed the connection.
    [[nodiscard]] bool has_left() {
        static_cast<void>(received());
        return has_left_;
    }

private:
    core::Descriptor socket_;
    core::Descriptor client_;
    SocketAddress address_;
    std::string received_;
    bool has_left_{false};
};

}  // namespace millpond::net::test
