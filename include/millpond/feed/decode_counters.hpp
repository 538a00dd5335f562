#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>

namespace millpond::feed {

/// Counters of a decoder. The decoder's thread adds, any thread reads.
///
/// Every message is also counted by its outcome:
/// messages = applied + ignored + unknown + stale + refused + rejected.
struct DecodeCounters {
    core::Tally datagrams;
    core::Tally bytes;
    core::Tally malformed;      ///< Datagrams with an error.
    core::Tally dropped_bytes;  ///< Bytes of malformed datagrams that were not decoded.
    core::Tally heartbeats;
    core::Tally agreed;  ///< Heartbeats with exactly the next number: no message was missed before them. Not a metric.

    core::Tally messages;
    core::Tally applied;   ///< Changed a quote or a book, or became an event.
    core::Tally ignored;   ///< Valid messages that change nothing.
    core::Tally unknown;   ///< Messages of an unknown type, skipped by length.
    core::Tally stale;     ///< Messages that are late, duplicated or of an earlier session.
    core::Tally refused;   ///< Messages whose instrument or order did not fit.
    core::Tally rejected;  ///< Messages of a known type with a wrong length or impossible contents.

    core::Tally quotes;
    core::Tally trades;
    core::Tally trade_breaks;
    core::Tally statuses;
    core::Tally gaps;
    core::Tally clears;
    core::Tally orders;
    core::Tally levels;
    core::Tally imbalances;
    core::Tally bands;
    core::Tally definitions;
    core::Tally crossed;  ///< Quotes whose bid is above the ask; published unchanged.

    /// The counter for events of a type.
    [[nodiscard]] core::Tally& of(const Quote&) noexcept { return quotes; }
    [[nodiscard]] core::Tally& of(const Trade&) noexcept { return trades; }
    [[nodiscard]] core::Tally& of(const TradeBreak&) noexcept { return trade_breaks; }
    [[nodiscard]] core::Tally& of(const Status&) noexcept { return statuses; }
    [[nodiscard]] core::Tally& of(const Gap&) noexcept { return gaps; }
    [[nodiscard]] core::Tally& of(const Clear&) noexcept { return clears; }
    [[nodiscard]] core::Tally& of(const Order&) noexcept { return orders; }
    [[nodiscard]] core::Tally& of(const Level&) noexcept { return levels; }
    [[nodiscard]] core::Tally& of(const Imbalance&) noexcept { return imbalances; }
    [[nodiscard]] core::Tally& of(const Band&) noexcept { return bands; }
    [[nodiscard]] core::Tally& of(const Definition&) noexcept { return definitions; }

    /// Counts a datagram with an error, and the bytes of it that were not decoded.
    void add_malformed(std::size_t undecoded_bytes) noexcept {
        malformed.add();
        dropped_bytes.add(undecoded_bytes);
    }

    /// Counts a heartbeat. announced: its number; next: the number expected after it was applied.
    void add_heartbeat(std::uint64_t announced, std::uint64_t next) noexcept {
        heartbeats.add();
        if (announced == next) agreed.add();
    }

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit(Visitor&& visitor) const {
        visitor("datagrams", "Datagrams handed to the decoder.", datagrams);
        visitor("bytes", "Bytes handed to the decoder.", bytes);
        visitor("malformed", "Datagrams with an error.", malformed);
        visitor("dropped_bytes", "Bytes of malformed datagrams that were not decoded.", dropped_bytes);
        visitor("heartbeats", "Heartbeats of the venue.", heartbeats);
        visitor("messages", "Messages of the venue.", messages);
        visitor("messages_applied", "Messages that changed something or became an event.", applied);
        visitor("messages_ignored", "Valid messages that change nothing.", ignored);
        visitor("messages_unknown", "Messages of an unknown type, skipped by length.", unknown);
        visitor("messages_stale", "Messages that were late, duplicated or from a past session.", stale);
        visitor("messages_refused", "Messages whose instrument or order did not fit into its table.", refused);
        visitor("messages_rejected", "Messages with a wrong length or invalid contents.", rejected);
        visitor("quotes", "Quotes made.", quotes);
        visitor("trades", "Trades made.", trades);
        visitor("trade_breaks", "Trade break events emitted.", trade_breaks);
        visitor("statuses", "Trading status events emitted.", statuses);
        visitor("gaps", "Gap events emitted.", gaps);
        visitor("clears", "Clear events emitted.", clears);
        visitor("orders", "Order events emitted.", orders);
        visitor("levels", "Level events emitted.", levels);
        visitor("imbalances", "Imbalance events emitted.", imbalances);
        visitor("bands", "Band events emitted.", bands);
        visitor("definitions", "Directory entries of instruments emitted.", definitions);
        visitor("crossed", "Quotes whose bid is above the ask.", crossed);
    }
};

/// Counts an event and passes it to the handler.
template <class Handler, class Event>
void emit(DecodeCounters& counters, Handler& handler, const Event& event) {
    counters.of(event).add();
    if constexpr (std::is_same_v<Event, Quote>) {
        if (event.bid_size != 0 && event.ask_size != 0 && event.bid_price > event.ask_price) counters.crossed.add();
    }
    handler.on(event);
}

/// Makes the events that the framing of a channel produces, filled from the datagram's arrival.
[[nodiscard]] inline Gap make_gap(const Arrival& arrival, std::uint64_t first, std::uint64_t last,
                                  GapReason reason = GapReason::sequence) noexcept {
    Gap gap;
    gap.channel = arrival.channel;
    gap.reason = reason;
    gap.first = first;
    gap.last = last;
    gap.receive_utc_ns = arrival.receive_utc_ns;
    gap.receive_ticks = arrival.receive_ticks;
    return gap;
}
[[nodiscard]] inline Clear make_clear(const Arrival& arrival, ClearReason reason) noexcept {
    Clear clear;
    clear.channel = arrival.channel;
    clear.reason = reason;
    clear.receive_utc_ns = arrival.receive_utc_ns;
    clear.receive_ticks = arrival.receive_ticks;
    return clear;
}

}  // namespace millpond::feed
