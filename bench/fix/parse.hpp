#pragma once

#include <span>

#include "bench/fix/input.hpp"
#include "bench/rivals/quickfix_codec.hpp"

namespace millpond::bench {

/// Measures one message from the stream's bytes until the requested fields are read. at_most: the goal in the usual
/// order, as a ratio to the limit; the goal is 9 with values of many widths, and 12 in any order.
void ask_parse(const FixInput& input, std::span<const WantedField> wanted, double at_most);

}  // namespace millpond::bench
