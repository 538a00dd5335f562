#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <millpond/net/socket_address.hpp>

namespace millpond::fixd {

/// Addresses that failed to log on, and how long each must wait: 1 s, then twice as long each time up to 64 s. An hour
/// without a failure ends the wait; a success does not, because another client behind the same address may have had it.
///
/// Threads: one at a time. Memory: bounded; if it is full, the entry that expires first is dropped.
class FailedLogons {
public:
    using Clock = std::chrono::steady_clock;

    struct Wait {
        std::chrono::seconds left{0};
        std::uint64_t failures{0};
    };
    /// The remaining delay of `who`; nullopt: none.
    [[nodiscard]] std::optional<Wait> wait(const std::string& who, Clock::time_point now) const;
    void failed(const std::string& who, Clock::time_point now);
    /// Number of entries.
    [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }

private:
    struct Record {
        std::uint64_t failures{0};
        Clock::time_point until{};
    };
    void evict_if_full(Clock::time_point now);

    std::map<std::string, Record> records_;
};

/// The source that attempts are counted by: an IPv4 address, or the first 64 bits of an IPv6 address, of which
/// one machine may have all.
[[nodiscard]] std::string source_of(const net::SocketAddress& peer);

}  // namespace millpond::fixd
