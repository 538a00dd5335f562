#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millpond::app {

/// Options of `millpond tail`.
struct TailOptions {
    std::string ring;  // empty: "main", or the ring of the journal
    std::string journal;
    std::string from;
    std::string position;
    std::vector<std::string> symbols;
    std::string format{"table"};
    std::uint64_t count{0};
    std::uint32_t depth{0};

    [[nodiscard]] std::string ring_or_main() const { return ring.empty() ? "main" : ring; }
};

}  // namespace millpond::app
