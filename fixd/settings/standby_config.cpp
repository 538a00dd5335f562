#include "fixd/settings/standby_config.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "fixd/settings/check_key.hpp"
#include "fixd/settings/host_text.hpp"
#include "service/config_error.hpp"
#include "service/settings/errors.hpp"
#include "service/settings/key_of.hpp"
#include "service/settings/toml.hpp"
#include "service/tls.hpp"

namespace millpond::fixd {
namespace {

using service::ConfigError;
using settings::Key;
using settings::Value;
using SettingKey = settings::KeyOf<StandbySettings>;
using ConfigKey = settings::KeyOf<StandbyConfig>;

constexpr std::string_view kSettingTable = "session.standby";

constexpr std::pair<std::string_view, engine::StandbyMode> kModes[] = {{"none", engine::StandbyMode::none},
                                                                       {"received", engine::StandbyMode::received}};
constexpr std::pair<std::string_view, engine::OnStandbyLoss> kLosses[] = {{"stop", engine::OnStandbyLoss::stop},
                                                                          {"continue", engine::OnStandbyLoss::go_on}};

constexpr Key<StandbySettings> kSettingKeys[] = {
    SettingKey::text<&StandbySettings::address>("address", "HOST:PORT", "The standby's [standby] listen address."),
    SettingKey::choice<[](auto& s) -> auto& { return s.options.mode; }, kModes>(
        "mode", "none|received",
        "What a message waits for before its bytes go to the counterparty: nothing, or the standby's acknowledgement."),
    SettingKey::choice<[](auto& s) -> auto& { return s.options.on_loss; }, kLosses>(
        "on_standby_loss", "stop|continue",
        "Without its standby, disconnect the session until the standby is back, or go on without."),
    SettingKey::duration<[](auto& s) -> auto& { return s.options.timeout; }, std::chrono::milliseconds, 10, 3'600'000>(
        "timeout_ms",
        "The standby is lost when it has acknowledged nothing, or was not connected, for this many milliseconds."),
    SettingKey::file<[](auto& s) -> auto& { return s.options.tls->authorities; }>(
        "tls_authorities", "PEM file with the authorities of its certificate; the system's if unset."),
    SettingKey::text<[](auto& s) -> auto& { return s.options.tls->server_name; }>(
        "tls_server_name", "NAME", "Name in its certificate; the host of `address` if unset."),
    SettingKey::file<[](auto& s) -> auto& { return s.options.tls->certificate; }>(
        "tls_certificate", "PEM file with our client certificate."),
    SettingKey::file<[](auto& s) -> auto& { return s.options.tls->key; }>(
        "tls_key", "PEM file with its private key; it must not be readable by all users."),
    SettingKey::file<[](auto& s) -> auto& { return s.token.file; }>("token_file",
                                                                    "File with the token that the standby wants."),
    SettingKey::text<[](auto& s) -> auto& { return s.token.environment; }>("token_env", "NAME",
                                                                           "Environment variable with that token."),
};

constexpr Key<StandbyConfig> kConfigKeys[] = {
    ConfigKey::endpoint<&StandbyConfig::listen>("listen", "Address and port for primaries."),
    ConfigKey::file<[](auto& s) -> auto& { return s.tls.certificate; }>(
        "tls_certificate", "PEM file with the server certificate and its intermediates."),
    ConfigKey::file<[](auto& s) -> auto& { return s.tls.key; }>(
        "tls_key", "PEM file with its private key; it must not be readable by all users."),
    ConfigKey::file<[](auto& s) -> auto& { return s.tls.authorities; }>(
        "tls_authorities", "PEM file with the authorities of primaries' certificates, which are then required."),
    ConfigKey::file<[](auto& s) -> auto& { return s.token.file; }>(
        "token_file", "File with the token that primaries must present; needed without tls_authorities."),
    ConfigKey::text<[](auto& s) -> auto& { return s.token.environment; }>("token_env", "NAME",
                                                                          "Environment variable with that token."),
    ConfigKey::removed("allow", "all addresses; primaries present a certificate or a token"),
};

template <class Section, std::size_t count>
Section read(const Value& table, std::string_view name, const Key<Section> (&keys)[count]) {
    const auto title = settings::table_title(name);
    Section section;
    settings::Errors errors;
    const std::span<const Key<Section>> all{keys};
    for (const auto& entry : table.table()) {
        errors.check(
            [&] { settings::find_key(all, title, entry.key, entry.value.where()).assign(section, entry.value); });
    }
    errors.throw_if_any();
    return section;
}

void check_secrets(const tls::Options& tls, const service::TokenSource& token, const std::string& user) {
    service::named(user, [&] { service::check_key_pair(tls); });
    if (!token.file.empty() && !token.environment.empty()) {
        throw ConfigError(fmt::format("{}: either 'token_file' or 'token_env'", user));
    }
}

}  // namespace

StandbySettings standby_settings_of(const Value& table) { return read(table, kSettingTable, kSettingKeys); }

StandbyConfig standby_config_of(const Value& table) { return read(table, kStandbyTable, kConfigKeys); }

StandbyConfig standby_config_of(std::string_view text) {
    constexpr std::string_view kFlag = "--standby";
    const auto title = settings::table_title(kStandbyTable);
    StandbyConfig config;
    for (const auto& [key, value] : settings::pairs_of(text, kFlag)) {
        const std::span<const Key<StandbyConfig>> keys{kConfigKeys};
        settings::find_key(keys, title, key, kFlag)
            .assign(config, Value{std::string{kFlag}, settings::described(title, key), Value::Bare{value}});
    }
    return config;
}

std::vector<settings::KeyText> standby_config_texts() {
    return settings::texts_of(std::span<const Key<StandbyConfig>>{kConfigKeys});
}

void check(const StandbySettings& standby, const std::string& user) {
    const auto table = fmt::format("{}: [session.standby]", user);
    if (standby.address.empty()) throw ConfigError(fmt::format("{}: key 'address' is missing", table));
    check_key(table, "address", [&] { static_cast<void>(host_of(standby.address)); });
    check_secrets(*standby.options.tls, standby.token, table);
}

void check(const StandbyConfig& standby) {
    const std::string table{"[standby]"};
    if (standby.listen.empty()) throw ConfigError(fmt::format("{}: key 'listen' is missing", table));
    if (standby.tls.certificate.empty()) {
        throw ConfigError(
            fmt::format("{}: key 'tls_certificate' is missing: a standby has no plain connections", table));
    }
    check_secrets(standby.tls, standby.token, table);
    if (standby.tls.authorities.empty() && standby.token.empty()) {
        throw ConfigError(
            fmt::format("{}: any program could write into the stores: it needs 'tls_authorities', 'token_file' or "
                        "'token_env'",
                        table));
    }
}

std::vector<std::string> files_read(const StandbySettings& standby) {
    return settings::files_read(std::span<const Key<StandbySettings>>{kSettingKeys}, standby);
}

std::vector<std::string> files_read(const StandbyConfig& standby) {
    return settings::files_read(std::span<const Key<StandbyConfig>>{kConfigKeys}, standby);
}

engine::StandbyOptions standby_options(const StandbySettings& standby) {
    const service::Token checked{standby.token};
    auto options = standby.options;
    options.host = host_of(standby.address);
    options.token = service::read_secret(standby.token, "token of [session.standby]");
    return options;
}

engine::ReplicaServer::Options replica_options(const StandbyConfig& standby) {
    engine::ReplicaServer::Options options{
        .address = standby.listen.host(), .port = standby.listen.port(), .tls = standby.tls};
    options.tls->verify_peer = !standby.tls.authorities.empty();
    if (!standby.token.empty()) {
        options.admits = [token = std::make_shared<service::Token>(standby.token)](std::string_view shown) {
            return token->admits(shown);
        };
    }
    return options;
}

}  // namespace millpond::fixd
