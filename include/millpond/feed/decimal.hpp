#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include <millpond/feed/detail/decimal_digits.hpp>
#include <millpond/feed/price.hpp>

/// Converts integers and prices to and from decimal text, exactly, without floating point and without allocation. Each
/// writer returns the end of its text; it may overwrite up to kDecimalSlack bytes after that.
namespace millpond::feed {

inline constexpr std::size_t kDecimalSlack = 10;
/// Characters of the longest 64-bit integer.
inline constexpr std::size_t kMaxIntegerChars = 20;
/// Characters of the longest price: sign, 10 digits, point, 9 digits.
inline constexpr std::size_t kMaxPriceChars = 21;
/// Length of the longest spread, which has one more digit.
inline constexpr std::size_t kMaxSpreadChars = kMaxPriceChars + 1;

inline char* write_unsigned(char* out, std::uint64_t value) noexcept {
    using namespace detail;
    if (value < kTenTo4) return put_up_to_four(out, four_digits(static_cast<std::uint32_t>(value)));
    if (value < kTenTo8) return put_up_to_eight(out, eight_digits(static_cast<std::uint32_t>(value)));
    const auto upper = value / kTenTo8;
    const auto lower = static_cast<std::uint32_t>(value - upper * kTenTo8);
    if (value < kTenTo16) {
        const auto digits = two_eight_digits(static_cast<std::uint32_t>(upper), lower);
        out = put_up_to_eight(out, digits.first);
        put_eight(out, digits.second);
        return out + 8;
    }
    const auto top = upper / kTenTo8;
    const auto digits = two_eight_digits(static_cast<std::uint32_t>(upper - top * kTenTo8), lower);
    out = put_up_to_four(out, four_digits(static_cast<std::uint32_t>(top)));
    put_eight(out, digits.first);
    put_eight(out + 8, digits.second);
    return out + 16;
}

/// The absolute value; well defined for the smallest integer too.
[[nodiscard]] constexpr std::uint64_t magnitude(std::int64_t value) noexcept {
    return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

inline char* write_signed(char* out, std::int64_t value) noexcept {
    *out = '-';
    return write_unsigned(out + (value < 0 ? 1 : 0), magnitude(value));
}

namespace detail {

/// The value in 1/10000 if it is below 10000 and has at most four decimals, otherwise 10^8 or more.
///
/// Source: exact division by multiplication with the inverse modulo 2^64 (Warren, Hacker's Delight, 10-17): a multiple
/// of 10^5 becomes its quotient, any other number becomes more than 2^64 / 10^5.
[[nodiscard]] constexpr std::uint64_t in_four_decimals(std::uint64_t value) noexcept {
    constexpr std::uint64_t kOdd = 3'125;  // 10^5 is 2^5 times this
    static_assert(kPriceScale / kTenTo4 == 32 * kOdd);
    constexpr std::uint64_t kInverse = 0x5D4E'8FB0'0BCB'E61D;
    static_assert(kInverse * kOdd == 1);
    return std::rotr(value * kInverse, 5);
}

/// Writes a price of 0 or more.
inline char* write_price_of(char* out, std::uint64_t value, unsigned decimals) noexcept {
    if (const auto fours = in_four_decimals(value); decimals == kDefaultDecimals && fours < kTenTo8) [[likely]] {
        return put_four_decimals(out, eight_digits(static_cast<std::uint32_t>(fours)));
    }
    constexpr auto kUnit = static_cast<std::uint64_t>(kPriceScale);
    const auto units = value / kUnit;
    const auto fraction = static_cast<std::uint32_t>(value - units * kUnit);
    const auto first = fraction / static_cast<std::uint32_t>(kTenTo8);
    const auto digits = eight_digits(fraction - first * static_cast<std::uint32_t>(kTenTo8));
    out = write_unsigned(out, units);
    out[0] = '.';
    out[1] = static_cast<char>('0' + first);
    put_eight(out + 2, digits);
    // The last digit is in the highest byte.
    const auto zeros = static_cast<unsigned>(std::countl_zero(digits)) / 8 + (fraction == 0 ? 1 : 0);
    const auto places = std::max(std::min(decimals, kPriceDecimals), kPriceDecimals - zeros);
    return places == 0 ? out : out + 1 + places;
}

}  // namespace detail

/// Writes a price with `decimals` decimals, or with as many more as it needs: "189.2500", "0.0000001". decimals: at
/// most kPriceDecimals; more count as that.
inline char* write_price(char* out, Price price, unsigned decimals = kDefaultDecimals) noexcept {
    *out = '-';
    return detail::write_price_of(out + (price < 0 ? 1 : 0), magnitude(price), decimals);
}

/// Writes ask - bid as write_price does, even if the difference does not fit 64 bits.
inline char* write_spread(char* out, Price bid, Price ask, unsigned decimals = kDefaultDecimals) noexcept {
    const auto difference = static_cast<std::uint64_t>(ask) - static_cast<std::uint64_t>(bid);
    *out = '-';
    return detail::write_price_of(out + (ask < bid ? 1 : 0), ask < bid ? 0 - difference : difference, decimals);
}

enum class PriceTextError : std::uint8_t {
    malformed,     ///< Not of the form "-12.34": digits, with digits before and behind a point.
    too_fine,      ///< More than nine decimals, of which those behind the ninth are not all 0.
    out_of_range,  ///< Beyond kMinPrice or kMaxPrice.
};

[[nodiscard]] constexpr std::string_view to_string(PriceTextError error) noexcept {
    switch (error) {
        case PriceTextError::malformed: return "is not a decimal number such as -12.34";
        case PriceTextError::too_fine: return "has more than 9 decimals";
        case PriceTextError::out_of_range: return "is not in -9223372036.854775806..9223372036.854775806";
    }
    return "is not a price";
}

/// Reads a whole text as a price, exactly.
[[nodiscard]] constexpr std::expected<Price, PriceTextError> parse_price(std::string_view text) noexcept {
    using enum PriceTextError;
    const bool is_negative = text.starts_with('-');
    if (is_negative) text.remove_prefix(1);
    const auto point = text.find('.');
    const auto units = text.substr(0, point);
    const auto decimals = point == std::string_view::npos ? std::string_view{"0"} : text.substr(point + 1);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (units.empty() || decimals.empty() || !std::ranges::all_of(units, is_digit) ||
        !std::ranges::all_of(decimals, is_digit)) {
        return std::unexpected{malformed};
    }
    if (decimals.find_last_not_of('0') != std::string_view::npos && decimals.find_last_not_of('0') >= kPriceDecimals) {
        return std::unexpected{too_fine};
    }
    constexpr auto kMax = static_cast<std::uint64_t>(kMaxPrice);
    std::uint64_t value = 0;
    for (const char c : units) {
        value = value * 10 + static_cast<std::uint64_t>(c - '0');
        if (value > kMax / kPriceScale) return std::unexpected{out_of_range};
    }
    for (std::size_t i = 0; i < kPriceDecimals; ++i) {
        value = value * 10 + (i < decimals.size() ? static_cast<std::uint64_t>(decimals[i] - '0') : 0);
    }
    if (value > kMax) return std::unexpected{out_of_range};
    return is_negative ? -static_cast<Price>(value) : static_cast<Price>(value);
}

/// The double that is nearest to the price in whole units.
[[nodiscard]] inline double nearest_double(Price price) noexcept {
    constexpr std::uint64_t kExact = std::uint64_t{1} << 53;
    if (magnitude(price) <= kExact) return static_cast<double>(price) / static_cast<double>(kPriceScale);
    char text[kMaxPriceChars + kDecimalSlack];
    double nearest = 0;
    std::from_chars(text, write_price(text, price), nearest);
    return nearest;
}

/// Writes two prices whose digits are computed together; both must be 0 to 9999.9999 and have at most four decimals.
class TwoPrices {
public:
    /// Returns the price in 1/10000; a number that does not fit if there is none.
    [[nodiscard]] static std::int64_t in_four_decimals(Price price) noexcept {
        return static_cast<std::int64_t>(detail::in_four_decimals(static_cast<std::uint64_t>(price)));
    }
    [[nodiscard]] static bool fit(std::int64_t first, std::int64_t second) noexcept {
        return static_cast<std::uint64_t>(first) < detail::kTenTo8 &&
               static_cast<std::uint64_t>(second) < detail::kTenTo8;
    }
    /// Both in 1/10000; only if they fit.
    TwoPrices(std::int64_t first, std::int64_t second) noexcept
        : digits_(detail::two_eight_digits(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(second))) {}

    char* write_first(char* out) const noexcept { return detail::put_four_decimals(out, digits_.first); }
    char* write_second(char* out) const noexcept { return detail::put_four_decimals(out, digits_.second); }

private:
    detail::TwoWords digits_;
};

/// The spread in percent of the middle of bid and ask, in 1/10000 percent, rounded half away from zero. Both prices are
/// in the same scale, whichever it is. Returns nullopt if a price is negative or 2^61 or more, or if both are 0.
[[nodiscard]] inline std::optional<std::int64_t> spread_percent(std::int64_t bid, std::int64_t ask) noexcept {
    constexpr std::uint64_t kBound = std::uint64_t{1} << 61;
    if ((static_cast<std::uint64_t>(bid) | static_cast<std::uint64_t>(ask)) >= kBound || bid + ask == 0) {
        return std::nullopt;
    }
    // 100 * (ask - bid) / ((bid + ask) / 2), times 10000: at most 2'000'000. Doubles divide faster than integers;
    // the remainder corrects the quotient, which is off by one at most. The remainder is exact although its terms wrap
    // around: it is above -2^62 and below 2^63.
    const auto middle = bid + ask;
    const auto spread = ask - bid;
    const auto width = spread < 0 ? -spread : spread;
    const auto quotient = static_cast<double>(width) * 2'000'000.0 / static_cast<double>(middle);
    auto percent = static_cast<std::int64_t>(quotient + 0.5);  // NOLINT(bugprone-incorrect-roundings): corrected below
    const auto remainder = static_cast<std::int64_t>(
        static_cast<std::uint64_t>(width) * 2'000'000 + static_cast<std::uint64_t>(middle / 2) -
        static_cast<std::uint64_t>(percent) * static_cast<std::uint64_t>(middle));
    if (remainder < 0) {
        --percent;
    } else if (remainder >= middle) {
        ++percent;
    }
    return spread < 0 ? -percent : percent;
}

/// Writes what spread_percent returns, with its four decimals.
inline char* write_percent(char* out, std::int64_t percent) noexcept {
    *out = '-';
    return detail::put_four_decimals(out + (percent < 0 ? 1 : 0),
                                     detail::eight_digits(static_cast<std::uint32_t>(magnitude(percent))));
}

}  // namespace millpond::feed
