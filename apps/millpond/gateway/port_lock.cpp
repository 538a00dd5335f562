#include "apps/millpond/gateway/port_lock.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <thread>

#include <sys/socket.h>
#include <sys/un.h>

namespace millpond::app {

PortLock::PortLock() : socket_{socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)} {
    // An abstract socket name: it belongs to the network namespace, like ports, and ends with its process.
    constexpr std::string_view kName = "millpond demo's ports";
    constexpr std::chrono::seconds kPatience{60};
    sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
    std::ranges::copy(kName, name.sun_path + 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + kName.size());
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&name), length) != 0 && errno == EADDRINUSE &&
           std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
}

}  // namespace millpond::app
