#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// UTC times of FIX fields as nanoseconds since 1970-01-01T00:00:00 UTC (int64: the years 1678 to 2261).
///
/// Source: FIX 5.0 SP2, volume 1, UTCTimestamp, UTCTimeOnly, UTCDateOnly.
namespace millpond::fix {

/// How fine a time is written; the value is the number of digits behind the point.
enum class TimePrecision : std::uint8_t { seconds = 0, millis = 3, micros = 6, nanos = 9 };

/// Longest text that write_utc_timestamp makes: YYYYMMDD-HH:MM:SS.nnnnnnnnn
inline constexpr std::size_t kMaxTimestampChars = 27;

[[nodiscard]] constexpr std::size_t timestamp_chars(TimePrecision precision) noexcept {
    return precision == TimePrecision::seconds ? 17U : 18U + static_cast<std::size_t>(precision);
}

/// YYYYMMDD-HH:MM:SS with up to 12 digits of a fraction (those behind nanoseconds are cut off). Second 60, a leap
/// second, is the next minute's second 0.
[[nodiscard]] std::optional<std::int64_t> parse_utc_timestamp(std::string_view text) noexcept;

/// HH:MM:SS with an optional fraction: nanoseconds since midnight.
[[nodiscard]] std::optional<std::int64_t> parse_utc_time(std::string_view text) noexcept;

/// YYYYMMDD: its midnight.
[[nodiscard]] std::optional<std::int64_t> parse_utc_date(std::string_view text) noexcept;

/// Writes timestamp_chars(precision) characters to `out`; what is finer than the precision is cut off. Returns their
/// number.
std::size_t write_utc_timestamp(char* out, std::int64_t utc_ns, TimePrecision precision) noexcept;

}  // namespace millpond::fix
