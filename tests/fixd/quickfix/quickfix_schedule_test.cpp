#include "fixd/quickfix/quickfix_schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/fixd/quickfix/imported.hpp"

namespace millpond::fixd {
namespace {

using ::testing::HasSubstr;

SessionSettings scheduled(std::string_view lines) { return imported(initiator_with(lines)).sessions.at(0); }

TEST(QuickfixSchedule, BothTimesAreInTheirZoneElseInTimeZoneElseInUtc) {
    struct Case {
        const char* lines;
        const char* zone;
    };
    for (const auto& [lines, zone] :
         {Case{"StartTime=08:00:00\nEndTime=17:00:00\n", "UTC"},
          Case{"StartTime=08:00:00\nEndTime=17:00:00\nTimeZone=Europe/Berlin\n", "Europe/Berlin"},
          Case{"StartTime=08:00:00 Europe/Berlin\nEndTime=17:00:00 Europe/Berlin\nTimeZone=UTC\n", "Europe/Berlin"},
          Case{"StartTime=08:00:00 Europe/Berlin\nEndTime=17:00:00\nTimeZone=Europe/Berlin\n", "Europe/Berlin"},
          Case{"StartTime=08:00:00 UTC\nEndTime=17:00:00\n", "UTC"},
          Case{"StartTime=08:00:00 GMT\nEndTime=17:00:00\n", "UTC"},
          Case{"StartTime=08:00:00\nEndTime=17:00:00\nTimeZone=GMT+1\n", "Etc/GMT-1"},
          Case{"StartTime=08:00:00 GMT-05:00\nEndTime=17:00:00 GMT-5\n", "Etc/GMT+5"}}) {
        const auto session = scheduled(lines);
        EXPECT_EQ(session.timezone, zone) << lines;
        EXPECT_EQ(session.start, 8 * 3600) << lines;
        EXPECT_EQ(session.end, 17 * 3600) << lines;
    }
}

TEST(QuickfixSchedule, TimesInTwoZonesAreRefused) {
    EXPECT_EQ(import_error(initiator_with("StartTime=08:00:00\nEndTime=17:00:00 America/New_York\n")),
              "quickfix.cfg:9: StartTime is in UTC and EndTime in America/New_York, and a session has one time zone "
              "here: write both times in the same one");
    EXPECT_THAT(import_error("[DEFAULT]\nTimeZone=Asia/Tokyo\n" +
                             initiator_with("StartTime=08:00:00 Europe/Berlin\nEndTime=17:00:00\n")),
                HasSubstr("quickfix.cfg:11: StartTime is in Europe/Berlin and EndTime in Asia/Tokyo"));
}

TEST(QuickfixSchedule, AWrongTimeOrZoneIsNamedWithItsLine) {
    for (const auto* const time : {"24:00:00", "8:00:00", "08:60:00", "08", "noon"}) {
        EXPECT_THAT(import_error(initiator_with("StartTime=08:00:00\nEndTime=" + std::string{time} + "\n")),
                    HasSubstr("quickfix.cfg:9: EndTime expects HH:MM:SS, found '"))
            << time;
    }
    EXPECT_THAT(import_error(initiator_with("StartTime=08:00:00 Mars/Base\nEndTime=17:00:00\n")),
                HasSubstr("quickfix.cfg:8: StartTime: 'Mars/Base' is not in the time zone database"));
    EXPECT_THAT(import_error(initiator_with("TimeZone=GMT+5:30\n")),
                HasSubstr("quickfix.cfg:8: TimeZone: 'GMT+5:30' is not in the time zone database"));
    EXPECT_THAT(import_error(initiator_with("StartTime=08:00:00\n")),
                HasSubstr("quickfix.cfg:8: StartTime and EndTime are required together"));
}

}  // namespace
}  // namespace millpond::fixd
