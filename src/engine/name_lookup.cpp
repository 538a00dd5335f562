#include "name_lookup.hpp"

#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <netdb.h>
#include <sys/socket.h>

namespace millpond::engine {

struct NameLookup::Answer {
    std::mutex lock;
    std::optional<std::vector<net::SocketAddress>> addresses;
};

namespace {

std::vector<net::SocketAddress> look_up(const std::string& name, std::uint16_t port) {
    std::vector<net::SocketAddress> found;
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (::getaddrinfo(name.c_str(), nullptr, &wanted, &list) != 0) return found;
    for (const auto* one = list; one != nullptr; one = one->ai_next) {
        sockaddr_storage kernel{};
        std::memcpy(&kernel, one->ai_addr, one->ai_addrlen);
        const auto address = net::SocketAddress::from_kernel(kernel);
        if (!address.empty()) found.push_back(address.with_port(port));
    }
    ::freeaddrinfo(list);
    return found;
}

/// Empty when it is a name that must be looked up.
std::optional<net::SocketAddress> written_out(const std::string& name) {
    try {
        return net::SocketAddress::parse_host(name);
    } catch (const std::invalid_argument&) {
        return std::nullopt;
    }
}

}  // namespace

NameLookup::NameLookup(const std::string& name, std::uint16_t port) : answer_(std::make_shared<Answer>()) {
    if (const auto address = written_out(name)) {
        answer_->addresses = {address->with_port(port)};
        return;
    }
    std::thread{[answer = answer_, name, port] {
        auto addresses = look_up(name, port);
        const std::lock_guard guard{answer->lock};
        answer->addresses = std::move(addresses);
    }}.detach();
}

std::optional<std::vector<net::SocketAddress>> NameLookup::result() const {
    const std::lock_guard guard{answer_->lock};
    return answer_->addresses;
}

}  // namespace millpond::engine
