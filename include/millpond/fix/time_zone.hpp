#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace millpond::fix {

/// What a zone's clocks show, as a list of moments at which that changes. Where the list comes from, a zone database
/// say, is the caller's business.
///
/// Threads: one fills it; then any read it. Memory: the list, on the heap.
class TimeZone {
public:
    /// offset_seconds: local time less UTC, before the first change.
    explicit TimeZone(std::int64_t offset_seconds = 0) : first_offset_(offset_seconds) {}

    /// From this moment on the offset is another. Throws std::invalid_argument unless it lies behind those before.
    void add_change(std::int64_t utc_seconds, std::int64_t offset_seconds) {
        if (!changes_.empty() && utc_seconds <= changes_.back().utc_seconds) {
            throw std::invalid_argument("a zone's change at " + std::to_string(utc_seconds) +
                                        " does not lie behind the one at " +
                                        std::to_string(changes_.back().utc_seconds));
        }
        const auto latest = latest_local_at(utc_seconds - 1);
        changes_.push_back({utc_seconds, offset_seconds, latest});
    }

    /// Local time less UTC, in seconds. Logarithmic in the number of changes.
    [[nodiscard]] std::int64_t offset_at(std::int64_t utc_seconds) const noexcept {
        const auto* const change = change_at(utc_seconds);
        return change == nullptr ? first_offset_ : change->offset_seconds;
    }

    /// The latest local time that the zone's clocks have shown until then: while they show an hour once more, the
    /// last second before. In seconds; logarithmic in the number of changes.
    [[nodiscard]] std::int64_t latest_local_at(std::int64_t utc_seconds) const noexcept {
        const auto* const change = change_at(utc_seconds);
        if (change == nullptr) return utc_seconds + first_offset_;
        return std::max(utc_seconds + change->offset_seconds, change->latest_local);
    }

private:
    struct Change {
        std::int64_t utc_seconds{0};
        std::int64_t offset_seconds{0};
        std::int64_t latest_local{0};  // of all the time before
    };

    /// Null before the first.
    [[nodiscard]] const Change* change_at(std::int64_t utc_seconds) const noexcept {
        const auto after = std::ranges::upper_bound(changes_, utc_seconds, {}, &Change::utc_seconds);
        return after == changes_.begin() ? nullptr : &*(after - 1);
    }

    std::int64_t first_offset_;
    std::vector<Change> changes_;  // by ascending moment
};

}  // namespace millpond::fix
