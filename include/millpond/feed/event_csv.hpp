#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <millpond/feed/decimal.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/event_json.hpp>
#include <millpond/feed/event_schema.hpp>
#include <millpond/feed/quote_csv.hpp>

/// Writes trades, orders and levels as lines of CSV, from their EventSchema; quotes have a layout of their own
/// (quote_csv.hpp). The columns are the receive time, the symbol, the other fields in the order of the schema, the
/// channel and the flags:
/// ```
/// timestamp,symbol,exchange_timestamp,sequence,price,shares,trade_id,channel,flags
/// timestamp,symbol,exchange_timestamp,sequence,action,side,order_id,price,size,size_left,trade_id,channel,flags
/// timestamp,symbol,exchange_timestamp,sequence,side,price,size,count,channel,flags
/// ```
/// `sequence` is the number on the wire. The flags are words joined by `+`.
namespace millpond::feed {

/// Maximum length of an event's line, including the bytes that the writers overwrite after it.
inline constexpr std::size_t kMaxEventCsvBytes = 512;

namespace detail {

/// Group of columns, from left to right, that a field belongs to; ticks have no column.
template <class Event, std::size_t I>
inline constexpr int kCsvPlace = [] {
    constexpr const auto& kField = std::get<I>(EventSchema<Event>::kFields);
    if (kField.unit == Unit::ticks) return -1;
    if (kField.unit == Unit::receive_time) return 0;
    if (kField.unit == Unit::instrument) return 1;
    if (kField.unit == Unit::flags) return 4;
    return kField.name == "channel" ? 3 : 2;
}();

/// Calls `visit.template operator()<I>()` for each field of the event that has a column, from left to right.
template <class Event, class Visitor>
constexpr void for_each_column(Visitor&& visit) {
    const auto visit_place = [&]<int kPlace>() {
        for_each_field<Event>([&]<std::size_t I>() {
            if constexpr (kCsvPlace<Event, I> == kPlace) visit.template operator()<I>();
        });
    };
    visit_place.template operator()<0>();
    visit_place.template operator()<1>();
    visit_place.template operator()<2>();
    visit_place.template operator()<3>();
    visit_place.template operator()<4>();
}

template <Unit unit, class Value>
char* write_csv_value(char* out, const Value& value, const CsvSymbol& symbol) noexcept {
    if constexpr (unit == Unit::instrument) {
        return value == kNoInstrument ? out : write_text(out, symbol.view());
    } else if constexpr (unit == Unit::flags) {
        return write_flags(out, value);
    } else if constexpr (unit == Unit::price) {
        return value == kNoPrice ? out : write_price(out, value, symbol.decimals());
    } else if constexpr (std::is_enum_v<Value>) {
        return write_text(out, to_string(value));
    } else if constexpr (std::is_signed_v<Value>) {
        return write_signed(out, value);
    } else {
        return write_unsigned(out, value);
    }
}

}  // namespace detail

/// The first line of a file of these events, with its newline.
template <class Event>
[[nodiscard]] std::string csv_header() {
    std::string header;
    detail::for_each_column<Event>([&]<std::size_t I>() {
        constexpr const auto& kField = std::get<I>(EventSchema<Event>::kFields);
        header += kField.json.empty() ? kField.column : kField.json;
        header += ',';
    });
    header.back() = '\n';
    return header;
}

/// Writes an event as a line with its newline, in the columns of `Columns`, which is the event's own type or another
/// one, of which it has some fields; the others are empty. word: follows the flags, for what has no column:
/// `1580398200000000000,,,,,,,,0,gap` is a gap in the columns of a level.
///
/// Memory: writes at most kMaxEventCsvBytes; allocates nothing.
template <class Columns, class Event>
[[nodiscard]] std::string_view event_csv(std::span<char, kMaxEventCsvBytes> out, const Event& event,
                                         const CsvSymbol& symbol, std::string_view word = {}) noexcept {
    auto* end = out.data();
    detail::for_each_column<Columns>([&]<std::size_t Column>() {
        constexpr const auto& kColumn = std::get<Column>(EventSchema<Columns>::kFields);
        if constexpr (kColumn.unit != Unit::receive_time) *end++ = ',';
        for_each_field<Event>([&]<std::size_t I>() {
            constexpr const auto& kField = std::get<I>(EventSchema<Event>::kFields);
            if constexpr (kField.name == kColumn.name) {
                end = detail::write_csv_value<kField.unit>(end, kField.of(event), symbol);
            }
        });
    });
    if (!word.empty() && end[-1] != ',') *end++ = '+';
    end = detail::write_text(end, word);
    *end++ = '\n';
    return {out.data(), static_cast<std::size_t>(end - out.data())};
}

}  // namespace millpond::feed
