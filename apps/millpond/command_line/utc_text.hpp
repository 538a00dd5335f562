#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace millpond::app {

/// 2026-11-20T14:30:00.000
[[nodiscard]] std::string utc_text(std::int64_t utc_ns);

/// A part of a recording, in nanoseconds since 1970.
struct TimeRange {
    std::optional<std::int64_t> since{};
    std::optional<std::int64_t> until{};
};

/// The values of --since and --until: each empty, or 2026-11-20, 2026-11-20T14:30, 2026-11-20T14:30:00.123456789 (UTC,
/// with or without a Z behind the time). Throws UsageError that names the flag.
[[nodiscard]] TimeRange parse_range(const std::string& since, const std::string& until);

}  // namespace millpond::app
