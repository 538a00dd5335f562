#include <millpond/fix/writer.hpp>

#include <algorithm>
#include <bit>
#include <charconv>

#include <millpond/fix/detail/delimiter_scan.hpp>

namespace millpond::fix {
namespace {

constexpr char kSoh = '\x01';

std::size_t decimal_digits(std::size_t value) noexcept {
    std::size_t digits = 1;
    for (; value >= 10; value /= 10) ++digits;
    return digits;
}

struct Totals {
    std::uint32_t sum{0};
    std::size_t delimiters{0};
};

Totals totals(std::string_view bytes) noexcept {
    static const auto scan = detail::scan_function(detail::best_supported());
    detail::DelimiterMasks masks;
    Totals all;
    for (std::size_t at = 0; at < bytes.size(); at += detail::kScanBytes) {
        const auto size = std::min(detail::kScanBytes, bytes.size() - at);
        all.sum += scan(bytes.data() + at, size, masks);
        for (std::size_t word = 0; word * 64 < size; ++word) {
            all.delimiters += static_cast<std::size_t>(std::popcount(masks.delimiters[word]));
        }
    }
    return all;
}

}  // namespace

Writer::Writer(std::span<char> memory, std::string_view begin_string) noexcept
    : memory_(memory.data()), begin_string_(begin_string) {
    // 8=...|9=...| with as many digits as the longest body that fits could need
    const auto front = 2 + begin_string.size() + 1 + 2 + decimal_digits(memory.size()) + 1;
    failed_ = memory.size() < front + kTrailerBytes;
    body_ = memory_ + (failed_ ? 0 : front);
    at_ = body_;
    limit_ = failed_ ? at_ : memory_ + memory.size() - kTrailerBytes;
}

Writer& Writer::add_timestamp(Tag number, std::int64_t utc_ns, TimePrecision precision) noexcept {
    std::array<char, kMaxTimestampChars> text;
    const auto length = write_utc_timestamp(text.data(), utc_ns, precision);
    return put(TagText{number}, std::string_view{text.data(), length});
}

Writer& Writer::add_data(Tag length_tag, Tag data_tag, std::string_view data) noexcept {
    put(TagText{length_tag}, data.size());
    put(TagText{data_tag}, data);
    delimiters_ += static_cast<std::size_t>(std::count(data.begin(), data.end(), kSoh));
    return *this;
}

Writer& Writer::add_fields(std::string_view fields) noexcept {
    if (!has_room(fields.size())) return *this;
    std::memcpy(at_, fields.data(), fields.size());
    at_ += fields.size();
    delimiters_ += static_cast<std::size_t>(std::count(fields.begin(), fields.end(), kSoh));
    return *this;
}

Writer& Writer::put_signed(const TagText& text, std::int64_t value) noexcept {
    std::array<char, kMostNumberChars> digits;
    const auto* end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return put(text, std::string_view{digits.data(), static_cast<std::size_t>(end - digits.data())});
}

Writer& Writer::put_unsigned(const TagText& text, std::uint64_t value) noexcept {
    std::array<char, kMostNumberChars> digits;
    const auto* end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return put(text, std::string_view{digits.data(), static_cast<std::size_t>(end - digits.data())});
}

Writer& Writer::put(const TagText& text, Decimal value) noexcept {
    if (value.decimals > kMaxDecimals) {
        failed_ = true;
        return *this;
    }
    std::array<char, kMostNumberChars> digits;
    auto* out = digits.data();
    const bool negative = value.mantissa < 0;
    auto rest = negative ? std::uint64_t{0} - static_cast<std::uint64_t>(value.mantissa)
                         : static_cast<std::uint64_t>(value.mantissa);
    // Backwards from the last decimal; at least one digit stands before the point.
    auto* begin = out + digits.size();
    for (unsigned written = 0; rest != 0 || written <= value.decimals; ++written) {
        if (written == value.decimals && written != 0) *--begin = '.';
        *--begin = static_cast<char>('0' + rest % 10);
        rest /= 10;
    }
    if (negative) *--begin = '-';
    return put(text, std::string_view{begin, static_cast<std::size_t>(out + digits.size() - begin)});
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
    std::to_chars(out, body_ - 1, body_bytes);
    body_[-1] = kSoh;
    const auto all = totals({begin, static_cast<std::size_t>(at_ - begin)});
    if (all.delimiters != delimiters_ + 2) {
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
