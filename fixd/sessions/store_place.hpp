#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace millpond::fixd {

/// A CompID as a part of a file name: characters other than letters, digits, '.' and '_' are written as %XX.
[[nodiscard]] inline std::string file_text(std::string_view id) {
    std::string text;
    for (const auto c : id) {
        const bool is_plain =
            (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' || c == '_';
        text += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return text;
}

/// The store of a session in `folder`: a file, or a folder if the target is '*'. version: any text that tells sessions
/// with the same CompIDs apart.
[[nodiscard]] inline std::string store_place(std::string_view folder, std::string_view version, std::string_view sender,
                                             std::string_view target) {
    auto place = fmt::format("{}/{}-{}", folder, version, file_text(sender));
    if (target != "*") place += fmt::format("-{}.store", file_text(target));
    return place;
}

}  // namespace millpond::fixd
