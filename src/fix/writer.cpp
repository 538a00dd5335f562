#include <millpond/fix/writer.hpp>

#include <algorithm>
#include <bit>

#include <millpond/fix/detail/delimiter_scan.hpp>
#include <millpond/fix/detail/words.hpp>

namespace millpond::fix {
namespace {

constexpr char kSoh = '\x01';

std::size_t decimal_digits(std::size_t value) noexcept {
    std::size_t digits = 1;
    for (; value >= 10'000; value /= 10) ++digits;
    return digits + (value >= 10 ? 1 : 0) + (value >= 100 ? 1 : 0) + (value >= 1'000 ? 1 : 0);
}

constexpr std::uint32_t kEightDigits = 100'000'000;
constexpr std::uint64_t kZeros = 0x3030303030303030ULL;

/// Number of leading zeros in eight digits; at most seven.
unsigned leading_zeros(std::uint64_t digits) noexcept {
    return static_cast<unsigned>(std::countr_zero(digits | (std::uint64_t{1} << 56))) / 8;
}

/// Writes a number without leading zeros; 8 bytes more than it takes are writable. Returns its end.
char* write_number(char* at, std::uint64_t value) noexcept {
    if (value < kEightDigits) {
        const auto digits = detail::digits_of(static_cast<std::uint32_t>(value));
        const auto zeros = leading_zeros(digits);
        detail::store_word(at, (digits + kZeros) >> (8 * zeros));
        return at + 8 - zeros;
    }
    at = write_number(at, value / kEightDigits);
    detail::store_word(at, detail::digits_of(static_cast<std::uint32_t>(value % kEightDigits)) + kZeros);
    return at + 8;
}

}  // namespace

Writer::Writer(std::span<char> memory, std::string_view begin_string) noexcept
    : memory_(memory.data()), begin_string_(begin_string) {
    // Space for 8=...|9=...| with as many digits as the longest body that fits could need.
    const auto front = 2 + begin_string.size() + 1 + 2 + decimal_digits(memory.size()) + 1;
    failed_ = memory.size() < front + kTrailerBytes;
    body_ = memory_ + (failed_ ? 0 : front);
    at_ = body_;
    limit_ = failed_ ? at_ : memory_ + memory.size() - kTrailerBytes;
}

Writer& Writer::put_timestamp(const TagText& text, std::int64_t utc_ns, TimePrecision precision) noexcept {
    if (!has_capacity(sizeof text.chars + kMaxTimestampChars + 1)) return *this;
    begin(text);
    at_ += write_utc_timestamp(at_, utc_ns, precision);
    return end();
}

Writer& Writer::add_data(Tag length_tag, Tag data_tag, std::string_view data) noexcept {
    put(TagText{length_tag}, data.size());
    put(TagText{data_tag}, data);
    delimiters_ += static_cast<std::size_t>(std::count(data.begin(), data.end(), kSoh));
    return *this;
}

Writer& Writer::add_fields(std::string_view fields) noexcept {
    if (!has_capacity(fields.size())) return *this;
    at_ += fields.copy(at_, fields.size());
    delimiters_ += static_cast<std::size_t>(std::count(fields.begin(), fields.end(), kSoh));
    return *this;
}

Writer& Writer::put_signed(const TagText& text, std::int64_t value) noexcept {
    if (!has_capacity(sizeof text.chars + kMaxNumberChars)) return *this;
    begin(text);
    auto magnitude = static_cast<std::uint64_t>(value);
    if (value < 0) {
        *at_++ = '-';
        magnitude = 0 - magnitude;
    }
    at_ = write_number(at_, magnitude);
    return end();
}

Writer& Writer::put_unsigned(const TagText& text, std::uint64_t value) noexcept {
    if (!has_capacity(sizeof text.chars + kMaxNumberChars)) return *this;
    begin(text);
    at_ = write_number(at_, value);
    return end();
}

Writer& Writer::put(const TagText& text, Decimal value) noexcept {
    if (value.decimals > kMaxDecimals) failed_ = true;
    if (!has_capacity(sizeof text.chars + kMaxNumberChars)) return *this;
    begin(text);
    auto magnitude = static_cast<std::uint64_t>(value.mantissa);
    if (value.mantissa < 0) {
        *at_++ = '-';
        magnitude = 0 - magnitude;
    }
    if (value.decimals == 0) {
        at_ = write_number(at_, magnitude);
    } else if (magnitude < kEightDigits && value.decimals < 8) {
        // At least one digit comes before the point.
        const auto digits = detail::digits_of(static_cast<std::uint32_t>(magnitude));
        const auto whole = 8U - value.decimals;
        const auto zeros = std::min(leading_zeros(digits), whole - 1);
        const auto characters = digits + kZeros;
        detail::store_word(at_, characters >> (8 * zeros));
        at_ += whole - zeros;
        *at_++ = '.';
        detail::store_word(at_, characters >> (8 * whole));
        at_ += value.decimals;
    } else {
        std::uint64_t unit = 1;
        for (unsigned i = 0; i < value.decimals; ++i) unit *= 10;
        at_ = write_number(at_, magnitude / unit);
        *at_++ = '.';
        auto fraction = magnitude % unit;
        for (unsigned i = value.decimals; i > 0; --i, fraction /= 10)
            at_[i - 1] = static_cast<char>('0' + fraction % 10);
        at_ += value.decimals;
    }
    return end();
}

std::optional<std::string_view> Writer::finish() noexcept {
    if (failed_) return std::nullopt;
    const auto body_bytes = static_cast<std::size_t>(at_ - body_);
    const auto digits = decimal_digits(body_bytes);
    auto* begin = body_ - (2 + begin_string_.size() + 1 + 2 + digits + 1);
    auto* out = begin;
    *out++ = '8';
    *out++ = '=';
    std::memcpy(out, begin_string_.data(), begin_string_.size());
    out += begin_string_.size();
    *out++ = kSoh;
    *out++ = '9';
    *out++ = '=';
    auto rest = body_bytes;
    for (auto place = digits; place > 0; --place, rest /= 10) out[place - 1] = static_cast<char>('0' + rest % 10);
    body_[-1] = kSoh;
    static const auto count = detail::count_function(detail::best_supported());
    const auto all = count(begin, static_cast<std::size_t>(at_ - begin));
    if (all.count != delimiters_ + 2) {
        failed_ = true;
        return std::nullopt;
    }
    const auto sum = all.sum % 256;
    const char trailer[kTrailerBytes] = {'1',
                                         '0',
                                         '=',
                                         static_cast<char>('0' + sum / 100),
                                         static_cast<char>('0' + sum / 10 % 10),
                                         static_cast<char>('0' + sum % 10),
                                         kSoh};
    std::memcpy(at_, trailer, kTrailerBytes);
    return std::string_view{begin, static_cast<std::size_t>(at_ - begin) + kTrailerBytes};
}

}  // namespace millpond::fix
