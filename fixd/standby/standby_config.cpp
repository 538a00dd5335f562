#include "fixd/standby/standby_config.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "fixd/check_key.hpp"
#include "fixd/sessions/host_text.hpp"
#include "service/settings/key_of.hpp"
#include "service/settings/toml.hpp"

namespace millpond::fixd {
namespace {

using settings::ConfigError;
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
    SettingKey::choice<&StandbySettings::mode, kModes>(
        "mode", "none|received",
        "What a message waits for before its bytes go to the counterparty: nothing, or the standby's acknowledgement."),
    SettingKey::choice<&StandbySettings::on_loss, kLosses>(
        "on_standby_loss", "stop|continue",
        "Without its standby, disconnect the session until the standby is back, or go on without."),
    SettingKey::integer<&StandbySettings::timeout_ms, 10, 3'600'000>(
        "timeout_ms", "N",
        "The standby is lost when it has acknowledged nothing, or was not connected, for this many milliseconds."),
    SettingKey::text<[](auto& s) -> auto& { return s.tls.authorities; }>(
        "tls_authorities", "FILE", "PEM file with the authorities of its certificate; the system's if unset."),
    SettingKey::text<[](auto& s) -> auto& { return s.tls.server_name; }>(
        "tls_server_name", "NAME", "Name in its certificate; the host of `address` if unset."),
    SettingKey::text<[](auto& s) -> auto& { return s.tls.certificate; }>("tls_certificate", "FILE",
                                                                         "PEM file with our client certificate."),
    SettingKey::text<[](auto& s) -> auto& { return s.tls.key; }>("tls_key", "FILE", "PEM file with its private key."),
    SettingKey::text<[](auto& s) -> auto& { return s.token.file; }>("token_file", "FILE",
                                                                    "File with the token that the standby wants."),
    SettingKey::text<[](auto& s) -> auto& { return s.token.environment; }>("token_env", "NAME",
                                                                           "Environment variable with that token."),
};

constexpr Key<StandbyConfig> kConfigKeys[] = {
    ConfigKey::endpoint<&StandbyConfig::listen>("listen", "Address and port for primaries."),
    ConfigKey::nonempty_list<&StandbyConfig::allow>("allow", "ADDRESS/BITS+...",
                                                    "Addresses that may connect; all if unset."),
    ConfigKey::text<[](auto& s) -> auto& { return s.tls.certificate; }>(
        "tls_certificate", "FILE", "PEM file with the server certificate and its intermediates."),
    ConfigKey::text<[](auto& s) -> auto& { return s.tls.key; }>("tls_key", "FILE", "PEM file with its private key."),
    ConfigKey::text<[](auto& s) -> auto& { return s.tls.authorities; }>(
        "tls_authorities", "FILE",
        "PEM file with the authorities of primaries' certificates, which are then required."),
    ConfigKey::text<[](auto& s) -> auto& { return s.token.file; }>(
        "token_file", "FILE", "File with the token that primaries must present; needed without tls_authorities."),
    ConfigKey::text<[](auto& s) -> auto& { return s.token.environment; }>("token_env", "NAME",
                                                                          "Environment variable with that token."),
};

template <class Section, std::size_t count>
Section read(const Value& table, std::string_view name, const Key<Section> (&keys)[count]) {
    Section section;
    for (const auto& [key, value] : table.table()) {
        const std::span<const Key<Section>> all{keys};
        settings::find_key(all, name, key, value.where()).assign(section, value);
    }
    return section;
}

void check_secrets(const TlsFiles& tls, const service::TokenSource& token, const std::string& user) {
    check_tls(tls, user);
    if (!token.file.empty() && !token.environment.empty()) {
        throw ConfigError(fmt::format("{}: either 'token_file' or 'token_env'", user));
    }
}

}  // namespace

StandbySettings standby_settings_of(const Value& table) { return read(table, kSettingTable, kSettingKeys); }

StandbyConfig standby_config_of(const Value& table) { return read(table, kStandbyTable, kConfigKeys); }

StandbyConfig standby_config_of(std::string_view text) {
    constexpr std::string_view kFlag = "--standby";
    StandbyConfig config;
    for (const auto& [key, value] : settings::pairs_of(text, kFlag)) {
        const std::span<const Key<StandbyConfig>> keys{kConfigKeys};
        settings::find_key(keys, kStandbyTable, key, kFlag)
            .assign(config, Value{std::string{kFlag}, settings::described(kStandbyTable, key), Value::Bare{value}});
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
    check_secrets(standby.tls, standby.token, table);
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
    engine::AllowList list;
    for (const auto& range : standby.allow) check_key(table, "allow", [&] { list.add(range); });
}

engine::StandbyOptions standby_options(const StandbySettings& standby) {
    const service::Token checked{standby.token};
    return {.host = host_of(standby.address),
            .mode = standby.mode,
            .on_loss = standby.on_loss,
            .timeout = std::chrono::milliseconds{standby.timeout_ms},
            .tls = tls_options(standby.tls),
            .token = service::read_secret(standby.token, "token of [session.standby]")};
}

engine::ReplicaServer::Options replica_options(const StandbyConfig& standby) {
    engine::ReplicaServer::Options options{
        .address = standby.listen.host(), .port = standby.listen.port(), .tls = tls_options(standby.tls)};
    options.tls->verify_peer = !standby.tls.authorities.empty();
    for (const auto& range : standby.allow) options.allowed.add(range);
    if (!standby.token.empty()) {
        options.admits = [token = std::make_shared<service::Token>(standby.token)](std::string_view shown) {
            return token->admits(shown);
        };
    }
    return options;
}

}  // namespace millpond::fixd
