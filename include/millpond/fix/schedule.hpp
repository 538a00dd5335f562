#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include <millpond/fix/time_zone.hpp>

namespace millpond::fix {

/// When a session runs: each day, on some weekdays, or from one day of the week to another, in the time of a zone. One
/// that never stops has no schedule. A local time that the zone's clocks show twice counts once, the first time; one
/// that they skip is the moment at which they do.
///
/// Threads: a value. Memory: shares the zone, null for UTC.
class Schedule {
public:
    enum class Weekday : std::uint8_t { sunday, monday, tuesday, wednesday, thursday, friday, saturday };

    /// From start to end on each of the days; over midnight where the end is not behind the start, and then the day is
    /// the one it starts on. Seconds since the zone's midnight. Where both are equal, one run follows the other.
    [[nodiscard]] static Schedule daily(std::int64_t start_second, std::int64_t end_second,
                                        std::array<bool, 7> weekdays = {true, true, true, true, true, true, true},
                                        std::shared_ptr<const TimeZone> zone = nullptr) noexcept;
    /// One session a week.
    [[nodiscard]] static Schedule weekly(Weekday start_day, std::int64_t start_second, Weekday end_day,
                                         std::int64_t end_second,
                                         std::shared_ptr<const TimeZone> zone = nullptr) noexcept;

    [[nodiscard]] bool is_open(std::int64_t utc_ns) const noexcept { return session_of(utc_ns) != kClosed; }
    /// Whether both times are in one run of the session: sequence numbers continue within it and are reset outside.
    [[nodiscard]] bool same_session(std::int64_t utc_ns, std::int64_t other_utc_ns) const noexcept {
        const auto session = session_of(utc_ns);
        return session != kClosed && session == session_of(other_utc_ns);
    }

private:
    static constexpr std::int64_t kClosed = INT64_MIN;

    /// The zone's second at which the run began that the time lies in; kClosed between two.
    [[nodiscard]] std::int64_t session_of(std::int64_t utc_ns) const noexcept;

    std::shared_ptr<const TimeZone> zone_;
    bool weekly_{false};
    std::array<bool, 7> weekdays_{};
    std::int64_t start_{0};   // second of the day, or of the week from Sunday's midnight on
    std::int64_t length_{0};  // seconds
};

}  // namespace millpond::fix
