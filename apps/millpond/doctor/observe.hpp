#pragma once

#include <chrono>

#include "apps/millpond/doctor/diagnose.hpp"
#include "gateway/config/config.hpp"

namespace millpond::app::doctor {

/// Looks at a feed's way into this machine for at most so long, less when the answer is clear: at the interface, at the
/// frames on the link (with CAP_NET_RAW), at a socket of its own beside the gateway's, and at what the decoder says.
/// feed: complete()d. Throws nothing for what it cannot see: the facts tell.
[[nodiscard]] FeedFacts observe(const gateway::FeedConfig& feed, std::chrono::milliseconds longest);

}  // namespace millpond::app::doctor
