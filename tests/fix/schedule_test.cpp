#include <cstdint>
#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

#include <millpond/fix/schedule.hpp>
#include <millpond/fix/utc_time.hpp>

namespace millpond::fix {
namespace {

std::int64_t at(const char* time) { return parse_utc_timestamp(time).value(); }

constexpr std::int64_t kHour = 3600;

TEST(Schedule, ADailySessionIsOpenFromStartToEnd) {
    const auto schedule = Schedule::daily(8 * kHour, 17 * kHour);
    EXPECT_FALSE(schedule.is_open(at("20240102-07:59:59.999")));
    EXPECT_TRUE(schedule.is_open(at("20240102-08:00:00")));
    EXPECT_TRUE(schedule.is_open(at("20240102-16:59:59.999")));
    EXPECT_FALSE(schedule.is_open(at("20240102-17:00:00")));
    EXPECT_TRUE(schedule.same_session(at("20240102-08:00:00"), at("20240102-16:00:00")));
    EXPECT_FALSE(schedule.same_session(at("20240102-08:00:00"), at("20240103-08:00:00")));
    EXPECT_FALSE(schedule.same_session(at("20240102-07:00:00"), at("20240102-07:00:00")));
}

TEST(Schedule, ASessionMayGoOverMidnight) {
    const auto schedule = Schedule::daily(22 * kHour, 6 * kHour);
    EXPECT_TRUE(schedule.same_session(at("20240102-22:00:00"), at("20240103-05:59:59")));
    EXPECT_FALSE(schedule.is_open(at("20240103-06:00:00")));
    EXPECT_FALSE(schedule.same_session(at("20240103-05:00:00"), at("20240103-23:00:00")));
}

TEST(Schedule, StartAndEndAtOneTimeMakeASessionOfADay) {
    const auto schedule = Schedule::daily(0, 0);
    EXPECT_TRUE(schedule.same_session(at("20240102-00:00:00"), at("20240102-23:59:59")));
    EXPECT_FALSE(schedule.same_session(at("20240102-23:59:59"), at("20240103-00:00:00")));
}

TEST(Schedule, AWeekdayIsTheOneOnWhichTheSessionBegan) {
    // Monday to Friday; 2024-01-05 was a Friday.
    const auto schedule = Schedule::daily(22 * kHour, 6 * kHour, {false, true, true, true, true, true, false});
    EXPECT_TRUE(schedule.is_open(at("20240105-23:00:00")));
    EXPECT_TRUE(schedule.is_open(at("20240106-05:00:00")));
    EXPECT_FALSE(schedule.is_open(at("20240106-23:00:00")));
    EXPECT_FALSE(schedule.is_open(at("20240107-23:00:00")));
    EXPECT_TRUE(schedule.is_open(at("20240108-23:00:00")));
}

TEST(Schedule, AWeeklySessionGoesFromDayToDay) {
    const auto schedule =
        Schedule::weekly(Schedule::Weekday::sunday, 17 * kHour, Schedule::Weekday::friday, 16 * kHour);
    EXPECT_FALSE(schedule.is_open(at("20240107-16:59:59")));
    EXPECT_TRUE(schedule.same_session(at("20240107-17:00:00"), at("20240112-15:59:59")));
    EXPECT_FALSE(schedule.is_open(at("20240112-16:00:00")));
    EXPECT_FALSE(schedule.same_session(at("20240111-12:00:00"), at("20240118-12:00:00")));
    const auto over_the_weekend =
        Schedule::weekly(Schedule::Weekday::friday, 20 * kHour, Schedule::Weekday::monday, 4 * kHour);
    EXPECT_TRUE(over_the_weekend.same_session(at("20240105-20:00:00"), at("20240108-03:59:59")));
    EXPECT_FALSE(over_the_weekend.is_open(at("20240108-04:00:00")));
}

TEST(Schedule, TimesAreThoseOfTheZone) {
    const auto schedule = Schedule::daily(8 * kHour, 17 * kHour, {true, true, true, true, true, true, true},
                                          std::make_shared<const TimeZone>(-5 * kHour));
    EXPECT_FALSE(schedule.is_open(at("20240102-12:59:59")));
    EXPECT_TRUE(schedule.is_open(at("20240102-13:00:00")));
    EXPECT_FALSE(schedule.is_open(at("20240102-22:00:00")));
}

/// New York in 2024: summer time from March 10, 07:00 UTC, to November 3, 06:00 UTC.
std::shared_ptr<const TimeZone> new_york() {
    TimeZone zone{-5 * kHour};
    zone.add_change(at("20240310-07:00:00") / 1'000'000'000, -4 * kHour);
    zone.add_change(at("20241103-06:00:00") / 1'000'000'000, -5 * kHour);
    return std::make_shared<const TimeZone>(zone);
}

TEST(Schedule, FollowsTheZoneFromWinterToSummerTime) {
    const auto schedule =
        Schedule::daily(8 * kHour, 17 * kHour, {false, true, true, true, true, true, false}, new_york());
    EXPECT_FALSE(schedule.is_open(at("20240308-12:59:59")));
    EXPECT_TRUE(schedule.is_open(at("20240308-13:00:00")));
    EXPECT_TRUE(schedule.is_open(at("20240311-12:00:00")));
    EXPECT_FALSE(schedule.is_open(at("20240311-21:00:00")));
    EXPECT_TRUE(schedule.is_open(at("20241104-13:00:00")));
    EXPECT_FALSE(schedule.is_open(at("20241104-12:00:00")));
}

TEST(Schedule, AnHourThatTheClocksShowTwiceIsOneSession) {
    const auto schedule = Schedule::daily(90 * 60, 3 * kHour, {true, true, true, true, true, true, true}, new_york());
    EXPECT_TRUE(schedule.same_session(at("20241103-05:45:00"), at("20241103-06:45:00")));
}

TEST(Schedule, AStartThatTheClocksShowTwiceBeginsOneRun) {
    const auto schedule =
        Schedule::daily(90 * 60, 75 * 60, {true, true, true, true, true, true, true}, new_york());  // 01:30 to 01:15
    EXPECT_FALSE(schedule.is_open(at("20241103-05:29:59")));  // 01:29:59 in summer
    for (const auto* time : {"20241103-05:59:59", "20241103-06:00:00", "20241103-06:14:59", "20241103-06:20:00",
                             "20241103-06:30:00", "20241103-07:00:00", "20241104-06:14:59"}) {
        EXPECT_TRUE(schedule.same_session(at("20241103-05:30:00"), at(time))) << time;
    }
    EXPECT_FALSE(schedule.is_open(at("20241104-06:15:00")));
    EXPECT_FALSE(schedule.same_session(at("20241103-05:30:00"), at("20241104-06:30:00")));
}

TEST(Schedule, AnEndThatTheClocksShowTwiceEndsOneRun) {
    const auto schedule = Schedule::daily(17 * kHour, 90 * 60, {true, true, true, true, true, true, true}, new_york());
    EXPECT_TRUE(schedule.is_open(at("20241103-05:29:59")));
    for (const auto* time : {"20241103-05:30:00", "20241103-06:10:00", "20241103-06:30:00", "20241103-21:59:59"}) {
        EXPECT_FALSE(schedule.is_open(at(time))) << time;
    }
    EXPECT_TRUE(schedule.is_open(at("20241103-22:00:00")));
}

TEST(Schedule, AStartThatTheClocksSkipIsTheMomentAtWhichTheyDo) {
    const auto schedule =
        Schedule::daily(150 * 60, 150 * 60, {true, true, true, true, true, true, true}, new_york());  // 02:30
    EXPECT_FALSE(schedule.same_session(at("20240310-06:59:59"), at("20240310-07:00:00")));
    EXPECT_TRUE(schedule.same_session(at("20240310-07:00:00"), at("20240311-06:29:59")));
}

TEST(TimeZone, ChangesComeInOrder) {
    TimeZone zone{60};
    zone.add_change(1000, 120);
    EXPECT_THROW(zone.add_change(1000, 180), std::invalid_argument);
    EXPECT_EQ(zone.offset_at(999), 60);
    EXPECT_EQ(zone.offset_at(1000), 120);
}

}  // namespace
}  // namespace millpond::fix
