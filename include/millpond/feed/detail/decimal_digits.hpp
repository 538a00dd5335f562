#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <millpond/core/endian.hpp>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/// Converts several decimal digits at a time by arithmetic within a word. A word of digits holds the most significant
/// digit in its lowest byte, each 0..9, whatever the byte order of the machine. Source: the halving of digits within a
/// word is from Paul Khuong, "How to print integers really fast" (2017).
namespace millpond::feed::detail {

inline constexpr std::uint32_t kTenTo4 = 10'000;
inline constexpr std::uint64_t kTenTo8 = 100'000'000;
inline constexpr std::uint64_t kTenTo16 = kTenTo8 * kTenTo8;

/// value: below 10^4.
[[nodiscard]] inline std::uint32_t four_digits(std::uint32_t value) noexcept {
    const auto hundreds = (value * 10'486) >> 20;
    const auto twos = hundreds | ((value - hundreds * 100) << 16);
    const auto tens = ((twos * 103) >> 10) & 0x000F'000F;
    return tens | ((twos - tens * 10) << 8);
}

/// value: below 10^8.
[[nodiscard]] inline std::uint64_t eight_digits(std::uint32_t value) noexcept {
    const std::uint64_t high = value / kTenTo4;
    const std::uint64_t fours = high | ((value - high * kTenTo4) << 32);
    const auto hundreds = ((fours * 10'486) >> 20) & 0x0000'007F'0000'007F;  // each of two 4-digit numbers / 100
    const auto twos = hundreds | ((fours - hundreds * 100) << 16);
    const auto tens = ((twos * 103) >> 10) & 0x000F'000F'000F'000F;  // each of four 2-digit numbers / 10
    return tens | ((twos - tens * 10) << 8);
}

struct TwoWords {
    std::uint64_t first;
    std::uint64_t second;
};

/// Both values: below 10^8.
[[nodiscard]] inline TwoWords two_eight_digits(std::uint32_t first, std::uint32_t second) noexcept {
#if defined(__SSE2__)
    const auto values = _mm_set_epi64x(second, first);
    const auto high = _mm_srli_epi64(_mm_mul_epu32(values, _mm_set1_epi64x(0xD1B7'1759)), 45);  // / 10^4
    const auto low = _mm_sub_epi32(values, _mm_mul_epu32(high, _mm_set1_epi64x(kTenTo4)));
    const auto fours = _mm_or_si128(high, _mm_slli_epi64(low, 32));
    const auto hundreds = _mm_srli_epi16(_mm_mulhi_epu16(fours, _mm_set1_epi16(5'243)), 3);  // / 100
    const auto ones = _mm_sub_epi16(fours, _mm_mullo_epi16(hundreds, _mm_set1_epi16(100)));
    const auto twos = _mm_or_si128(hundreds, _mm_slli_epi32(ones, 16));
    const auto tens = _mm_mulhi_epu16(twos, _mm_set1_epi16(6'554));  // / 10
    const auto units = _mm_sub_epi16(twos, _mm_mullo_epi16(tens, _mm_set1_epi16(10)));
    const auto digits = _mm_or_si128(tens, _mm_slli_epi16(units, 8));
    return {static_cast<std::uint64_t>(_mm_cvtsi128_si64(digits)),
            static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(digits, digits)))};
#else
    return {eight_digits(first), eight_digits(second)};
#endif
}

inline constexpr std::uint64_t kZeros = 0x3030'3030'3030'3030;

/// Writes eight digits.
inline void put_eight(char* out, std::uint64_t digits) noexcept {
    core::store_le(reinterpret_cast<std::byte*>(out), digits | kZeros);
}

/// Writes eight digits without leading zeros, one digit for zero; returns their end. May overwrite eight bytes.
inline char* put_up_to_eight(char* out, std::uint64_t digits) noexcept {
    const auto zero_bits = static_cast<unsigned>(std::countr_zero(digits | (std::uint64_t{1} << 56))) & ~7U;
    core::store_le(reinterpret_cast<std::byte*>(out), (digits | kZeros) >> zero_bits);
    return out + (8 - zero_bits / 8);
}

/// Writes four digits without leading zeros, one digit for zero; returns their end. May overwrite four bytes.
inline char* put_up_to_four(char* out, std::uint32_t digits) noexcept {
    const auto zero_bits = static_cast<unsigned>(std::countr_zero(digits | (std::uint32_t{1} << 24))) & ~7U;
    core::store_le(reinterpret_cast<std::byte*>(out), (digits | static_cast<std::uint32_t>(kZeros)) >> zero_bits);
    return out + (4 - zero_bits / 8);
}

/// Writes eight digits as a number with four decimals; returns its end. May overwrite eight bytes after the point.
inline char* put_four_decimals(char* out, std::uint64_t digits) noexcept {
    out = put_up_to_four(out, static_cast<std::uint32_t>(digits));
    core::store_le(reinterpret_cast<std::byte*>(out), (digits | kZeros) >> 32 << 8 | std::uint64_t{'.'});
    return out + 5;
}

}  // namespace millpond::feed::detail
