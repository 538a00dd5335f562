#pragma once

#include <cstdint>
#include <string>

#include <millpond/journal/journal_writer.hpp>

#include "gateway/sinks/kind.hpp"

namespace millpond::gateway::journal {

/// Segment files that lose nothing: `[[journal]]`.
struct Settings : SinkBasics {
    std::string folder;
    std::uint64_t segment_bytes{256ULL * 1024 * 1024};  ///< A multiple of 64 KiB.
    std::uint64_t roll_seconds{3'600};                  ///< A segment of this age is ended; 0: by size only.
    std::uint64_t keep_bytes{0};                        ///< The oldest segments beyond this size are removed; 0: none.
    std::uint64_t keep_hours{0};                        ///< Segments older than this go; 0: all stay.
    millpond::journal::Sync sync{millpond::journal::Sync::interval};
    std::uint64_t sync_ms{1'000};
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::journal
