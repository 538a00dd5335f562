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
    std::optional<Result> result;
};

namespace {

NameLookup::Result look_up(const std::string& name, std::uint16_t port) {
    NameLookup::Result found;
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (const int error = ::getaddrinfo(name.c_str(), nullptr, &wanted, &list); error != 0) {
        found.error = ::gai_strerror(error);
        return found;
    }
    for (const auto* one = list; one != nullptr; one = one->ai_next) {
        sockaddr_storage kernel{};
        std::memcpy(&kernel, one->ai_addr, one->ai_addrlen);
        const auto address = net::SocketAddress::from_kernel(kernel);
        if (!address.empty()) found.addresses.push_back(address.with_port(port));
    }
    ::freeaddrinfo(list);
    if (found.addresses.empty()) found.error = "no IPv4 or IPv6 address";
    return found;
}

/// Empty if it is a name that must be looked up.
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
        answer_->result = Result{.addresses = {address->with_port(port)}, .error = {}};
        return;
    }
    std::thread{[answer = answer_, name, port] {
        auto result = look_up(name, port);
        const std::lock_guard guard{answer->lock};
        answer->result = std::move(result);
    }}.detach();
}

std::optional<NameLookup::Result> NameLookup::result() const {
    const std::lock_guard guard{answer_->lock};
    return answer_->result;
}

}  // namespace millpond::engine
