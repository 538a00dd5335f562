#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace millpond::files {

/// Where the times of captured frames come from: the capturing machine, or a switch on the way that adds its own time
/// to each frame.
///
/// Source: Arista 7130 (Metamako) and Cisco Nexus 3550 (Exablaze) trailers and keyframes, as Wireshark's dissector and
/// the decoders of the two makers read them.
enum class Timestamps : std::uint8_t {
    automatic,   ///< A switch's if at least half of the first packets have one, else the capture's.
    capture,     ///< The capture file's.
    metamako,    ///< Trailer of Arista 7130 (Metamako).
    nexus3550,   ///< Trailer of Cisco Nexus 3550 and ExaLINK Fusion HPT (Exablaze).
    keyframes,   ///< Counter of 32 bits in each frame, explained by keyframes: Arista 7150, ExaLINK Fusion.
    arista7280,  ///< Header with EtherType 0xD28B of Arista 7280 and other switches.
};

inline constexpr std::array<std::pair<std::string_view, Timestamps>, 6> kTimestampsNames{{
    {"auto", Timestamps::automatic},
    {"capture", Timestamps::capture},
    {"metamako", Timestamps::metamako},
    {"nexus3550", Timestamps::nexus3550},
    {"keyframes", Timestamps::keyframes},
    {"arista7280", Timestamps::arista7280},
}};

[[nodiscard]] constexpr std::string_view to_string(Timestamps timestamps) noexcept {
    for (const auto& [name, each] : kTimestampsNames) {
        if (each == timestamps) return name;
    }
    return {};
}

/// Inverse of to_string; nullopt for another text.
[[nodiscard]] constexpr std::optional<Timestamps> timestamps_of(std::string_view text) noexcept {
    for (const auto& [name, each] : kTimestampsNames) {
        if (name == text) return each;
    }
    return std::nullopt;
}

}  // namespace millpond::files
