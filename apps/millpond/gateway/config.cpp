#include <fmt/format.h>
#include <memory>
#include <string>

#include "apps/millpond/command.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/settings/read.hpp"
#include "gateway/settings/value.hpp"

namespace millpond::app {
namespace {

int check(const std::string& file) {
    gateway::Config config;
    gateway::read_file(file, config);
    gateway::complete(config);
    if (config.feeds.empty()) throw gateway::ConfigError(file + ": no [[feed]]: a gateway needs one");
    fmt::print(
        "{}: good: rings {}, feeds {}, tcp sinks {}, csv sinks {}, udp sinks {}, journals {}, mqtt sinks {}, "
        "kafka sinks {}\n",
        file, config.rings.size(), config.feeds.size(), config.tcp.size(), config.csv.size(), config.udp.size(),
        config.journals.size(), config.mqtt.size(), config.kafka.size());
    return 0;
}

}  // namespace

Command config_command(Arguments& program) {
    auto* config = program.add_subcommand("config", "Look at a gateway's configuration.");
    config->require_subcommand(1);
    auto* options =
        config->add_subcommand("check", "Say whether FILE is a good configuration, or what is wrong where.");
    options->footer("Example:\n  millpond config check /etc/millpond/gateway.toml");
    auto file = std::make_shared<std::string>();
    options->add_option("FILE", *file, "configuration in TOML")->required();
    return {config, [file] { return check(*file); }};
}

}  // namespace millpond::app
