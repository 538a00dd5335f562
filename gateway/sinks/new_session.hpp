#pragma once

#include <millpond/feed/event.hpp>

namespace millpond::gateway {

/// Whether a channel in this state has ended: its silence is not a loss.
[[nodiscard]] constexpr bool ends_session(feed::TradingState state) noexcept {
    return state == feed::TradingState::end_of_messages || state == feed::TradingState::end_of_system_hours;
}

/// Whether a channel starts a new session: sinks that write files start new ones.
[[nodiscard]] inline bool begins_session(const feed::Clear& clear) noexcept {
    return clear.instrument == feed::kNoInstrument && clear.reason == feed::ClearReason::new_session;
}

}  // namespace millpond::gateway
