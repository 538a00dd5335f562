#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include <millpond/fix/frame.hpp>

namespace millpond::fix {

/// Ends the process with the broken promise, so that the fuzzer keeps the input.
inline void require(bool kept, const char* promise) {
    if (kept) return;
    std::fprintf(stderr, "broken promise: %s\n", promise);
    std::abort();
}

/// Converts text to fields: '|' becomes the delimiter, so that seeds are readable.
inline std::string fields_of(std::span<const std::byte> input) {
    std::string fields{reinterpret_cast<const char*>(input.data()), input.size()};
    for (auto& c : fields) {
        if (c == '|') c = '\x01';
    }
    return fields;
}

/// A frame around a body, with the right BodyLength and CheckSum, so that the body passes the framing.
inline std::string framed(std::string_view body, std::string_view begin_string = "FIX.4.4") {
    std::string message = "8=" + std::string{begin_string} + "\x01" + "9=" + std::to_string(body.size()) + '\x01';
    message += body;
    unsigned sum = 0;
    for (const char c : message) sum += static_cast<unsigned char>(c);
    char trailer[16];
    std::snprintf(trailer, sizeof trailer, "10=%03u\x01", sum % 256);
    return message + trailer;
}

inline std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span{text.data(), text.size()});
}

}  // namespace millpond::fix
