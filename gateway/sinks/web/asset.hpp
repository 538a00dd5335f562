#pragma once

#include <string_view>

#include "service/http/asset.hpp"

namespace millpond::gateway::web {

/// Returns the file with this path, null if there is none; "/" is the page.
[[nodiscard]] const http::Asset* find_asset(std::string_view path) noexcept;

}  // namespace millpond::gateway::web
