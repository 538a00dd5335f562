#pragma once

#include <cstdint>

#include "apps/millpond/command_line/arguments.hpp"

/// Checks of numbers on the command line. The parser alone reads -1 as the largest unsigned number, and its ranges
/// print bounds of 300 digits.
namespace millpond::app {

/// Decimal digits only, from `min` to `max`. CLI11 alone also reads a number beyond 2^64 as 2^64 - 1, and 010
/// as 8.
[[nodiscard]] Check whole_number(std::uint64_t min = 0, std::uint64_t max = UINT64_MAX);

/// A power of two in decimal digits, from `min` to `max`.
[[nodiscard]] Check power_of_two(std::uint64_t min, std::uint64_t max);

/// A finite number between both bounds.
[[nodiscard]] Check number_between(double min, double max);

/// Adds whole_number to every option of the program and its subcommands whose value is unsigned.
void check_unsigned_options(const Arguments& program);

}  // namespace millpond::app
