#include "fixd/settings/session_build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <millpond/fix/store_identity.hpp>
#include <millpond/tls/context.hpp>

#include "fixd/settings/host_text.hpp"
#include "fixd/settings/weekdays.hpp"
#include "service/config_error.hpp"
#include "service/settings/schema.hpp"
#include "service/token.hpp"

namespace millpond::fixd {
namespace {

using service::named;

/// Reads a secret. what: its name, for messages.
std::string read_secret_of(const SessionSettings& settings, const service::TokenSource& source, std::string_view what,
                           service::SecretForm form = service::SecretForm::line) {
    return service::read_secret(source, fmt::format("{}: {}", described(settings), what), form);
}

/// The fields with their values; secrets are read.
std::vector<fix::FieldValue> values_of(const std::vector<FieldSetting>& fields) {
    std::vector<fix::FieldValue> values;
    for (const auto& field : fields) {
        auto value = field.value;
        if (!field.secret.empty()) {
            value = named(field.where,
                          [&] { return service::read_secret(field.secret, fmt::format("field {}", field.tag)); });
        }
        values.push_back({field.tag, std::move(value)});
    }
    return values;
}

std::shared_ptr<engine::LogonSigner> signer_of(const SessionSettings& settings) {
    if (!settings.sign) return nullptr;
    const auto whole = engine::has_private_key(*settings.sign) ? service::SecretForm::text : service::SecretForm::line;
    const auto key = read_secret_of(settings, settings.sign_key, "sign key", whole);
    try {
        return std::make_shared<engine::LogonSigner>(*settings.sign, key);
    } catch (const std::invalid_argument& error) {
        const auto& place = settings.sign_key;
        throw service::ConfigError(fmt::format("{}: {} '{}': {}", described(settings),
                                               place.file.empty() ? "environment variable" : "sign key file",
                                               place.file.empty() ? place.environment : place.file, error.what()));
    }
}

std::optional<fix::Schedule> schedule_of(const SessionSettings& settings) {
    if (!settings.start) return std::nullopt;
    const auto zone = zone_named(settings.timezone);
    if (!settings.start_day.empty()) {
        return fix::Schedule::weekly(weekday_of(settings.start_day), *settings.start, weekday_of(settings.end_day),
                                     *settings.end, zone);
    }
    return fix::Schedule::daily(*settings.start, *settings.end, weekdays_of(settings.days), zone);
}

}  // namespace

void set_version(fix::SessionConfig& config, fix::ApplicationVersion version) {
    constexpr auto kFirst = static_cast<int>(fix::ApplicationVersion::fix40);
    const bool on_fixt = version >= fix::ApplicationVersion::fix50;
    config.version = on_fixt ? fix::Version::fixt11 : static_cast<fix::Version>(static_cast<int>(version) - kFirst);
    config.default_appl_ver_id = on_fixt ? fix::appl_ver_id(version) : "";
}

fix::ApplicationVersion application_version(const SessionSettings& settings) noexcept {
    const auto version = fix::application_version_of(std::string_view{settings.config.default_appl_ver_id});
    return version.value_or(fix::application_version_of(settings.config.version));
}

std::string described(const SessionSettings& settings) {
    return fmt::format("[[session]] '{}' to '{}'", settings.config.sender_comp_id, settings.config.target_comp_id);
}

std::string session_name(const SessionSettings& settings) { return fix::StoreIdentity::of(settings.config).name(); }

std::vector<fix::Tag> secret_tags(const SessionSettings& settings) {
    std::vector<fix::Tag> tags;
    for (const auto* fields : {&settings.logon, &settings.header}) {
        for (const auto& field : *fields) {
            if (!field.secret.empty()) tags.push_back(field.tag);
        }
    }
    return tags;
}

fix::SecretTags secrets_of(const SessionSettings& settings, const engine::SessionOptions& options) {
    auto pairs = options.dictionary->data_fields();
    if (options.application != nullptr) pairs = options.application->data_fields(pairs);
    for (const auto& further : options.config.further_versions) {
        if (further.dictionary != nullptr) pairs = further.dictionary->data_fields(pairs);
    }
    return fix::SecretTags{secret_tags(settings), pairs};
}

std::vector<std::string> files_read(const SessionSettings& settings, const Dictionaries& dictionaries) {
    auto files = settings::files_read(settings);
    std::ranges::move(dictionaries.files_of(settings), std::back_inserter(files));
    for (const auto* fields : {&settings.logon, &settings.header}) {
        for (const auto& field : *fields) files.push_back(field.secret.file);
    }
    if (settings.standby) std::ranges::move(files_read(*settings.standby), std::back_inserter(files));
    return files;
}

void check_files(const SessionSettings& settings, const engine::SessionOptions& options) {
    if (!settings.hosts.empty()) {
        const auto initiator = initiator_options(settings);
        if (initiator.tls) named(described(settings), [&] { tls::Context{tls::Role::client, *initiator.tls}; });
    }
    if (!options.standby) return;
    named(described(settings) + ": [session.standby]",
          [&] { tls::Context{tls::Role::client, options.standby->tls.value()}; });
}

engine::SessionOptions session_options(const SessionSettings& settings, Dictionaries& dictionaries) {
    const auto pair = dictionaries.of(settings);
    engine::SessionOptions options{.config = settings.config,
                                   .dictionary = pair.session,
                                   .application = pair.application,
                                   .store = settings.store,
                                   .limits = settings.limits};
    auto& config = options.config;
    config.role = settings.hosts.empty() ? fix::Role::acceptor : fix::Role::initiator;
    config.further_versions = dictionaries.further(settings);
    config.password = read_secret_of(settings, settings.password, "password");
    config.logon_fields = values_of(settings.logon);
    config.header_fields = values_of(settings.header);
    config.schedule = schedule_of(settings);
    if (is_in_memory(settings)) {
        options.store.file.clear();
        options.store.bytes = settings.memory_bytes;
    }
    if (options.limits.messages_per_second != 0) options.limits.burst = options.limits.messages_per_second;
    for (const auto& range : settings.allow) options.allowed.add(range);
    options.signer = signer_of(settings);
    if (settings.standby) options.standby = standby_options(*settings.standby);
    options.warm_up = settings.warm_up;
    options.enabled = settings.enabled;
    return options;
}

engine::Initiator::Options initiator_options(const SessionSettings& settings) {
    engine::Initiator::Options options;
    for (const auto& host : settings.hosts) options.hosts.push_back(host_of(host));
    options.reconnect = settings.reconnect;
    options.local_address = settings.local_address;
    if (!settings.proxy.empty()) {
        options.proxy = proxy_of(settings.proxy);
        options.proxy->username = settings.proxy_username;
        options.proxy->password = read_secret_of(settings, settings.proxy_password, "proxy password");
    }
    if (settings.tls_on) options.tls = settings.tls;
    return options;
}

}  // namespace millpond::fixd
