#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "service/utc_text.hpp"

namespace millpond::app {

using service::time_of_day_of;
using service::utc_of;
using service::utc_text;
using service::utc_text_in_nanos;

/// A time range of a recording, in nanoseconds since 1970.
struct TimeRange {
    std::optional<std::int64_t> since{};
    std::optional<std::int64_t> until{};
};

/// Parses the values of --since and --until: each empty, or as utc_of. Throws UsageError that names the flag.
[[nodiscard]] TimeRange parse_range(const std::string& since, const std::string& until);

}  // namespace millpond::app
