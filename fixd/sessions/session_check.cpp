#include "fixd/sessions/session_check.hpp"

#include <date/tz.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include <millpond/engine/allow_list.hpp>
#include <millpond/fix/admin_draft.hpp>

#include "fixd/accept/certificate_name.hpp"
#include "fixd/accept/user_file.hpp"
#include "fixd/check_key.hpp"
#include "fixd/sessions/host_text.hpp"
#include "fixd/sessions/session_build.hpp"
#include "fixd/sessions/store_place.hpp"
#include "fixd/sessions/weekdays.hpp"

namespace millpond::fixd {
namespace {

using settings::ConfigError;

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
    try {
        date::locate_zone(session.timezone);
    } catch (const std::runtime_error&) {
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

/// The fields that the signature needs must be in the Logon.
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
        const bool has_key =
            tag == fix::tag::kUsername
                ? !session.username.empty()
                : tag == fix::tag::kPassword && !(session.password_file.empty() && session.password_env.empty());
        if (has_key || std::ranges::find(session.logon, tag, &FieldSetting::tag) != session.logon.end()) continue;
        throw ConfigError(fmt::format("{}: 'sign' needs field {} in [session.logon]", user, tag));
    }
}

void check_logon_types(const SessionSettings& session, const std::string& user) {
    const auto& types = session.logon_types;
    if (types.empty()) return;
    if (session_version(session.version) < fix::Version::fix42) {
        throw ConfigError(fmt::format("{}: 'logon_types' came with FIX.4.2", user));
    }
    if (types.size() > fix::SessionConfig::kMostLogonTypes) {
        throw ConfigError(fmt::format("{}: key 'logon_types': a Logon names {} message types at most, found {}", user,
                                      fix::SessionConfig::kMostLogonTypes, types.size()));
    }
    for (const auto& one : types) {
        if (!one.version) continue;
        const bool is_carried = session_version(session.version) == fix::Version::fixt11 &&
                                (*one.version == session.version ||
                                 std::ranges::find(session.further_versions, *one.version, &FurtherVersion::version) !=
                                     session.further_versions.end());
        if (is_carried) continue;
        throw ConfigError(fmt::format("{}: key 'logon_types': the session does not carry {} of '{}'", user,
                                      fix::name(application_version(*one.version)), one.type));
    }
}

void check_versions(const SessionSettings& session, const std::string& user) {
    if (session.further_versions.empty()) return;
    if (session_version(session.version) != fix::Version::fixt11) {
        throw ConfigError(fmt::format("{}: 'further_versions' needs FIX.5.0 or later: {} supports no other version",
                                      user, fix::begin_string(session_version(session.version))));
    }
    std::set<FixVersion> known{session.version};
    for (const auto& further : session.further_versions) {
        if (known.insert(further.version).second) continue;
        throw ConfigError(fmt::format("{}: key 'further_versions': {} {}", user,
                                      fix::name(application_version(further.version)),
                                      further.version == session.version ? "is the key 'version'" : "is listed twice"));
    }
}

constexpr std::uint64_t kLeastKeepBytes = 4ULL << 20U;
constexpr std::uint64_t kMostKeepBytes = 64ULL << 30U;

void complete_store(const EngineConfig& config, SessionSettings& session, const std::string& user) {
    if (session.store.empty() && !config.state.empty()) {
        session.store = store_place(config.state, fix::begin_string(session_version(session.version)), session.sender,
                                    session.target);
    }
    if (session.keep_bytes < kLeastKeepBytes || session.keep_bytes > kMostKeepBytes) {
        throw ConfigError(fmt::format("{}: keep_bytes expects 4MiB to 64GiB, found {}", user, session.keep_bytes));
    }
    // A message takes at most a quarter of a segment, and there are four segments or more.
    if (!is_in_memory(session) && session.keep_bytes / 16 < session.max_message_bytes) {
        throw ConfigError(fmt::format("{}: keep_bytes of {} is too little for max_message_bytes of {}: it needs {}",
                                      user, session.keep_bytes, session.max_message_bytes,
                                      16 * session.max_message_bytes));
    }
}

void complete_standby(const EngineConfig& config, const SessionSettings& session, const std::string& user) {
    if (session.standby) check(*session.standby, user);
    if (!session.standby && !config.standby) return;
    if (is_template(session)) throw ConfigError(fmt::format("{}: target '*' has no standby", user));
    if (is_in_memory(session)) throw ConfigError(fmt::format("{}: a standby needs a store in a file", user));
}

/// Who may log on at an acceptor.
void complete_guard(const EngineConfig& config, SessionSettings& session, const AcceptorConfig& acceptor,
                    const std::string& user) {
    if (!session.users.empty() && config.user_file.empty()) {
        throw ConfigError(fmt::format("{}: 'users' needs the key 'user_file' of the engine", user));
    }
    for (const auto& name : session.users) {
        if (!is_user_name(name)) throw ConfigError(fmt::format("{}: key 'users': '{}' is not a user name", user, name));
    }
    if (!session.certificates.empty() && (acceptor.tls.certificate.empty() || !acceptor.tls.verify)) {
        throw ConfigError(
            fmt::format("{}: 'certificates' needs an acceptor with tls_certificate and tls_verify", user));
    }
    for (auto& name : session.certificates) check_key(user, "certificates", [&] { name = certificate_name(name); });
    if (!session.users.empty()) session.user_file = config.user_file;
}

}  // namespace

