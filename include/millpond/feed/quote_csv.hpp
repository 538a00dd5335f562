#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include <millpond/feed/decimal.hpp>
#include <millpond/feed/event.hpp>

namespace millpond::feed {

/// Bytes that a quote's line fits in, with room for what the writers scribble behind it.
inline constexpr std::size_t kMaxCsvBytes = 320;

/// The first line of a file of quotes, with its newline.
inline constexpr std::string_view kCsvHeader = "timestamp,symbol,bid_price,bid_shares,ask_price,ask_shares,spread\n";

/// A symbol as a CSV field, to be made once an instrument and copied into each of its lines. It is quoted where it
/// holds a comma, a quote, a space or a control character; quotes inside are doubled.
///
/// Memory: 80 bytes, no allocation.
/// Source: RFC 4180, section 2.
class CsvSymbol {
public:
    CsvSymbol() noexcept = default;
    explicit CsvSymbol(const Symbol& symbol) noexcept;

    [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }

private:
    std::size_t size_{0};
    std::array<char, Symbol::capacity() * 2 + 2 + 6> text_{};
};

inline CsvSymbol::CsvSymbol(const Symbol& symbol) noexcept {
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

/// One quote as a line with its newline, in the order of kCsvHeader:
/// `1580398200000000000,AAPL,189.2400,300,189.2600,200,0.0200`. The timestamp is the receive time in UTC nanoseconds. A
/// side without shares has an empty price; the spread is empty unless both sides have shares.
///
/// Memory: writes at most kMaxCsvBytes; allocates nothing.
[[nodiscard]] inline std::string_view quote_csv(std::span<char, kMaxCsvBytes> out, const Quote& quote,
                                                const CsvSymbol& symbol) noexcept {
    auto* end = write_signed(out.data(), quote.receive_utc_ns);
    *end++ = ',';
    const auto name = symbol.view();
    std::memcpy(end, name.data(), name.size());
    end += name.size();
    *end++ = ',';
    if (quote.bid_size != 0) end = write_price(end, quote.bid_price);
    *end++ = ',';
    end = write_unsigned(end, quote.bid_size);
    *end++ = ',';
    if (quote.ask_size != 0) end = write_price(end, quote.ask_price);
    *end++ = ',';
    end = write_unsigned(end, quote.ask_size);
    *end++ = ',';
    if (quote.bid_size != 0 && quote.ask_size != 0) {
        end = write_price(end, spread_of(quote.bid_price, quote.ask_price));
    }
    *end++ = '\n';
    return {out.data(), static_cast<std::size_t>(end - out.data())};
}

}  // namespace millpond::feed
