#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <millpond/net/socket_address.hpp>

namespace millpond::engine {

/// Addresses of a host's name. A look-up may take as long as the resolver likes, so it runs on a thread of its own, and
/// is abandoned once no caller waits for it.
///
/// Threads: one. Source: getaddrinfo(3).
class NameLookup {
public:
    /// An address needs no look-up.
    NameLookup(const std::string& name, std::uint16_t port);

    struct Result {
        std::vector<net::SocketAddress> addresses;
        std::string error;  ///< Why there are none.
    };
    /// Nothing while it lasts.
    [[nodiscard]] std::optional<Result> result() const;

private:
    struct Answer;
    std::shared_ptr<Answer> answer_;
};

}  // namespace millpond::engine
