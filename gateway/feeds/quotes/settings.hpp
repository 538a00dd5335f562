#pragma once

#include <cstdint>
#include <optional>

#include "gateway/feeds/format.hpp"

namespace millpond::gateway::quotes {

/// millpond's own format of quotes: format = "quotes".
struct Settings {
    std::optional<std::uint16_t> from_channel;  ///< Of the datagrams; that of the first one when unset.
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const FeedFormat& format() noexcept;
};

}  // namespace millpond::gateway::quotes
