#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include <millpond/core/fixed_string.hpp>

namespace millpond::feed {

/// The name that stands in a field padded with spaces on the right, without them. Nothing when it is empty, longer than
/// N or holds a byte that is not printable ASCII: such a name never reaches the InstrumentTable.
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

}  // namespace millpond::feed
