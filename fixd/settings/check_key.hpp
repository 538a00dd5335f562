#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

#include "service/config_error.hpp"

namespace millpond::fixd {

/// Runs `check`. Its std::invalid_argument becomes a ConfigError that names the section, which is `user`, and the key.
template <class Check>
void check_key(std::string_view user, std::string_view key, Check&& check) {
    try {
        check();
    } catch (const std::invalid_argument& error) {
        throw service::ConfigError(fmt::format("{}: key '{}': {}", user, key, error.what()));
    }
}

}  // namespace millpond::fixd
