#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

namespace millpond::service {

/// Appends the text as it stands between the quotes of a JSON string; bytes beyond ASCII as Latin-1.
inline void append_json_text(std::string& out, std::string_view text) {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte > 0x7E) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
        } else {
            if (c == '"' || c == '\\') out += '\\';
            out += c;
        }
    }
}

/// The text as a JSON string.
[[nodiscard]] inline std::string json_string(std::string_view text) {
    std::string out{'"'};
    append_json_text(out, text);
    return out += '"';
}

}  // namespace millpond::service
