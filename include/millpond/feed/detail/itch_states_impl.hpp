#pragma once

#include <cstdint>

#include <millpond/feed/itch_book_builder.hpp>

/// Messages about the states of instruments and of the channel, and broken trades. They change no book.
namespace millpond::feed {

/// Publishes the instrument's state, and its quote if the state changes the quote's flags.
template <class Handler>
void ItchBookBuilder::publish_state(std::uint16_t book, const Context& context, Handler& handler) {
    const auto& entry = books_[book];
    auto status = start_event<Status>(context);
    status.instrument = entry.instrument;
    status.state = entry.trading.state();
    status.reason = entry.trading.reason;
    counters_.applied.add();
    emit(counters_, handler, status);
    if (entry.published) publish_top(book, context, handler);
}

template <class Handler>
void ItchBookBuilder::on_trading_action(const Context& context, Handler& handler) {
    const auto* const message = context.message;
    namespace at = itch_layout::trading_action;
    const auto book = books_.find_or_name(locate_of(message), message + at::kStockAt);
    if (book >= ItchBooks::kMaxBooks) return refuse(book, context, handler);
    const char action = static_cast<char>(message[at::kStateAt]);
    if (action != 'T' && action != 'H' && action != 'P' && action != 'Q') return reject(book, context, handler);
    books_[book].trading.action = action;
    books_[book].trading.reason = padded_name<4>({message + at::kReasonAt, 4}).value_or(core::FixedString<4>{});
    publish_state(book, context, handler);
}

template <class Handler>
void ItchBookBuilder::on_operational_halt(const Context& context, Handler& handler) {
    const auto* const message = context.message;
    namespace at = itch_layout::operational_halt;
    const char market = static_cast<char>(message[at::kMarketAt]);
    const bool is_market = market == at::kNasdaq || market == at::kBx || market == at::kPsx;
    if (is_market && market != market_) return counters_.ignored.add();
    const auto book = books_.find_or_name(locate_of(message), message + at::kStockAt);
    if (book >= ItchBooks::kMaxBooks) return refuse(book, context, handler);
    const char action = static_cast<char>(message[at::kActionAt]);
    if (!is_market || (action != 'T' && action != 'H')) return reject(book, context, handler);
    books_[book].trading.halted_here = action == 'H';
    publish_state(book, context, handler);
}

template <class Handler>
void ItchBookBuilder::on_broken_trade(const Context& context, Handler& handler) {
    const auto* const message = context.message;
    const auto book = books_.find(locate_of(message));
    if (book == ItchBooks::kNone) return counters_.refused.add();
    auto broken = start_event<TradeBreak>(context);
    broken.instrument = books_[book].instrument;
    broken.trade_id = core::load_be<std::uint64_t>(message + itch_layout::broken_trade::kMatchAt);
    counters_.applied.add();
    emit(counters_, handler, broken);
}

template <class Handler>
void ItchBookBuilder::on_circuit_breaker(const Context& context, Handler& handler) {
    const auto* const message = context.message;
    const char level = static_cast<char>(message[itch_layout::circuit_breaker::kLevelAt]);
    if (level < '1' || level > '3') return lose(counters_.rejected, context, handler);
    auto status = start_event<Status>(context);
    status.state = TradingState::circuit_breaker;
    status.reason = core::FixedString<4>{{&level, 1}};
    has_channel_state_ = true;
    counters_.applied.add();
    emit(counters_, handler, status);
}

template <class Handler>
void ItchBookBuilder::on_system_event(const Context& context, Handler& handler) {
    const auto* const message = context.message;
    auto status = start_event<Status>(context);
    const char event = static_cast<char>(message[itch_layout::system_event::kEventAt]);
    switch (event) {
        case 'O': status.state = TradingState::start_of_messages; break;
        case 'S': status.state = TradingState::start_of_system_hours; break;
        case 'Q': status.state = TradingState::start_of_market_hours; break;
        case 'M': status.state = TradingState::end_of_market_hours; break;
        case 'E': status.state = TradingState::end_of_system_hours; break;
        case 'C': status.state = TradingState::end_of_messages; break;
        default: return lose(counters_.rejected, context, handler);
    }
    status.reason = core::FixedString<4>{{&event, 1}};
    on_system_state(status.state);
    counters_.applied.add();
    emit(counters_, handler, status);
}

}  // namespace millpond::feed
