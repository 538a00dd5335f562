#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <millpond/net/socket_address.hpp>

#include "gateway/receive/rerequest_settings.hpp"
#include "gateway/settings/format.hpp"
#include "service/token.hpp"

namespace millpond::gateway::iex {

/// The IEX formats with the key `iex_channel` describe it alike.
inline constexpr std::string_view kChannelHelp =
    "iex-*: channel of the datagrams, as IEX numbers its channels; that of the first datagram if unset.";

/// Settings of the format "iex-tops": IEX TOPS, quotes and trades.
struct TopsSettings : RerequestSettings {
    std::optional<std::uint32_t> iex_channel;  ///< Channel of the datagrams; unset: that of the first datagram.
    friend bool operator==(const TopsSettings&, const TopsSettings&) = default;

    [[nodiscard]] static const FeedFormat& format() noexcept;
};

/// Settings of the format "iex-deep": IEX DEEP, price levels and trades.
struct DeepSettings : RerequestSettings {
    std::optional<std::uint32_t> iex_channel;      ///< Channel of the datagrams; unset: that of the first datagram.
    std::uint32_t depth{0};                        ///< Price levels of a side to publish; kFullDepth: all.
    net::SocketAddress snap;                       ///< SNAP server to rebuild incomplete books from; empty: none.
    service::TokenSource snap_token;               ///< Token for it.
    std::uint64_t rebuild_buffer{kRebuildBuffer};  ///< Bytes for messages that arrive during a rebuild.
    friend bool operator==(const DeepSettings&, const DeepSettings&) = default;

    [[nodiscard]] static const FeedFormat& format() noexcept;
};

/// Settings of the format "iex-deep-plus": IEX DEEP+, orders and trades.
struct DeepPlusSettings : DeepSettings {
    bool orders{false};                     ///< Publish every order.
    std::uint64_t max_orders{1ULL << 20U};  ///< Live orders in the books.
    friend bool operator==(const DeepPlusSettings&, const DeepPlusSettings&) = default;

    [[nodiscard]] static const FeedFormat& format() noexcept;
};

}  // namespace millpond::gateway::iex
