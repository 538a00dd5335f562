#include "fixd/settings/session_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include <millpond/engine/allow_list.hpp>
#include <millpond/fix/admin_draft.hpp>

#include "fixd/settings/certificate_name.hpp"
#include "fixd/settings/check_key.hpp"
#include "fixd/settings/host_text.hpp"
#include "fixd/settings/session_build.hpp"
#include "fixd/settings/store_place.hpp"
#include "fixd/settings/user_file.hpp"
#include "fixd/settings/weekdays.hpp"
#include "service/config_error.hpp"
#include "service/settings/errors.hpp"
#include "service/time_zone.hpp"
#include "service/tls.hpp"

namespace millpond::fixd {
namespace {

using service::ConfigError;

void check_schedule(const SessionSettings& session, const std::string& user) {
    if (session.start.has_value() != session.end.has_value()) {
        throw ConfigError(fmt::format("{}: 'start' and 'end' are required together", user));
    }
    if (session.start_day.empty() != session.end_day.empty()) {
        throw ConfigError(fmt::format("{}: 'start_day' and 'end_day' are required together", user));
    }
    const bool has_days = !session.days.empty() || !session.start_day.empty();
    if (has_days && !session.start) throw ConfigError(fmt::format("{}: days need 'start' and 'end'", user));
    if (!session.days.empty() && !session.start_day.empty()) {
        throw ConfigError(fmt::format("{}: either 'days' or 'start_day' and 'end_day'", user));
    }
    check_key(user, "days", [&] { static_cast<void>(weekdays_of(session.days)); });
    if (!session.start_day.empty()) {
        check_key(user, "start_day", [&] { static_cast<void>(weekday_of(session.start_day)); });
        check_key(user, "end_day", [&] { static_cast<void>(weekday_of(session.end_day)); });
    }
    if (!service::is_time_zone(session.timezone)) {
        throw ConfigError(fmt::format("{}: timezone '{}' is not in the zone database", user, session.timezone));
    }
}

void check_way(const SessionSettings& session, const std::string& user) {
    const bool logs_in = !session.proxy_username.empty() || !session.proxy_password.empty();
    if (session.hosts.empty() && !(session.proxy.empty() && session.local_address.empty())) {
        throw ConfigError(fmt::format("{}: 'proxy' and 'local_address' need 'hosts'", user));
    }
    if (session.proxy.empty()) {
        if (logs_in) throw ConfigError(fmt::format("{}: 'proxy' is required with its user name or password", user));
        return;
    }
    check_key(user, "proxy", [&] { static_cast<void>(proxy_of(session.proxy)); });
    if (logs_in && session.proxy_username.empty()) {
        throw ConfigError(fmt::format("{}: 'proxy_username' is required with its password", user));
    }
}

/// Checks that the Logon has the fields that the signature needs.
void check_signature(const SessionSettings& session, const std::string& user) {
    if (!session.sign) {
        if (!session.sign_key.empty()) throw ConfigError(fmt::format("{}: 'sign' is required with its key", user));
        return;
    }
    if (session.hosts.empty()) throw ConfigError(fmt::format("{}: 'sign' needs 'hosts'", user));
    if (session.sign_key.file.empty() == session.sign_key.environment.empty()) {
        throw ConfigError(fmt::format("{}: 'sign' needs either 'sign_key_file' or 'sign_key_env'", user));
    }
    for (const auto tag : engine::needed_fields(*session.sign)) {
        const bool has_key = tag == fix::tag::kUsername ? !session.config.username.empty()
                                                        : tag == fix::tag::kPassword && !session.password.empty();
        if (has_key || std::ranges::find(session.logon, tag, &FieldSetting::tag) != session.logon.end()) continue;
        throw ConfigError(fmt::format("{}: 'sign' needs field {} in [session.logon]", user, tag));
    }
}

void check_logon_types(const SessionSettings& session, const std::string& user) {
    const auto& types = session.config.logon_types;
    if (types.empty()) return;
    if (session.config.version < fix::Version::fix42) {
        throw ConfigError(fmt::format("{}: 'logon_types' came with FIX.4.2", user));
    }
    if (types.size() > fix::SessionConfig::kMaxLogonTypes) {
        throw ConfigError(fmt::format("{}: key 'logon_types': a Logon names {} message types at most, found {}", user,
                                      fix::SessionConfig::kMaxLogonTypes, types.size()));
    }
    for (const auto& one : types) {
        if (!one.version) continue;
        const bool is_carried = session.config.version == fix::Version::fixt11 &&
                                (*one.version == application_version(session) ||
                                 std::ranges::find(session.further_versions, *one.version, &FurtherVersion::version) !=
                                     session.further_versions.end());
        if (is_carried) continue;
        throw ConfigError(fmt::format("{}: key 'logon_types': the session does not carry {} of '{}'", user,
                                      fix::name(*one.version), one.type));
    }
}

void check_versions(const SessionSettings& session, const std::string& user) {
    if (session.further_versions.empty()) return;
    if (session.config.version != fix::Version::fixt11) {
        throw ConfigError(fmt::format("{}: 'further_versions' needs FIX.5.0 or later: {} supports no other version",
                                      user, fix::begin_string(session.config.version)));
    }
    std::set known{application_version(session)};
    for (const auto& further : session.further_versions) {
        if (known.insert(further.version).second) continue;
        throw ConfigError(
            fmt::format("{}: key 'further_versions': {} {}", user, fix::name(further.version),
                        further.version == application_version(session) ? "is the key 'version'" : "is listed twice"));
    }
}

constexpr std::uint64_t kMinKeepBytes = 4ULL << 20U;
constexpr std::uint64_t kMaxKeepBytes = 64ULL << 30U;

void complete_store(const EngineConfig& config, SessionSettings& session, const std::string& user) {
    auto& store = session.store;
    const auto longest = session.config.max_message_bytes;
    if (store.file.empty() && !config.state.empty()) {
        store.file = store_place(config.state, fix::begin_string(session.config.version), session.config);
    }
    session.memory_bytes = std::max(session.memory_bytes, kMinMessages * longest);
    if (store.bytes < kMinKeepBytes || store.bytes > kMaxKeepBytes) {
        throw ConfigError(fmt::format("{}: keep_bytes expects 4MiB to 64GiB, found {}", user, store.bytes));
    }
    if (!is_in_memory(session) && store.bytes / kMinMessages < longest) {
        throw ConfigError(fmt::format("{}: keep_bytes of {} is too little for max_message_bytes of {}: it needs {}",
                                      user, store.bytes, longest, kMinMessages * longest));
    }
}

void complete_standby(const EngineConfig& config, const SessionSettings& session, const std::string& user) {
    if (session.standby) check(*session.standby, user);
    if (!session.standby && !config.standby) return;
    if (is_template(session)) throw ConfigError(fmt::format("{}: target '*' has no standby", user));
    if (is_in_memory(session)) throw ConfigError(fmt::format("{}: a standby needs a store in a file", user));
}

/// Checks and completes `users` and `certificates`.
void complete_guard(const EngineConfig& config, SessionSettings& session, const AcceptorConfig& acceptor,
                    const std::string& user) {
    if (!session.users.empty() && config.user_file.empty()) {
        throw ConfigError(fmt::format("{}: 'users' needs the key 'user_file' of the engine", user));
    }
    for (const auto& name : session.users) {
        if (!is_user_name(name)) throw ConfigError(fmt::format("{}: key 'users': '{}' is not a user name", user, name));
    }
    if (!session.certificates.empty() && (acceptor.tls.certificate.empty() || !acceptor.tls.verify_peer)) {
        throw ConfigError(
            fmt::format("{}: 'certificates' needs an acceptor with tls_certificate and tls_verify", user));
    }
    for (auto& name : session.certificates) check_key(user, "certificates", [&] { name = certificate_name(name); });
    if (!session.users.empty()) session.user_file = config.user_file;
}

/// Checks the parts of the identity: a Logon has no qualifier, and each id is set once.
void check_identity(const SessionSettings& session, const std::string& user) {
    if (session.hosts.empty() && !session.config.qualifier.empty()) {
        throw ConfigError(
            fmt::format("{}: 'qualifier' needs 'hosts': a Logon has none, so an acceptor could not "
                        "distinguish the sessions",
                        user));
    }
    struct Part {
        const char* key;
        const std::string* value;
        fix::Tag tag;
    };
    for (const auto& part : {Part{"sender_sub_id", &session.config.sender_sub_id, fix::tag::kSenderSubId},
                             {"sender_location_id", &session.config.sender_location_id, fix::tag::kSenderLocationId},
                             {"target_sub_id", &session.config.target_sub_id, fix::tag::kTargetSubId},
                             {"target_location_id", &session.config.target_location_id, fix::tag::kTargetLocationId}}) {
        if (part.value->empty()) continue;
        if (session.config.version < fix::AdminDraft::since(part.tag)) {
            throw ConfigError(fmt::format("{}: '{}' came with FIX.4.1", user, part.key));
        }
        const auto field = std::ranges::find(session.header, part.tag, &FieldSetting::tag);
        if (field == session.header.end()) continue;
        throw ConfigError(
            fmt::format("{}: {}: either '{}' or header field {}", field->where, user, part.key, part.tag));
    }
}

/// Checks a session that waits for its counterparty, and fills in what its acceptor determines.
void complete_acceptor(const EngineConfig& config, SessionSettings& session, const std::string& user) {
    engine::AllowList list;
    for (const auto& range : session.allow) check_key(user, "allow", [&] { list.add(range); });
    if (session.acceptor.empty()) session.acceptor = config.acceptors.front().name;
    const auto acceptor = std::ranges::find(config.acceptors, session.acceptor, &AcceptorConfig::name);
    if (acceptor == config.acceptors.end()) {
        throw ConfigError(fmt::format("{}: acceptor '{}' does not exist", user, session.acceptor));
    }
    complete_guard(config, session, *acceptor, user);
}

void check_initiator(const SessionSettings& session, const std::string& user) {
    if (!session.acceptor.empty()) throw ConfigError(fmt::format("{}: either 'acceptor' or 'hosts'", user));
    if (!session.allow.empty()) throw ConfigError(fmt::format("{}: either 'allow' or 'hosts'", user));
    if (!session.users.empty()) throw ConfigError(fmt::format("{}: either 'users' or 'hosts'", user));
    if (!session.certificates.empty()) throw ConfigError(fmt::format("{}: either 'certificates' or 'hosts'", user));
    if (is_template(session)) throw ConfigError(fmt::format("{}: target '*' needs an acceptor", user));
    for (const auto& host : session.hosts) check_key(user, "hosts", [&] { static_cast<void>(host_of(host)); });
}

void check_logon_fields(const SessionSettings& session, const std::string& user) {
    if (!session.password.file.empty() && !session.password.environment.empty()) {
        throw ConfigError(fmt::format("{}: either 'password_file' or 'password_env'", user));
    }
    for (const auto& field : session.header) {
        if (session.config.version >= fix::AdminDraft::since(field.tag)) continue;
        throw ConfigError(fmt::format("{}: {}: header field {} came with FIX.4.1", field.where, user, field.tag));
    }
    for (const auto& field : session.logon) {
        const bool is_name = field.tag == fix::tag::kUsername && !session.config.username.empty();
        const bool is_password = field.tag == fix::tag::kPassword && !session.password.empty();
        if (!is_name && !is_password) continue;
        throw ConfigError(fmt::format("{}: {}: either '{}' or {} in [session.logon]", field.where, user,
                                      is_name ? "username" : "password_file", field.tag));
    }
}

}  // namespace

void complete_session(const EngineConfig& config, SessionSettings& session) {
    if (session.config.sender_comp_id.empty()) throw ConfigError("[[session]]: key 'sender' is missing");
    if (session.config.target_comp_id.empty()) throw ConfigError("[[session]]: key 'target' is missing");
    const auto user = described(session);
    settings::Errors errors;
    errors.check([&] { check_identity(session, user); });
    errors.check([&] {
        if (session.hosts.empty()) {
            complete_acceptor(config, session, user);
        } else {
            check_initiator(session, user);
        }
    });
    errors.check([&] { service::named(user, [&] { service::check_key_pair(session.tls); }); });
    errors.check([&] { check_way(session, user); });
    errors.check([&] { check_schedule(session, user); });
    errors.check([&] { check_logon_fields(session, user); });
    errors.check([&] { check_signature(session, user); });
    errors.check([&] { check_versions(session, user); });
    errors.check([&] { check_logon_types(session, user); });
    errors.check([&] { complete_store(config, session, user); });
    errors.check([&] { complete_standby(config, session, user); });
    if (session.thread && *session.thread >= config.threads) {
        errors.add(
            fmt::format("{}: key 'thread' is {}, and there are {} threads", user, *session.thread, config.threads));
    }
    errors.throw_if_any();
}

}  // namespace millpond::fixd
