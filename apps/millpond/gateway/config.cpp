#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/gateway/config_check.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/settings/read.hpp"
#include "service/settings/errors.hpp"

namespace millpond::app {

std::string check_config(const std::string& file, CheckOptions options, gateway::Config config) {
    settings::Errors errors;
    try {
        gateway::read_file(file, config);
    } catch (const settings::ConfigErrors& keys) {  // errors in a file that could be parsed
        for (const auto& text : keys.all()) errors.add(text);
    }
    errors.check([&] { gateway::complete(config); });
    if (options.machine) errors.check([&] { gateway::check_start(config); });
    errors.check([&] { gateway::check_runnable(config); });
    const auto warnings = gateway::warnings(config);
    if (options.strict || config.strict) {
        for (const auto& text : warnings) errors.add(text);
    }
    errors.begin_with(file);
    errors.throw_if_any();
    for (const auto& text : warnings) {
        to_stderr("{}{}\n", text.starts_with(file + ":") ? "warning: " : "warning: " + file + ": ", text);
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
    auto* options = config->add_subcommand("check",
                                           "Check a configuration, and that this machine has what a start needs: "
                                           "secrets, certificates, folders, addresses.");
    options->footer("Example:\n  millpond config check /etc/millpond/gateway.toml");
    auto file = std::make_shared<std::string>();
    auto no_secrets = std::make_shared<bool>(false);
    auto strict = std::make_shared<bool>(false);
    options->add_option("FILE", *file, "configuration in TOML")->required();
    options->add_flag("--no-secrets", *no_secrets,
                      "Check FILE alone: no secrets, certificates, folders, interfaces or addresses of this machine.");
    options->add_flag("--strict", *strict, "Make warnings errors.");
    return {config, [file, no_secrets, strict] {
                return fmt::print("{}", check_config(*file, {.machine = !*no_secrets, .strict = *strict})), 0;
            }};
}

}  // namespace millpond::app
