#include "service/listening.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include <netinet/in.h>
#include <sys/socket.h>

#include <millpond/core/descriptor.hpp>

namespace millpond::service {

std::string exposure(const net::SocketAddress& listen, const TokenSource& token, const tls::Options& tls) {
    const bool authenticates = !token.empty() || !tls.authorities.empty();
    const bool encrypts = !tls.empty();
    if (listen.empty() || listen.is_loopback() || (authenticates && encrypts)) return {};
    if (authenticates) {
        return fmt::format(
            "{} is open to other machines without TLS: the token and all data can be read on the network",
            listen.to_string());
    }
    return fmt::format("{} is open to other machines without a token{}: any client is admitted", listen.to_string(),
                       encrypts ? "" : " and without TLS");
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

}  // namespace millpond::service
