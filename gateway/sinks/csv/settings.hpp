#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "gateway/sinks/count_of.hpp"
#include "gateway/sinks/csv/options.hpp"
#include "gateway/sinks/kind.hpp"

namespace millpond::gateway::csv {

/// Rows in a rotated file: `[[csv]]`.
struct Settings : SinkBasics {
    Settings() { poll = core::Poll::block; }  // rows wait longer than any sleep

    std::string path;
    Delivery mode{Options{}.mode};
    std::uint64_t rotate_bytes{Options{}.rotate_bytes};  ///< A file that reached this size is closed and renamed.
    std::uint64_t keep{Options{}.keep};                  ///< Renamed files that are kept; 0: all.
    /// Longest time that rows wait in memory.
    std::uint64_t flush_ms{count_of<std::chrono::milliseconds>(Options{}.flush)};
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::csv
