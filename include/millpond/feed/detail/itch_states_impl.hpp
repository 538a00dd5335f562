#pragma once

#include <utility>

#include <millpond/feed/itch_decoder.hpp>

namespace millpond::feed {

inline char ItchDecoder::market_of(const Venue& venue) noexcept {
    namespace at = itch_layout::operational_halt;
    if (venue.view() == "XBOS") return at::kBx;
    return venue.view() == "XPSX" ? at::kPsx : at::kNasdaq;
}

/// Reports the instrument's state, and its quote if the state changes the quote's flags.
template <class Handler>
void ItchDecoder::publish_state(std::uint16_t book, Bytes message, const Context& context, Handler& handler) {
    const auto& entry = books_[book];
    auto status = start<Status>(message, context);
    status.instrument = entry.instrument;
    status.state = entry.state();
    status.reason = entry.reason;
    counters_.applied.add();
    emit(counters_, handler, status);
    if (entry.published) publish_top(book, message, context, handler);
}

template <class Handler>
void ItchDecoder::on_trading_action(Bytes message, const Context& context, Handler& handler) {
    namespace at = itch_layout::trading_action;
    const auto book = books_.find_or_name(locate_of(message), message + at::kStockAt);
    if (book == ItchBooks::kNone) return counters_.refused.add();
    const char action = static_cast<char>(message[at::kStateAt]);
    if (action != 'T' && action != 'H' && action != 'P' && action != 'Q')
        return reject(book, message, context, handler);
    books_[book].action = action;
    books_[book].reason = padded_name<4>({message + at::kReasonAt, 4}).value_or(core::FixedString<4>{});
    publish_state(book, message, context, handler);
}

template <class Handler>
void ItchDecoder::on_operational_halt(Bytes message, const Context& context, Handler& handler) {
    namespace at = itch_layout::operational_halt;
    const char market = static_cast<char>(message[at::kMarketAt]);
    const bool is_market = market == at::kNasdaq || market == at::kBx || market == at::kPsx;
    if (is_market && market != market_) return counters_.ignored.add();
    const auto book = books_.find_or_name(locate_of(message), message + at::kStockAt);
    if (book == ItchBooks::kNone) return counters_.refused.add();
    const char action = static_cast<char>(message[at::kActionAt]);
    if (!is_market || (action != 'T' && action != 'H')) return reject(book, message, context, handler);
    books_[book].halted_here = action == 'H';
    publish_state(book, message, context, handler);
}

template <class Handler>
void ItchDecoder::on_broken_trade(Bytes message, const Context& context, Handler& handler) {
    const auto book = books_.find(locate_of(message));
    if (book == ItchBooks::kNone) return counters_.refused.add();
    auto broken = start<TradeBreak>(message, context);
    broken.instrument = books_[book].instrument;
    broken.trade_id = core::load_be<std::uint64_t>(message + itch_layout::broken_trade::kMatchAt);
    counters_.applied.add();
    emit(counters_, handler, broken);
}

template <class Handler>
void ItchDecoder::on_circuit_breaker(Bytes message, const Context& context, Handler& handler) {
    const char level = static_cast<char>(message[itch_layout::circuit_breaker::kLevelAt]);
    if (level < '1' || level > '3') return lose(counters_.rejected, context, handler);
    auto status = start<Status>(message, context);
    status.state = TradingState::circuit_breaker;
    status.reason = core::FixedString<4>{{&level, 1}};
    has_channel_state_ = true;
    counters_.applied.add();
    emit(counters_, handler, status);
}

template <class Handler>
void ItchDecoder::on_system_event(Bytes message, const Context& context, Handler& handler) {
    auto status = start<Status>(message, context);
    const char event = static_cast<char>(message[itch_layout::system_event::kEventAt]);
    switch (event) {
        case 'O':
            status.state = TradingState::start_of_messages;
            // A sender that restarts sends messages before it is believed, which may have been orders.
            complete_ = complete_ || (order_books_.live_orders() == 0 && !begun_again_);
            break;
        case 'S': status.state = TradingState::start_of_system_hours; break;
        case 'Q': status.state = TradingState::start_of_market_hours; break;
        case 'M': status.state = TradingState::end_of_market_hours; break;
        case 'E': status.state = TradingState::end_of_system_hours; break;
        case 'C': status.state = TradingState::end_of_messages; break;
        default: return lose(counters_.rejected, context, handler);
    }
    status.reason = core::FixedString<4>{{&event, 1}};
    has_channel_state_ = true;
    counters_.applied.add();
    emit(counters_, handler, status);
}

/// A Clear voids only quotes. So that no halt of a past session remains, the state of each halted instrument becomes
/// unknown, and with a new session that of the channel, which was closed at the end of the old session.
template <class Handler>
void ItchDecoder::forget_states(ClearReason reason, const Arrival& arrival, Handler& handler) {
    Status status;
    status.channel = arrival.channel;
    status.state = TradingState::unknown;
    status.receive_utc_ns = arrival.receive_utc_ns;
    status.receive_ticks = arrival.receive_ticks;
    if (reason == ClearReason::new_session && std::exchange(has_channel_state_, false)) {
        emit(counters_, handler, status);
    }
    for (const auto& entry : books_.entries()) {
        if (!entry.is_halted()) continue;
        status.instrument = entry.instrument;
        emit(counters_, handler, status);
    }
}

}  // namespace millpond::feed
