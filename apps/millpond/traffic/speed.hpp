#pragma once

#include <string>

#include "apps/millpond/command_line/arguments.hpp"
#include "apps/millpond/command_line/number_checks.hpp"

namespace millpond::app {

/// Check for an option that takes a factor or "max".
inline Check speed_check() {
    return [number = number_between(1e-3, 1e6)](const std::string& text) {
        if (text == "max" || number(text).empty()) return std::string{};
        return "expects 'max' or a number from 0.001 to 1000000, found '" + text + "'";
    };
}

/// The transmitter's speed for a text that passed speed_check(): 0 for max.
inline double parse_speed(const std::string& text) { return text == "max" ? 0.0 : std::stod(text); }

}  // namespace millpond::app
