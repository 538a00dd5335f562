#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/core/fixed_string.hpp>

namespace millpond::feed {

/// Reads a name that is padded with spaces on the right. Returns nullopt if it is empty, longer than N or holds a byte
/// that is not printable ASCII: such a name must not reach the InstrumentTable.
template <std::size_t N>
[[nodiscard]] inline std::optional<core::FixedString<N>> padded_name(std::span<const std::byte> field) noexcept {
    auto length = field.size();
    while (length != 0 && field[length - 1] == std::byte{' '}) --length;
    if (length == 0 || length > N) return std::nullopt;
    char text[N];
    for (std::size_t i = 0; i < length; ++i) {
        const auto c = static_cast<unsigned char>(field[i]);
        if (c < 0x20 || c > 0x7E) return std::nullopt;
        text[i] = static_cast<char>(c);
    }
    return core::FixedString<N>{{text, length}};
}

/// Reads a name of known length, eight characters at a time; the eight bytes before its end must be readable even if it
/// is shorter. Returns false, with `name` unchanged, if it is longer than N, holds a byte that is not printable ASCII
/// or ends with a space. An empty name is valid.
template <std::size_t N>
[[nodiscard]] inline bool read_name(const std::byte* begin, std::size_t length, core::FixedString<N>& name) noexcept {
    static_assert(N % 8 == 0);
    if (length > N || (length != 0 && begin[length - 1] == std::byte{' '})) return false;
    constexpr std::uint64_t kEach = 0x0101'0101'0101'0101;
    constexpr std::uint64_t kHigh = kEach * 0x80;
    std::array<char, N> text{};
    for (std::size_t at = 0; at < length; at += 8) {
        const auto missing = length - at < 8 ? 8 * (8 - (length - at)) : 0;
        const auto word = core::load_le<std::uint64_t>(begin + at - missing / 8) >> missing;
        // Spaces replace the bytes after the name for the check; no sum below carries from one byte into the next.
        const auto seen = missing == 0 ? word : word | (kEach * ' ') << (64 - missing);
        const bool printable = (seen & kHigh) == 0 && ((seen + kEach * 0x60) & kHigh) == kHigh &&
                               ((seen + kEach) & kHigh) == 0;  // below 0x80, at least 0x20, not 0x7F
        if (!printable) return false;
        core::store_le(reinterpret_cast<std::byte*>(text.data() + at), word);
    }
    name = std::bit_cast<core::FixedString<N>>(text);
    return true;
}

}  // namespace millpond::feed
