#include "apps/millpond/command_line/utc_text.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include "apps/millpond/command_line/command.hpp"

namespace millpond::app {

TimeRange parse_range(const std::string& since, const std::string& until) {
    const auto time_of = [](const char* flag, const std::string& text) -> std::optional<std::int64_t> {
        if (text.empty()) return std::nullopt;
        if (const auto time = utc_of(text)) return time;
        throw UsageError(std::string{flag} + ": '" + text +
                         "' is not a time of the years 1678 to 2261 like 2026-11-20T14:30:00 (UTC)");
    };
    const TimeRange range{.since = time_of("--since", since), .until = time_of("--until", until)};
    if (range.since && range.until && *range.until <= *range.since)
        throw UsageError("--until: '" + until + "' is not later than '" + since + "' of --since");
    return range;
}

}  // namespace millpond::app
