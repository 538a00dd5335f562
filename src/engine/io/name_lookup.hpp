#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <millpond/net/host_addresses.hpp>

namespace millpond::engine {

/// Looks up the addresses of a host name. A lookup may block for an unbounded time in the resolver, so it runs on a
/// separate thread and is abandoned if no caller waits for it any more.
///
/// Threads: one.
class NameLookup {
public:
    static constexpr std::int64_t kPollNanos = 5'000'000;  ///< Interval at which its owner polls the result.

    /// Starts the lookup, unless `name` is an address.
    NameLookup(const std::string& name, std::uint16_t port);

    /// Result of the lookup; nullopt while it is running.
    [[nodiscard]] std::optional<net::HostAddresses> result() const;

private:
    struct Answer;
    std::shared_ptr<Answer> answer_;
};

}  // namespace millpond::engine
