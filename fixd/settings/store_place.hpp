#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include <millpond/fix/session_config.hpp>

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

/// A CompID with its SubID and LocationID: "HOUSE", "HOUSE+DESK", "HOUSE+DESK+PARIS", "HOUSE++PARIS".
[[nodiscard]] inline std::string party_text(std::string_view comp_id, std::string_view sub_id,
                                            std::string_view location_id) {
    auto text = file_text(comp_id);
    if (!sub_id.empty() || !location_id.empty()) text += "+" + file_text(sub_id);
    if (!location_id.empty()) text += "+" + file_text(location_id);
    return text;
}

/// The store of a session in `folder`: a file, or a folder if the target is '*'. version: any text that distinguishes
/// sessions with the same ids.
[[nodiscard]] inline std::string store_place(std::string_view folder, std::string_view version,
                                             const fix::SessionConfig& ids) {
    const bool is_template = ids.target_comp_id == "*";
    auto place = fmt::format("{}/{}-{}", folder, version,
                             party_text(ids.sender_comp_id, ids.sender_sub_id, ids.sender_location_id));
    if (!is_template) {
        place += "-" + party_text(ids.target_comp_id, ids.target_sub_id, ids.target_location_id);
    } else if (!ids.target_sub_id.empty() || !ids.target_location_id.empty()) {
        place += "-" + party_text("", ids.target_sub_id, ids.target_location_id);
    }
    if (!ids.qualifier.empty()) place += "@" + file_text(ids.qualifier);
    return is_template ? place : place + ".store";
}

}  // namespace millpond::fixd
