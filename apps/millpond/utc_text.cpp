#include "apps/millpond/utc_text.hpp"

#include <date/date.h>

#include <chrono>
#include <sstream>

#include "apps/millpond/command.hpp"

namespace millpond::app {

std::string utc_text(std::int64_t utc_ns) {
    const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds{utc_ns}};
    return date::format("%FT%T", std::chrono::floor<std::chrono::milliseconds>(time));
}

std::int64_t parse_utc(const std::string& flag, const std::string& text) {
    for (const char* shape : {"%FT%T", "%FT%R", "%F"}) {
        std::istringstream in{text};
        std::chrono::sys_time<std::chrono::nanoseconds> time;
        in >> date::parse(shape, time);
        if (!in.fail() && in.peek() == std::istringstream::traits_type::eof()) return time.time_since_epoch().count();
    }
    throw UsageError(flag + ": '" + text + "' is no time like 2026-11-20T14:30:00 (UTC)");
}

}  // namespace millpond::app
