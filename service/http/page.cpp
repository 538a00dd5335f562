#include "service/http/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace millpond::http {
namespace {

/// Decodes percent-encoding. Source: RFC 3986 2.1.
std::string url_decoded(std::string_view text) {
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
            throw BadRequest("a '%' in the query that is not followed by two hexadecimal digits");
        result += static_cast<char>(byte);
        i += 2;
    }
    return result;
}

}  // namespace

std::optional<std::string> Request::parameter(std::string_view key) const {
    auto rest = query;
    while (!rest.empty()) {
        const auto end = std::min(rest.find('&'), rest.size());
        const auto pair = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const auto equals = std::min(pair.find('='), pair.size());
        if (pair.substr(0, equals) == key) return url_decoded(pair.substr(std::min(equals + 1, pair.size())));
    }
    return std::nullopt;
}

std::size_t Request::number(std::string_view key, std::size_t otherwise, std::size_t min, std::size_t max) const {
    const auto text = parameter(key);
    if (!text || text->empty()) return otherwise;
    std::size_t value = 0;
    const auto* const end = text->data() + text->size();
    const auto read = std::from_chars(text->data(), end, value);
    if (read.ec != std::errc{} || read.ptr != end || value < min || value > max)
        throw BadRequest(fmt::format("{} needs a whole number from {} to {}", key, min, max));
    return value;
}

}  // namespace millpond::http
