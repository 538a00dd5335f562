#pragma once

#include <span>
#include <string>

#include "apps/millpond/command_line/arguments.hpp"

namespace millpond::app {

/// The subcommand that the arguments lead to: as many of their words as name one.
[[nodiscard]] const Arguments& chosen(const Arguments& program, std::span<char* const> arguments);

/// One sentence on what is wrong with the command line: the unknown command or option and the known one it resembles,
/// else what the parser says. arguments: without the program's name.
[[nodiscard]] std::string misuse(const Arguments& program, std::span<char* const> arguments, const ParseError& error);

}  // namespace millpond::app
