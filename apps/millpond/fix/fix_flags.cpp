#include "apps/millpond/fix/fix_flags.hpp"

#include "apps/millpond/arguments.hpp"
#include "apps/millpond/command.hpp"
#include "service/settings/toml.hpp"

namespace millpond::app {

void FixFlags::add_to(Arguments& options) {
    options.add_option("--config", file_, "configuration in TOML; flags override it")->type_name("FILE");
    add_key_flags<fixd::EngineConfig>(options, keys_);
    add_table_flag<fixd::AcceptorConfig>(options, tables_,
                                         "an address for counterparties, as [[acceptor]] in the file");
    add_table_flag<fixd::SessionSettings>(options, tables_, "a session, as [[session]]");
}

fixd::EngineConfig FixFlags::read() const {
    fixd::EngineConfig config;
    if (!file_.empty()) fixd::read_engine_file(file_, config);
    try {
        for (const auto& [key, text] : *keys_) settings::read_flag(key, text, config);
        for (const auto& [table, text] : *tables_) fixd::read_engine_table(table, text, config);
    } catch (const settings::ConfigError& error) {
        throw UsageError(error.what());
    }
    return config;
}

}  // namespace millpond::app
