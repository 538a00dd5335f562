#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

/// The one place that says how a ring's name becomes names of shared memory.
namespace millpond::market {

inline constexpr std::string_view kRingPrefix = "/millpond.";
inline constexpr std::string_view kReadersSuffix = ".readers";
inline constexpr std::size_t kMaxRingName = 64;

/// The shared memory object of ring `name`: "/millpond.<name>". Throws std::invalid_argument unless the name is 1 to 64
/// letters, digits, '-', '_' and '.', and does not end in ".readers".
[[nodiscard]] inline std::string ring_object_name(std::string_view name) {
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    };
    bool good = !name.empty() && name.size() <= kMaxRingName && !name.ends_with(kReadersSuffix);
    for (const char c : name) good = good && allowed(c);
    if (!good) {
        throw std::invalid_argument("ring name '" + std::string(name) +
                                    "': needs 1 to 64 letters, digits, '-', '_' or '.', and must not end in .readers");
    }
    return std::string(kRingPrefix).append(name);
}

/// The object where readers of ring `name` that want to be seen register.
[[nodiscard]] inline std::string readers_object_name(std::string_view name) {
    return ring_object_name(name).append(kReadersSuffix);
}

}  // namespace millpond::market
