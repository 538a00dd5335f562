#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace millpond::fixd {

/// Who failed to log on, and how long it has to wait: 1 s, then twice as long each time up to 64 s. An hour without a
/// failure forgives. One attempt at a time is looked at, so that many at once try no more passwords.
///
/// Threads: one at a time. Memory: bounded; where it is full, who may try again soonest is forgotten.
class FailedLogons {
public:
    using Clock = std::chrono::steady_clock;

    /// What an attempt has to wait for; nothing: it may be looked at, and `settle` must follow.
    struct Wait {
        std::chrono::seconds left{0};  ///< 0: for another attempt's end.
        std::uint64_t failures{0};
    };
    [[nodiscard]] std::optional<Wait> begin(const std::string& who, Clock::time_point now);
    /// The attempt has ended.
    void settle(const std::string& who, bool failed, Clock::time_point now);
    /// How many are remembered.
    [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }

private:
    struct Record {
        std::uint64_t failures{0};
        Clock::time_point until{};
        bool looked_at{false};
    };
    void make_room(Clock::time_point now);

    std::map<std::string, Record> records_;
};

}  // namespace millpond::fixd
