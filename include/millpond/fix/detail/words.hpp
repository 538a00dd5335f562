#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <millpond/core/endian.hpp>

/// Operations on eight characters at a time: the first is the lowest byte of a 64-bit word.
///
/// Source: "SIMD within a register"; the digits' multiplications are those of Lemire's and Muła's eight-digit parsers.
namespace millpond::fix::detail {

[[nodiscard]] inline std::uint64_t load_word(const char* at) noexcept {
    return core::load_le<std::uint64_t>(reinterpret_cast<const std::byte*>(at));
}

/// Loads eight characters.
[[nodiscard]] consteval std::uint64_t word_of(std::string_view text) noexcept {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
    return word;
}

/// Number of characters before the first `c`; 8 if there is none.
[[nodiscard]] inline std::size_t chars_before(std::uint64_t word, char c) noexcept {
    const auto differs = word ^ (0x0101010101010101ULL * static_cast<unsigned char>(c));
    const auto zero = (differs - 0x0101010101010101ULL) & ~differs & 0x8080808080808080ULL;
    return static_cast<std::size_t>(std::countr_zero(zero)) / 8;
}

/// Whether all bytes are 0 to 9.
[[nodiscard]] inline bool are_digits(std::uint64_t values) noexcept {
    // Neither the high half of the byte nor that of the byte plus six is set.
    return ((values | (values + 0x0606060606060606ULL)) & 0xF0F0F0F0F0F0F0F0ULL) == 0;
}

/// Number of eight digits, given as bytes of 0 to 9, the most significant digit lowest.
[[nodiscard]] inline std::uint32_t number_of(std::uint64_t values) noexcept {
    const auto pairs = (values * 10 + (values >> 8)) & 0x00FF00FF00FF00FFULL;
    const auto fours = (pairs * 100 + (pairs >> 16)) & 0x0000FFFF0000FFFFULL;
    return static_cast<std::uint32_t>(fours * 10'000 + (fours >> 32));
}

/// Parses the `length` characters (1 to 8) before `end` as a number; `ok` is false if one is not a digit. Eight bytes
/// before `end` must be readable.
[[nodiscard]] inline std::uint32_t digits_before(const char* end, std::size_t length, bool& ok) noexcept {
    const auto keep = ~std::uint64_t{0} << (8 * (8 - length));
    const auto values = (load_word(end - 8) ^ 0x3030303030303030ULL) & keep;
    ok = are_digits(values);
    return number_of(values);
}

/// Parses the `length` characters (1 to 8) before `end`, such as "123.45", as digits without the point and the number
/// of digits after it. `ok` is false if they are not digits with at most one point. Eight bytes before `end` must be
/// readable.
struct ShortDecimal {
    std::uint32_t digits{0};
    std::uint8_t decimals{0};
};
[[nodiscard]] inline ShortDecimal decimal_before(const char* end, std::size_t length, bool& ok) noexcept {
    constexpr auto kZeros = 0x3030303030303030ULL;
    const auto keep = ~std::uint64_t{0} << (8 * (8 - length));
    auto word = (load_word(end - 8) & keep) | (kZeros & ~keep);
    const auto point = chars_before(word, '.');
    std::uint8_t decimals = 0;
    if (point < 8) {
        const auto behind = (~std::uint64_t{0} << (8 * point)) << 8;
        const auto before = ~(~std::uint64_t{0} << (8 * point));
        word = (word & behind) | ((word & before) << 8) | '0';
        decimals = static_cast<std::uint8_t>(7 - point);
    }
    const auto values = word ^ kZeros;
    ok = are_digits(values) && (point == 8 || length > 1);
    return {number_of(values), decimals};
}

inline constexpr std::size_t kWordDigits = 8;

/// Eight digits of a number below 10^8 as bytes of 0 to 9, the most significant digit lowest.
[[nodiscard]] inline std::uint64_t digits_of(std::uint32_t number) noexcept {
    const std::uint64_t fours = (number / 10'000) | (std::uint64_t{number % 10'000} << 32);
    // Each division by a constant is a multiplication and a shift in every half.
    const auto hundreds = ((fours * 10'486) >> 20) & 0x0000007F0000007FULL;
    const auto pairs = hundreds | ((fours - hundreds * 100) << 16);
    const auto tens = ((pairs * 103) >> 10) & 0x000F000F000F000FULL;
    return tens | ((pairs - tens * 10) << 8);
}

inline void store_word(char* at, std::uint64_t word) noexcept {
    core::store_le(reinterpret_cast<std::byte*>(at), word);
}

}  // namespace millpond::fix::detail
