#pragma once

#include <string_view>

namespace millpond::gateway::web {

/// A file of the folder web/, or a library that its page uses, as part of the program.
struct Asset {
    std::string_view path;  ///< As it is asked for: "/page.js".
    std::string_view type;  ///< Content-Type.
    std::string_view content;
};

/// Null when there is none of that path; "/" is the page itself.
[[nodiscard]] const Asset* find_asset(std::string_view path) noexcept;

}  // namespace millpond::gateway::web
