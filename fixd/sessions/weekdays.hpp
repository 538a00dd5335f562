#pragma once

#include <array>
#include <memory>
#include <string_view>

#include <millpond/fix/schedule.hpp>
#include <millpond/fix/time_zone.hpp>

namespace millpond::fixd {

/// "mon" to "sun". Throws std::invalid_argument that quotes any other text.
[[nodiscard]] fix::Schedule::Weekday weekday_of(std::string_view text);

/// "mon-fri", "sun+mon+wed", "fri-mon"; all seven when empty. From Sunday on. Throws as weekday_of.
[[nodiscard]] std::array<bool, 7> weekdays_of(std::string_view text);

/// A zone of the system's database with its changes from 1970 to 2100. Throws std::runtime_error when there is none.
[[nodiscard]] std::shared_ptr<const fix::TimeZone> zone_named(const std::string& name);

}  // namespace millpond::fixd
