#include "apps/millpond/traffic/stream_server.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <millpond/core/clock.hpp>

namespace millpond::traffic {
namespace {

constexpr std::int64_t kClosingNs = 1'000'000'000;
constexpr std::int64_t kIdleNs = 10 * kClosingNs;
constexpr std::size_t kUnsentBytes = std::size_t{256} * 1'024;
constexpr int kQueuedClients = 16;

}  // namespace

StreamServer::StreamServer(const net::SocketAddress& listen, std::string_view what, Open open)
    : open_(std::move(open)) {
    sockaddr_storage address{};
    auto length = listen.to_kernel(address);
    socket_ = core::Descriptor{::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    const int on = 1;
    if (socket_) ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!socket_ || ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
        ::listen(socket_.get(), kQueuedClients) != 0)
        throw std::system_error(errno, std::generic_category(),
                                "cannot serve " + std::string{what} + " at " + listen.to_string());
    length = sizeof address;
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    address_ = net::SocketAddress::from_kernel(address);
}

void StreamServer::poll(int timeout_ms) {
    std::vector<pollfd> waits{{socket_.get(), POLLIN, 0}};
    for (const auto& client : clients_) {
        const auto wanted = client->unsent_bytes() != 0 ? POLLIN | POLLOUT : POLLIN;
        waits.push_back({client->socket.get(), static_cast<short>(wanted), 0});
    }
    ::poll(waits.data(), waits.size(), timeout_ms);
    const auto now = core::monotonic_nanos();
    accept(now);
    std::erase_if(clients_, [&](const auto& client) { return !serve(*client, now); });
}

void StreamServer::accept(std::int64_t now_ns) {
    for (;;) {
        core::Descriptor socket{::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
        if (!socket) return;
        if (clients_.size() == kMaxClients) continue;
        auto client = std::make_unique<Client>();
        client->socket = std::move(socket);
        client->reply = open_();
        client->moved_ns = now_ns;
        clients_.push_back(std::move(client));
    }
}

bool StreamServer::serve(Client& client, std::int64_t now_ns) {
    if (!receive(client, now_ns)) return false;
    while (!client.is_over && client.unsent_bytes() < kUnsentBytes) {
        const auto before = client.unsent.size();
        client.is_over = !client.reply->write(client.unsent);
        if (client.unsent.size() == before) break;
    }
    if (!flush(client, now_ns)) return false;
    if (!client.is_over || client.unsent_bytes() != 0) return now_ns - client.moved_ns < kIdleNs;
    // Closing with unread bytes of the client would make the kernel discard what was sent.
    ::shutdown(client.socket.get(), SHUT_WR);
    return now_ns - client.moved_ns < kClosingNs;
}

bool StreamServer::receive(Client& client, std::int64_t now_ns) {
    std::array<std::byte, 4'096> bytes;
    const auto got = ::recv(client.socket.get(), bytes.data(), bytes.size(), 0);
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    if (got == 0) return false;
    client.moved_ns = now_ns;
    client.received.insert(client.received.end(), bytes.begin(), bytes.begin() + got);
    const auto read = client.reply->read(client.received);
    if (!read) return false;
    client.received.erase(client.received.begin(), client.received.begin() + static_cast<std::ptrdiff_t>(*read));
    return true;
}

bool StreamServer::flush(Client& client, std::int64_t now_ns) {
    if (client.unsent_bytes() == 0) return true;
    const auto sent =
        ::send(client.socket.get(), client.unsent.data() + client.unsent_begin, client.unsent_bytes(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    client.moved_ns = now_ns;
    client.unsent_begin += static_cast<std::size_t>(sent);
    if (client.unsent_bytes() == 0 || client.unsent_begin > kUnsentBytes) {
        client.unsent.erase(client.unsent.begin(),
                            client.unsent.begin() + static_cast<std::ptrdiff_t>(client.unsent_begin));
        client.unsent_begin = 0;
    }
    return true;
}

}  // namespace millpond::traffic
