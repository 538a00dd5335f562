#pragma once

#include <string>

#include "fixd/quickfix/section_reader.hpp"

namespace millpond::fixd::quickfix {

/// Lines of TOML for the session's days, times and time zone. Throws settings::ConfigError with file and line.
/// Source: QuickFIX/J's DefaultSessionSchedule: each time is in its own zone, else in TimeZone, else in UTC.
[[nodiscard]] std::string schedule_of(SectionReader& reader);

}  // namespace millpond::fixd::quickfix
