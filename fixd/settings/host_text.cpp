#include "fixd/settings/host_text.hpp"

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace millpond::fixd {

engine::Host host_of(std::string_view text) {
    const auto colon = text.rfind(':');
    std::uint16_t port = 0;
    bool good = colon != std::string_view::npos && colon != 0;
    if (good) {
        const auto* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
        good = error == std::errc{} && stop == end && port != 0;
    }
    if (!good) throw std::invalid_argument("expects HOST:PORT, found '" + std::string{text} + "'");
    auto name = text.substr(0, colon);
    if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
    return {.name = std::string{name}, .port = port};
}

engine::Proxy proxy_of(std::string_view text) {
    constexpr std::pair<std::string_view, engine::Proxy::Kind> kKinds[] = {
        {"socks5://", engine::Proxy::Kind::socks5}, {"http://", engine::Proxy::Kind::http_connect}};
    for (const auto& [prefix, kind] : kKinds) {
        if (text.starts_with(prefix)) return {.kind = kind, .host = host_of(text.substr(prefix.size()))};
    }
    throw std::invalid_argument("expects socks5://HOST:PORT or http://HOST:PORT, found '" + std::string{text} + "'");
}

}  // namespace millpond::fixd
