#include <array>
#include <cstring>
#include <string_view>

#include <millpond/feed/event_json.hpp>
#include <millpond/feed/quote_csv.hpp>
#include <millpond/feed/quote_json.hpp>

#include "fuzz/fuzz_target.hpp"

// Any quote of any instrument becomes one line of printable ASCII inside its buffer.
MILLPOND_FUZZ_TARGET {
    using namespace millpond::feed;
    struct Fields {
        Quote quote;
        Symbol symbol;
        std::uint64_t sequence;
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
    std::array<char, kMaxJsonBytes> json;
    const auto object = quote_json(json, fields.quote, JsonSymbol{fields.symbol}, fields.sequence);
    if (!printable(object) || object.back() != '}') require_kept("a quote is one line of JSON");
    std::array<char, kMaxCsvBytes> csv;
    const auto line = quote_csv(csv, fields.quote, CsvSymbol{fields.symbol});
    if (line.back() != '\n') require_kept("a quote is one line of CSV");
}
