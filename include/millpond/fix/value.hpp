#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// Exact conversion between field values and text: no floating point, no locale, no allocation. Parsers return nullopt
/// if the text does not have the type's form.
///
/// Source: FIX 5.0 SP2, volume 1, "Data types".
namespace millpond::fix {

/// mantissa * 10^-decimals, with the decimals as written: "10.50" is {1050, 2}. Two values are equal only if written
/// alike.
struct Decimal {
    std::int64_t mantissa{0};
    std::uint8_t decimals{0};

    friend constexpr bool operator==(const Decimal&, const Decimal&) noexcept = default;
};

inline constexpr std::uint8_t kMaxDecimals = 18;

/// Parses an optional '-' and digits; leading zeros are permitted. nullopt if it does not fit into 64 bits.
[[nodiscard]] constexpr std::optional<std::int64_t> parse_int(std::string_view text) noexcept {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    if (text.empty()) return std::nullopt;
    std::int64_t value = 0;  // negative: that range is one wider
    for (const char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_sub_overflow(value, c - '0', &value)) {
            return std::nullopt;
        }
    }
    if (negative) return value;
    if (value == INT64_MIN) return std::nullopt;
    return -value;
}

/// Parses digits; for sequence numbers, lengths and counts.
[[nodiscard]] constexpr std::optional<std::uint64_t> parse_unsigned(std::string_view text) noexcept {
    if (text.empty()) return std::nullopt;
    std::uint64_t value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        if (__builtin_mul_overflow(value, 10U, &value) ||
            __builtin_add_overflow(value, static_cast<std::uint64_t>(c - '0'), &value)) {
            return std::nullopt;
        }
    }
    return value;
}

/// Parses an optional '-' and digits with at most one point among or around them, no exponent. nullopt if the digits do
/// not fit into 64 bits or more than 18 follow the point.
[[nodiscard]] constexpr std::optional<Decimal> parse_decimal(std::string_view text) noexcept {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    std::int64_t mantissa = 0;  // negative, as above
    unsigned digits = 0;
    unsigned decimals = 0;
    bool after_point = false;
    for (const char c : text) {
        if (c == '.' && !after_point) {
            after_point = true;
            continue;
        }
        if (c < '0' || c > '9') return std::nullopt;
        if (__builtin_mul_overflow(mantissa, 10, &mantissa) || __builtin_sub_overflow(mantissa, c - '0', &mantissa)) {
            return std::nullopt;
        }
        ++digits;
        if (after_point) ++decimals;
    }
    if (digits == 0 || decimals > kMaxDecimals || (!negative && mantissa == INT64_MIN)) return std::nullopt;
    return Decimal{.mantissa = negative ? mantissa : -mantissa, .decimals = static_cast<std::uint8_t>(decimals)};
}

/// Whether the text is an integer of any length: optional '-', then digits.
[[nodiscard]] constexpr bool is_integer(std::string_view text) noexcept {
    if (text.starts_with('-')) text.remove_prefix(1);
    for (const char c : text) {
        if (c < '0' || c > '9') return false;
    }
    return !text.empty();
}

/// Whether the text is a decimal of any length: the form of parse_decimal without its limits.
[[nodiscard]] constexpr bool is_decimal(std::string_view text) noexcept {
    if (text.starts_with('-')) text.remove_prefix(1);
    bool has_point = false;
    for (const char c : text) {
        if (c == '.' && !has_point) {
            has_point = true;
        } else if (c < '0' || c > '9') {
            return false;
        }
    }
    return text.size() > static_cast<std::size_t>(has_point);
}

/// The value in units of 10^-`decimals`; nullopt if that would lose digits or does not fit. A price in 1/10000 is
/// `scaled(*parse_decimal(text), 4)`.
[[nodiscard]] constexpr std::optional<std::int64_t> scaled(Decimal value, std::uint8_t decimals) noexcept {
    auto mantissa = value.mantissa;
    for (auto at = value.decimals; at < decimals; ++at) {
        if (__builtin_mul_overflow(mantissa, 10, &mantissa)) return std::nullopt;
    }
    for (auto at = decimals; at < value.decimals; ++at) {
        if (mantissa % 10 != 0) return std::nullopt;
        mantissa /= 10;
    }
    return mantissa;
}

[[nodiscard]] constexpr std::optional<char> parse_char(std::string_view text) noexcept {
    if (text.size() != 1) return std::nullopt;
    return text.front();
}

[[nodiscard]] constexpr std::optional<bool> parse_bool(std::string_view text) noexcept {
    if (text == "Y") return true;
    if (text == "N") return false;
    return std::nullopt;
}

}  // namespace millpond::fix
