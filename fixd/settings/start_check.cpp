#include "fixd/settings/start_check.hpp"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include <millpond/tls/context.hpp>

#include "fixd/settings/dictionaries.hpp"
#include "fixd/settings/session_build.hpp"
#include "fixd/settings/user_file.hpp"
#include "service/config_error.hpp"
#include "service/listening.hpp"
#include "service/tls.hpp"
#include "service/token.hpp"
#include "service/writable_folder.hpp"

namespace millpond::fixd {
namespace {

namespace fs = std::filesystem;
using service::ConfigError;
using service::named;
using settings::Errors;

void check_folder(const fs::path& folder, const std::string& user) {
    named(user, [&] { service::need_writable_folder(folder); });
}

/// Checks a file that is created if it is missing.
void check_file(const fs::path& path, const std::string& user) {
    std::error_code none;
    if (fs::is_directory(path, none)) throw ConfigError(fmt::format("{}: '{}' is a folder", user, path.string()));
    check_folder(path.parent_path(), user);
}

void check_session(const SessionSettings& session, Dictionaries& dictionaries, Errors& errors) {
    if (session.origin.is_bad) return;
    errors.check([&] { check_files(session, session_options(session, dictionaries)); });
    if (is_in_memory(session)) return;
    errors.check([&] {
        const auto user = described(session) + ": store";
        if (is_template(session)) {
            check_folder(session.store.file, user);
        } else {
            check_file(session.store.file, user);
        }
    });
}

void check_standby(const StandbyConfig& standby, Errors& errors) {
    const auto check = [&](const auto& work) { errors.check([&] { named("[standby]", work); }); };
    check([&] { service::check_listen_host(standby.listen); });
    check([&] { static_cast<void>(service::Token{standby.token}); });
    check([&] { tls::Context{tls::Role::server, standby.tls}; });
}

}  // namespace

std::vector<std::string> check_users(const EngineConfig& config) {
    std::vector<std::string> unknown;
    if (config.user_file.empty()) return unknown;
    const auto known = UserFile{config.user_file}.check();
    for (const auto& session : config.sessions) {
        for (const auto& user : session.users) {
            if (known.contains(user)) continue;
            unknown.push_back(fmt::format("session {}: user '{}' cannot log on: user file '{}' has no line for it",
                                          session_name(session), user, config.user_file));
        }
    }
    return unknown;
}

std::vector<std::string> check_start(const EngineConfig& config, Errors& errors) {
    std::vector<std::string> warnings;
    errors.check([&] { warnings = check_users(config); });
    Dictionaries dictionaries{config.dictionaries};
    for (const auto& session : config.sessions) check_session(session, dictionaries, errors);
    warnings.insert(warnings.end(), dictionaries.warnings().begin(), dictionaries.warnings().end());
    if (!config.state.empty()) errors.check([&] { check_folder(config.state, "state"); });
    if (!config.raw_log.file.empty()) errors.check([&] { check_file(config.raw_log.file, "raw_log"); });
    if (!config.admin.empty()) {
        errors.check([&] { check_folder(fs::path{config.admin}.parent_path(), "admin"); });
    }
    errors.check([&] { named("admin_token", [&] { static_cast<void>(service::Token{config.admin_token}); }); });
    if (!config.metrics.empty()) {
        errors.check([&] { named("metrics", [&] { service::check_listen_host(config.metrics); }); });
    }
    if (config.standby && !config.standby->is_bad) check_standby(*config.standby, errors);
    for (const auto& web : config.webs) {
        errors.check([&] { named("[[web]]", [&] { service::check_listen_host(web.listen); }); });
        errors.check([&] { named("[[web]]", [&] { static_cast<void>(service::Token{web.token}); }); });
        errors.check([&] { named("[[web]]", [&] { static_cast<void>(service::server_tls(web.tls)); }); });
    }
    for (const auto& acceptor : config.acceptors) {
        const auto user = fmt::format("[[acceptor]] '{}'", acceptor.name);
        errors.check([&] { named(user, [&] { service::check_listen_host(acceptor.listen); }); });
        if (acceptor.tls.certificate.empty()) continue;
        errors.check([&] { named(user, [&] { tls::Context{tls::Role::server, acceptor.tls}; }); });
    }
    return warnings;
}

}  // namespace millpond::fixd
