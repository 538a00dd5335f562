#pragma once

#include <array>
#include <memory>
#include <string_view>

#include <millpond/fix/schedule.hpp>
#include <millpond/fix/time_zone.hpp>

namespace millpond::fixd {

/// Parses "mon" to "sun". Throws std::invalid_argument that quotes other text.
[[nodiscard]] fix::Schedule::Weekday weekday_of(std::string_view text);

/// Parses "mon-fri", "sun+mon+wed" or "fri-mon"; all seven days if empty. Index 0 is Sunday. Throws as weekday_of.
[[nodiscard]] std::array<bool, 7> weekdays_of(std::string_view text);

/// A time zone of the system's database with its changes from 1970 to 2100. Throws std::runtime_error if there is none.
[[nodiscard]] std::shared_ptr<const fix::TimeZone> zone_named(const std::string& name);

}  // namespace millpond::fixd
