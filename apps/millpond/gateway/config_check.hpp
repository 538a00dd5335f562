#pragma once

#include <string>

#include "gateway/settings/config.hpp"

namespace millpond::app {

/// Reads the file over `defaults` and checks it; returns a summary in one line. secrets: whether to read the secrets
/// and certificates that it names. Throws gateway::ConfigError.
[[nodiscard]] std::string check_config(const std::string& file, bool secrets, gateway::Config defaults = {});

}  // namespace millpond::app
