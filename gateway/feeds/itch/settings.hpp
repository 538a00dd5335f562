#pragma once

#include <cstdint>
#include <string>

#include "gateway/feeds/format.hpp"
#include "gateway/receive/rerequest_settings.hpp"

namespace millpond::gateway::itch {

/// ITCH 5.0 in MoldUDP64: format = "itch".
struct Settings : RerequestSettings {
    std::uint64_t max_orders{1U << 20};  ///< Live orders that the books hold.
    bool rebuild{false};                 ///< Rebuild incomplete books.
    std::string rebuild_from;            ///< Capture, folder of captures or file of messages to use first.
    std::uint64_t rebuild_buffer{16ULL * 1024 * 1024};  ///< Bytes for messages that arrive during a rebuild.
    std::uint64_t rebuild_seconds{600};                 ///< Longest time of one rebuild.
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const FeedFormat& format() noexcept;
};

}  // namespace millpond::gateway::itch
