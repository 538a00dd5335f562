#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <millpond/core/idle.hpp>

#include "service/log.hpp"

/// Words of settings that every daemon has.
namespace millpond::settings {

inline constexpr std::pair<std::string_view, service::Severity> kSeverities[] = {
    {"debug", service::Severity::debug},
    {"info", service::Severity::info},
    {"warning", service::Severity::warning},
    {"error", service::Severity::error}};
inline constexpr std::pair<std::string_view, service::LogFormat> kLogFormats[] = {{"text", service::LogFormat::text},
                                                                                  {"json", service::LogFormat::json}};
inline constexpr std::pair<std::string_view, core::Poll> kPolls[] = {
    {"spin", core::Poll::spin}, {"block", core::Poll::block}, {"adaptive", core::Poll::adaptive}};
/// Of `file_mode`. The owner, who writes, may always read.
inline constexpr std::pair<std::string_view, std::uint32_t> kFileModes[] = {
    {"0600", 0600}, {"0640", 0640}, {"0644", 0644}, {"0660", 0660}, {"0664", 0664}};

}  // namespace millpond::settings
