#include "gateway/sinks/tcp/listener.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace millpond::gateway::tcp {

Listener::Listener(const Options& options) {
    const auto fail = [&] {
        const std::system_error error{
            errno, std::generic_category(),
            fmt::format("tcp sink '{}': cannot listen on {}", options.name, options.listen.to_string())};
        if (descriptor_ >= 0) close(descriptor_);
        throw error;
    };
    sockaddr_storage address{};
    const auto length = options.listen.to_kernel(address);
    descriptor_ = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor_ < 0) fail();
    const int on = 1;
    setsockopt(descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(descriptor_, reinterpret_cast<sockaddr*>(&address), length) != 0) fail();
    if (listen(descriptor_, SOMAXCONN) != 0) fail();
    socklen_t got = sizeof address;
    if (getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &got) != 0) fail();
    address_ = net::SocketAddress::from_kernel(address);
}

Listener::~Listener() { close(descriptor_); }

Listener::Accepted Listener::accept() const {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    const int socket =
        accept4(descriptor_, reinterpret_cast<sockaddr*>(&address), &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) return {.socket = socket, .peer = net::SocketAddress::from_kernel(address)};
    const bool none = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ECONNABORTED;
    return {.error = none ? 0 : errno, .peer = {}};
}

}  // namespace millpond::gateway::tcp
