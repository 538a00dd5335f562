#include "src/engine/io/name_lookup.hpp"

#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

namespace millpond::engine {

struct NameLookup::Answer {
    std::mutex lock;
    std::optional<net::HostAddresses> result;
};

namespace {

/// Parses `name` as an address; nullopt if it must be looked up.
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
        answer_->result = net::HostAddresses{.addresses = {address->with_port(port)}, .error = {}};
        return;
    }
    std::thread{[answer = answer_, name, port] {
        auto result = net::host_addresses(name, port);
        const std::lock_guard guard{answer->lock};
        answer->result = std::move(result);
    }}.detach();
}

std::optional<net::HostAddresses> NameLookup::result() const {
    const std::lock_guard guard{answer_->lock};
    return answer_->result;
}

}  // namespace millpond::engine
