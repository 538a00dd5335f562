#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <millpond/feed/decimal.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/event_schema.hpp>
#include <millpond/feed/json_text.hpp>
#include <millpond/feed/quote_json.hpp>

/// Writes events as JSON objects without a newline, from their EventSchema. All have `timestamp` (receive time) and
/// `sequence`; in events of every instrument of a channel the symbol is null:
/// ```
/// {"type":"trade","symbol":"AAPL","timestamp":..,"exchange_timestamp":..,"sequence":18,
///  "price":189.2500,"shares":100,"trade_id":4711}
/// {"type":"trade_break","symbol":"AAPL","timestamp":..,"exchange_timestamp":..,"sequence":18,"trade_id":4711}
/// {"type":"status","symbol":"AAPL","channel":0,"timestamp":..,"exchange_timestamp":..,"sequence":19,
///  "state":"halted","reason":"T1"}
/// {"type":"gap","channel":0,"timestamp":..,"sequence":20,"first":1001,"last":1007,"reason":"sequence"}
/// {"type":"clear","symbol":null,"channel":0,"timestamp":..,"sequence":21,"reason":"new_session"}
/// {"type":"order","symbol":"AAPL","channel":0,"timestamp":..,"exchange_timestamp":..,"sequence":22,"action":"add",
///  "side":"bid","order_id":4712,"price":189.2500,"size":100,"size_left":100,"trade_id":0}
/// {"type":"level","symbol":"AAPL","channel":0,"timestamp":..,"exchange_timestamp":..,"sequence":23,"side":"bid",
///  "price":189.2500,"size":300,"count":2,"flags":128}
/// {"type":"imbalance","symbol":"AAPL","timestamp":..,"exchange_timestamp":..,"sequence":24,"auction":"closing",
///  "state":"indicative","side":"bid","paired_size":51200,"imbalance_size":700,"reference_price":189.2500,
///  "near_price":189.2600,"far_price":null}
/// {"type":"band","symbol":"AAPL","timestamp":..,"exchange_timestamp":..,"sequence":25,"band":"collar",
///  "short_sale":"allowed","extension":0,"lower_price":179.7900,"upper_price":198.7100,"reference_price":189.2500}
/// {"type":"instrument","symbol":"AAPL","timestamp":..,"exchange_timestamp":..,"sequence":26,"class":"stock",
///  "decimals":4,"currency":"USD","tick":null,"lot":100}
/// {"type":"best_venues","symbol":"AAPL","channel":4,"timestamp":..,"exchange_timestamp":..,"sequence":27,
///  "bid_channels":5,"ask_channels":2,"incomplete_channels":0,"silent_channels":8,"halted_channels":0,
///  "not_firm_channels":0}
/// ```
/// Memory: writes at most kMaxJsonBytes and allocates nothing.
namespace millpond::feed {

[[nodiscard]] constexpr std::string_view to_string(TradingState state) noexcept {
    switch (state) {
        case TradingState::unknown: return "unknown";
        case TradingState::trading: return "trading";
        case TradingState::halted: return "halted";
        case TradingState::paused: return "paused";
        case TradingState::quotation_only: return "quotation_only";
        case TradingState::operational_halt: return "operational_halt";
        case TradingState::start_of_messages: return "start_of_messages";
        case TradingState::start_of_system_hours: return "start_of_system_hours";
        case TradingState::start_of_market_hours: return "start_of_market_hours";
        case TradingState::end_of_market_hours: return "end_of_market_hours";
        case TradingState::end_of_system_hours: return "end_of_system_hours";
        case TradingState::end_of_messages: return "end_of_messages";
        case TradingState::circuit_breaker: return "circuit_breaker";
    }
    return "unknown";
}

[[nodiscard]] constexpr std::string_view to_string(ClearReason reason) noexcept {
    switch (reason) {
        case ClearReason::new_session: return "new_session";
        case ClearReason::end_of_session: return "end_of_session";
        case ClearReason::sender_request: return "sender_request";
    }
    return "unknown";
}

[[nodiscard]] constexpr std::string_view to_string(GapReason reason) noexcept {
    switch (reason) {
        case GapReason::sequence: return "sequence";
        case GapReason::rejected: return "rejected";
        case GapReason::dropped: return "dropped";
        case GapReason::silence: return "silence";
        case GapReason::venue: return "venue";
    }
    return "unknown";
}

[[nodiscard]] constexpr std::string_view to_string(Side side) noexcept {
    switch (side) {
        case Side::none: return "none";
        case Side::bid: return "bid";
        case Side::ask: return "ask";
    }
    return "unknown";
}

[[nodiscard]] constexpr std::string_view to_string(OrderAction action) noexcept {
    switch (action) {
        case OrderAction::add: return "add";
        case OrderAction::modify: return "modify";
        case OrderAction::cancel: return "cancel";
        case OrderAction::execute: return "execute";
        case OrderAction::remove: return "remove";
        case OrderAction::clear: return "clear";
    }
    return "unknown";
}

[[nodiscard]] constexpr std::string_view to_string(AuctionKind auction) noexcept {
    switch (auction) {
        case AuctionKind::opening: return "opening";
        case AuctionKind::closing: return "closing";
        case AuctionKind::resumption: return "resumption";
        case AuctionKind::extended: return "extended";
    }
    return "unknown";
}

[[nodiscard]] constexpr std::string_view to_string(ImbalanceState state) noexcept {
    switch (state) {
        case ImbalanceState::indicative: return "indicative";
        case ImbalanceState::insufficient: return "insufficient";
        case ImbalanceState::paused: return "paused";
    }
    return "unknown";
}

[[nodiscard]] constexpr std::string_view to_string(BandKind band) noexcept {
    switch (band) {
        case BandKind::collar: return "collar";
        case BandKind::short_sale: return "short_sale";
    }
    return "unknown";
}

[[nodiscard]] constexpr std::string_view to_string(ShortSale short_sale) noexcept {
    switch (short_sale) {
        case ShortSale::allowed: return "allowed";
        case ShortSale::restricted_now: return "restricted_now";
        case ShortSale::restricted_earlier: return "restricted_earlier";
    }
    return "unknown";
}

[[nodiscard]] constexpr std::string_view to_string(InstrumentClass instrument_class) noexcept {
    switch (instrument_class) {
        case InstrumentClass::unknown: return "unknown";
        case InstrumentClass::stock: return "stock";
        case InstrumentClass::fund: return "fund";
        case InstrumentClass::bond: return "bond";
        case InstrumentClass::right: return "right";
        case InstrumentClass::warrant: return "warrant";
        case InstrumentClass::unit: return "unit";
    }
    return "unknown";
}

namespace detail {

/// Text that is composed at compile time.
template <std::size_t N>
struct FixedText {
    std::array<char, N> chars{};

