#pragma once

#include <utility>

#include <millpond/feed/itch_decoder.hpp>

namespace millpond::feed {

inline void ItchDecoder::restart() noexcept {
    order_books_.clear();
    books_.clear();
    live_orders_.set(0);
    sessions_.restart();
    tracker_.start(1);
    complete_ = false;
    ended_ = false;
    begun_again_ = false;
    has_channel_state_ = false;
}

template <class Newest, EventHandler Handler>
bool ItchDecoder::adopt(ItchDecoder& rebuilt, const Newest& newest, const Arrival& arrival, Handler& handler) {
    const bool same_place = rebuilt.session() == session() && rebuilt.tracker_.next() == tracker_.next();
    if (!same_place || !rebuilt.complete_ || !wants_rebuild()) return false;
    for (const auto& entry : rebuilt.books_.entries()) {
        if (books_.translate(rebuilt.books_, entry.instrument) == kNoInstrument) return false;
    }
    std::swap(order_books_, rebuilt.order_books_);
    books_.swap_entries(rebuilt.books_);
    live_orders_.set(order_books_.live_orders());
    complete_ = true;
    rebuilt.complete_ = false;

    const auto tell = [&](auto event, InstrumentId instrument) {
        event.instrument = instrument;
        event.channel = arrival.channel;
        event.receive_utc_ns = arrival.receive_utc_ns;
        event.receive_ticks = arrival.receive_ticks;
        emit(counters_, handler, event);
    };
    has_channel_state_ = has_channel_state_ || rebuilt.has_channel_state_;
    if (newest.channel.feed_sequence != 0) tell(newest.channel, kNoInstrument);
    for (auto& entry : books_.entries()) {
        const auto there = std::exchange(entry.instrument, books_.translate(rebuilt.books_, entry.instrument));
        const auto before = rebuilt.books_.find(entry.locate);
        const bool is_known = before != ItchBooks::kNone && rebuilt.books_[before].action == entry.action &&
                              rebuilt.books_[before].halted_here == entry.halted_here;
        if (!is_known && newest.states[there].feed_sequence != 0) tell(newest.states[there], entry.instrument);
        if (newest.quotes[there].feed_sequence != 0) tell(newest.quotes[there], entry.instrument);
    }
    return true;
}

}  // namespace millpond::feed
