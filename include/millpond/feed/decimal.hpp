#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include <millpond/core/endian.hpp>
#include <millpond/feed/event.hpp>

/// Integers and prices as decimal text, exactly, without floating point and without allocation. Each writer returns the
/// end of what it wrote; it may scribble on up to kDecimalSlack bytes behind that.
namespace millpond::feed {

inline constexpr std::size_t kDecimalSlack = 8;
/// Characters of the longest 64-bit integer.
inline constexpr std::size_t kMaxIntegerChars = 20;
/// Characters of the longest price: sign, 15 digits, point, 4 digits.
inline constexpr std::size_t kMaxPriceChars = 21;

namespace detail {

/// The eight decimal digits of value < 10^8, most significant in the lowest byte, each 0..9.
/// Source: the halving of digits within a word is from Paul Khuong, "How to print integers really fast" (2017).
[[nodiscard]] inline std::uint64_t eight_digits(std::uint32_t value) noexcept {
    const std::uint64_t high = value / 10'000;
    const std::uint64_t fours = high | ((value - high * 10'000) << 32);
    const auto hundreds = ((fours * 10'486) >> 20) & 0x0000'007F'0000'007F;  // each of two 4-digit numbers / 100
    const auto twos = hundreds | ((fours - hundreds * 100) << 16);
    const auto tens = ((twos * 103) >> 10) & 0x000F'000F'000F'000F;  // each of four 2-digit numbers / 10
    return tens | ((twos - tens * 10) << 8);
}

/// The four decimal digits of value < 10^4, likewise.
[[nodiscard]] inline std::uint32_t four_digits(std::uint32_t value) noexcept {
    const auto hundreds = (value * 10'486) >> 20;
    const auto twos = hundreds | ((value - hundreds * 100) << 16);
    const auto tens = ((twos * 103) >> 10) & 0x000F'000F;
    return tens | ((twos - tens * 10) << 8);
}

inline char* put_digits(char* out, std::uint64_t digits) noexcept {
    digits |= 0x3030'3030'3030'3030;
    if constexpr (std::endian::native == std::endian::big) digits = core::swap_bytes(digits);
    std::memcpy(out, &digits, 8);
    return out;
}

/// value < 10^8, without leading zeros.
inline char* write_up_to_8(char* out, std::uint32_t value) noexcept {
    const auto digits = eight_digits(value);
    const auto zeros = static_cast<unsigned>(std::countr_zero(digits | (std::uint64_t{1} << 56))) / 8;
    put_digits(out, digits >> (zeros * 8));
    return out + (8 - zeros);
}

}  // namespace detail

inline char* write_unsigned(char* out, std::uint64_t value) noexcept {
    constexpr std::uint64_t kStep = 100'000'000;
    if (value < kStep) return detail::write_up_to_8(out, static_cast<std::uint32_t>(value));
    const auto upper = value / kStep;
    const auto lower = detail::eight_digits(static_cast<std::uint32_t>(value - upper * kStep));
    if (upper < kStep) {
        out = detail::write_up_to_8(out, static_cast<std::uint32_t>(upper));
    } else {
        const auto top = upper / kStep;
        out = detail::write_up_to_8(out, static_cast<std::uint32_t>(top));
        out = detail::put_digits(out, detail::eight_digits(static_cast<std::uint32_t>(upper - top * kStep))) + 8;
    }
    return detail::put_digits(out, lower) + 8;
}

/// The value as an unsigned magnitude; well defined for the smallest integer too.
[[nodiscard]] constexpr std::uint64_t magnitude(std::int64_t value) noexcept {
    return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

inline char* write_signed(char* out, std::int64_t value) noexcept {
    *out = '-';
    return write_unsigned(out + (value < 0 ? 1 : 0), magnitude(value));
}

/// A price given in 1/10000, with four decimals: 1892500 is "189.2500".
inline char* write_price(char* out, Price price) noexcept {
    *out = '-';
    out += price < 0 ? 1 : 0;
    const auto value = magnitude(price);
    const auto units = value / kPriceScale;
    out = write_unsigned(out, units);
    auto digits = detail::four_digits(static_cast<std::uint32_t>(value - units * kPriceScale)) | 0x3030'3030;
    if constexpr (std::endian::native == std::endian::big) digits = core::swap_bytes(digits);
    *out = '.';
    std::memcpy(out + 1, &digits, 4);
    return out + 5;
}

/// ask - bid. Wraps only where the true difference does not fit 64 bits.
[[nodiscard]] constexpr Price spread_of(Price bid, Price ask) noexcept {
    return static_cast<Price>(static_cast<std::uint64_t>(ask) - static_cast<std::uint64_t>(bid));
}

/// The spread in percent of the middle of bid and ask, in 1/10000 percent, rounded half away from zero. Nothing when a
/// price is negative, both are 0, or one is so large (2^40 and more) that the product would not fit 64 bits.
[[nodiscard]] inline std::optional<std::int64_t> spread_percent(Price bid, Price ask) noexcept {
    constexpr std::uint64_t kBound = std::uint64_t{1} << 40;
    if ((static_cast<std::uint64_t>(bid) | static_cast<std::uint64_t>(ask)) >= kBound || bid + ask == 0) {
        return std::nullopt;
    }
    // 100 * (ask - bid) / ((bid + ask) / 2), times 10000. Doubles divide sooner than 64-bit integers do; the remainder,
    // which is exact, corrects the quotient, which is off by one at most.
    const auto middle = static_cast<std::uint64_t>(bid + ask);
    const auto spread = ask - bid;
    const auto scaled = magnitude(spread) * 2'000'000 + middle / 2;
    auto percent = static_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(scaled)) /
                                              static_cast<double>(static_cast<std::int64_t>(middle)));
    const auto product = percent * middle;
    if (product > scaled) {
        --percent;
    } else if (scaled - product >= middle) {
        ++percent;
    }
    const auto result = static_cast<std::int64_t>(percent);
    return spread < 0 ? -result : result;
}

}  // namespace millpond::feed
