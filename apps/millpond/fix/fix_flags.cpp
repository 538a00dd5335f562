#include "apps/millpond/fix/fix_flags.hpp"

#include <string>

#include "apps/millpond/command_line/arguments.hpp"
#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/state_folder.hpp"
#include "service/config_error.hpp"
#include "service/settings/toml.hpp"

namespace millpond::app {
void FixFlags::add_to(Arguments& options) {
    options.add_option("--config", file_, "configuration in TOML; flags override it")->nonempty()->type_name("FILE");
    add_key_flags<fixd::EngineConfig>(options, keys_);
    add_table_flag<fixd::AcceptorConfig>(options, tables_,
                                         "an address for counterparties, as [[acceptor]] in the file");
    add_table_flag<fixd::SessionSettings>(options, tables_, "a session, as [[session]]");
    add_table_flag<fixd::DropCopyConfig>(options, tables_, "messages to copy to a session, as [[drop_copy]]");
    add_table_flag<fixd::WebConfig>(options, tables_, "the web page, as [[web]]");
    add_table_flag(options, tables_, std::string{fixd::kStandbyTable},
                   "run as the standby of another engine, as [standby]", fixd::standby_config_texts());
}

fixd::EngineConfig FixFlags::read(settings::Errors& errors) const {
    fixd::EngineConfig config;
    if (!file_.empty()) errors.check([&] { fixd::read_engine_file(file_, config); });
    try {
        for (const auto& [key, text] : *keys_) settings::read_flag(key, text, config);
        for (const auto& [table, text] : *tables_) fixd::read_engine_table(table, text, config);
    } catch (const service::ConfigError& error) {
        throw UsageError(error.what());
    }
    if (config.state.empty()) config.state = usual_state_folder(!file_.empty());
    return config;
}

}  // namespace millpond::app
