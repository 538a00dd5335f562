#pragma once

#include "fixd/quickfix/section_reader.hpp"
#include "fixd/quickfix/toml_lines.hpp"

namespace millpond::fixd::quickfix {

/// Lines of TOML for the session's days, times and time zone. Throws service::ConfigError with file and line.
/// Source: QuickFIX/J's DefaultSessionSchedule: each time is in its own zone, else in TimeZone, else in UTC.
[[nodiscard]] TomlLines schedule_of(SectionReader& reader);

}  // namespace millpond::fixd::quickfix
