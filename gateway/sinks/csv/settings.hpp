#pragma once

#include <cstdint>
#include <string>

#include "gateway/sinks/kind.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::csv {

/// Rows in a rotated file: `[[csv]]`.
struct Settings : SinkBasics {
    Settings() { poll = core::Poll::block; }  // rows wait longer than any sleep

    std::string path;
    Delivery mode{Delivery::every};
    std::uint64_t rotate_bytes{256ULL * 1024 * 1024};  ///< A file that reached this size is closed and renamed.
    std::uint64_t keep{0};                             ///< Renamed files that are kept; 0: all.
    std::uint64_t flush_ms{200};                       ///< Longest time that rows wait in memory.
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::csv
