#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millpond::service {

/// Whether the system's database of time zones has this zone. The database is the folder that TZDIR names, else
/// /usr/share/zoneinfo. Names are like "Europe/Berlin"; functions that take a name throw std::runtime_error for an
/// unknown zone.
///
/// Threads: any. Memory: a zone that was used stays in memory.
/// Source:  IANA tz database; RFC 8536.
[[nodiscard]] bool is_time_zone(const std::string& name);

/// Start of a day in a zone, in UTC nanoseconds. day: YYYY-MM-DD, or empty for the day there at `now_utc_ns`. Throws
/// std::runtime_error for another text.
[[nodiscard]] std::int64_t midnight_utc_ns(const std::string& zone, const std::string& day, std::int64_t now_utc_ns);

/// A zone's offset, local time less UTC, from a moment on.
struct OffsetChange {
    std::int64_t utc_seconds{0};
    std::int64_t offset_seconds{0};
};

/// The offset at the beginning of 1970 in UTC, and its changes before 2100, by ascending moment.
[[nodiscard]] std::vector<OffsetChange> offset_changes(const std::string& zone);

}  // namespace millpond::service
