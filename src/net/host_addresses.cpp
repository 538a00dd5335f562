#include <millpond/net/host_addresses.hpp>

#include <netdb.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

namespace millpond::net {

HostAddresses host_addresses(const std::string& name, std::uint16_t port) {
    HostAddresses found;
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (const int error = ::getaddrinfo(name.c_str(), nullptr, &wanted, &list); error != 0) {
        found.error = ::gai_strerror(error);
        return found;
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{list, &::freeaddrinfo};
    for (const auto* one = list; one != nullptr; one = one->ai_next) {
        sockaddr_storage kernel{};
        std::memcpy(&kernel, one->ai_addr, one->ai_addrlen);
        const auto address = SocketAddress::from_kernel(kernel);
        if (!address.empty()) found.addresses.push_back(address.with_port(port));
    }
    if (found.addresses.empty()) found.error = "no IPv4 or IPv6 address";
    return found;
}

}  // namespace millpond::net
