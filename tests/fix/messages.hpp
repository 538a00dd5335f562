#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace millpond::fix {

/// Replaces each '|' by the delimiter.
inline std::string delimited(std::string_view text) {
    std::string bytes{text};
    for (auto& c : bytes) {
        if (c == '|') c = '\x01';
    }
    return bytes;
}

/// Replaces delimiters by '|', for the texts of failures.
inline std::string readable(std::string_view bytes) {
    std::string text{bytes};
    for (auto& c : text) {
        if (c == '\x01') c = '|';
    }
    return text;
}

/// CheckSum of a message that lacks only that field.
inline std::string with_checksum(std::string bytes) {
    unsigned sum = 0;
    for (const char c : bytes) sum += static_cast<unsigned char>(c);
    char trailer[16];
    std::snprintf(trailer, sizeof trailer, "10=%03u\x01", sum % 256);
    return bytes + trailer;
}

/// A complete message around `body`, whose '|' become delimiters, with the right BodyLength and CheckSum.
inline std::string message_of(std::string_view begin_string, std::string_view body) {
    const auto bytes = delimited(body);
    return with_checksum("8=" + std::string{begin_string} + "\x01" + "9=" + std::to_string(bytes.size()) + "\x01" +
                         bytes);
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span{text.data(), text.size()});
}

}  // namespace millpond::fix
