#pragma once

#include <cstdint>

#include "apps/millpond/command_line/arguments.hpp"

/// Checks of numbers on the command line. The parser alone takes -1 for the largest unsigned number, and its own ranges
/// print bounds of 300 digits.
namespace millpond::app {

/// Decimal digits only, from `lowest` to `highest`. CLI11 alone also reads a number beyond 2^64 as 2^64 - 1, and 010
/// as 8.
[[nodiscard]] Check whole_number(std::uint64_t lowest = 0, std::uint64_t highest = UINT64_MAX);

/// The same of powers of two.
[[nodiscard]] Check power_of_two(std::uint64_t lowest, std::uint64_t highest);

/// A finite number between both bounds.
[[nodiscard]] Check number_between(double least, double most);

/// Adds whole_number to every option of the program and its subcommands whose value is unsigned.
void check_unsigned_options(const Arguments& program);

}  // namespace millpond::app
