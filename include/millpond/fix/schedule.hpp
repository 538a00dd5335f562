#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include <millpond/fix/time_zone.hpp>

namespace millpond::fix {

/// Times at which a session runs: each day, on some weekdays, or from one day of the week to another, in a time zone. A
/// session that always runs has no schedule. If a local time occurs twice, the first one is used; a local time that is
/// skipped is the moment of the change.
///
/// Threads: a value. Memory: shares the zone; null: UTC.
class Schedule {
public:
    enum class Weekday : std::uint8_t { sunday, monday, tuesday, wednesday, thursday, friday, saturday };

    /// Runs from start to end on each of the days. If end <= start, it runs across midnight, and the day is that of the
    /// start. Times are seconds since the zone's midnight. If both are equal, one run follows the other.
    [[nodiscard]] static Schedule daily(std::int64_t start_second, std::int64_t end_second,
                                        std::array<bool, 7> weekdays = {true, true, true, true, true, true, true},
                                        std::shared_ptr<const TimeZone> zone = nullptr) noexcept;
    /// Runs once per week.
    [[nodiscard]] static Schedule weekly(Weekday start_day, std::int64_t start_second, Weekday end_day,
                                         std::int64_t end_second,
                                         std::shared_ptr<const TimeZone> zone = nullptr) noexcept;

    /// True for the same times in the same zone object.
    friend bool operator==(const Schedule&, const Schedule&) = default;

    [[nodiscard]] bool is_open(std::int64_t utc_ns) const noexcept { return session_of(utc_ns) != kClosed; }
    /// Whether both times are in the same run of the session: sequence numbers are reset between runs.
    [[nodiscard]] bool same_session(std::int64_t utc_ns, std::int64_t other_utc_ns) const noexcept {
        const auto session = session_of(utc_ns);
        return session != kClosed && session == session_of(other_utc_ns);
    }

    /// Whether the run of the last reset is over. A time up to a day before the reset means that the clock was set
    /// back: the run continues.
    [[nodiscard]] bool is_over(std::int64_t reset_utc_ns, std::int64_t utc_ns) const noexcept {
        return !same_session(reset_utc_ns, utc_ns) && !is_set_back(reset_utc_ns, utc_ns);
    }
    /// Whether the clock was set back since the reset, to before the start of the run.
    [[nodiscard]] bool is_set_back(std::int64_t reset_utc_ns, std::int64_t utc_ns) const noexcept {
        constexpr std::int64_t kDayNanos = 86'400'000'000'000;
        return utc_ns < reset_utc_ns && utc_ns > reset_utc_ns - kDayNanos && !same_session(reset_utc_ns, utc_ns);
    }

private:
    static constexpr std::int64_t kClosed = INT64_MIN;

    /// Local second at which the current run began; kClosed between two runs.
    [[nodiscard]] std::int64_t session_of(std::int64_t utc_ns) const noexcept;

    std::shared_ptr<const TimeZone> zone_;
    bool weekly_{false};
    std::array<bool, 7> weekdays_{};
    std::int64_t start_{0};   // second of the day, or of the week, which begins on Sunday
    std::int64_t length_{0};  // seconds
};

}  // namespace millpond::fix
