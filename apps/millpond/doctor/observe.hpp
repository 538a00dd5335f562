#pragma once

#include <chrono>

#include "apps/millpond/doctor/diagnose.hpp"
#include "apps/millpond/doctor/gateway_report.hpp"
#include "gateway/settings/config.hpp"

namespace millpond::app::doctor {

/// Observes a feed's path into this machine for at most `timeout`, less if the result is clear earlier: the interface,
/// the frames on the link (with CAP_NET_RAW), a separate socket in addition to the gateway's, the decoder, and the
/// gateway's findings. feed: complete()d. fetch: empty if no gateway reports its health. Does not throw if something
/// cannot be observed: the facts say so.
[[nodiscard]] FeedFacts observe(const gateway::FeedConfig& feed, std::chrono::milliseconds timeout,
                                const FetchHealth& fetch);

}  // namespace millpond::app::doctor
