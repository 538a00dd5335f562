#pragma once

#include <cstdint>
#include <string>

namespace millpond::app {

/// 2026-11-20T14:30:00.000
[[nodiscard]] std::string utc_text(std::int64_t utc_ns);

/// Nanoseconds since 1970 of 2026-11-20, 2026-11-20T14:30, 2026-11-20T14:30:00.123456789 (UTC). Throws UsageError that
/// names `flag`.
[[nodiscard]] std::int64_t parse_utc(const std::string& flag, const std::string& text);

}  // namespace millpond::app