    constexpr FixedText(std::string_view before, std::string_view text, std::string_view after) noexcept {
        auto* out = chars.data();
        for (const auto part : {before, text, after}) {
            for (const char c : part) *out++ = c;
        }
    }
    char* write(char* out) const noexcept { return static_cast<char*>(std::memcpy(out, chars.data(), N)) + N; }
};

/// `{"type":"name"`
template <class Event>
inline constexpr FixedText<EventSchema<Event>::kName.size() + 10> kJsonBegin{"{\"type\":\"", EventSchema<Event>::kName,
                                                                             "\""};
/// `,"key":`
template <class Event, std::size_t I>
inline constexpr FixedText<std::get<I>(EventSchema<Event>::kFields).json.size() + 4> kJsonKey{
    ",\"", std::get<I>(EventSchema<Event>::kFields).json, "\":"};

template <Unit unit, class Value>
char* write_json_value(char* out, const Value& value, const JsonSymbol& symbol) noexcept {
    if constexpr (unit == Unit::instrument) {
        return value == kNoInstrument ? put(out, "null") : symbol.write(out);
    } else if constexpr (unit == Unit::price) {
        return value == kNoPrice ? put(out, "null") : write_price(out, value, symbol.decimals());
    } else if constexpr (std::is_enum_v<Value>) {
        return put(put(put(out, "\""), to_string(value)), "\"");
    } else if constexpr (std::is_signed_v<Value>) {
        return write_signed(out, value);
    } else if constexpr (std::is_unsigned_v<Value>) {
        return write_unsigned(out, value);
    } else {
        return JsonSymbol{Symbol{value.view()}}.write(out);
    }
}

}  // namespace detail

/// Writes any event except a quote. symbol: the instrument's; unused if the event concerns the whole channel.
template <class Event>
[[nodiscard]] std::string_view event_json(std::span<char, kMaxJsonBytes> out, const Event& event,
                                          const JsonSymbol& symbol, std::uint64_t sequence) noexcept {
    auto* end = detail::kJsonBegin<Event>.write(out.data());
    for_each_field<Event>([&]<std::size_t I>() {
        constexpr const auto& kField = std::get<I>(EventSchema<Event>::kFields);
        if constexpr (!kField.json.empty()) {
            if (kField.exists_in(event)) {
                end = detail::kJsonKey<Event, I>.write(end);
                end = detail::write_json_value<kField.unit>(end, kField.of(event), symbol);
            }
        }
        if constexpr (I == kLastTime<Event>) end = write_unsigned(detail::put(end, ",\"sequence\":"), sequence);
    });
    end = detail::put(end, "}");
    return {out.data(), static_cast<std::size_t>(end - out.data())};
}
/// Writes a quote, which has nested objects: see quote_json.
[[nodiscard]] inline std::string_view event_json(std::span<char, kMaxJsonBytes> out, const Quote& quote,
                                                 const JsonSymbol& symbol, std::uint64_t sequence) noexcept {
    return quote_json(out, quote, symbol, sequence);
}

}  // namespace millpond::feed
