#include <millpond/journal/segment_index.hpp>

#include <algorithm>
#include <ranges>
#include <utility>

namespace millpond::journal {

SegmentIndex::SegmentIndex(std::filesystem::path folder, std::string ring)
    : folder_(std::move(folder)), ring_(std::move(ring)) {}

bool SegmentIndex::update(std::size_t max) {
    if (left_.empty()) {
        const auto files = list_segments(folder_);
        std::erase_if(segments_, [&](const auto& known) {
            return !std::ranges::binary_search(files, known.first, {}, &SegmentFile::ordinal);
        });
        for (const auto& file : files | std::views::reverse) {
            const auto known = segments_.find(file.ordinal);
            if (known == segments_.end() || !known->second.has_ended) left_.push_back(file);
        }
    }
    for (; max != 0 && !left_.empty(); --max) {
        read(left_.back());
        left_.pop_back();
    }
    if (!left_.empty()) return false;
    finish();
    return true;
}

void SegmentIndex::read(const SegmentFile& file) {
    const auto info = describe_segment(file);
    if (info.next_record == 0) return;  // unused, or it cannot be read
    const bool has_ended = info.state == SegmentState::ended;
    segments_.insert_or_assign(
        file.ordinal,
        Segment{.first_record = info.first_record,
                .next_record = info.next_record,
                .begun_utc_ns = info.begun_utc_ns,
                .newest_utc_ns = has_ended ? info.newest_utc_ns : std::numeric_limits<std::int64_t>::max(),
                .has_ended = has_ended,
                .is_of_ring = info.ring == ring_});
}

void SegmentIndex::finish() {
    reached_.clear();
    first_ = next_ = 0;
    auto newest = std::numeric_limits<std::int64_t>::min();
    for (const auto& segment : segments_ | std::views::values) {
        if (!segment.is_of_ring) continue;
        if (reached_.empty()) {
            first_ = segment.first_record;
            begun_utc_ns_ = segment.begun_utc_ns;
        }
        next_ = std::max(next_, segment.next_record);
        newest = std::max(newest, segment.newest_utc_ns);
        reached_.push_back({.newest_utc_ns = newest, .first_record = segment.first_record});
    }
}

std::uint64_t SegmentIndex::first_record_at(std::int64_t utc_ns) const noexcept {
    const auto found = std::ranges::lower_bound(reached_, utc_ns, {}, &Reached::newest_utc_ns);
    if (found != reached_.end()) return found->first_record;
    return reached_.empty() ? next_ : reached_.back().first_record;
}

}  // namespace millpond::journal
