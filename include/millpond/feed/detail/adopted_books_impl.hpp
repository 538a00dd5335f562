#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <millpond/feed/book_publisher.hpp>

/// How BookPublisher takes over rebuilt books.
namespace millpond::feed {

template <class Books>
bool BookPublisher<Books>::has_room_for(BookPublisher& rebuilt) noexcept {
    if (sends_orders_ && !rebuilt.lists_all_) return false;
    for (const auto& entry : rebuilt.books_.entries()) {
        if (books_.translate(rebuilt.books_, entry.instrument) == kNoInstrument) return false;
    }
    std::size_t unnamed = 0;
    for (const auto& entry : books_.entries()) unnamed += rebuilt.books_.find_same(entry) == nullptr ? 1U : 0U;
    return unnamed <= rebuilt.books_.room();
}

template <class Books>
template <class Newest, EventHandler Handler, class OnMoved>
bool BookPublisher<Books>::adopt(BookPublisher& rebuilt, Newest& newest, std::uint64_t sequence, const Arrival& arrival,
                                 Handler& handler, OnMoved&& on_moved) {
    if (!has_room_for(rebuilt)) return false;
    std::swap(order_books_, rebuilt.order_books_);
    std::swap(order_list_, rebuilt.order_list_);
    books_.swap_entries(rebuilt.books_);
    rebuilt.lists_all_ = false;
    ++snapshot_;
    next_snapshot_ = 0;
    missed_snapshot_ = kNoSnapshot;
    live_orders_.set(order_books_.live_orders());
    complete_ = true;
    rebuilt.complete_ = false;

    const auto publish = [&](auto event, InstrumentId instrument) {
        event.instrument = instrument;
        event.channel = arrival.channel;
        event.receive_utc_ns = arrival.receive_utc_ns;
        event.receive_ticks = arrival.receive_ticks;
        if constexpr (requires { event.flags; }) event.flags |= last_flag<Handler>();
        emit(counters_, handler, event);
    };
    Quote empty;
    empty.feed_sequence = sequence;
    // before: what was published of the book; null if nothing was.
    const auto publish_book = [&](BookEntry& entry, const BookEntry* before, Quote quote) {
        const auto book = static_cast<std::uint16_t>(&entry - books_.entries().data());
        entry.snapshot = 0;
        if (before != nullptr) on_moved(static_cast<std::uint16_t>(before - rebuilt.books_.entries().data()), book);
        if (quote.feed_sequence == 0) {
            if (before == nullptr || !before->published) return;
            quote = empty;
        }
        entry.published = true;
        entry.flags = quote.flags = flags_of(book);
        publish(quote, entry.instrument);
    };
    has_channel_state_ = has_channel_state_ || rebuilt.has_channel_state_;
    in_market_hours_ = rebuilt.in_market_hours_;
    if (newest.channel.feed_sequence != 0) publish(newest.channel, kNoInstrument);
    for (auto& entry : books_.entries()) {
        if (entry.is_unsorted) unsorted_.add();
        const auto there = std::exchange(entry.instrument, books_.translate(rebuilt.books_, entry.instrument));
        newest.move(there, entry.instrument, sequence, arrival);
        const auto* const before = rebuilt.books_.find_same(entry);
        const auto& state = newest.states[there];
        if (state.feed_sequence == 0) {
            if (before != nullptr) entry.trading = before->trading;  // until a message says otherwise
        } else if (before == nullptr || !(before->trading == entry.trading)) {
            publish(state, entry.instrument);
        }
        publish_book(entry, before, newest.quotes[there]);
    }
    if constexpr (requires { books_.list_instruments(); }) books_.list_instruments();
    for (const auto& before : rebuilt.books_.entries()) {
        auto* const entry = books_.add_same(before);
        if (entry == nullptr) continue;
        entry->trading = before.trading;
        publish_book(*entry, &before, {});
    }
    return true;
}

}  // namespace millpond::feed
