#include "gateway/sinks/mqtt/reach.hpp"

#include <netdb.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <system_error>

#include <poll.h>
#include <sys/socket.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/descriptor.hpp>

namespace millpond::gateway::mqtt {
namespace {

constexpr int kTickMs = 100;
constexpr std::chrono::nanoseconds kPatience = std::chrono::seconds{5};

struct FreeAddresses {
    void operator()(addrinfo* list) const noexcept { freeaddrinfo(list); }
};

/// The result of connecting to it: 0, or an errno.
int try_connect(const addrinfo& address, const std::stop_token& stop) {
    const core::Descriptor socket{::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (!socket) return errno;
    if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return 0;
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
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0)
        return gai_strerror(error);
    const std::unique_ptr<addrinfo, FreeAddresses> addresses{found};
    int error = ETIMEDOUT;
    for (const auto* address = found; address != nullptr && !stop.stop_requested(); address = address->ai_next) {
        error = try_connect(*address, stop);
        if (error == 0) return std::nullopt;
    }
    return std::generic_category().message(error);
}

}  // namespace millpond::gateway::mqtt
