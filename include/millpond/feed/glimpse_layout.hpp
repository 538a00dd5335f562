#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

/// Messages of a NASDAQ GLIMPSE 5.0 snapshot: messages of ITCH 5.0 (itch_layout.hpp) for the system event, the
/// directory, the states of stocks and the live orders, then the end of the snapshot.
/// ```
/// G  21  end of snapshot    0 type  1 sequence number (20), ASCII, padded with spaces
/// ```
/// The number is that of the first message of the TotalView-ITCH session that the snapshot does not have.
///
/// Source: "Nasdaq GLIMPSE", version 5.0 of 13 February 2026: page 3 (messages), section 1.7 on page 10 (end).
namespace millpond::feed::glimpse_layout {

inline constexpr char kEnd = 'G';
inline constexpr std::size_t kNumberAt = 1, kNumberBytes = 20;
inline constexpr std::size_t kEndBytes = kNumberAt + kNumberBytes;

/// True for the ITCH messages that a snapshot has (sections 1.1 to 1.6 and 1.8).
[[nodiscard]] constexpr bool is_state(char type) noexcept {
    return std::string_view{"SRHYNhAF"}.find(type) != std::string_view::npos;
}

/// Reads the sequence number in the end of a snapshot. Returns nullopt if the length or type differs, or if the text is
/// not a number above 0.
[[nodiscard]] inline std::optional<std::uint64_t> read_end(std::span<const std::byte> message) noexcept {
    if (message.size() != kEndBytes || static_cast<char>(message[0]) != kEnd) return std::nullopt;
    std::string_view text{reinterpret_cast<const char*>(message.data() + kNumberAt), kNumberBytes};
    const auto first = text.find_first_not_of(' ');
    if (first == std::string_view::npos) return std::nullopt;
    text = text.substr(first, text.find_last_not_of(' ') + 1 - first);
    std::uint64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || number == 0) return std::nullopt;
    return number;
}

inline void write_end(std::uint64_t number, std::span<std::byte, kEndBytes> out) noexcept {
    std::array<char, kNumberBytes> digits;  // enough for every 64-bit number
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    const auto count = static_cast<std::size_t>(end - digits.data());
    std::memset(out.data(), ' ', out.size());
    out[0] = std::byte{kEnd};
    std::memcpy(out.data() + out.size() - count, digits.data(), count);
}

}  // namespace millpond::feed::glimpse_layout
