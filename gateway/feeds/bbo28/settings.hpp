#pragma once

#include "gateway/feeds/format.hpp"

namespace millpond::gateway::bbo28 {

/// 28-byte best bids and offers: format = "bbo28". It has no keys besides those of every feed.
struct Settings {
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const FeedFormat& format() noexcept;
};

}  // namespace millpond::gateway::bbo28
