#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace millpond::app {

/// Replays a journal's events into a ring of shared memory, with all fields as recorded, including receive times; only
/// receive_ticks, which counts since an earlier boot, is new.
struct RingReplayOptions {
    std::string journal;  ///< Folder of the journal, or one segment.
    std::string ring;
    std::uint64_t capacity{65'536};
    std::uint64_t max_instruments{65'536};
    std::size_t readers{0};  ///< Number of readers to wait for; the replay never laps them.
    double speed{1.0};       ///< Speed factor; 0: without waiting.
    std::optional<std::int64_t> since{};
    std::optional<std::int64_t> until{};
    bool spin{false};
    bool quiet{false};
};

/// Replays to the end of the journal or until Ctrl-C; returns the program's exit code.
int replay_into_ring(const RingReplayOptions& options);

}  // namespace millpond::app
