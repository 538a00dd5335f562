#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/replica_server.hpp>
#include <millpond/engine/standby.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/tls/context.hpp>

#include "service/settings/schema.hpp"
#include "service/token.hpp"

/// Settings of `[session.standby]` and `[standby]`.
namespace millpond::fixd {

/// The standby of a session: `[session.standby]`.
struct StandbySettings {
    std::string address{};  ///< HOST:PORT; empty: the session has no standby.
    service::TokenSource token{};
    engine::StandbyOptions options{.tls = tls::Options{}};  ///< standby_options() adds host and token.
    friend bool operator==(const StandbySettings&, const StandbySettings&) = default;
};

/// Makes this engine the standby of its sessions: `[standby]`.
struct StandbyConfig {
    net::SocketAddress listen{};  ///< Empty: not a standby.
    tls::Options tls{};           ///< With authorities, primaries need certificates.
    service::TokenSource token{};
    bool is_bad{false};  ///< A check has failed; see settings::Origin::is_bad.
    friend bool operator==(const StandbyConfig&, const StandbyConfig&) = default;
};

inline constexpr std::string_view kStandbyTable = "standby";

/// Reads a table. Throws service::ConfigError with the place.
[[nodiscard]] StandbySettings standby_settings_of(const settings::Value& table);
[[nodiscard]] StandbyConfig standby_config_of(const settings::Value& table);
/// Reads text of the command line: "listen=10.0.0.1:7100,token_file=pair.token".
[[nodiscard]] StandbyConfig standby_config_of(std::string_view text);
/// The keys of `[standby]`.
[[nodiscard]] std::vector<settings::KeyText> standby_config_texts();

/// Check that the keys fit together. user: the section, for messages. Throw ConfigError.
void check(const StandbySettings& standby, const std::string& user);
void check(const StandbyConfig& standby);

/// The files that are read: certificates, keys, tokens.
[[nodiscard]] std::vector<std::string> files_read(const StandbySettings& standby);
[[nodiscard]] std::vector<std::string> files_read(const StandbyConfig& standby);

/// Options of the engine. Throw ConfigError if a token cannot be read.
[[nodiscard]] engine::StandbyOptions standby_options(const StandbySettings& standby);
[[nodiscard]] engine::ReplicaServer::Options replica_options(const StandbyConfig& standby);

}  // namespace millpond::fixd
