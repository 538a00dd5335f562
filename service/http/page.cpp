#include "service/http/page.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace millpond::http {
namespace {

/// Source: RFC 3986 2.1.
std::string decoded(std::string_view text) {
    constexpr int kHex = 16;
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned char byte = 0;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(&text[i + 1], &text[i + 1] + 2, byte, kHex).ptr == &text[i + 1] + 2) {
            result += static_cast<char>(byte);
            i += 2;
        } else {
            result += text[i];
        }
    }
    return result;
}

}  // namespace

std::string Request::parameter(std::string_view key) const {
    auto rest = query;
    while (!rest.empty()) {
        const auto end = std::min(rest.find('&'), rest.size());
        const auto pair = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (pair.starts_with(key) && pair.substr(key.size()).starts_with('=')) {
            return decoded(pair.substr(key.size() + 1));
        }
    }
    return {};
}

}  // namespace millpond::http
