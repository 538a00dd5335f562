#pragma once

#include <algorithm>
#include <cstdint>

namespace millpond::engine {

/// Limits the rate of a peer's messages: a token bucket that messages received together may overdraw.
///
/// Threads: one.
/// Source:  token bucket, RFC 2697 section 3 (one rate, one size).
class RateLimit {
public:
    /// per_second: 0: unlimited.
    RateLimit(std::uint32_t per_second, std::uint32_t burst) noexcept
        : per_second_(per_second), burst_(burst), tokens_(burst) {}

    void begin(std::int64_t now_ns) noexcept {
        tokens_ = burst_;
        filled_ns_ = now_ns;
    }
    /// Consumes tokens for `messages`. Returns false if the limit is exceeded now.
    [[nodiscard]] bool consume(std::uint64_t messages, std::int64_t now_ns) noexcept {
        if (per_second_ == 0) return true;
        fill(now_ns);
        tokens_ -= static_cast<double>(messages);
        return tokens_ >= 0;
    }
    /// Monotonic time from which the limit is no longer exceeded.
    [[nodiscard]] std::int64_t free_at_ns() const noexcept {
        if (tokens_ >= 0) return filled_ns_;
        return filled_ns_ + static_cast<std::int64_t>(-tokens_ / per_second_ * 1e9) + 1;
    }
    [[nodiscard]] bool is_free(std::int64_t now_ns) noexcept {
        fill(now_ns);
        return per_second_ == 0 || tokens_ >= 0;
    }

private:
    void fill(std::int64_t now_ns) noexcept {
        const auto passed = static_cast<double>(std::max<std::int64_t>(now_ns - filled_ns_, 0)) / 1e9;
        tokens_ = std::min<double>(burst_, tokens_ + passed * per_second_);
        filled_ns_ = now_ns;
    }

    std::uint32_t per_second_;
    std::uint32_t burst_;
    double tokens_;
    std::int64_t filled_ns_{0};
};

}  // namespace millpond::engine
