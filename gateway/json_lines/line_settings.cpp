#include "gateway/json_lines/line_settings.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

#include <millpond/core/descriptor.hpp>

namespace millpond::gateway {

std::vector<SinkOutput> line_outputs(const LineSettings& settings) {
    // Each port 0 is another port.
    if (settings.listen.port() == 0) return {};
    return {{.name = settings.listen.to_string(), .claim = fmt::format("port {}", settings.listen.port())}};
}

void check_listen_host(const net::SocketAddress& listen) {
    sockaddr_storage address{};
    const auto length = listen.to_kernel(address);
    if (address.ss_family == AF_INET6) {
        reinterpret_cast<sockaddr_in6&>(address).sin6_port = 0;
    } else {
        reinterpret_cast<sockaddr_in&>(address).sin_port = 0;
    }
    const core::Descriptor probe{::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!probe) throw std::system_error(errno, std::generic_category(), "a socket");
    if (::bind(probe.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
        throw std::system_error(errno, std::generic_category(), fmt::format("cannot listen on {}", listen.to_string()));
}

}  // namespace millpond::gateway
