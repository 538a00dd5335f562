#pragma once

#include <millpond/feed/event.hpp>

namespace millpond::gateway {

/// Whether the state ends a channel's session, so that later silence is not a loss.
[[nodiscard]] constexpr bool ends_session(feed::TradingState state) noexcept {
    return state == feed::TradingState::end_of_messages || state == feed::TradingState::end_of_system_hours;
}

/// Whether the Clear starts a new session of a channel, so that sinks start new files.
[[nodiscard]] inline bool begins_session(const feed::Clear& clear) noexcept {
    return clear.instrument == feed::kNoInstrument && clear.reason == feed::ClearReason::new_session;
}

}  // namespace millpond::gateway
