#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <millpond/journal/journal_writer.hpp>

#include "gateway/sinks/count_of.hpp"
#include "gateway/sinks/kind.hpp"

namespace millpond::gateway::journal {

/// Segment files that lose nothing: `[[journal]]`.
struct Settings : SinkBasics {
    using Options = millpond::journal::WriterOptions;

    std::string folder;
    std::uint64_t segment_bytes{Options{}.segment_bytes};  ///< A multiple of 64 KiB.
    /// A segment of this age is ended; 0: by size only.
    std::uint64_t roll_seconds{count_of<std::chrono::seconds>(Options{}.roll_after)};
    std::uint64_t keep_bytes{Options{}.keep_bytes};  ///< The oldest segments beyond this size are removed; 0: none.
    /// Segments older than this are removed; 0: none.
    std::uint64_t keep_hours{count_of<std::chrono::hours>(Options{}.keep_for)};
    millpond::journal::Sync sync{Options{}.sync};
    std::uint64_t sync_ms{count_of<std::chrono::milliseconds>(Options{}.sync_interval)};
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::journal
