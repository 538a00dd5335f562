#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

namespace millpond::settings {

/// Valid values of `file_mode`. The owner, who writes, may always read.
inline constexpr std::pair<std::string_view, std::uint32_t> kFileModes[] = {
    {"0600", 0600}, {"0640", 0640}, {"0644", 0644}, {"0660", 0660}, {"0664", 0664}};

}  // namespace millpond::settings
