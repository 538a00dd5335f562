#include "gateway/sinks/mqtt/reach.hpp"

#include <cerrno>
#include <chrono>
#include <system_error>

#include <poll.h>
#include <sys/socket.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/descriptor.hpp>
#include <millpond/net/host_addresses.hpp>

namespace millpond::gateway::mqtt {
namespace {

constexpr int kTickMs = 100;
constexpr std::chrono::nanoseconds kPatience = std::chrono::seconds{5};

/// Connects to the address. Returns 0 or an errno.
int try_connect(const net::SocketAddress& address, const std::stop_token& stop) {
    sockaddr_storage kernel{};
    const auto length = address.to_kernel(kernel);
    const core::Descriptor socket{::socket(kernel.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (!socket) return errno;
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&kernel), length) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    const auto until = core::monotonic_nanos() + kPatience.count();
    while (!stop.stop_requested() && core::monotonic_nanos() < until) {
        pollfd writable{socket.get(), POLLOUT, 0};
        if (::poll(&writable, 1, kTickMs) <= 0) continue;
        int error = 0;
        socklen_t size = sizeof(error);
        return getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
    }
    return ETIMEDOUT;
}

}  // namespace

std::optional<std::string> unreachable(const std::string& host, std::uint16_t port, const std::stop_token& stop) {
    const auto found = net::host_addresses(host, port);
    if (found.addresses.empty()) return found.error;
    int error = ETIMEDOUT;
    for (const auto& address : found.addresses) {
        if (stop.stop_requested()) break;
        error = try_connect(address, stop);
        if (error == 0) return std::nullopt;
    }
    return std::generic_category().message(error);
}

}  // namespace millpond::gateway::mqtt
