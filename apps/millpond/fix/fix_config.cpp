#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include <millpond/engine/tls.hpp>

#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/fix/fix_commands.hpp"
#include "fixd/accept/authenticator.hpp"
#include "fixd/engine_config.hpp"
#include "fixd/sessions/session_build.hpp"
#include "service/settings/value.hpp"
#include "service/tls.hpp"
#include "service/token.hpp"

namespace millpond::app {
namespace {

/// Reads what the sessions and acceptors name: users, dictionaries, passwords and TLS files.
void check_files(const std::string& file, const fixd::EngineConfig& config) {
    for (const auto& text : fixd::check_users(config)) to_stderr("{}: warning: {}\n", file, text);
    fixd::Dictionaries dictionaries{config.dictionaries};
    for (const auto& session : config.sessions) {
        fixd::check_files(session, fixd::session_options(session, dictionaries));
    }
    if (config.standby) {
        const auto standby = fixd::replica_options(*config.standby);
        engine::TlsContext{engine::TlsRole::server, standby.tls.value()};
    }
    for (const auto& web : config.webs) {
        static_cast<void>(service::Token{web.token});
        static_cast<void>(service::TlsContext{web.tls});
    }
    for (const auto& acceptor : config.acceptors) {
        if (acceptor.tls.certificate.empty()) continue;
        engine::TlsContext{engine::TlsRole::server, fixd::tls_options(acceptor.tls)};
    }
}

std::string check(const std::string& file, bool files) {
    fixd::EngineConfig config;
    fixd::read_engine_file(file, config);
    try {
        fixd::complete(config);
        if (files) check_files(file, config);
    } catch (const std::exception& error) {
        throw settings::ConfigError(fmt::format("{}: {}", file, error.what()));
    }
    const auto initiators =
        std::ranges::count_if(config.sessions, [](const auto& session) { return !session.hosts.empty(); });
    return fmt::format("{}: good: acceptors {}, sessions {} ({} connect)\n", file, config.acceptors.size(),
                       config.sessions.size(), initiators);
}

}  // namespace

Command fix_config_command(Arguments& fix) {
    auto* config = fix.add_subcommand("config", "Check a configuration of acceptors and sessions.");
    config->require_subcommand(1);
    auto* command =
        config->add_subcommand("check", "Check a configuration, with the dictionaries and secrets that it names.");
    auto file = std::make_shared<std::string>();
    auto no_files = std::make_shared<bool>(false);
    command->add_option("FILE", *file, "configuration in TOML")->required();
    command->add_flag("--no-secrets", *no_files,
                      "Do not read the dictionaries, passwords and certificates that FILE names.");
    command->footer("Example:\n  millpond fix config check /etc/millpond/fix.toml");
    return {config, [file, no_files] { return fmt::print("{}", check(*file, !*no_files)), 0; }};
}

}  // namespace millpond::app
