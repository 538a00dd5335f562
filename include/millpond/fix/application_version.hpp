#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <millpond/fix/version.hpp>

namespace millpond::fix {

class Dictionary;

/// Version of an application message on FIXT 1.1. The values are those of ApplVerID(1128).
///
/// Source: FIX Latest, field 1128.
enum class ApplicationVersion : std::uint8_t {
    fix40 = 2,
    fix41 = 3,
    fix42 = 4,
    fix43 = 5,
    fix44 = 6,
    fix50 = 7,
    fix50sp1 = 8,
    fix50sp2 = 9,
    latest = 10,
};

/// A version and its dictionary of application messages.
struct ApplicationDictionary {
    ApplicationVersion version{ApplicationVersion::latest};
    const Dictionary* dictionary{nullptr};  ///< Null: messages of the version are not checked.
    friend bool operator==(const ApplicationDictionary&, const ApplicationDictionary&) = default;
};

/// Name of the version: "FIX.4.4", "FIX.5.0SP2", "FIX.Latest".
[[nodiscard]] constexpr std::string_view name(ApplicationVersion version) noexcept {
    constexpr std::string_view kNames[] = {"FIX.4.0", "FIX.4.1",    "FIX.4.2",    "FIX.4.3",   "FIX.4.4",
                                           "FIX.5.0", "FIX.5.0SP1", "FIX.5.0SP2", "FIX.Latest"};
    return kNames[static_cast<std::size_t>(version) - static_cast<std::size_t>(ApplicationVersion::fix40)];
}

/// Value of ApplVerID(1128).
[[nodiscard]] constexpr std::string_view appl_ver_id(ApplicationVersion version) noexcept {
    constexpr std::string_view kIds[] = {"2", "3", "4", "5", "6", "7", "8", "9", "10"};
    return kIds[static_cast<std::size_t>(version) - static_cast<std::size_t>(ApplicationVersion::fix40)];
}

/// Version of the application messages of a session below FIXT 1.1.
[[nodiscard]] constexpr ApplicationVersion application_version_of(Version version) noexcept {
    return static_cast<ApplicationVersion>(static_cast<int>(version) + static_cast<int>(ApplicationVersion::fix40));
}

/// Parses the value of ApplVerID(1128); nullopt for unknown values.
[[nodiscard]] constexpr std::optional<ApplicationVersion> application_version_of(std::string_view id) noexcept {
    if (id == appl_ver_id(ApplicationVersion::latest)) return ApplicationVersion::latest;
    if (id.size() != 1 || id.front() < '2' || id.front() > '9') return std::nullopt;
    return static_cast<ApplicationVersion>(id.front() - '0');
}

}  // namespace millpond::fix
