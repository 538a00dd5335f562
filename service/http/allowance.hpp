#pragma once

#include <algorithm>
#include <cstdint>

namespace millpond::http {

/// Token bucket that limits the requests of a client: `burst` at once, and `per_second` on average.
///
/// Threads: one.
class Allowance {
public:
    constexpr Allowance(double per_second, double burst) noexcept
        : per_second_(per_second), burst_(burst), left_(burst) {}

    /// Whether one more request is within the limit. Counts it if so.
    [[nodiscard]] constexpr bool admit(std::int64_t now_ns) noexcept {
        constexpr double kNanos = 1e9;
        const auto gone = static_cast<double>(std::max<std::int64_t>(now_ns - seen_ns_, 0));
        left_ = std::min(burst_, left_ + gone / kNanos * per_second_);
        seen_ns_ = std::max(seen_ns_, now_ns);
        if (left_ < 1.0) return false;
        left_ -= 1.0;
        return true;
    }

private:
    double per_second_;
    double burst_;
    double left_;
    std::int64_t seen_ns_{0};
};

}  // namespace millpond::http
