#pragma once

#include <string_view>
#include <utility>

#include "service/log.hpp"

namespace millpond::service {

/// Values of `log_level`.
inline constexpr std::pair<std::string_view, Severity> kSeverities[] = {
    {"debug", Severity::debug}, {"info", Severity::info}, {"warning", Severity::warning}, {"error", Severity::error}};
/// Values of `log_format`.
inline constexpr std::pair<std::string_view, LogFormat> kLogFormats[] = {{"text", LogFormat::text},
                                                                         {"json", LogFormat::json}};

}  // namespace millpond::service
