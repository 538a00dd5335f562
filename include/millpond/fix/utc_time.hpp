#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// UTC times of FIX fields as nanoseconds since 1970-01-01T00:00:00 UTC (int64: the years 1678 to 2261).
///
/// Source: FIX 5.0 SP2, volume 1, UTCTimestamp, UTCTimeOnly, UTCDateOnly.
namespace millpond::fix {

/// Precision of a written time; the value is the number of fraction digits.
enum class TimePrecision : std::uint8_t { seconds = 0, millis = 3, micros = 6, nanos = 9 };

/// Maximum length of write_utc_timestamp's text: YYYYMMDD-HH:MM:SS.nnnnnnnnn
inline constexpr std::size_t kMaxTimestampChars = 27;

[[nodiscard]] constexpr std::size_t timestamp_chars(TimePrecision precision) noexcept {
    return precision == TimePrecision::seconds ? 17U : 18U + static_cast<std::size_t>(precision);
}

/// Parses YYYYMMDD-HH:MM:SS with up to 12 fraction digits, truncated to nanoseconds. Second 60, a leap second, is read
/// as second 0 of the next minute.
[[nodiscard]] std::optional<std::int64_t> parse_utc_timestamp(std::string_view text) noexcept;

/// Parses HH:MM:SS with an optional fraction; returns nanoseconds since midnight.
[[nodiscard]] std::optional<std::int64_t> parse_utc_time(std::string_view text) noexcept;

/// Parses YYYYMMDD; returns its midnight.
[[nodiscard]] std::optional<std::int64_t> parse_utc_date(std::string_view text) noexcept;

/// Whether the text has the form of a date or timestamp, with a year from 0000 to 9999.
[[nodiscard]] bool is_utc_date(std::string_view text) noexcept;
[[nodiscard]] bool is_utc_timestamp(std::string_view text) noexcept;

/// Writes timestamp_chars(precision) characters to `out`, truncated to the precision. Returns their number.
std::size_t write_utc_timestamp(char* out, std::int64_t utc_ns, TimePrecision precision) noexcept;

}  // namespace millpond::fix
