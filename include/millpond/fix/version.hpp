#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace millpond::fix {

/// Versions of the session protocol, oldest first. FIX 5.0 and its service packs use FIXT 1.1.
enum class Version : std::uint8_t { fix40, fix41, fix42, fix43, fix44, fixt11 };

[[nodiscard]] constexpr std::string_view begin_string(Version version) noexcept {
    constexpr std::string_view kNames[] = {"FIX.4.0", "FIX.4.1", "FIX.4.2", "FIX.4.3", "FIX.4.4", "FIXT.1.1"};
    return kNames[static_cast<std::size_t>(version)];
}

/// Parses a BeginString; nullopt if it is not a supported version.
[[nodiscard]] constexpr std::optional<Version> version_of(std::string_view text) noexcept {
    for (auto i = static_cast<int>(Version::fix40); i <= static_cast<int>(Version::fixt11); ++i) {
        if (begin_string(static_cast<Version>(i)) == text) return static_cast<Version>(i);
    }
    return std::nullopt;
}

}  // namespace millpond::fix
