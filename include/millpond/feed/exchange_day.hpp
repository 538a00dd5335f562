#pragma once

#include <cstdint>
#include <limits>

namespace millpond::feed {

/// Converts times since midnight, as a format sends them, to UTC.
///
/// Threads: one.
class ExchangeDay {
public:
    static constexpr std::int64_t kDayNs = 86'400'000'000'000;

    /// Sets the exchange's midnight in UTC nanoseconds; 0: unknown. nearest: the midnight is that of the receiver's
    /// clock, so a time may be of the day before or after; the day that puts it nearest to its receive time is used,
    /// because times of the old day still arrive after midnight.
    void set_midnight(std::int64_t utc_ns, bool nearest) noexcept {
        midnight_utc_ns_ = utc_ns;
        span_ = nearest && utc_ns != 0 ? kDayNs : std::numeric_limits<std::uint64_t>::max();
    }
    [[nodiscard]] std::int64_t midnight_utc_ns() const noexcept { return midnight_utc_ns_; }

    /// UTC of a time since midnight; 0 without a midnight. receive_utc_ns: 0 if unknown.
    [[nodiscard]] std::int64_t utc_ns(std::int64_t since_midnight_ns, std::int64_t receive_utc_ns) const noexcept {
        if (midnight_utc_ns_ == 0) return 0;
        const auto time = midnight_utc_ns_ + since_midnight_ns;
        const auto ahead = static_cast<std::uint64_t>(receive_utc_ns) - static_cast<std::uint64_t>(time);
        if (ahead + kDayNs / 2 <= span_) [[likely]]
            return time;
        if (receive_utc_ns == 0) return time;
        return time + (receive_utc_ns > time ? kDayNs : -kDayNs);
    }

private:
    std::int64_t midnight_utc_ns_{0};
    std::uint64_t span_{std::numeric_limits<std::uint64_t>::max()};  // maximum difference for which the day is certain
};

}  // namespace millpond::feed
