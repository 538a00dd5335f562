#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>

namespace millpond::app {

/// For CLI::Option::check: decimal digits only, from `lowest` to `highest`. CLI11 alone reads -1 as 2^64 - 1, a number
/// beyond 2^64 as that, and 010 as 8.
[[nodiscard]] CLI::Validator whole_number(std::uint64_t lowest = 0, std::uint64_t highest = UINT64_MAX);

}  // namespace millpond::app
