#include "apps/millpond/fix_flags.hpp"

#include "apps/millpond/command.hpp"
#include "config/toml.hpp"

namespace millpond::app {

void FixFlags::add_to(CLI::App& options) {
    options.add_option("--config", file_, "configuration in TOML; flags count over it")->type_name("FILE");
    add_key_flags<EngineConfig>(options, keys_);
    add_table_flag<AcceptorConfig>(options, tables_, "where counterparties come in, as [[acceptor]] in the file");
    add_table_flag<SessionSettings>(options, tables_, "a session, as [[session]]");
}

EngineConfig FixFlags::read() const {
    EngineConfig config;
    if (!file_.empty()) read_engine_file(file_, config);
    try {
        for (const auto& [key, text] : *keys_) config::read_flag(key, text, config);
        for (const auto& [table, text] : *tables_) read_engine_table(table, text, config);
    } catch (const config::ConfigError& error) {
        throw UsageError(error.what());
    }
    return config;
}

}  // namespace millpond::app
