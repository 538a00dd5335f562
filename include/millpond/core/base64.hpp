#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millpond::core {

/// The bytes as padded base64. Source: RFC 4648, section 4.
[[nodiscard]] inline std::string base64(std::string_view bytes) {
    constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t j = 0; j < 3; ++j) {
            group = group << 8U | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
        }
        for (std::size_t j = 0; j < 4; ++j) {
            text += i + j <= bytes.size() ? kAlphabet[group >> (18 - 6 * j) & 63U] : '=';
        }
    }
    return text;
}

}  // namespace millpond::core
