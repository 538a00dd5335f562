#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <millpond/feed/decimal.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/json_text.hpp>

namespace millpond::feed {

/// Writes a quote as a JSON object to `out`, without a newline:
/// ```
/// {"type":"quote","symbol":"AAPL","timestamp":1580398200000000000,"exchange_timestamp":1580398199999990000,
///  "sequence":17,"bid":{"price":189.2400,"shares":300},"ask":{"price":189.2600,"shares":200},
///  "spread":{"price":0.0200,"percent":0.0106},"incomplete":false}
/// ```
/// A quote of a halted instrument has `"halted":true` at its end, one that is not firm `"firm":false`, one of a
/// composite `"locked":true` or `"crossed":true` where its best prices are so. timestamp is the receive time; both
/// times are UTC nanoseconds. A side without shares has the price null, and `spread` is null unless both sides have
/// shares. percent is relative to the middle price, or null (spread_percent).
///
/// Memory: writes at most kMaxJsonBytes; allocates nothing.
[[nodiscard]] inline std::string_view quote_json(std::span<char, kMaxJsonBytes> out, const Quote& quote,
                                                 const JsonSymbol& symbol, std::uint64_t sequence) noexcept {
    using detail::put;
    auto* end = put(out.data(), "{\"type\":\"quote\",\"symbol\":");
    end = put(symbol.write(end), ",\"timestamp\":");
    end = put(write_signed(end, quote.receive_utc_ns), ",\"exchange_timestamp\":");
    end = put(write_signed(end, quote.exchange_utc_ns), ",\"sequence\":");
    end = put(write_unsigned(end, sequence), ",\"bid\":{\"price\":");
    const bool both = quote.bid_size != 0 && quote.ask_size != 0;
    const auto bid = TwoPrices::in_four_decimals(quote.bid_price);
    const auto ask = TwoPrices::in_four_decimals(quote.ask_price);
    const auto decimals = symbol.decimals();
    // Fast path for nearly every quote: its four decimals are converted in two pairs.
    if (const auto percent = both && TwoPrices::fit(bid, ask) ? spread_percent(bid, ask) : std::nullopt;
        percent && decimals == kDefaultDecimals && TwoPrices::fit(ask - bid, *percent)) [[likely]] {
        const TwoPrices prices{bid, ask};
        const TwoPrices spreads{ask - bid, *percent};
        end = put(prices.write_first(end), ",\"shares\":");
        end = put(write_unsigned(end, quote.bid_size), "},\"ask\":{\"price\":");
        end = put(prices.write_second(end), ",\"shares\":");
        end = put(write_unsigned(end, quote.ask_size), "},\"spread\":{\"price\":");
        end = put(spreads.write_first(end), ",\"percent\":");
        end = put(spreads.write_second(end), "}");
    } else {
        end = quote.bid_size != 0 ? write_price(end, quote.bid_price, decimals) : put(end, "null");
        end = put(write_unsigned(put(end, ",\"shares\":"), quote.bid_size), "},\"ask\":{\"price\":");
        end = quote.ask_size != 0 ? write_price(end, quote.ask_price, decimals) : put(end, "null");
        end = put(write_unsigned(put(end, ",\"shares\":"), quote.ask_size), "},\"spread\":");
        if (both) {
            end = write_spread(put(end, "{\"price\":"), quote.bid_price, quote.ask_price, decimals);
            end = put(end, ",\"percent\":");
            const auto exact = spread_percent(quote.bid_price, quote.ask_price);
            end = put(exact ? write_percent(end, *exact) : put(end, "null"), "}");
        } else {
            end = put(end, "null");
        }
    }
    end = (quote.flags & kIncomplete) != 0 ? put(end, ",\"incomplete\":true") : put(end, ",\"incomplete\":false");
    if ((quote.flags & (kHalted | kNotFirm | kLocked | kCrossed)) != 0) [[unlikely]] {
        if ((quote.flags & kHalted) != 0) end = put(end, ",\"halted\":true");
        if ((quote.flags & kNotFirm) != 0) end = put(end, ",\"firm\":false");
        if ((quote.flags & kLocked) != 0) end = put(end, ",\"locked\":true");
        if ((quote.flags & kCrossed) != 0) end = put(end, ",\"crossed\":true");
    }
    end = put(end, "}");
    return {out.data(), static_cast<std::size_t>(end - out.data())};
}

}  // namespace millpond::feed
