#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "gateway/sinks/kind.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::csv {

/// Settings of `[[csv]]`: rows in a rotated file.
struct Settings : SinkBasics {
    Settings() { poll = core::Poll::block; }  // rows wait longer than any sleep

    std::string path;
    Delivery mode{Delivery::every};
    std::uint64_t rotate_bytes{256ULL * 1024 * 1024};  ///< A file that reached this size is closed and renamed.
    std::uint64_t keep{0};                             ///< Renamed files to keep; the oldest is removed first; 0: all.
    std::chrono::nanoseconds flush{std::chrono::milliseconds{200}};  ///< Longest time that rows wait in memory.
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::csv
