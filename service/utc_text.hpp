#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millpond::service {

/// Formats a time as 2026-11-20T14:30:00.000.
[[nodiscard]] std::string utc_text(std::int64_t utc_ns);
/// Formats a time as 2026-11-20T14:30:00.000000000.
[[nodiscard]] std::string utc_text_in_nanos(std::int64_t utc_ns);

/// Parses 2026-11-20, 2026-11-20T14:30 or 2026-11-20T14:30:00.123456789 (UTC, with or without a final Z) as nanoseconds
/// since 1970. Returns nullopt for any other text, and beyond the years 1678 to 2261.
[[nodiscard]] std::optional<std::int64_t> utc_of(std::string_view text);
/// Parses 14:30 or 14:30:00.123456789 as nanoseconds since midnight. Returns nullopt for any other text.
[[nodiscard]] std::optional<std::int64_t> time_of_day_of(std::string_view text);

}  // namespace millpond::service
