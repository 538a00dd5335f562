#include <array>
#include <cstring>
#include <string_view>

#include <millpond/feed/decimal.hpp>
#include <millpond/feed/event_json.hpp>
#include <millpond/feed/quote_csv.hpp>
#include <millpond/feed/quote_json.hpp>

#include "fuzz/fuzz_target.hpp"

// Any quote of any instrument becomes one line of printable ASCII inside its buffer; the text of a price is read back.
MILLPOND_FUZZ_TARGET {
    using namespace millpond::feed;
    struct Fields {
        Quote quote;
        Symbol symbol;
        std::uint64_t sequence;
        std::uint64_t decimals;
    };
    std::array<std::byte, sizeof(Fields)> bytes{};
    std::memcpy(bytes.data(), input.data(), std::min(input.size(), bytes.size()));
    Fields fields{};
    std::memcpy(static_cast<void*>(&fields), bytes.data(), sizeof fields);
    const auto printable = [](std::string_view text) {
        for (const char c : text) {
            if (c < ' ' || c > '~') return false;
        }
        return true;
    };
    const auto decimals = static_cast<unsigned>(fields.decimals);
    std::array<char, kMaxJsonBytes> json;
    const auto object = quote_json(json, fields.quote, JsonSymbol{fields.symbol, decimals}, fields.sequence);
    if (!printable(object) || object.back() != '}') require_kept("a quote is one line of JSON");
    std::array<char, kMaxCsvBytes> csv;
    const auto line = quote_csv(csv, fields.quote, CsvSymbol{fields.symbol, decimals});
    if (line.back() != '\n') require_kept("a quote is one line of CSV");
    const auto price = fields.quote.bid_price;
    std::array<char, kMaxPriceChars + kDecimalSlack> text;
    const auto* const end = write_price(text.data(), price, decimals);
    const auto again = parse_price({text.data(), static_cast<std::size_t>(end - text.data())});
    if (again.has_value() != is_price(price) || (again && *again != price)) require_kept("a price's text is the price");
    static_cast<void>(parse_price({reinterpret_cast<const char*>(input.data()), input.size()}));
}
