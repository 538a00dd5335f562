#pragma once

#include <string>
#include <string_view>

#include "service/http/page.hpp"

namespace millpond::http {

/// A file of web/, or of a library that a page uses, embedded in the program.
struct Asset {
    std::string_view path;  ///< Path of the request: "/page.js".
    std::string_view type;  ///< Content-Type.
    std::string_view hash;  ///< Of the content; empty: requests do not name it.
    std::string_view content;
    std::string_view gzip;  ///< The content, compressed.
};

namespace shared {

/// The file of all pages at this path. Null if there is none.
[[nodiscard]] const Asset* find_asset(std::string_view path) noexcept;

}  // namespace shared

/// The page of an asset. A browser keeps it for good if the request names its hash, as "/page.js?v=HASH".
[[nodiscard]] inline Page page_of(const Asset& asset, const Request& request) {
    const bool is_fixed = !asset.hash.empty() && request.parameter("v") == asset.hash;
    return {.type = std::string{asset.type},
            .body = std::string{asset.content},
            .gzip = asset.gzip,
            .cache = is_fixed ? Cache::immutable : Cache::revalidate};
}

}  // namespace millpond::http
