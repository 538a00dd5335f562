#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace millpond::service {

enum class Severity : std::uint8_t { debug, info, warning, error };

/// How a part of a daemon reports something to the operator. The log lets one message per second and cause through.
using Say = std::function<void(Severity severity, std::string_view cause, const std::string& text)>;

}  // namespace millpond::service
