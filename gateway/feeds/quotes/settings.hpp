#pragma once

#include "gateway/feeds/format.hpp"

namespace millpond::gateway::quotes {

/// millpond's own format of quotes: format = "quotes". It has no keys besides those of every feed.
struct Settings {
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const FeedFormat& format() noexcept;
};

}  // namespace millpond::gateway::quotes
