#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <millpond/core/endian.hpp>
#include <millpond/feed/detail/decimal_digits.hpp>
#include <millpond/feed/event.hpp>

/// Integers and prices as decimal text, exactly, without floating point and without allocation. Each writer returns the
/// end of what it wrote; it may scribble on up to kDecimalSlack bytes behind that.
namespace millpond::feed {

inline constexpr std::size_t kDecimalSlack = 8;
/// Characters of the longest 64-bit integer.
inline constexpr std::size_t kMaxIntegerChars = 20;
/// Characters of the longest price: sign, 15 digits, point, 4 digits.
inline constexpr std::size_t kMaxPriceChars = 21;
/// Those of the longest spread: one digit more.
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

/// The value as an unsigned magnitude; well defined for the smallest integer too.
[[nodiscard]] constexpr std::uint64_t magnitude(std::int64_t value) noexcept {
    return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

inline char* write_signed(char* out, std::int64_t value) noexcept {
    *out = '-';
    return write_unsigned(out + (value < 0 ? 1 : 0), magnitude(value));
}

namespace detail {

/// A price that is not negative.
inline char* write_price_of(char* out, std::uint64_t value) noexcept {
    if (value < kTenTo8) return put_four_decimals(out, eight_digits(static_cast<std::uint32_t>(value)));
    const auto units = value / kTenTo4;
    out = write_unsigned(out, units);
    const std::uint64_t digits = four_digits(static_cast<std::uint32_t>(value - units * kTenTo4));
    core::store_le(reinterpret_cast<std::byte*>(out), (digits | kZeros >> 32) << 8 | std::uint64_t{'.'});
    return out + 5;
}

}  // namespace detail

/// A price given in 1/10000, with four decimals: 1892500 is "189.2500".
inline char* write_price(char* out, Price price) noexcept {
    *out = '-';
    return detail::write_price_of(out + (price < 0 ? 1 : 0), magnitude(price));
}

/// ask - bid as write_price writes it, also where that does not fit 64 bits.
inline char* write_spread(char* out, Price bid, Price ask) noexcept {
    const auto difference = static_cast<std::uint64_t>(ask) - static_cast<std::uint64_t>(bid);
    *out = '-';
    return detail::write_price_of(out + (ask < bid ? 1 : 0), ask < bid ? 0 - difference : difference);
}

/// Two prices whose digits are made together; only for prices of 0 up to and without 10000.0000.
class TwoPrices {
public:
    [[nodiscard]] static bool fit(Price first, Price second) noexcept {
        return static_cast<std::uint64_t>(first) < detail::kTenTo8 &&
               static_cast<std::uint64_t>(second) < detail::kTenTo8;
    }
    TwoPrices(Price first, Price second) noexcept
        : digits_(detail::two_eight_digits(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(second))) {}

    char* write_first(char* out) const noexcept { return detail::put_four_decimals(out, digits_.first); }
    char* write_second(char* out) const noexcept { return detail::put_four_decimals(out, digits_.second); }

private:
    detail::TwoWords digits_;
};

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
