#pragma once

#include <charconv>
#include <string>

#include "apps/millpond/command.hpp"

namespace millpond::app {

/// What "N" or "max" after `flag` means to the transmitter: 0 for max. Throws UsageError.
inline double parse_speed(const std::string& flag, const std::string& text) {
    if (text == "max") return 0.0;
    double speed = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
    if (error != std::errc{} || end != text.data() + text.size() || !(speed > 0.0)) {
        throw UsageError(flag + ": '" + text + "' is neither 'max' nor a number above 0");
    }
    return speed;
}

}  // namespace millpond::app
