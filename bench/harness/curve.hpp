#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/harness/compare.hpp"

namespace millpond::bench {

/// Adds a curve: a contender for each amount of work, which is passed to `run`.
template <class Run>
void add_line(std::vector<Contender>& contenders, const std::string& line, const std::vector<std::size_t>& amounts,
              Run run) {
    for (const auto amount : amounts) {
        contenders.push_back({.name = line + ", " + std::to_string(amount),
                              .run = [run, amount] { return run(amount); },
                              .point = Point{.line = line, .at = static_cast<double>(amount)}});
    }
}

}  // namespace millpond::bench
