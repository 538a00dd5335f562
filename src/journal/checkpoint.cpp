#include <millpond/journal/checkpoint.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <ranges>

#include <millpond/core/crc32c.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/segment_reader.hpp>

namespace millpond::journal {
namespace {

/// Checks a checkpoint that ends at `offset`: reads it. Returns nullopt if it is not complete.
std::optional<Checkpoint> check(SegmentReader& segment, std::size_t offset, const CheckpointRecord& end) {
    const auto first = data_offset(segment.identity().segment_bytes);
    if (end.first_offset < first || end.first_offset >= offset || end.first_offset % 8 != 0) return std::nullopt;
    if (end.first_record < segment.identity().first_record) return std::nullopt;
    segment.seek_to(end.first_offset, end.first_record);
    RecordView view;
    std::uint32_t records = 0;
    std::uint32_t crc = 0;
    for (;;) {
        const auto outcome = segment.next(view);
        if (outcome == ReadOutcome::damaged && segment.offset() <= offset) continue;  // perhaps an event
        if (outcome != ReadOutcome::record || view.offset > offset) return std::nullopt;
        if (view.offset == offset) break;
        if (view.kind != RecordKind::book) continue;
        ++records;
        crc = core::crc32c(std::array<std::uint64_t, 2>{crc, segment.commit_word(view.offset)});
    }
    if (records != end.records || crc != end.records_crc) return std::nullopt;
    return Checkpoint{.first = end.first_record,
                      .last = view.record,
                      .newest_utc_ns = end.newest_utc_ns,
                      .books = end.books,
                      .orders = end.orders,
                      .levels = end.levels};
}

using Accept = std::function<bool(const CheckpointRecord&)>;

/// Finds the newest complete checkpoint of the segment that is accepted and ends before `record`.
std::optional<Checkpoint> find_in(SegmentReader& segment, std::uint64_t record, const Accept& accept) {
    std::optional<Checkpoint> found;
    segment.find_checkpoint([&](std::size_t offset, const CheckpointRecord& end) {
        if (end.first_record >= record || !accept(end)) return false;
        found = check(segment, offset, end);
        if (found && found->last >= record) found.reset();
        return found.has_value();
    });
    return found;
}

std::optional<SegmentReader> try_open(const SegmentFile& file) {
    if (!SegmentReader::is_started(file.path)) return std::nullopt;
    try {
        return std::optional<SegmentReader>{std::in_place, file.path};
    } catch (const std::exception& error) {
        if (!is_segment_failure(error)) throw;
        return std::nullopt;
    }
}

/// True if the first event of the segment was received before that time. Events without a time do not count.
bool begins_before(const SegmentFile& file, std::int64_t utc_ns) {
    auto segment = try_open(file);
    if (!segment) return false;
    RecordView view;
    for (auto outcome = segment->next(view); outcome == ReadOutcome::record || outcome == ReadOutcome::damaged;
         outcome = segment->next(view)) {
        const auto time = outcome == ReadOutcome::record ? receive_time(view).value_or(0) : 0;
        if (time != 0) return time < utc_ns;
    }
    return false;
}

/// False if no event of the segment was received at that time or later.
bool may_reach(const SegmentFile& file, std::int64_t utc_ns) {
    const auto segment = try_open(file);
    return segment && (!segment->ended() || segment->tail()->newest_utc_ns >= utc_ns);
}

}  // namespace

std::optional<BooksOrigin> find_books_before(const std::filesystem::path& folder, std::uint64_t record) {
    std::optional<BooksOrigin> origin;
    std::uint64_t epoch = 0;
    for (const auto& file : list_segments(folder) | std::views::reverse) {
        auto segment = try_open(file);
        if (!segment || segment->identity().first_record >= record) continue;
        const auto& identity = segment->identity();
        if (origin && identity.epoch != epoch) break;
        epoch = identity.epoch;
        origin = BooksOrigin{.record = identity.first_record};
        if (const auto found = find_in(*segment, record, [](const CheckpointRecord&) { return true; }))
            return BooksOrigin{.record = found->first, .checkpoint = found};
    }
    return origin;
}

std::optional<BooksOrigin> find_books_until(const std::filesystem::path& folder, std::int64_t utc_ns) {
    const auto files = list_segments(folder);
    std::optional<BooksOrigin> origin;
    std::uint64_t epoch = 0;
    const SegmentFile* oldest = nullptr;  // of the epoch
    for (std::size_t left = files.size(); left != 0; --left) {
        const auto& file = files[left - 1];
        auto segment = try_open(file);
        if (!segment) continue;
        const auto& identity = segment->identity();
        if (origin && identity.epoch != epoch && begins_before(*oldest, utc_ns)) {
            // Receive times may go back: the first event may be in an earlier epoch nevertheless.
            const auto earlier = files | std::views::take(left) | std::views::reverse;
            if (std::ranges::none_of(earlier, [&](const SegmentFile& each) { return may_reach(each, utc_ns); })) break;
        }
        epoch = identity.epoch;
        oldest = &file;
        origin = BooksOrigin{.record = identity.first_record};
        const auto accept = [&](const CheckpointRecord& end) { return end.newest_utc_ns < utc_ns; };
        if (const auto found = find_in(*segment, UINT64_MAX, accept))
            return BooksOrigin{.record = found->first, .checkpoint = found};
    }
    return origin;
}

CheckpointCounts count_checkpoints(const std::filesystem::path& path) {
    SegmentReader segment{path};
    SegmentReader checked{path};
    CheckpointCounts counts;
    RecordView view;
    bool is_open = false;  // a checkpoint has begun
    for (;;) {
        const auto outcome = segment.next(view);
        if (outcome == ReadOutcome::damaged) continue;
        if (outcome != ReadOutcome::record) break;
        if (view.kind == RecordKind::book) is_open = true;
        CheckpointRecord end;
        if (view.kind != RecordKind::checkpoint || !view.copy_to(end)) continue;
        ++(check(checked, view.offset, end) ? counts.complete : counts.torn);
        is_open = false;
    }
    if (is_open && segment.ended()) ++counts.torn;
    return counts;
}

}  // namespace millpond::journal
