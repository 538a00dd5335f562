#pragma once

#include <algorithm>
#include <utility>

#include <millpond/feed/itch_decoder.hpp>

namespace millpond::feed {

template <EventHandler Handler>
DecodeResult ItchDecoder::decode(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler) {
    counters_.datagrams.add();
    counters_.bytes.add(datagram.size());
    // Orders are scattered over memory: prefetch all of a datagram while its blocks are being checked.
    const auto packet = has_many_orders() ? read_ahead(datagram) : MoldUdp64Packet::read(datagram, [](auto) {});
    if (packet.error) {
        counters_.add_malformed(datagram.size() - packet.end);
        if (!packet.has_header()) return {.error = packet.error};
    }
    if (sessions_.is_current(packet.session, arrival.receive_utc_ns)) [[likely]] {
        apply(datagram, packet, arrival, handler);
        return {.messages = packet.messages, .error = packet.error};
    }
    const Sessions::Datagram other{.numbers = {.session = packet.session,
                                               .first = packet.sequence,
                                               .count = packet.messages,
                                               .ends = packet.end_of_session},
                                   .bytes = datagram,
                                   .arrival = arrival};
    return {.messages = apply_other(other, packet, handler), .error = packet.error};
}

template <class Handler>
void ItchDecoder::apply(std::span<const std::byte> datagram, const MoldUdp64Packet& packet, const Arrival& arrival,
                        Handler& handler) {
    const auto old = std::min<std::uint64_t>(follow(packet, arrival, handler), packet.messages);
    auto place = moldudp64_layout::kHeaderBytes;
    if (old != 0) [[unlikely]] {
        for (std::uint64_t i = 0; i < old; ++i) static_cast<void>(next_block(datagram, place));
        counters_.messages.add(old);
        counters_.stale.add(old);
    }
    if (has_many_orders() && old + 1 < packet.messages) [[unlikely]] {
        return apply_ahead(datagram, place, packet, old, arrival, handler);
    }
    for (auto i = old; i < packet.messages; ++i)
        decode_message(next_block(datagram, place), packet.sequence + i, arrival, handler);
}

template <class Handler>
std::uint32_t ItchDecoder::apply_other(const Sessions::Datagram& datagram, const MoldUdp64Packet& packet,
                                       Handler& handler) {
    // Invalid datagrams must not look like a new session.
    switch (packet.error ? Sessions::Verdict::ignored : sessions_.observe(datagram)) {
        case Sessions::Verdict::joined:
            complete_ = complete_ || packet.sequence == 1;
            apply(datagram.bytes, packet, datagram.arrival, handler);
            return packet.messages;
        case Sessions::Verdict::changed: break;
        case Sessions::Verdict::ignored:
            counters_.messages.add(packet.messages);
            counters_.stale.add(packet.messages);
            return packet.messages;
        case Sessions::Verdict::held:
        case Sessions::Verdict::copy: return 0;  // counted when the session is confirmed
    }
    begin_session(packet.session, 1, datagram.arrival, handler);
    std::uint32_t messages = 0;
    sessions_.apply_confirmed(datagram, [&](const Sessions::Datagram& confirmed) {
        const auto blocks = MoldUdp64Packet::read(confirmed.bytes, [](std::span<const std::byte>) {});
        apply(confirmed.bytes, blocks, confirmed.arrival, handler);
        messages += blocks.messages;
    });
    return messages;
}

template <class Handler>
std::uint64_t ItchDecoder::follow(const MoldUdp64Packet& packet, const Arrival& arrival, Handler& handler) {
    const auto step = tracker_.observe(packet.sequence, packet.messages);
    if (step.restarted) {
        clear(ClearReason::new_session, arrival, handler);
        complete_ = false;
        begun_again_ = true;
    }
    if (step.gap()) {
        complete_ = false;
        emit(counters_, handler, make_gap(arrival, step.gap_first, step.gap_last));
    }
    if (packet.messages == 0 && !packet.error) counters_.add_heartbeat(packet.sequence, tracker_.next());
    if (packet.end_of_session && !std::exchange(ended_, true)) {
        clear(ClearReason::end_of_session, arrival, handler);
        complete_ = false;
    }
    return step.old;
}

template <class Handler>
void ItchDecoder::clear(ClearReason reason, const Arrival& arrival, Handler& handler) {
    emit(counters_, handler, make_clear(arrival, reason));
    forget_states(reason, arrival, handler);
    order_books_.clear();
    books_.clear();
    live_orders_.set(0);
}

template <EventHandler Handler>
void ItchDecoder::decode_message(std::span<const std::byte> message, std::uint64_t sequence, const Arrival& arrival,
                                 Handler& handler) {
    const Context context{sequence, arrival};
    if constexpr (requires { handler.on_fault(message, sequence, ItchFault{}); }) {
        const auto before = faults();
        apply_message(message, context, handler);
        if (const auto fault = fault_since(before)) handler.on_fault(message, sequence, *fault);
    } else {
        apply_message(message, context, handler);
    }
}

template <class Handler>
void ItchDecoder::apply_message(std::span<const std::byte> message, const Context& context, Handler& handler) {
    counters_.messages.add();
    const char type = message.empty() ? '\0' : static_cast<char>(message[0]);
    const auto expected = itch_layout::message_bytes(type);
    if (expected == 0) return lose(counters_.unknown, context, handler);
    if (message.size() != expected) return lose(counters_.rejected, context, handler);
    const auto* const bytes = message.data();
    switch (type) {
        case 'A':
        case 'F': return on_order_added(bytes, context, handler);
        case 'E':
        case 'C':
        case 'X':
        case 'D':
        case 'U': return on_order_changed(bytes, context, handler);
        case 'P':
        case 'Q': return on_trade(bytes, context, handler);
        case 'H': return on_trading_action(bytes, context, handler);
        case 'h': return on_operational_halt(bytes, context, handler);
        case 'B': return on_broken_trade(bytes, context, handler);
        case 'W': return on_circuit_breaker(bytes, context, handler);
        case 'S': return on_system_event(bytes, context, handler);
        case 'R': {
            const auto named = books_.find_or_name(locate_of(bytes), bytes + itch_layout::directory::kStockAt);
            return (named == ItchBooks::kNone ? counters_.refused : counters_.applied).add();
        }
        default: return counters_.ignored.add();
    }
}

template <class Event>
Event ItchDecoder::start(Bytes message, const Context& context) const noexcept {
    Event event;
    event.channel = context.arrival.channel;
    event.exchange_utc_ns = midnight_utc_ns_ == 0 ? 0 : midnight_utc_ns_ + itch_layout::load_time(message);
    event.receive_utc_ns = context.arrival.receive_utc_ns;
    event.receive_ticks = context.arrival.receive_ticks;
    event.feed_sequence = context.sequence;
    return event;
}

template <class Handler>
void ItchDecoder::on_order_added(Bytes message, const Context& context, Handler& handler) {
    namespace at = itch_layout::order_added;
    const auto book = books_.find_or_name(locate_of(message), message + at::kStockAt);
    if (book == ItchBooks::kNone) return counters_.refused.add();
    const char side = static_cast<char>(message[at::kSideAt]);
    const auto shares = core::load_be<std::uint32_t>(message + at::kSharesAt);
    if (shares == 0 || (side != 'B' && side != 'S')) return reject(book, message, context, handler);
    const auto outcome = order_books_.add(book, core::load_be<std::uint64_t>(message + at::kOrderAt), side == 'B',
                                          shares, core::load_be<std::uint32_t>(message + at::kPriceAt));
    settle(outcome, book, message, context, handler);
}

template <class Handler>
void ItchDecoder::on_order_changed(Bytes message, const Context& context, Handler& handler) {
    using enum OrderBooks::Outcome;
    const auto number = core::load_be<std::uint64_t>(message + itch_layout::order_deleted::kOrderAt);
    auto* const order = order_books_.find(number);
    if (order == nullptr) [[unlikely]] {
        const auto book = books_.find(locate_of(message));
        if (book == ItchBooks::kNone) {
            unknown_orders_.add();
            return counters_.refused.add();
        }
        return settle(unknown_order, book, message, context, handler);
    }
    const auto book = order->book;
    auto outcome = done;
    switch (static_cast<char>(message[0])) {
        case 'D': outcome = order_books_.remove(*order); break;
        case 'X': {
            namespace at = itch_layout::order_reduced;
            outcome = order_books_.reduce(*order, core::load_be<std::uint32_t>(message + at::kSharesAt));
            break;
        }
        case 'U': {
            namespace at = itch_layout::order_replaced;
            const auto shares = core::load_be<std::uint32_t>(message + at::kSharesAt);
            if (shares == 0) return reject(book, message, context, handler);
            outcome = order_books_.replace(*order, core::load_be<std::uint64_t>(message + at::kNewOrderAt), shares,
                                           core::load_be<std::uint32_t>(message + at::kPriceAt));
            break;
        }
        default:
            on_execution(message, *order, context, handler);
            outcome = order_books_.reduce(
                *order, core::load_be<std::uint32_t>(message + itch_layout::order_executed::kSharesAt));
    }
    settle(outcome, book, message, context, handler);
}

template <class Handler>
void ItchDecoder::on_execution(Bytes message, const OrderStore::Order& order, const Context& context,
                               Handler& handler) {
    namespace at = itch_layout::order_executed;
    const bool has_price = static_cast<char>(message[0]) == 'C';
    if (has_price && static_cast<char>(message[at::kPrintableAt]) != 'Y') return;  // another message reports it
    auto trade = start<Trade>(message, context);
    trade.instrument = books_[order.book].instrument;
    trade.price = has_price ? core::load_be<std::uint32_t>(message + at::kPriceAt) : order.price;
    trade.size = core::load_be<std::uint32_t>(message + at::kSharesAt);
    trade.trade_id = core::load_be<std::uint64_t>(message + at::kMatchAt);
    emit(counters_, handler, trade);
}

template <class Handler>
void ItchDecoder::on_trade(Bytes message, const Context& context, Handler& handler) {
    const bool is_cross = static_cast<char>(message[0]) == 'Q';
    const auto stock_at = is_cross ? itch_layout::cross::kStockAt : itch_layout::hidden_trade::kStockAt;
    const auto book = books_.find_or_name(locate_of(message), message + stock_at);
    if (book == ItchBooks::kNone) return counters_.refused.add();
    auto trade = start<Trade>(message, context);
    trade.instrument = books_[book].instrument;
    if (is_cross) {
        namespace at = itch_layout::cross;
        trade.size = core::load_be<std::uint64_t>(message + at::kSharesAt);
        trade.price = core::load_be<std::uint32_t>(message + at::kPriceAt);
        trade.trade_id = core::load_be<std::uint64_t>(message + at::kMatchAt);
    } else {
        namespace at = itch_layout::hidden_trade;
        trade.size = core::load_be<std::uint32_t>(message + at::kSharesAt);
        trade.price = core::load_be<std::uint32_t>(message + at::kPriceAt);
        trade.trade_id = core::load_be<std::uint64_t>(message + at::kMatchAt);
    }
    if (trade.size == 0) return counters_.ignored.add();  // a cross without trades
    counters_.applied.add();
    emit(counters_, handler, trade);
}

/// Counts the result for the order and publishes the quote.
template <class Handler>
void ItchDecoder::settle(OrderBooks::Outcome outcome, std::uint16_t book, Bytes message, const Context& context,
                         Handler& handler) {
    using enum OrderBooks::Outcome;
    live_orders_.set(order_books_.live_orders());
    if (outcome != done) [[unlikely]] {
        order_books_.mark_incomplete(book);
        switch (outcome) {
            case unknown_order: unknown_orders_.add(); break;
            case no_room: refused_orders_.add(); break;
            default: inconsistent_.add();
        }
    }
    const bool was_applied = outcome == done || outcome == too_many_shares;
    (was_applied ? counters_.applied : outcome == no_room ? counters_.refused : counters_.rejected).add();
    publish_top(book, message, context, handler);
}

/// Publishes the book's top if it or its flags have changed.
template <class Handler>
void ItchDecoder::publish_top(std::uint16_t book, Bytes message, const Context& context, Handler& handler) {
    auto& entry = books_[book];
    const auto top = order_books_.top(book);
    const bool incomplete = !complete_ || !order_books_.is_complete(book);
    const auto flags = static_cast<std::uint16_t>((incomplete ? kIncomplete : 0) | (entry.is_halted() ? kHalted : 0));
    if (top == entry.top && (flags == entry.flags || !entry.published)) return;
    // Not as a whole: `top` stays in registers, and no load waits for smaller stores.
    entry.top.bid_price = top.bid_price;
    entry.top.ask_price = top.ask_price;
    entry.top.bid_size = top.bid_size;
    entry.top.ask_size = top.ask_size;
    entry.flags = flags;
    entry.published = true;
    auto quote = start<Quote>(message, context);
    quote.instrument = entry.instrument;
    quote.flags = flags;
    quote.bid_price = top.bid_price;
    quote.ask_price = top.ask_price;
    quote.bid_size = top.bid_size;
    quote.ask_size = top.ask_size;
    emit(counters_, handler, quote);
}

}  // namespace millpond::feed
