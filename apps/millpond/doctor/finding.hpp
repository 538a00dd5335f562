#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millpond::app::doctor {

enum class Level : std::uint8_t {
    good,
    advice,  ///< Costs latency, or may cause problems later.
    bad,     ///< Quotes are lost or do not arrive.
};

[[nodiscard]] constexpr std::string_view to_string(Level level) noexcept {
    switch (level) {
        case Level::good: return "good";
        case Level::advice: return "advice";
        case Level::bad: return "bad";
    }
    return "unknown";
}

/// Result of a check, with a command or advice that fixes the problem.
struct Finding {
    std::string check;  ///< Name of the check in one or two words: "rp_filter".
    Level level{Level::good};
    std::string what;
    std::string fix;  ///< Command or advice; empty if nothing needs to be done.

    friend bool operator==(const Finding&, const Finding&) = default;
};

}  // namespace millpond::app::doctor
