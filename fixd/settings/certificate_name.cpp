#include "fixd/settings/certificate_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include <millpond/net/socket_address.hpp>

namespace millpond::fixd {
namespace {

/// True for the form of an RFC 2253 subject: "CN=desk,O=Broker", without the blanks and other separators of openssl's
/// own forms.
bool is_subject(std::string_view text) {
    const auto is_of_type = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' || c == '-';
    };
    const auto type = text.substr(0, text.find('='));
    if (type.empty() || type.size() == text.size() || type == "subject" || !std::ranges::all_of(type, is_of_type)) {
        return false;
    }
    for (auto at = text.find(", "); at != std::string_view::npos; at = text.find(", ", at + 1)) {
        if (text[at - 1] != '\\') return false;
    }
    return true;
}

}  // namespace

std::string certificate_name(std::string_view text) {
    const auto after = [&](std::string_view prefix) {
        return text.starts_with(prefix) ? text.substr(prefix.size()) : std::string_view{};
    };
    if (const auto name = after("DNS:"); !name.empty()) {
        std::string lower{text.substr(0, 4)};
        for (const char c : name) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        return lower;
    }
    if (const auto address = after("IP:"); !address.empty()) {
        return "IP:" + net::SocketAddress::parse_host(address).host();
    }
    if (!after("URI:").empty() || !after("email:").empty() || is_subject(text)) return std::string{text};
    throw std::invalid_argument(
        fmt::format("expects a subject as 'openssl x509 -noout -subject -nameopt RFC2253' prints it after 'subject=', "
                    "or a name after DNS:, URI:, email: or IP:, found '{}'",
                    text));
}

}  // namespace millpond::fixd
