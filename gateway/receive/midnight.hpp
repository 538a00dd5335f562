#pragma once

#include <cstdint>
#include <string>

namespace millpond::gateway {

/// When a day began in a time zone of the tz database, in UTC nanoseconds. day: YYYY-MM-DD, or empty for the day there
/// at `now_utc_ns`. Throws std::runtime_error for an unknown zone.
[[nodiscard]] std::int64_t midnight_utc_ns(const std::string& timezone, const std::string& day,
                                           std::int64_t now_utc_ns);

}  // namespace millpond::gateway
