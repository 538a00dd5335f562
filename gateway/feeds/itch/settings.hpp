#pragma once

#include <cstdint>
#include <string>

#include "gateway/receive/rerequest_settings.hpp"
#include "gateway/settings/format.hpp"
#include "service/token.hpp"

namespace millpond::gateway::itch {

/// Settings of the format "itch": ITCH 5.0 in MoldUDP64.
struct Settings : RerequestSettings {
    std::uint64_t max_orders{1U << 20};            ///< Maximum number of live orders in the books.
    bool rebuild{false};                           ///< Rebuild incomplete books.
    std::uint32_t depth{0};                        ///< Price levels of a side to publish; feed::kFullDepth: all.
    bool orders{false};                            ///< Publish orders.
    net::SocketAddress glimpse;                    ///< GLIMPSE server of snapshots to rebuild from first; empty: none.
    std::string rebuild_from;                      ///< Capture, folder of captures or file of messages to read first.
    std::uint64_t rebuild_buffer{kRebuildBuffer};  ///< Bytes for messages that arrive during a rebuild.
    std::string user;                              ///< User at the SoupBinTCP server.
    service::TokenSource password{};               ///< Its password.
    std::string session;                           ///< Session to log in to first; the active one when empty.
    std::uint64_t sequence{1};                     ///< First message to request; 0: begin with the newest one.
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const FeedFormat& format() noexcept;
};

}  // namespace millpond::gateway::itch
