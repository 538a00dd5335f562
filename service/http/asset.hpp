#pragma once

#include <string_view>

namespace millpond::http {

/// A file of the folder web/, or a library that a page uses, as part of the program.
struct Asset {
    std::string_view path;  ///< As requested: "/page.js".
    std::string_view type;  ///< Content-Type.
    std::string_view content;
};

}  // namespace millpond::http
