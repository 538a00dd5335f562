#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <millpond/journal/catalog.hpp>

namespace millpond::journal {

/// The segments of a journal that have events of one ring, for readers that begin at different places. Reads the header
/// of each ended segment once.
///
/// Threads: one.
/// Memory:  about 100 bytes for each segment.
class SegmentIndex {
public:
    SegmentIndex(std::filesystem::path folder, std::string ring);

    /// Reads headers, at most `max`. False if some are left: call it again. Throws std::filesystem::filesystem_error.
    bool update(std::size_t max = std::numeric_limits<std::size_t>::max());

    /// False if no segment of the ring has a record.
    [[nodiscard]] bool has_records() const noexcept { return first_ < next_; }
    [[nodiscard]] std::uint64_t first_record() const noexcept { return first_; }
    [[nodiscard]] std::int64_t begun_utc_ns() const noexcept { return begun_utc_ns_; }
    /// Number after the newest record.
    [[nodiscard]] std::uint64_t next_record() const noexcept { return next_; }
    /// First record of the first segment that may have an event received at this time or later; of the newest segment
    /// if none has.
    [[nodiscard]] std::uint64_t first_record_at(std::int64_t utc_ns) const noexcept;

private:
    struct Segment {
        std::uint64_t first_record;
        std::uint64_t next_record;
        std::int64_t begun_utc_ns;
        std::int64_t newest_utc_ns;
        bool has_ended;
        bool is_of_ring;
    };
    struct Reached {
        std::int64_t newest_utc_ns;  ///< Of the segment and those before it: receive times may go back.
        std::uint64_t first_record;
    };
    void read(const SegmentFile& file);
    void finish();

    std::filesystem::path folder_;
    std::string ring_;
    std::vector<SegmentFile> left_;              // to be read in this update, the oldest last
    std::map<std::uint64_t, Segment> segments_;  // by ordinal
    std::vector<Reached> reached_;
    std::uint64_t first_{0};
    std::uint64_t next_{0};
    std::int64_t begun_utc_ns_{0};
};

}  // namespace millpond::journal
