#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "gateway/receive/rerequest_settings.hpp"
#include "service/config_error.hpp"
#include "service/settings/key_of.hpp"

/// What the formats with re-request servers have in common. Their settings derive from RerequestSettings.
namespace millpond::gateway {

template <class Settings>
constexpr settings::Key<Settings> rerequest_key() {
    return settings::KeyOf<Settings>::template endpoint<&Settings::rerequest>(
        "rerequest", "Server to request missing messages from, by UDP. itch: MoldUDP64; iex-*: a gap fill server.");
}

template <class Settings>
constexpr settings::Key<Settings> rerequest_tcp_key() {
    return settings::KeyOf<Settings>::template endpoint<&Settings::rerequest_tcp>(
        "rerequest_tcp",
        "iex-*: gap fill server by TCP, for more than 1000 messages and for what rerequest does not answer.");
}

template <class Settings>
constexpr settings::Key<Settings> rerequest_ms_key() {
    return settings::KeyOf<Settings>::template integer<&Settings::rerequest_ms, 1, 60'000>(
        "rerequest_ms", "N", "itch, iex-*: milliseconds until a request is repeated; doubled each time.");
}

template <class Settings>
constexpr settings::Key<Settings> rerequest_start_key() {
    return settings::KeyOf<Settings>::template boolean<&Settings::rerequest_start>(
        "rerequest_start", "itch, iex-deep, iex-deep-plus: also request the session's messages before the start.");
}

/// Throws ConfigError unless the address, if there is one, is that of a server.
inline void check_server(std::string_view key, const net::SocketAddress& server, const std::string& user) {
    if (!server.empty() && (server.port() == 0 || server.is_multicast())) {
        throw service::ConfigError(
            fmt::format("{}: {} '{}' is not the address of a server", user, key, server.to_string()));
    }
}

/// Throws ConfigError if a key has no effect. has_start: `rerequest_start` has a value without a server, too.
inline void check_rerequest(const RerequestSettings& settings, bool has_start, const std::string& user) {
    check_server("rerequest", settings.rerequest, user);
    check_server("rerequest_tcp", settings.rerequest_tcp, user);
    const auto refuse = [&](bool is_without_effect, std::string_view key) {
        if (is_without_effect) throw service::ConfigError(fmt::format("{}: {}: needs rerequest", user, key));
    };
    refuse(!settings.has_server() && settings.rerequest_ms != RerequestSettings{}.rerequest_ms, "rerequest_ms");
    refuse(!settings.has_server() && !has_start && !settings.rerequest_start, "rerequest_start");
}

}  // namespace millpond::gateway
