#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace millpond::app {

/// A journal's events into a ring of shared memory, with all their fields as recorded, receive times included; only
/// receive_ticks, which counts from a boot that is over, is new.
struct RingReplayOptions {
    std::string journal;  ///< Folder, or one segment.
    std::string ring;
    std::uint64_t capacity{65'536};
    std::uint64_t max_instruments{65'536};
    std::size_t readers{0};  ///< It starts when this many have registered, and never laps them.
    double speed{1.0};       ///< 0: without waiting.
    std::optional<std::int64_t> since{};
    std::optional<std::int64_t> until{};
    bool spin{false};
    bool quiet{false};
};

/// Runs to the end of the journal or Ctrl-C; returns the program's exit code.
int replay_into_ring(const RingReplayOptions& options);

}  // namespace millpond::app
