#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace millpond::fix {

/// A time zone as a list of UTC offset changes, which the caller reads from a zone database or elsewhere.
///
/// Threads: one builds it; then any read it. Memory: the list, on the heap.
class TimeZone {
public:
    /// offset_seconds: local time minus UTC before the first change.
    explicit TimeZone(std::int64_t offset_seconds = 0) : first_offset_(offset_seconds) {}

    /// Adds a change of the offset. Throws std::invalid_argument unless it is later than the previous one.
    void add_change(std::int64_t utc_seconds, std::int64_t offset_seconds) {
        if (!changes_.empty() && utc_seconds <= changes_.back().utc_seconds) {
            throw std::invalid_argument("a zone's change at " + std::to_string(utc_seconds) +
                                        " does not lie behind the one at " +
                                        std::to_string(changes_.back().utc_seconds));
        }
        const auto latest = latest_local_at(utc_seconds - 1);
        changes_.push_back({utc_seconds, offset_seconds, latest});
    }

    /// Local time minus UTC, in seconds. Logarithmic in the number of changes.
    [[nodiscard]] std::int64_t offset_at(std::int64_t utc_seconds) const noexcept {
        const auto* const change = change_at(utc_seconds);
        return change == nullptr ? first_offset_ : change->offset_seconds;
    }

    /// Latest local time, in seconds, that the zone has shown so far: during a repeated hour, the last second before
    /// it. Logarithmic in the number of changes.
    [[nodiscard]] std::int64_t latest_local_at(std::int64_t utc_seconds) const noexcept {
        const auto* const change = change_at(utc_seconds);
        if (change == nullptr) return utc_seconds + first_offset_;
        return std::max(utc_seconds + change->offset_seconds, change->latest_local);
    }

private:
    struct Change {
        std::int64_t utc_seconds{0};
        std::int64_t offset_seconds{0};
        std::int64_t latest_local{0};  // latest local time before the change
    };

    /// The change in effect; null before the first.
    [[nodiscard]] const Change* change_at(std::int64_t utc_seconds) const noexcept {
        const auto after = std::ranges::upper_bound(changes_, utc_seconds, {}, &Change::utc_seconds);
        return after == changes_.begin() ? nullptr : &*(after - 1);
    }

    std::int64_t first_offset_;
    std::vector<Change> changes_;  // by ascending moment
};

}  // namespace millpond::fix
