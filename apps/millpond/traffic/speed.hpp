#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "apps/millpond/command_line/arguments.hpp"
#include "apps/millpond/command_line/number_checks.hpp"

namespace millpond::app {

/// Check for an option whose value is a factor or "max".
inline Check speed_check() {
    return [number = number_between(1e-3, 1e6)](const std::string& text) {
        if (text == "max" || number(text).empty()) return std::string{};
        return "expects 'max' or a number from 0.001 to 1000000, found '" + text + "'";
    };
}

/// Parses a text that passed speed_check(): 0 for "max".
inline double parse_speed(const std::string& text) { return text == "max" ? 0.0 : std::stod(text); }

/// Text that reports a long wait for the next record.
inline std::string long_wait_text(std::int64_t wait_ns) {
    return fmt::format(
        "waiting {:.0f} s for the next record, whose time is that far ahead; a higher --speed shortens it",
        static_cast<double>(wait_ns) * 1e-9);
}

}  // namespace millpond::app
