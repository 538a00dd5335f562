#pragma once

#include <string>
#include <vector>

#include "gateway/settings/config.hpp"

namespace millpond::gateway {

/// Changes in `next` that need a restart, each as a sentence.
[[nodiscard]] std::vector<std::string> what_needs_a_restart(const Config& now, const Config& next);

}  // namespace millpond::gateway
