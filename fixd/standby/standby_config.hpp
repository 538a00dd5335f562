#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/replica_server.hpp>
#include <millpond/engine/standby.hpp>
#include <millpond/net/socket_address.hpp>

#include "fixd/tls_files.hpp"
#include "service/settings/schema.hpp"
#include "service/token.hpp"

/// Settings of `[session.standby]` and `[standby]`.
namespace millpond::fixd {

/// Where a copy of the session's store is kept: `[session.standby]`.
struct StandbySettings {
    std::string address{};  ///< HOST:PORT; empty: the session has no standby.
    engine::StandbyMode mode{engine::StandbyMode::received};
    engine::OnStandbyLoss on_loss{engine::OnStandbyLoss::stop};
    std::uint64_t timeout_ms{2'000};
    TlsFiles tls{};
    service::TokenSource token{};
    friend bool operator==(const StandbySettings&, const StandbySettings&) = default;
};

/// Makes this engine the standby of its sessions: `[standby]`.
struct StandbyConfig {
    net::SocketAddress listen{};  ///< Empty: not a standby.
    std::vector<std::string> allow{};
    TlsFiles tls{};  ///< With authorities, primaries need certificates.
    service::TokenSource token{};
    friend bool operator==(const StandbyConfig&, const StandbyConfig&) = default;
};

inline constexpr std::string_view kStandbyTable = "standby";

/// Throws settings::ConfigError with the place.
[[nodiscard]] StandbySettings standby_settings_of(const settings::Value& table);
[[nodiscard]] StandbyConfig standby_config_of(const settings::Value& table);
/// From the command line: "listen=10.0.0.1:7100,token_file=pair.token".
[[nodiscard]] StandbyConfig standby_config_of(std::string_view text);
/// The keys of `[standby]`.
[[nodiscard]] std::vector<settings::KeyText> standby_config_texts();

/// Check that the keys fit together. user: the section, for messages. Throw ConfigError.
void check(const StandbySettings& standby, const std::string& user);
void check(const StandbyConfig& standby);

/// The options of the engine. Throw ConfigError if a token cannot be read.
[[nodiscard]] engine::StandbyOptions standby_options(const StandbySettings& standby);
[[nodiscard]] engine::ReplicaServer::Options replica_options(const StandbyConfig& standby);

}  // namespace millpond::fixd