void complete_session(const EngineConfig& config, SessionSettings& session) {
    if (session.sender.empty()) throw ConfigError("[[session]]: key 'sender' is missing");
    if (session.target.empty()) throw ConfigError("[[session]]: key 'target' is missing");
    const auto user = fmt::format("[[session]] '{}' to '{}'", session.sender, session.target);
    if (session.hosts.empty()) {
        engine::AllowList list;
        for (const auto& range : session.allow) check_key(user, "allow", [&] { list.add(range); });
        if (session.acceptor.empty()) session.acceptor = config.acceptors.front().name;
        const auto acceptor = std::ranges::find(config.acceptors, session.acceptor, &AcceptorConfig::name);
        if (acceptor == config.acceptors.end()) {
            throw ConfigError(fmt::format("{}: acceptor '{}' does not exist", user, session.acceptor));
        }
        complete_guard(config, session, *acceptor, user);
    } else {
        if (!session.acceptor.empty()) throw ConfigError(fmt::format("{}: either 'acceptor' or 'hosts'", user));
        if (!session.allow.empty()) throw ConfigError(fmt::format("{}: either 'allow' or 'hosts'", user));
        if (!session.users.empty()) throw ConfigError(fmt::format("{}: either 'users' or 'hosts'", user));
        if (!session.certificates.empty()) throw ConfigError(fmt::format("{}: either 'certificates' or 'hosts'", user));
        if (is_template(session)) throw ConfigError(fmt::format("{}: target '*' needs an acceptor", user));
        for (const auto& host : session.hosts) check_key(user, "hosts", [&] { static_cast<void>(host_of(host)); });
    }
    check_tls(session.tls, user);
    check_way(session, user);
    check_schedule(session, user);
    if (!session.password_file.empty() && !session.password_env.empty()) {
        throw ConfigError(fmt::format("{}: either 'password_file' or 'password_env'", user));
    }
    for (const auto& field : session.header) {
        if (session_version(session.version) >= fix::AdminDraft::since(field.tag)) continue;
        throw ConfigError(fmt::format("{}: {}: header field {} came with FIX.4.1", field.where, user, field.tag));
    }
    for (const auto& field : session.logon) {
        const bool is_name = field.tag == fix::tag::kUsername && !session.username.empty();
        const bool is_password =
            field.tag == fix::tag::kPassword && (!session.password_file.empty() || !session.password_env.empty());
        if (!is_name && !is_password) continue;
        throw ConfigError(fmt::format("{}: {}: either '{}' or {} in [session.logon]", field.where, user,
                                      is_name ? "username" : "password_file", field.tag));
    }
    check_signature(session, user);
    check_versions(session, user);
    check_logon_types(session, user);
    complete_store(config, session, user);
    complete_standby(config, session, user);
    if (session.thread && *session.thread >= config.threads) {
        throw ConfigError(
            fmt::format("{}: key 'thread' is {}, and there are {} threads", user, *session.thread, config.threads));
    }
}

}  // namespace millpond::fixd
