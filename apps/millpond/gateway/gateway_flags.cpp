#include "apps/millpond/gateway/gateway_flags.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "apps/millpond/command_line/arguments.hpp"
#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/section_flags.hpp"
#include "gateway/settings/read.hpp"
#include "gateway/settings/schema.hpp"
#include "gateway/settings/value.hpp"
#include "service/file_hashes.hpp"

namespace millpond::app {

void GatewayFlags::add_to(Arguments& options) {
    options.add_option("--config", file_, "configuration in TOML; flags override it")->nonempty()->type_name("FILE");
    add_key_flags<gateway::Config>(options, keys_);
    add_table_flag(options, tables_, std::string{gateway::kFeedSection}, "a feed, as [[feed]] in the file",
                   gateway::feed_keys(feed_formats_));
    add_table_flag<gateway::RingConfig>(options, tables_, "a ring with its receive thread, as [[ring]]");
    add_table_flag<gateway::CompositeConfig>(options, tables_, "the best prices of several feeds, as [[composite]]");
    add_table_flag<gateway::SymbolsConfig>(options, tables_, "names of symbols for composites, as [symbols]");
    for (const auto* kind : sink_kinds_) {
        add_table_flag(options, tables_, std::string{kind->name()},
                       fmt::format("{}, as [[{}]]", kind->summary(), kind->name()), kind->keys(), "sink");
    }
}

gateway::Config GatewayFlags::read(gateway::Config config, settings::Errors& errors) const {
    config.feed_formats = feed_formats_;
    config.sink_kinds = sink_kinds_;
    if (!file_.empty()) {
        config.file = file_;
        config.file_hash = service::FileHashes{}.of({&config.file, 1});  // before the file is read: later changes count
        errors.check([&] { gateway::read_file(file_, config); });
    }
    try {
        for (const auto& [key, text] : *keys_) gateway::read_flag(key, text, config);
        for (const auto& [table, text] : *tables_) gateway::read_table_flag(table, text, config);
    } catch (const gateway::ConfigError& error) {
        throw UsageError(error.what());
    }
    return config;
}

}  // namespace millpond::app
