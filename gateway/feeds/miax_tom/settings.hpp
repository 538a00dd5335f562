#pragma once

#include <string>

#include "gateway/settings/format.hpp"

namespace millpond::gateway::miax_tom {

/// Settings of the format "miax-tom": MIAX Top of Market.
struct Settings {
    std::string symbols;  ///< File with lines `product id,symbol`; none when empty.
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const FeedFormat& format() noexcept;
};

}  // namespace millpond::gateway::miax_tom
