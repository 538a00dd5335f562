#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace millpond::service {

enum class Severity : std::uint8_t { debug, info, warning, error };

/// Logs a message of a part of a daemon. RateLimit (log.hpp) counts the messages of a cause together.
using LogFunction = std::function<void(Severity severity, std::string_view cause, const std::string& text)>;

}  // namespace millpond::service
