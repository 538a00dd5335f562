#pragma once

#include <cstdint>

#include <millpond/feed/rerequester.hpp>
#include <millpond/net/receive_options.hpp>

#include "gateway/receive/rerequest_settings.hpp"
#include "gateway/settings/config.hpp"

namespace millpond::gateway {

/// Options of a feed's receiver, from its configuration.
[[nodiscard]] net::ReceiveOptions receiver_options(const FeedConfig& config);
/// Options of the receiver of line B.
[[nodiscard]] net::ReceiveOptions second_receiver_options(const FeedConfig& config);
/// Time that a gap waits for the other line.
[[nodiscard]] std::uint64_t reorder_ticks(const FeedConfig& config);
/// Time that the first datagrams of a feed wait for the other line, which may have been joined later.
[[nodiscard]] std::uint64_t join_ticks();
/// Options of re-requests, for the feed and for its book rebuilds.
[[nodiscard]] feed::RerequesterOptions rerequester_options(const RerequestSettings& settings);
/// Options of re-requests by TCP.
[[nodiscard]] feed::RerequesterOptions stream_rerequester_options(const RerequestSettings& settings);

/// Time that a gap may stay open while servers answer: `ticks`, and `ticks_per_message` for each missing message.
struct GapLimit {
    std::uint64_t ticks{0};
    std::uint64_t ticks_per_message{0};
};
[[nodiscard]] GapLimit gap_limit(const RerequestSettings& settings);

}  // namespace millpond::gateway
