#pragma once

#include <string>

#include "gateway/feeds/format.hpp"

namespace millpond::gateway::miax_tom {

/// MIAX Top of Market: format = "miax-tom".
struct Settings {
    std::string symbols;  ///< File of `product id,symbol` lines; none when empty.
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const FeedFormat& format() noexcept;
};

}  // namespace millpond::gateway::miax_tom
