#include "src/engine/io/tcp_sockets.hpp"

#include <cerrno>
#include <system_error>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace millpond::engine {
namespace {

constexpr int kListenBacklog = 128;

}  // namespace

void send_at_once(int socket) noexcept {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

core::Descriptor connecting_socket(const net::SocketAddress& to, const net::SocketAddress& from) {
    sockaddr_storage kernel{};
    const auto size = to.to_kernel(kernel);
    core::Descriptor socket{::socket(kernel.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (!socket) return {};
    send_at_once(socket.get());
    bool failed = false;
    if (!from.empty()) {
        // The port is chosen together with the peer's address, so that many connections may share a port.
        const int on = 1;
        ::setsockopt(socket.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        sockaddr_storage local{};
        const auto local_size = from.to_kernel(local);
        failed = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&local), local_size) != 0;
    }
    failed = failed ||
             (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&kernel), size) != 0 && errno != EINPROGRESS);
    if (!failed) return socket;
    const auto error = errno;
    socket = {};
    errno = error;
    return {};
}

int connect_error(int socket) noexcept {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

ListeningSocket listening_socket(const std::string& address, std::uint16_t port) {
    const auto where = address + ":" + std::to_string(port);
    sockaddr_storage kernel{};
    const auto size = net::SocketAddress::parse_host(address).with_port(port).to_kernel(kernel);
    core::Descriptor socket{::socket(kernel.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (!socket) throw std::system_error(errno, std::system_category(), "a socket for " + where);
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    socklen_t bound_bytes = sizeof kernel;
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&kernel), size) != 0 ||
        ::listen(socket.get(), kListenBacklog) != 0 ||
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&kernel), &bound_bytes) != 0) {
        throw std::system_error(errno, std::system_category(), "cannot listen on " + where);
    }
    return {std::move(socket), net::SocketAddress::from_kernel(kernel).port()};
}

std::expected<AcceptedSocket, int> accepted_socket(int listening) noexcept {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    core::Descriptor socket{
        ::accept4(listening, reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (!socket) {
        const bool none = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ECONNABORTED;
        return std::unexpected(none ? 0 : errno);
    }
    return AcceptedSocket{std::move(socket), net::SocketAddress::from_kernel(address)};
}

}  // namespace millpond::engine
