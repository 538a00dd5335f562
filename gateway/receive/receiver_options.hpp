#pragma once

#include <cstdint>

#include <millpond/feed/rerequester.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/receive/rerequest_settings.hpp"
#include "gateway/settings/config.hpp"

namespace millpond::gateway {

/// Options of a feed's receiver, from its configuration.
[[nodiscard]] net::UdpReceiver::Options receiver_options(const FeedConfig& config);
/// Options of the receiver of line B.
[[nodiscard]] net::UdpReceiver::Options second_receiver_options(const FeedConfig& config);
/// How long a gap waits for the other line.
[[nodiscard]] std::uint64_t reorder_ticks(const FeedConfig& config);
/// Options for re-requests, of the line and for its books.
[[nodiscard]] feed::Rerequester::Options rerequester_options(const RerequestSettings& settings);

}  // namespace millpond::gateway
