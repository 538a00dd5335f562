#pragma once

#include <string>
#include <string_view>

#include "gateway/settings/config.hpp"
#include "gateway/settings/read.hpp"
#include "gateway/settings/value.hpp"

namespace millpond::gateway {

/// Reads and completes a configuration from the text of a file. Throws ConfigError.
inline Config from_toml(std::string_view text) {
    Config config;
    read_toml(text, "gw.toml", config);
    complete(config);
    return config;
}

/// Error message for the configuration.
inline std::string error_of(std::string_view text) {
    try {
        from_toml(text);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace millpond::gateway
