#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <millpond/feed/decimal.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/json_text.hpp>

/// The other events as JSON objects without a newline; quotes have no `type`. All have `timestamp` (receive
/// time) and `sequence`; what concerns every instrument of a channel has the symbol null:
/// ```
/// {"type":"trade","symbol":"AAPL","timestamp":..,"exchange_timestamp":..,"sequence":18,
///  "price":189.2500,"shares":100,"trade_id":4711}
/// {"type":"trade_break","symbol":"AAPL","timestamp":..,"exchange_timestamp":..,"sequence":18,"trade_id":4711}
/// {"type":"status","symbol":"AAPL","channel":0,"timestamp":..,"exchange_timestamp":..,"sequence":19,
///  "state":"halted","reason":"T1"}
/// {"type":"gap","channel":0,"timestamp":..,"sequence":20,"first":1001,"last":1007,"reason":"sequence"}
/// {"type":"clear","symbol":null,"channel":0,"timestamp":..,"sequence":21,"reason":"new_session"}
/// ```
/// Memory: each writes at most kMaxJsonBytes and allocates nothing.
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
    }
    return "unknown";
}

namespace detail {

inline char* put_symbol(char* out, InstrumentId instrument, const JsonSymbol& symbol) noexcept {
    return instrument == kNoInstrument ? put(out, "null") : symbol.write(out);
}

inline std::string_view whole(std::span<char, kMaxJsonBytes> out, const char* end) noexcept {
    return {out.data(), static_cast<std::size_t>(end - out.data())};
}

}  // namespace detail

[[nodiscard]] inline std::string_view trade_json(std::span<char, kMaxJsonBytes> out, const Trade& trade,
                                                 const JsonSymbol& symbol, std::uint64_t sequence) noexcept {
    using detail::put;
    auto* end = put(out.data(), "{\"type\":\"trade\",\"symbol\":");
    end = put(symbol.write(end), ",\"timestamp\":");
    end = put(write_signed(end, trade.receive_utc_ns), ",\"exchange_timestamp\":");
    end = put(write_signed(end, trade.exchange_utc_ns), ",\"sequence\":");
    end = put(write_unsigned(end, sequence), ",\"price\":");
    end = put(write_price(end, trade.price), ",\"shares\":");
    end = put(write_unsigned(end, trade.size), ",\"trade_id\":");
    return detail::whole(out, put(write_unsigned(end, trade.trade_id), "}"));
}

[[nodiscard]] inline std::string_view trade_break_json(std::span<char, kMaxJsonBytes> out, const TradeBreak& broken,
                                                       const JsonSymbol& symbol, std::uint64_t sequence) noexcept {
    using detail::put;
    auto* end = put(out.data(), "{\"type\":\"trade_break\",\"symbol\":");
    end = put(symbol.write(end), ",\"timestamp\":");
    end = put(write_signed(end, broken.receive_utc_ns), ",\"exchange_timestamp\":");
    end = put(write_signed(end, broken.exchange_utc_ns), ",\"sequence\":");
    end = put(write_unsigned(end, sequence), ",\"trade_id\":");
    return detail::whole(out, put(write_unsigned(end, broken.trade_id), "}"));
}

[[nodiscard]] inline std::string_view status_json(std::span<char, kMaxJsonBytes> out, const Status& status,
                                                  const JsonSymbol& symbol, std::uint64_t sequence) noexcept {
    using detail::put;
    auto* end = put(out.data(), "{\"type\":\"status\",\"symbol\":");
    end = put(detail::put_symbol(end, status.instrument, symbol), ",\"channel\":");
    end = put(write_unsigned(end, status.channel), ",\"timestamp\":");
    end = put(write_signed(end, status.receive_utc_ns), ",\"exchange_timestamp\":");
    end = put(write_signed(end, status.exchange_utc_ns), ",\"sequence\":");
    end = put(write_unsigned(end, sequence), ",\"state\":\"");
    end = put(put(end, to_string(status.state)), "\",\"reason\":");
    end = JsonSymbol{Symbol{status.reason.view()}}.write(end);
    return detail::whole(out, put(end, "}"));
}

[[nodiscard]] inline std::string_view gap_json(std::span<char, kMaxJsonBytes> out, const Gap& gap,
                                               std::uint64_t sequence) noexcept {
    using detail::put;
    auto* end = put(out.data(), "{\"type\":\"gap\",\"channel\":");
    end = put(write_unsigned(end, gap.channel), ",\"timestamp\":");
    end = put(write_signed(end, gap.receive_utc_ns), ",\"sequence\":");
    end = put(write_unsigned(end, sequence), ",\"first\":");
    end = put(write_unsigned(end, gap.first), ",\"last\":");
    end = put(write_unsigned(end, gap.last), ",\"reason\":\"");
    return detail::whole(out, put(put(end, to_string(gap.reason)), "\"}"));
}

[[nodiscard]] inline std::string_view clear_json(std::span<char, kMaxJsonBytes> out, const Clear& clear,
                                                 const JsonSymbol& symbol, std::uint64_t sequence) noexcept {
    using detail::put;
    auto* end = put(out.data(), "{\"type\":\"clear\",\"symbol\":");
    end = put(detail::put_symbol(end, clear.instrument, symbol), ",\"channel\":");
    end = put(write_unsigned(end, clear.channel), ",\"timestamp\":");
    end = put(write_signed(end, clear.receive_utc_ns), ",\"sequence\":");
    end = put(write_unsigned(end, sequence), ",\"reason\":\"");
    return detail::whole(out, put(put(end, to_string(clear.reason)), "\"}"));
}

}  // namespace millpond::feed
