#pragma once

#include <span>
#include <string>

#include "apps/millpond/command_line/arguments.hpp"

namespace millpond::app {

/// Returns the subcommand that the leading arguments name.
[[nodiscard]] const Arguments& chosen(const Arguments& program, std::span<char* const> arguments);

/// Returns the error message for an invalid command line: the unknown command or option and the known one that it
/// resembles, or else the parser's message. arguments: without the program's name.
[[nodiscard]] std::string misuse(const Arguments& program, std::span<char* const> arguments, const ParseError& error);

}  // namespace millpond::app
