#include "gateway/sinks/tcp/listener.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>

namespace millpond::gateway::tcp {

Listener::Listener(const Settings& settings) {
    const auto fail = [&] {
        throw std::system_error(
            errno, std::generic_category(),
            fmt::format("tcp sink '{}': cannot listen on {}", settings.name, settings.listen.to_string()));
    };
    sockaddr_storage address{};
    const auto length = settings.listen.to_kernel(address);
    socket_ = core::Descriptor{socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (!socket_) fail();
    const int on = 1;
    setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) fail();
    if (listen(socket_.get(), SOMAXCONN) != 0) fail();
    socklen_t got = sizeof address;
    if (getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &got) != 0) fail();
    address_ = net::SocketAddress::from_kernel(address);
}

Listener::Accepted Listener::accept() const {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    core::Descriptor socket{
        accept4(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (socket) return {.socket = std::move(socket), .peer = net::SocketAddress::from_kernel(address)};
    const bool none = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ECONNABORTED;
    return {.socket = {}, .error = none ? 0 : errno, .peer = {}};
}

}  // namespace millpond::gateway::tcp
