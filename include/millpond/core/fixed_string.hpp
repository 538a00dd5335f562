#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace millpond::core {

/// String of up to N characters, stored in place and zero-padded: equal strings have equal bytes, also in shared
/// memory.
///
/// Memory: N bytes, without a terminator if full. A longer text is truncated to N characters; check it with `fits`.
template <std::size_t N>
class FixedString {
public:
    constexpr FixedString() noexcept = default;
    constexpr explicit FixedString(std::string_view text) noexcept {
        const auto length = std::min(text.size(), N);
        for (std::size_t i = 0; i < length; ++i) chars_[i] = text[i];
    }

    [[nodiscard]] static constexpr std::size_t capacity() noexcept { return N; }
    [[nodiscard]] static constexpr bool fits(std::string_view text) noexcept { return text.size() <= N; }

    /// The text up to the first zero byte.
    [[nodiscard]] constexpr std::string_view view() const noexcept { return {chars_.data(), size()}; }
    [[nodiscard]] constexpr std::size_t size() const noexcept {
        std::size_t length = 0;
        while (length < N && chars_[length] != '\0') ++length;
        return length;
    }
    [[nodiscard]] constexpr bool empty() const noexcept { return chars_[0] == '\0'; }

    friend constexpr bool operator==(const FixedString&, const FixedString&) noexcept = default;
    friend constexpr auto operator<=>(const FixedString&, const FixedString&) noexcept = default;

private:
    std::array<char, N> chars_{};
};

}  // namespace millpond::core
