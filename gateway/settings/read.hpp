#pragma once

#include <string>
#include <string_view>

#include "gateway/settings/config.hpp"

namespace millpond::gateway {

/// Reads a TOML file into `config`, overriding its values; tables are appended. Throws ConfigError with file and line
/// for bad syntax, unknown keys, wrong types and values out of range.
void read_file(const std::string& path, Config& config);

/// The same for text; `name` stands for the file in messages.
void read_toml(std::string_view text, std::string_view name, Config& config);

/// One top-level key from the command line: `--log-level debug` is ("log_level", "debug").
void read_flag(std::string_view key, const std::string& text, Config& config);

/// One table from the command line: `--feed listen=127.0.0.1:9000,format=bbo28` is ("feed", "listen=...").
/// Values that hold a comma are for the file. Throws ConfigError with the flag's name.
void read_table_flag(std::string_view section, std::string_view text, Config& config);

}  // namespace millpond::gateway
