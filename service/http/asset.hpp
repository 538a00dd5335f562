#pragma once

#include <string_view>

namespace millpond::http {

/// A file of web/, or of a library that a page uses, embedded in the program.
struct Asset {
    std::string_view path;  ///< Path of the request: "/page.js".
    std::string_view type;  ///< Content-Type.
    std::string_view content;
};

namespace shared {

/// The file of all pages at this path. Null if there is none.
[[nodiscard]] const Asset* find_asset(std::string_view path) noexcept;

}  // namespace shared

}  // namespace millpond::http
