#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

/// Maps the name of a ring to names of shared memory; defined only here.
namespace millpond::market {

inline constexpr std::string_view kRingPrefix = "/millpond.";
inline constexpr std::string_view kReaderInfix = ".reader";
inline constexpr std::string_view kLockSuffix = ".lock";
inline constexpr std::size_t kMaxRingName = 64;

/// The shared memory object of ring `name`: "/millpond.<name>". Throws std::invalid_argument unless the name is 1 to 64
/// letters, digits, '-', '_' and '.', does not contain ".reader" and does not end in ".lock".
[[nodiscard]] inline std::string ring_object_name(std::string_view name) {
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    };
    bool good =
        !name.empty() && name.size() <= kMaxRingName && !name.contains(kReaderInfix) && !name.ends_with(kLockSuffix);
    for (const char c : name) good = good && allowed(c);
    if (!good) {
        throw std::invalid_argument("ring name '" + std::string(name) +
                                    "': needs 1 to 64 letters, digits, '-', '_' or '.', and must not contain .reader "
                                    "or end in .lock");
    }
    return std::string(kRingPrefix).append(name);
}

/// Prefix of the names of the ring's reader objects; a PID follows.
[[nodiscard]] inline std::string reader_object_prefix(std::string_view name) {
    return ring_object_name(name).append(kReaderInfix).append(".");
}

/// Name of the object that the ring's writer keeps locked. Only its user may open it, so that no other user can lock
/// it.
[[nodiscard]] inline std::string lock_object_name(std::string_view name) {
    return ring_object_name(name).append(kLockSuffix);
}

}  // namespace millpond::market
