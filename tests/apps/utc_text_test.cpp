#include "apps/millpond/command_line/utc_text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "apps/millpond/command_line/command.hpp"

namespace millpond::app {
namespace {

// Output of `date -u -d 2026-11-20T14:30 +%s`.
constexpr std::int64_t kHalfPastTwo = 1'795'185'000'000'000'000;

TEST(UtcText, IsWrittenInMilliseconds) {
    EXPECT_EQ(utc_text(kHalfPastTwo), "2026-11-20T14:30:00.000");
    EXPECT_EQ(utc_text(kHalfPastTwo + 59'123'999'999), "2026-11-20T14:30:59.123");
    EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00.000");
    EXPECT_EQ(utc_text(-1), "1969-12-31T23:59:59.999");
}

std::int64_t parse_utc(const std::string& text) { return *parse_range(text, "").since; }

TEST(UtcText, IsReadWithSecondsWithMinutesAndAsADate) {
    EXPECT_EQ(parse_utc("2026-11-20T14:30:00"), kHalfPastTwo);
    EXPECT_EQ(parse_utc("2026-11-20T14:30"), kHalfPastTwo);
    EXPECT_EQ(parse_utc("2026-11-20T14:30Z"), kHalfPastTwo);
    EXPECT_EQ(parse_utc("2026-11-20T14:30:00Z"), kHalfPastTwo);
    EXPECT_EQ(parse_range("", "2026-11-20T14:30").until, kHalfPastTwo);
    EXPECT_EQ(parse_range("", "").since, std::nullopt);
    EXPECT_EQ(parse_utc("2026-11-20T14:30:00.5"), kHalfPastTwo + 500'000'000);
    EXPECT_EQ(parse_utc("2026-11-20T14:30:00.123456789"), kHalfPastTwo + 123'456'789);
    EXPECT_EQ(parse_utc("2026-11-20"), kHalfPastTwo - (14 * 60 + 30) * 60'000'000'000);
}

TEST(UtcText, WhatIsNoTimeIsRefused) {
    for (const char* text :
         {"yesterday", "2026-11-20T", "2026-11-20T14", "2026-11-20 14:30", "2026-02-30", "2026-13-01",
          "2026-11-20T24:00", "2026-11-20T14:60", "2026-11-20Z", "2026-11-20T14:30:00.", "20261120-14:30:00",
          "2026-11-2a", "9999-01-01", "+026-11-20", "2026-11-20T14:30:00 "}) {
        EXPECT_THROW(static_cast<void>(parse_utc(text)), UsageError) << text;
    }
}

TEST(UtcText, AnEndThatIsNotBehindTheBeginningIsRefused) {
    EXPECT_THROW(static_cast<void>(parse_range("2026-11-21", "2026-11-20")), UsageError);
    EXPECT_THROW(static_cast<void>(parse_range("2026-11-21", "2026-11-21")), UsageError);
}

}  // namespace
}  // namespace millpond::app
