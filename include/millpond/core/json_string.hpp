#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millpond::core {

/// Calls put(char) for each character of a Latin-1 byte in a JSON string: at most six, all ASCII.
/// Source: RFC 8259, section 7.
template <class Put>
constexpr void put_json_byte(char byte, Put&& put) {
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto number = static_cast<unsigned char>(byte);
    if (number < 0x20 || number > 0x7E) {
        for (const char c : {'\\', 'u', '0', '0', kHex[number >> 4U], kHex[number & 0xFU]}) put(c);
    } else {
        if (byte == '"' || byte == '\\') put('\\');
        put(byte);
    }
}

/// Length of the non-ASCII UTF-8 character at the start of the text; 0 if there is none.
/// Source: RFC 3629, section 4.
[[nodiscard]] constexpr std::size_t utf8_bytes(std::string_view text) noexcept {
    const auto at = [&](std::size_t i) -> unsigned {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto lead = at(0);
    if (lead < 0xC2 || lead > 0xF4) return 0;
    // The second byte rules out overlong forms, surrogates and code points above U+10FFFF.
    const auto min = lead == 0xE0 ? 0xA0U : lead == 0xF0 ? 0x90U : 0x80U;
    const auto max = lead == 0xED ? 0x9FU : lead == 0xF4 ? 0x8FU : 0xBFU;
    if (at(1) < min || at(1) > max) return 0;
    const std::size_t bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    for (std::size_t i = 2; i < bytes; ++i) {
        if ((at(i) & 0xC0U) != 0x80U) return 0;
    }
    return bytes;
}

/// Quotes the text as a JSON string in valid UTF-8; bytes that are not UTF-8 are read as Latin-1.
/// Source: RFC 8259, sections 7 and 8.1.
[[nodiscard]] inline std::string json_string(std::string_view text) {
    std::string out{'"'};
    while (!text.empty()) {
        auto length = utf8_bytes(text);
        out.append(text.substr(0, length));
        if (length == 0) {
            put_json_byte(text.front(), [&](char c) { out += c; });
            length = 1;
        }
        text.remove_prefix(length);
    }
    return out += '"';
}

}  // namespace millpond::core
