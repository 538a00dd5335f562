#pragma once

#include <cstdint>
#include <optional>

#include "gateway/settings/format.hpp"

namespace millpond::gateway::quotes {

/// Settings of the format "quotes", millpond's format for chained gateways.
struct Settings {
    std::optional<std::uint16_t> from_channel;  ///< Channel of the datagrams; unset: that of the first datagram.
    std::uint32_t depth{0};                     ///< Levels of a side that the sender sends; 0: they are not read.
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const FeedFormat& format() noexcept;
};

}  // namespace millpond::gateway::quotes
