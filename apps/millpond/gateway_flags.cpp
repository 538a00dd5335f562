#include "apps/millpond/gateway_flags.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "apps/millpond/command.hpp"
#include "gateway/config/read.hpp"
#include "gateway/config/schema.hpp"
#include "gateway/config/value.hpp"

namespace millpond::app {

template <class Section>
void GatewayFlags::add_table(CLI::App& options, const std::string& help) {
    const std::string name{gateway::Schema<Section>::name()};
    auto text = help + "; keys:";
    for (const auto& key : gateway::Schema<Section>::keys()) {
        text += fmt::format("\n  {:<16} {}: {}", key.name, key.shape, key.help);
    }
    const auto keep = [name, tables = tables_](const std::vector<std::string>& written) {
        for (const auto& one : written) tables->emplace_back(name, one);
    };
    options.add_option_function<std::vector<std::string>>("--" + name, keep, text)
        ->type_name("KEY=VALUE,...")
        ->allow_extra_args(false);
}

void GatewayFlags::add_to(CLI::App& options) {
    options.add_option("--config", file_, "configuration in TOML; flags count over it")->type_name("FILE");
    for (const auto& key : gateway::Schema<gateway::Config>::keys()) {
        std::string name{key.name};
        std::string flag = "--" + name;
        std::replace(flag.begin(), flag.end(), '_', '-');
        if (key.shape.empty()) {
            options.add_flag_callback(
                flag, [name, keys = keys_] { keys->emplace_back(name, "true"); }, std::string{key.help});
        } else {
            options
                .add_option_function<std::string>(
                    flag, [name, keys = keys_](const std::string& text) { keys->emplace_back(name, text); },
                    std::string{key.help})
                ->type_name(std::string{key.shape});
        }
    }
    add_table<gateway::FeedConfig>(options, "a feed, as [[feed]] in the file");
    add_table<gateway::RingConfig>(options, "a ring with its receive thread, as [[ring]]");
    add_table<gateway::TcpConfig>(options, "JSON lines to TCP clients, as [[tcp]]");
    add_table<gateway::CsvConfig>(options, "rows in a file, as [[csv]]");
    add_table<gateway::UdpConfig>(options, "quotes datagrams to other gateways, as [[udp]]");
    add_table<gateway::JournalConfig>(options, "every event in segment files, as [[journal]]");
}

gateway::Config GatewayFlags::read() const {
    gateway::Config config;
    if (!file_.empty()) gateway::read_file(file_, config);
    try {
        for (const auto& [key, text] : *keys_) gateway::read_flag(key, text, config);
        for (const auto& [table, text] : *tables_) gateway::read_table_flag(table, text, config);
    } catch (const gateway::ConfigError& error) {
        throw UsageError(error.what());
    }
    return config;
}

}  // namespace millpond::app
