#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/fix/fix_commands.hpp"
#include "fixd/health/exposures.hpp"
#include "fixd/settings/engine_config.hpp"
#include "fixd/settings/start_check.hpp"
#include "service/settings/errors.hpp"

namespace millpond::app {
namespace {

std::string check(const std::string& file, bool machine, bool strict) {
    fixd::EngineConfig config;
    settings::Errors errors;
    errors.check([&] { fixd::read_engine_file(file, config); });
    errors.check([&] { fixd::complete(config); });
    if (machine) {
        for (const auto& text : fixd::check_start(config, errors)) to_stderr("{}: warning: {}\n", file, text);
    }
    for (const auto& exposed : fixd::exposures(config)) {
        const auto text = fmt::format("{}: {}", exposed.of, exposed.text);
        if (strict || config.strict) {
            errors.add(text);
        } else {
            to_stderr("{}: warning: {}\n", file, text);
        }
    }
    errors.begin_with(file);
    errors.throw_if_any();
    const auto initiators =
        std::ranges::count_if(config.sessions, [](const auto& session) { return !session.hosts.empty(); });
    return fmt::format("{}: good: acceptors {}, sessions {} ({} connect)\n", file, config.acceptors.size(),
                       config.sessions.size(), initiators);
}

}  // namespace

Command fix_config_command(Arguments& fix) {
    auto* config = fix.add_subcommand("config", "Check a configuration of acceptors and sessions.");
    config->require_subcommand(1);
    auto* command = config->add_subcommand("check",
                                           "Check a configuration, and that this machine has what a start needs: "
                                           "dictionaries, secrets, certificates, folders. Lists all errors.");
    auto file = std::make_shared<std::string>();
    auto no_files = std::make_shared<bool>(false);
    command->add_option("FILE", *file, "configuration in TOML")->required();
    command->add_flag("--no-secrets", *no_files,
                      "Check FILE alone: no dictionaries, passwords, certificates or folders of this machine.");
    auto strict = std::make_shared<bool>(false);
    command->add_flag("--strict", *strict, "Make warnings errors.");
    command->footer("Example:\n  millpond fix config check /etc/millpond/fix.toml");
    return {config, [file, no_files, strict] { return fmt::print("{}", check(*file, !*no_files, *strict)), 0; }};
}

}  // namespace millpond::app
