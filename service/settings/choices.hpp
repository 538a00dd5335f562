#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <millpond/core/idle.hpp>

/// Values of settings that every daemon has.
namespace millpond::settings {

inline constexpr std::pair<std::string_view, core::Poll> kPolls[] = {
    {"spin", core::Poll::spin}, {"block", core::Poll::block}, {"adaptive", core::Poll::adaptive}};
/// Values of `file_mode`.
inline constexpr std::pair<std::string_view, std::uint32_t> kFileModes[] = {
    {"0600", 0600}, {"0640", 0640}, {"0644", 0644}, {"0660", 0660}, {"0664", 0664}};

}  // namespace millpond::settings
