#include "fixd/sessions/session_build.hpp"

#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fixd/print/fix_printer.hpp"
#include "fixd/sessions/host_text.hpp"
#include "fixd/sessions/weekdays.hpp"
#include "service/settings/value.hpp"
#include "service/token.hpp"

namespace millpond::fixd {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kResidentBytes = std::size_t{32} << 20U;

constexpr const char* kFiles[] = {"FIX40", "FIX41",    "FIX42",    "FIX43",    "FIX44",
                                  "FIX50", "FIX50SP1", "FIX50SP2", "FIXLatest"};
static_assert(std::size(kFiles) == static_cast<std::size_t>(FixVersion::fix_latest) + 1);

std::int64_t nanos(std::uint64_t seconds) { return static_cast<std::int64_t>(seconds) * kSecond; }

std::string password_of(const SessionSettings& settings) {
    return service::read_secret({.file = settings.password_file, .environment = settings.password_env}, "password");
}

/// Reads the secrets among them.
std::vector<fix::FieldValue> values_of(const std::vector<FieldSetting>& fields) {
    std::vector<fix::FieldValue> values;
    for (const auto& field : fields) {
        auto value = field.value;
        if (!field.secret.empty()) {
            try {
                value = service::read_secret(field.secret, fmt::format("field {}", field.tag));
            } catch (const settings::ConfigError& error) {
                throw settings::ConfigError(fmt::format("{}: {}", field.where, error.what()));
            }
        }
        values.push_back({field.tag, std::move(value)});
    }
    return values;
}

std::shared_ptr<engine::LogonSigner> signer_of(const SessionSettings& settings) {
    if (!settings.sign) return nullptr;
    const auto whole = engine::has_private_key(*settings.sign) ? service::SecretForm::text : service::SecretForm::line;
    const auto key = service::read_secret(settings.sign_key, "sign key", whole);
    try {
        return std::make_shared<engine::LogonSigner>(*settings.sign, key);
    } catch (const std::invalid_argument& error) {
        const auto& place = settings.sign_key;
        throw settings::ConfigError(fmt::format("[[session]] '{}' to '{}': {} '{}': {}", settings.sender,
                                                settings.target,
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

fix::Version session_version(FixVersion version) noexcept {
    return version >= FixVersion::fix50 ? fix::Version::fixt11 : static_cast<fix::Version>(version);
}

fix::ApplicationVersion application_version(FixVersion version) noexcept {
    constexpr auto kFirst = static_cast<int>(fix::ApplicationVersion::fix40);
    static_assert(static_cast<int>(FixVersion::fix_latest) + kFirst ==
                  static_cast<int>(fix::ApplicationVersion::latest));
    return static_cast<fix::ApplicationVersion>(static_cast<int>(version) + kFirst);
}

/// Empty where there is no folder.
std::string Dictionaries::in_folder(std::string_view name) const {
    return folder_.empty() ? std::string{} : fmt::format("{}/{}.xml", folder_, name);
}

fix::Dictionary& Dictionaries::file(const std::string& path) {
    const auto known = files_.find(path);
    if (known != files_.end()) return known->second;
    return files_.emplace(path, read_dictionary_file(path)).first->second;
}

const fix::Dictionary& Dictionaries::built_in(fix::Version version) {
    const auto known = built_in_.find(version);
    if (known != built_in_.end()) return known->second;
    return built_in_.emplace(version, fix::Dictionary::session_level(version)).first->second;
}

Dictionaries::Pair Dictionaries::of(const SessionSettings& session) {
    const bool on_fixt = session.version >= FixVersion::fix50;
    const std::string standard = kFiles[static_cast<std::size_t>(session.version)];
    auto session_file = session.dictionary;
    if (session_file.empty()) session_file = in_folder(on_fixt ? "FIXT11" : standard);
    auto application_file = session.application_dictionary;
    if (application_file.empty()) application_file = on_fixt ? in_folder(standard) : session_file;
    if (on_fixt && !session_file.empty()) file(session_file).complete_logon();
    return {.session = session_file.empty() ? &built_in(session_version(session.version)) : &file(session_file),
            .application = application_file.empty() ? nullptr : &file(application_file)};
}

std::vector<fix::ApplicationDictionary> Dictionaries::further(const SessionSettings& session) {
    std::vector<fix::ApplicationDictionary> all;
    for (const auto& [version, own] : session.further_versions) {
        const auto path = own.empty() ? in_folder(kFiles[static_cast<std::size_t>(version)]) : own;
        all.push_back({application_version(version), path.empty() ? nullptr : &file(path)});
    }
    return all;
}

std::string session_name(const SessionSettings& settings) {
    return fmt::format("{}:{}->{}", fix::begin_string(session_version(settings.version)), settings.sender,
                       settings.target);
}

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

void check_files(const SessionSettings& settings, const engine::SessionOptions& options) {
    if (!settings.hosts.empty()) {
        const auto initiator = initiator_options(settings);
        if (initiator.tls) engine::TlsContext{engine::TlsRole::client, *initiator.tls};
    }
    if (!options.standby || !options.standby->tls) return;
    try {
        engine::TlsContext{engine::TlsRole::client, *options.standby->tls};
    } catch (const std::runtime_error& error) {
        throw settings::ConfigError(fmt::format("[[session]] '{}' to '{}': [session.standby]: {}", settings.sender,
                                                settings.target, error.what()));
    }
}

engine::SessionOptions session_options(const SessionSettings& settings, Dictionaries& dictionaries) {
    const auto pair = dictionaries.of(settings);
    engine::SessionOptions options{.config = {}, .dictionary = pair.session, .application = pair.application};
    auto& config = options.config;
    config.version = session_version(settings.version);
    config.role = settings.hosts.empty() ? fix::Role::acceptor : fix::Role::initiator;
    config.sender_comp_id = settings.sender;
    config.target_comp_id = settings.target;
    if (config.version == fix::Version::fixt11) {
        config.default_appl_ver_id = fix::appl_ver_id(application_version(settings.version));
        config.further_versions = dictionaries.further(settings);
    }
    for (const auto& [sends, type, version, is_default] : settings.logon_types) {
        config.logon_types.push_back({.type = type,
                                      .sends = sends,
                                      .version = version ? std::optional{application_version(*version)} : std::nullopt,
                                      .is_default = is_default});
    }
    config.username = settings.username;
    config.password = password_of(settings);
    config.logon_fields = values_of(settings.logon);
    config.header_fields = values_of(settings.header);
    config.heartbeat_seconds = static_cast<std::int64_t>(settings.heartbeat_seconds);
    config.logon_timeout_ns = nanos(settings.logon_seconds);
    config.logout_timeout_ns = nanos(settings.logout_seconds);
    config.max_latency_ns = nanos(settings.max_latency_seconds);
    config.time_precision = settings.time_precision;
    config.reset_on_logon = settings.reset_on_logon;
    config.reset_on_logout = settings.reset_on_logout;
    config.reset_on_disconnect = settings.reset_on_disconnect;
    config.appl_ver_id_in_business_reject = settings.appl_ver_id_in_business_reject;
    config.quickfix_replies = settings.quickfix_replies.value_or(false);
    config.send_last_processed = settings.send_last_processed;
    config.send_next_expected = settings.send_next_expected;
    config.resend_request_chunk = settings.resend_chunk;
    config.max_message_bytes = settings.max_message_bytes;
    config.held_messages = settings.held_messages;
    config.held_bytes = settings.held_bytes;
    config.validation = {.fields_have_values = settings.fields_have_values,
                         .user_fields_are_known = settings.user_fields_are_known,
                         .fields_are_in_order = settings.fields_are_in_order,
                         .members_are_in_order = settings.members_are_in_order,
                         .message_fields_are_known = settings.message_fields_are_known,
                         .unchecked_types = settings.unchecked_types};
    config.check_comp_ids = settings.check_comp_ids;
    config.reject_garbled = settings.reject_garbled;
    config.reset_on_error = settings.reset_on_error;
    config.schedule = schedule_of(settings);
    const bool in_memory = is_in_memory(settings);
    const bool is_fixed = in_memory || settings.store_bytes || settings.store_segments;
    options.store = {.bytes = is_fixed ? settings.store_bytes.value_or(kDefaultStoreBytes) : settings.keep_bytes,
                     .file = in_memory ? std::string{} : settings.store,
                     .segments = is_fixed ? settings.store_segments.value_or(kDefaultStoreSegments) : 0,
                     .keep = std::chrono::hours{24} * settings.keep_days,
                     .resident_bytes = kResidentBytes,
                     .durability = settings.durability,
                     .sync_interval = std::chrono::milliseconds{settings.sync_ms},
                     .file_mode = settings.file_mode};
    options.limits = {.pending_bytes = settings.pending_bytes,
                      .stalled = std::chrono::seconds{settings.stall_seconds},
                      .messages_per_second = static_cast<std::uint32_t>(settings.messages_per_second),
                      .burst = static_cast<std::uint32_t>(settings.burst),
                      .cut_off_when_exceeded = settings.cut_off};
    for (const auto& range : settings.allow) options.allowed.add(range);
    options.signer = signer_of(settings);
    if (settings.standby) options.standby = standby_options(*settings.standby);
    options.warm_up = std::chrono::milliseconds{settings.warm_up_ms};
    options.enabled = settings.enabled;
    return options;
}

engine::Initiator::Options initiator_options(const SessionSettings& settings) {
    engine::Initiator::Options options;
    for (const auto& host : settings.hosts) options.hosts.push_back(host_of(host));
    options.reconnect.first = std::chrono::milliseconds{settings.reconnect_ms};
    options.reconnect.longest = std::chrono::milliseconds{settings.reconnect_longest_ms};
    options.reconnect.connect_timeout = std::chrono::milliseconds{settings.connect_ms};
    options.local_address = settings.local_address;
    if (!settings.proxy.empty()) {
        options.proxy = proxy_of(settings.proxy);
        options.proxy->username = settings.proxy_username;
        options.proxy->password = service::read_secret(settings.proxy_password, "proxy password");
    }
    if (settings.tls_on) options.tls = tls_options(settings.tls);
    return options;
}

}  // namespace millpond::fixd
