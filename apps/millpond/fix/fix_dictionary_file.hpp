#pragma once

#include <string>

#include <millpond/fix/dictionary.hpp>

#include "apps/millpond/command_line/to_stderr.hpp"
#include "fixd/settings/dictionaries.hpp"

namespace millpond::app {

/// Reads a dictionary that a command names; its warnings go to standard error.
[[nodiscard]] inline fix::Dictionary dictionary_in(const std::string& path) {
    auto dictionary = fixd::read_dictionary_file(path);
    for (const auto& text : dictionary.warnings()) to_stderr("{}: warning: {}\n", path, text);
    return dictionary;
}

}  // namespace millpond::app
