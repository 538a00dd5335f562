#pragma once

#include <span>
#include <utility>

#include <millpond/core/fixed_string.hpp>
#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/event.hpp>

namespace millpond::feed {

/// The trading state of an instrument.
struct InstrumentState {
    char action{'\0'};  ///< Last trading action: H halted, P paused, Q quotation only, T trading; '\0': none.
    core::FixedString<4> reason{};  ///< Reason of that action.
    bool halted_here{false};        ///< True during an operational halt of this market.

    /// A halt of all markets takes precedence over one of this market. trading if neither is known.
    [[nodiscard]] TradingState state() const noexcept {
        switch (action) {
            case 'H': return TradingState::halted;
            case 'P': return TradingState::paused;
            case 'Q': return TradingState::quotation_only;
            default: return halted_here ? TradingState::operational_halt : TradingState::trading;
        }
    }
    [[nodiscard]] bool is_known() const noexcept { return halted_here || action != '\0'; }
    [[nodiscard]] bool is_halted() const noexcept {
        return halted_here || action == 'H' || action == 'P' || action == 'Q';
    }
    friend bool operator==(const InstrumentState& one, const InstrumentState& other) noexcept {
        return one.action == other.action && one.halted_here == other.halted_here;
    }
};

/// Makes an event of a message. context: has sequence, arrival and exchange_utc_ns().
template <class Event, class Context>
[[nodiscard]] Event start_event(const Context& context) noexcept {
    Event event;
    event.channel = context.arrival.channel;
    event.exchange_utc_ns = context.exchange_utc_ns();
    event.receive_utc_ns = context.arrival.receive_utc_ns;
    event.receive_ticks = context.arrival.receive_ticks;
    event.feed_sequence = context.sequence;
    return event;
}

/// Makes the state of each halted instrument unknown, since a Clear voids only quotes; with a new session also that of
/// the channel, which was closed at the end of the old session. entries: have `instrument` and `trading`.
template <class Entry, class Handler>
void forget_states(std::span<const Entry> entries, bool& has_channel_state, ClearReason reason, const Arrival& arrival,
                   DecodeCounters& counters, Handler& handler) {
    Status status;
    status.channel = arrival.channel;
    status.state = TradingState::unknown;
    status.receive_utc_ns = arrival.receive_utc_ns;
    status.receive_ticks = arrival.receive_ticks;
    if (reason == ClearReason::new_session && std::exchange(has_channel_state, false)) emit(counters, handler, status);
    for (const auto& entry : entries) {
        if (!entry.trading.is_halted()) continue;
        status.instrument = entry.instrument;
        emit(counters, handler, status);
    }
}

}  // namespace millpond::feed
