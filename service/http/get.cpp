#include "service/http/get.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <sys/socket.h>
#include <sys/time.h>

#include <millpond/core/descriptor.hpp>

namespace millpond::http {
namespace {

constexpr timeval kSocketPatience{.tv_sec = 5, .tv_usec = 0};

/// A connected socket.
class Connection {
public:
    explicit Connection(const net::SocketAddress& server) : server_(server.to_string()) {
        sockaddr_storage address{};
        const auto length = server.to_kernel(address);
        socket_ = core::Descriptor{socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &kSocketPatience, sizeof kSocketPatience);
        setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &kSocketPatience, sizeof kSocketPatience);
        if (connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) fail("cannot connect");
    }

    void send_all(std::string_view text) const {
        while (!text.empty()) {
            const auto sent = send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0) fail("cannot ask");
            text.remove_prefix(static_cast<std::size_t>(sent));
        }
    }
    [[nodiscard]] std::string receive_all() const {
        std::string text;
        std::array<char, 16'384> buffer;
        for (;;) {
            const auto got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
            if (got < 0) fail("no answer");
            if (got == 0) return text;
            text.append(buffer.data(), static_cast<std::size_t>(got));
        }
    }

private:
    [[noreturn]] void fail(std::string_view what) const {
        throw std::runtime_error(fmt::format("{}: {}: {}", server_, what, std::generic_category().message(errno)));
    }

    std::string server_;
    core::Descriptor socket_;
};

}  // namespace

std::string get(const net::SocketAddress& server, const std::string& path, const std::string& token) {
    const Connection connection{server};
    connection.send_all(fmt::format("GET {} HTTP/1.0\r\nHost: {}\r\n{}\r\n", path, server.to_string(),
                                    token.empty() ? "" : fmt::format("Authorization: Bearer {}\r\n", token)));
    const auto answer = connection.receive_all();
    const auto head = answer.find("\r\n\r\n");
    const auto line = answer.substr(0, answer.find('\r'));
    if (head == std::string::npos || line.find(" 200 ") == std::string::npos) {
        throw std::runtime_error(fmt::format("{}: answers {} with '{}'", server.to_string(), path, line));
    }
    return answer.substr(head + 4);
}

}  // namespace millpond::http
