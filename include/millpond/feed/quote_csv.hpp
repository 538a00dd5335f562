#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <millpond/feed/decimal.hpp>
#include <millpond/feed/event.hpp>

namespace millpond::feed {

/// Maximum length of a quote's line, including the bytes that the writers overwrite after it.
inline constexpr std::size_t kMaxCsvBytes = 320;

/// The first line of a file of quotes, with its newline.
inline constexpr std::string_view kCsvHeader =
    "timestamp,symbol,bid_price,bid_shares,ask_price,ask_shares,spread,channel,flags\n";

/// A symbol as a CSV field, made once per instrument and copied into each of its lines. It is quoted if it holds a
/// comma, a quote, a space or a control character; quotes inside are doubled.
///
/// Memory: 80 bytes, no allocation.
/// Source: RFC 4180, section 2.
class CsvSymbol {
public:
    CsvSymbol() noexcept = default;
    explicit CsvSymbol(const Symbol& symbol, unsigned decimals = kDefaultDecimals) noexcept;

    [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }
    [[nodiscard]] unsigned decimals() const noexcept { return decimals_; }

private:
    std::uint32_t size_{0};
    std::uint32_t decimals_{kDefaultDecimals};
    std::array<char, Symbol::capacity() * 2 + 2 + 6> text_{};
};

inline CsvSymbol::CsvSymbol(const Symbol& symbol, unsigned decimals) noexcept : decimals_(decimals) {
    const auto text = symbol.view();
    bool quoted = false;
    for (const char c : text) quoted = quoted || c == ',' || c == '"' || static_cast<unsigned char>(c) <= ' ';
    if (quoted) text_[size_++] = '"';
    for (const char c : text) {
        if (c == '"') text_[size_++] = '"';
        text_[size_++] = c;
    }
    if (quoted) text_[size_++] = '"';
}

namespace detail {

inline char* write_text(char* out, std::string_view text) noexcept {
    std::memcpy(out, text.data(), text.size());
    return out + text.size();
}

inline char* write_flags(char* out, std::uint16_t flags) noexcept {
    struct Word {
        EventFlag flag;
        std::string_view word;
    };
    constexpr std::array kWords{Word{kIncomplete, "incomplete"},
                                Word{kHalted, "halted"},
                                Word{kNotFirm, "not_firm"},
                                Word{kHidden, "hidden"},
                                Word{kCross, "cross"},
                                Word{kSnapshot, "snapshot"},
                                Word{kNotPrintable, "not_printable"},
                                Word{kLast, "last"},
                                Word{kPriorityLost, "priority_lost"},
                                Word{kLocked, "locked"},
                                Word{kCrossed, "crossed"}};
    const auto* const begin = out;
    for (const auto& [flag, word] : kWords) {
        if ((flags & flag) == 0) continue;
        if (out != begin) *out++ = '+';
        out = write_text(out, word);
    }
    return out;
}

}  // namespace detail

/// Writes a quote as a line with its newline, in the order of kCsvHeader:
/// `1580398200000000000,AAPL,189.2400,300,189.2600,200,0.0200,0,`. The timestamp is the receive time in UTC
/// nanoseconds. A side without shares has an empty price; the spread is empty unless both sides have shares. The flags
/// are words joined by `+`: `incomplete`, `halted`, `not_firm`, `locked`, `crossed`.
///
/// Memory: writes at most kMaxCsvBytes; allocates nothing.
[[nodiscard]] inline std::string_view quote_csv(std::span<char, kMaxCsvBytes> out, const Quote& quote,
                                                const CsvSymbol& symbol) noexcept {
    auto* end = write_signed(out.data(), quote.receive_utc_ns);
    *end++ = ',';
    end = detail::write_text(end, symbol.view());
    *end++ = ',';
    if (quote.bid_size != 0) end = write_price(end, quote.bid_price, symbol.decimals());
    *end++ = ',';
    end = write_unsigned(end, quote.bid_size);
    *end++ = ',';
    if (quote.ask_size != 0) end = write_price(end, quote.ask_price, symbol.decimals());
    *end++ = ',';
    end = write_unsigned(end, quote.ask_size);
    *end++ = ',';
    if (quote.bid_size != 0 && quote.ask_size != 0) {
        end = write_spread(end, quote.bid_price, quote.ask_price, symbol.decimals());
    }
    *end++ = ',';
    end = write_unsigned(end, quote.channel);
    *end++ = ',';
    if (const auto flags = quote.flags & kQuoteFlags; flags != 0) [[unlikely]]
        end = detail::write_flags(end, static_cast<std::uint16_t>(flags));
    *end++ = '\n';
    return {out.data(), static_cast<std::size_t>(end - out.data())};
}

/// Writes a line that reports lost data of a channel, in the order of kCsvHeader: `1580398200000000000,,,,,,,0,gap`.
/// Earlier quotes of the channel are incomplete until newer ones replace them.
[[nodiscard]] inline std::string_view gap_csv(std::span<char, kMaxCsvBytes> out, const Gap& gap) noexcept {
    auto* end = detail::write_text(write_signed(out.data(), gap.receive_utc_ns), ",,,,,,,");
    end = detail::write_text(write_unsigned(end, gap.channel), ",gap\n");
    return {out.data(), static_cast<std::size_t>(end - out.data())};
}

/// Writes a line that reports missing lines of any channel: `1580398200000000000,,,,,,,,missed`.
[[nodiscard]] inline std::string_view missed_csv(std::span<char, kMaxCsvBytes> out, std::int64_t utc_ns) noexcept {
    const auto* end = detail::write_text(write_signed(out.data(), utc_ns), ",,,,,,,,missed\n");
    return {out.data(), static_cast<std::size_t>(end - out.data())};
}

}  // namespace millpond::feed
