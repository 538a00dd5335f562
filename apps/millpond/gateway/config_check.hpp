#pragma once

#include <string>

#include "gateway/settings/config.hpp"

namespace millpond::app {

struct CheckOptions {
    bool machine{true};  ///< Whether to run gateway::check_start too.
    bool strict{false};  ///< Whether warnings are errors.
};

/// Reads the file over `defaults` and checks it; returns a summary in one line, and prints warnings to standard error.
/// Throws a ConfigError with all errors, one in each line.
[[nodiscard]] std::string check_config(const std::string& file, CheckOptions options, gateway::Config defaults = {});

}  // namespace millpond::app
