#pragma once

#include <string_view>

#include "service/http/asset.hpp"

namespace millpond::fixd {

/// Null if there is none with that path; "/" is the page itself.
[[nodiscard]] const http::Asset* find_asset(std::string_view path) noexcept;

}  // namespace millpond::fixd
