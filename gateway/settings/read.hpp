#pragma once

#include <string>
#include <string_view>

#include "gateway/settings/config.hpp"

namespace millpond::gateway {

/// Reads a TOML file into `config`, overriding its values; tables are appended. Throws ConfigError with file and line
/// for bad syntax, unknown keys, wrong types and values out of range.
void read_file(const std::string& path, Config& config);

/// Reads TOML text into `config`. name: file name for messages.
void read_toml(std::string_view text, std::string_view name, Config& config);

/// Reads a top-level key from the command line: `--log-level debug` is ("log_level", "debug").
void read_flag(std::string_view key, const std::string& text, Config& config);

/// Reads a table from the command line: `--feed listen=127.0.0.1:9000,format=bbo28` is ("feed", "listen=..."). Values
/// that contain a comma are possible only in the file. Throws ConfigError with the flag's name.
void read_table_flag(std::string_view section, std::string_view text, Config& config);

}  // namespace millpond::gateway
