#pragma once

#include "gateway/settings/format.hpp"

namespace millpond::gateway::bbo28 {

/// Settings of the format "bbo28", 28-byte best bids and offers. The format has no keys besides those of every feed.
struct Settings {
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const FeedFormat& format() noexcept;
};

}  // namespace millpond::gateway::bbo28
