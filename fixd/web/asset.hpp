#pragma once

#include <string_view>

#include "service/http/asset.hpp"

namespace millpond::fixd {

/// The file of the page at this path; "/" is the page itself. Null if there is none.
[[nodiscard]] const http::Asset* find_asset(std::string_view path) noexcept;

}  // namespace millpond::fixd
