#pragma once

#include <span>

#include "bench/fix/input.hpp"
#include "bench/rivals/quickfix_codec.hpp"

namespace millpond::bench {

/// Asks what one message costs from the stream's bytes until the wanted fields are read. at_most: the goal in the usual
/// order, a ratio to the limit; with values of many widths it is 9, in any order 12.
void ask_parse(const FixInput& input, std::span<const WantedField> wanted, double at_most);

}  // namespace millpond::bench
