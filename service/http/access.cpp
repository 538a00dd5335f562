#include "service/http/access.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace millpond::http {
namespace {

std::string_view trimmed(std::string_view text) noexcept {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

/// Name of the host without the port.
std::string_view name_of(std::string_view host) noexcept {
    if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
    return host.substr(0, host.find(':'));
}

bool is_name_of_this_machine(std::string_view host) noexcept {
    const auto name = name_of(host);
    const bool is_number = !name.empty() && name.find_first_not_of("0123456789.") == std::string_view::npos;
    return name.empty() || name == "localhost" || name.starts_with('[') || is_number;
}

bool is_of(std::string_view origin, std::string_view host) noexcept {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (origin.starts_with(scheme) && origin.substr(scheme.size()) == host) return true;
    }
    return false;
}

/// Decodes base64url without padding (RFC 4648 5); empty if the text is invalid or its unused bits are not zero.
std::string base64_decoded(std::string_view text) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    constexpr unsigned kDigitBits = 6;
    constexpr unsigned kByteBits = 8;
    std::string bytes;
    unsigned pending = 0;
    unsigned bits = 0;
    for (const char c : text) {
        const auto digit = kDigits.find(c);
        if (digit == std::string_view::npos) return {};
        pending = (pending << kDigitBits | static_cast<unsigned>(digit)) & 0xffffU;
        bits += kDigitBits;
        if (bits < kByteBits) continue;
        bits -= kByteBits;
        bytes += static_cast<char>(pending >> bits & 0xffU);
    }
    const bool rest_is_zero = (pending & ((1U << bits) - 1)) == 0;
    return rest_is_zero ? bytes : std::string{};
}

}  // namespace

std::optional<Access::Refusal> Access::refusal(const Credentials& credentials, bool is_open) const {
    constexpr std::uint16_t kUnauthorized = 401;
    constexpr std::uint16_t kForbidden = 403;
    if (!credentials.origin.empty() && !is_of(credentials.origin, credentials.host)) {
        return Refusal{kForbidden, "requests from pages of other sites are not allowed"};
    }
    if (is_open) return std::nullopt;
    if (!token_.required()) {
        if (loopback_ && !is_name_of_this_machine(credentials.host)) {
            return Refusal{kForbidden, "the Host header must name an address of this machine or localhost"};
        }
        return std::nullopt;
    }
    if (!knows_token(credentials)) return Refusal{kUnauthorized, "a token is required"};
    return std::nullopt;
}

bool Access::knows_token(const Credentials& credentials) const {
    if (token_.admits_bearer(credentials.authorization)) return true;
    auto rest = credentials.protocols;
    while (!rest.empty()) {
        const auto comma = std::min(rest.find(','), rest.size());
        const auto protocol = trimmed(rest.substr(0, comma));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
        if (!protocol.starts_with(kProtocol) || !protocol.substr(kProtocol.size()).starts_with('.')) continue;
        const auto shown = protocol.substr(kProtocol.size() + 1);
        if (token_.admits(shown) ||
            (shown.starts_with(kEncoded) && token_.admits(base64_decoded(shown.substr(kEncoded.size()))))) {
            return true;
        }
    }
    return false;
}

}  // namespace millpond::http
