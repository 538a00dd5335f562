#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <millpond/feed/event.hpp>

/// Events for tests.
namespace millpond::gateway {

inline feed::Quote quote_of(feed::InstrumentId id, feed::Price bid, std::uint64_t size = 100) {
    feed::Quote quote;
    quote.instrument = id;
    quote.bid_price = bid;
    quote.ask_price = bid + feed::price_from<100>(1);
    quote.bid_size = size;
    quote.ask_size = size;
    quote.receive_utc_ns = 1'700'000'000'000'000'000;
    return quote;
}

inline feed::Trade trade_of(feed::InstrumentId id, feed::Price price) {
    feed::Trade trade;
    trade.instrument = id;
    trade.price = price;
    trade.size = 1;
    return trade;
}

inline feed::Clear new_session_of(std::uint16_t channel = 0) {
    feed::Clear clear;
    clear.channel = channel;
    clear.receive_utc_ns = 1'700'000'000'000'000'000;
    return clear;
}

/// The number after "key": in a JSON line; -1 if there is none.
inline std::int64_t number_in(std::string_view json, std::string_view key) {
    const auto mark = '"' + std::string{key} + "\":";
    const auto at = json.find(mark);
    return at == std::string_view::npos ? -1 : std::atoll(std::string{json.substr(at + mark.size())}.c_str());
}

}  // namespace millpond::gateway
