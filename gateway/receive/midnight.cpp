#include "gateway/receive/midnight.hpp"

#include <date/date.h>
#include <date/tz.h>

#include <chrono>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>

namespace millpond::gateway {

std::int64_t midnight_utc_ns(const std::string& timezone, const std::string& day, std::int64_t now_utc_ns) {
    const auto* zone = date::locate_zone(timezone);
    date::local_days local;
    if (day.empty()) {
        const date::sys_time<std::chrono::nanoseconds> now{std::chrono::nanoseconds{now_utc_ns}};
        local = date::floor<date::days>(zone->to_local(now));
    } else {
        std::istringstream in{day};
        in >> date::parse("%F", local);
        if (in.fail()) throw std::runtime_error("'" + day + "' is not a date like 2020-01-30");
    }
    // If the clock is put forward at midnight, the day begins an hour later.
    const auto begin = zone->to_sys(local, date::choose::latest);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(begin.time_since_epoch()).count();
}

}  // namespace millpond::gateway
