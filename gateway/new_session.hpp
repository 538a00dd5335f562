#pragma once

#include <millpond/feed/event.hpp>

namespace millpond::gateway {

/// Whether a whole channel begins a new session: who writes files begins new ones.
[[nodiscard]] inline bool begins_session(const feed::Clear& clear) noexcept {
    return clear.instrument == feed::kNoInstrument && clear.reason == feed::ClearReason::new_session;
}

}  // namespace millpond::gateway
