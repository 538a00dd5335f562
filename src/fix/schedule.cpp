#include <millpond/fix/schedule.hpp>

#include <utility>

namespace millpond::fix {
namespace {

constexpr std::int64_t kDay = 86'400;
constexpr std::int64_t kWeek = 7 * kDay;
constexpr std::int64_t kNanos = 1'000'000'000;
constexpr std::int64_t kFirstSunday = 3 * kDay;  // 1970-01-04; 1970-01-01 was a Thursday

constexpr std::int64_t floor_div(std::int64_t value, std::int64_t by) noexcept {
    return value / by - (value % by < 0 ? 1 : 0);
}

constexpr std::int64_t second_of_week(Schedule::Weekday day, std::int64_t second) noexcept {
    return static_cast<std::int64_t>(day) * kDay + second;
}

}  // namespace

Schedule Schedule::daily(std::int64_t start_second, std::int64_t end_second, std::array<bool, 7> weekdays,
                         std::shared_ptr<const TimeZone> zone) noexcept {
    Schedule schedule;
    schedule.zone_ = std::move(zone);
    schedule.weekdays_ = weekdays;
    schedule.start_ = start_second;
    schedule.length_ = end_second > start_second ? end_second - start_second : end_second + kDay - start_second;
    return schedule;
}

Schedule Schedule::weekly(Weekday start_day, std::int64_t start_second, Weekday end_day, std::int64_t end_second,
                          std::shared_ptr<const TimeZone> zone) noexcept {
    Schedule schedule;
    schedule.zone_ = std::move(zone);
    schedule.weekly_ = true;
    schedule.start_ = second_of_week(start_day, start_second);
    const auto end = second_of_week(end_day, end_second);
    schedule.length_ = end > schedule.start_ ? end - schedule.start_ : end + kWeek - schedule.start_;
    return schedule;
}

std::int64_t Schedule::session_of(std::int64_t utc_ns) const noexcept {
    const auto utc = floor_div(utc_ns, kNanos);
    const auto local = zone_ != nullptr ? zone_->latest_local_at(utc) : utc;
    const auto period = weekly_ ? kWeek : kDay;
    const auto origin = (weekly_ ? kFirstSunday : 0) + start_;
    const auto began = origin + floor_div(local - origin, period) * period;
    if (local - began >= length_) return kClosed;
    if (!weekly_) {
        const auto weekday = floor_div(began - kFirstSunday, kDay) % 7;
        if (!weekdays_[static_cast<std::size_t>((weekday + 7) % 7)]) return kClosed;
    }
    return began;
}

}  // namespace millpond::fix
