#pragma once

#include <cstddef>
#include <cstdint>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>

namespace millpond::feed {

/// What a decoder did, one for each decoder. The decoder's thread adds, any reads.
///
/// Every message is counted once more by what became of it:
/// messages = applied + ignored + unknown + stale + refused + rejected.
struct DecodeCounters {
    core::Tally datagrams;
    core::Tally bytes;
    core::Tally malformed;      ///< Datagrams with an error.
    core::Tally dropped_bytes;  ///< Bytes of malformed datagrams that were not decoded.
    core::Tally heartbeats;
    core::Tally agreed;  ///< Heartbeats of exactly the number that came next: nothing was missed until then. No metric.

    core::Tally messages;
    core::Tally applied;   ///< Changed a quote or a book, or became an event.
    core::Tally ignored;   ///< Understood, but of no consequence here.
    core::Tally unknown;   ///< Of a type that is not known: skipped by length.
    core::Tally stale;     ///< Late, duplicated or of a past session.
    core::Tally refused;   ///< No room for its instrument or order.
    core::Tally rejected;  ///< Of a known type, but of a wrong length or with impossible contents.

    core::Tally quotes;
    core::Tally trades;
    core::Tally trade_breaks;
    core::Tally statuses;
    core::Tally gaps;
    core::Tally clears;
    core::Tally crossed;  ///< Quotes whose bid is above the ask; published unchanged.

    /// A datagram with an error, and the number of its bytes that were not decoded.
    void add_malformed(std::size_t undecoded_bytes) noexcept {
        malformed.add();
        dropped_bytes.add(undecoded_bytes);
    }

    /// next: the number that comes next, now that the heartbeat has been followed.
    void add_heartbeat(std::uint64_t announced, std::uint64_t next) noexcept {
        heartbeats.add();
        if (announced == next) agreed.add();
    }

    /// Calls visit(name, help, tally) for each.
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
        visitor("crossed", "Quotes whose bid is above the ask.", crossed);
    }
};

/// Counts an event as it is handed over.
template <class Handler>
void emit(DecodeCounters& counters, Handler& handler, const Quote& quote) {
    counters.quotes.add();
    if (quote.bid_size != 0 && quote.ask_size != 0 && quote.bid_price > quote.ask_price) counters.crossed.add();
    handler.on(quote);
}
template <class Handler>
void emit(DecodeCounters& counters, Handler& handler, const Trade& trade) {
    counters.trades.add();
    handler.on(trade);
}
template <class Handler>
void emit(DecodeCounters& counters, Handler& handler, const TradeBreak& broken) {
    counters.trade_breaks.add();
    handler.on(broken);
}
template <class Handler>
void emit(DecodeCounters& counters, Handler& handler, const Status& status) {
    counters.statuses.add();
    handler.on(status);
}
template <class Handler>
void emit(DecodeCounters& counters, Handler& handler, const Gap& gap) {
    counters.gaps.add();
    handler.on(gap);
}
template <class Handler>
void emit(DecodeCounters& counters, Handler& handler, const Clear& clear) {
    counters.clears.add();
    handler.on(clear);
}

/// The events that a channel's framing makes, filled from the datagram's arrival.
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
