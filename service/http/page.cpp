#include "service/http/page.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace millpond::http {
namespace {

/// Source: RFC 3986 2.1.
std::string decoded(std::string_view text) {
    constexpr int kHex = 16;
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned char byte = 0;
        if (text[i] != '%') {
            result += text[i];
            continue;
        }
        const auto digits = text.substr(i + 1, 2);
        const auto* const end = digits.data() + digits.size();
        if (digits.size() < 2 || std::from_chars(digits.data(), end, byte, kHex).ptr != end)
            throw BadRequest("a '%' in the query without two hexadecimal digits behind it");
        result += static_cast<char>(byte);
        i += 2;
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

std::size_t Request::number(std::string_view key, std::size_t otherwise) const {
    const auto text = parameter(key);
    if (text.empty()) return otherwise;
    std::size_t value = 0;
    const auto* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc{} || read.ptr != end)
        throw BadRequest(std::string{key} + " needs a whole number from 0 to 18446744073709551615");
    return value;
}

}  // namespace millpond::http
