#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "apps/millpond/command.hpp"
#include "apps/millpond/gateway/config_check.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/settings/read.hpp"
#include "gateway/settings/value.hpp"

namespace millpond::app {

std::string check_config(const std::string& file, bool secrets, gateway::Config config) {
    gateway::read_file(file, config);
    gateway::complete(config);
    try {
        gateway::check_runnable(config);
        if (secrets) gateway::check_secrets(config);
    } catch (const gateway::ConfigError& error) {
        const std::string_view message{error.what()};
        throw gateway::ConfigError(message.starts_with(file + ":") ? std::string{message}
                                                                   : fmt::format("{}: {}", file, message));
    }
    std::string sinks;
    for (const auto* kind : config.sink_kinds) {
        const auto is_of_kind = [kind](const auto& sink) { return &sink.kind() == kind; };
        sinks += fmt::format(", {} {}", kind->name(), std::ranges::count_if(config.sinks, is_of_kind));
    }
    return fmt::format("{}: good: rings {}, feeds {}; sinks: {}\n", file, config.rings.size(), config.feeds.size(),
                       std::string_view{sinks}.substr(2));
}

Command config_command(Arguments& program) {
    auto* config = program.add_subcommand("config", "Check a gateway's configuration.");
    config->require_subcommand(1);
    auto* options =
        config->add_subcommand("check", "Check a configuration, with the secrets and certificates that it names.");
    options->footer("Example:\n  millpond config check /etc/millpond/gateway.toml");
    auto file = std::make_shared<std::string>();
    auto no_secrets = std::make_shared<bool>(false);
    options->add_option("FILE", *file, "configuration in TOML")->required();
    options->add_flag("--no-secrets", *no_secrets, "Do not read the secrets and certificates that FILE names.");
    return {config, [file, no_secrets] { return fmt::print("{}", check_config(*file, !*no_secrets)), 0; }};
}

}  // namespace millpond::app
