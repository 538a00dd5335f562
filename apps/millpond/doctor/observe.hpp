#pragma once

#include <chrono>

#include "apps/millpond/doctor/diagnose.hpp"
#include "apps/millpond/doctor/gateway_word.hpp"
#include "gateway/settings/config.hpp"

namespace millpond::app::doctor {

/// Looks at a feed's way into this machine for at most so long, less when the answer is clear: at the interface, at the
/// frames on the link (with CAP_NET_RAW), at a socket of its own beside the gateway's, at what the decoder says, and at
/// what the gateway says. feed: complete()d; ask: empty where no gateway tells its health. Throws nothing for what it
/// cannot see: the facts tell.
[[nodiscard]] FeedFacts observe(const gateway::FeedConfig& feed, std::chrono::milliseconds longest,
                                const AskHealth& ask);

}  // namespace millpond::app::doctor
