#pragma once

#include <cstdint>

#include <millpond/feed/rerequester.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/receive/rerequest_settings.hpp"
#include "gateway/settings/config.hpp"

namespace millpond::gateway {

/// The receiver of a feed, as its configuration asks for it.
[[nodiscard]] net::UdpReceiver::Options receiver_options(const FeedConfig& config);
/// The receiver of a feed's line B.
[[nodiscard]] net::UdpReceiver::Options second_receiver_options(const FeedConfig& config);
/// How long a hole waits for the other line.
[[nodiscard]] std::uint64_t reorder_ticks(const FeedConfig& config);
/// How a feed asks its server for messages, on the line and for its books.
[[nodiscard]] feed::Rerequester::Options rerequester_options(const RerequestSettings& settings);

}  // namespace millpond::gateway
