#include <millpond/journal/checkpoint.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <functional>

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

/// is_before: whether the segment has records before the place.
std::optional<BooksOrigin> find_books(const std::filesystem::path& folder, std::uint64_t record, const Accept& accept,
                                      const std::function<bool(const SegmentReader&)>& is_before) {
    auto files = list_segments(folder);
    std::optional<BooksOrigin> origin;
    std::uint64_t epoch = 0;
    bool is_found = false;
    bool has_more = true;              // there may be a checkpoint in this segment or before it
    std::uint64_t named = UINT64_MAX;  // no checkpoint that begins after this record is sought
    for (auto file = files.rbegin(); file != files.rend(); ++file) {
        auto segment = try_open(*file);
        if (!segment) continue;
        const auto& identity = segment->identity();
        if (!is_found && !is_before(*segment)) continue;
        if (!is_found) epoch = identity.epoch;
        is_found = true;
        if (identity.epoch != epoch) break;
        origin = BooksOrigin{.record = identity.first_record};
        if (!has_more || identity.first_record > named) continue;
        if (const auto found = find_in(*segment, record, accept))
            return BooksOrigin{.record = found->first, .checkpoint = found};
        if (const auto needed = segment->needed_checkpoint()) {
            has_more = *needed != 0;
            named = *needed;
        }
    }
    return origin;
}

}  // namespace

std::optional<BooksOrigin> find_books_before(const std::filesystem::path& folder, std::uint64_t record) {
    return find_books(
        folder, record, [](const CheckpointRecord&) { return true; },
        [&](const SegmentReader& segment) { return segment.identity().first_record < record; });
}

std::optional<BooksOrigin> find_books_until(const std::filesystem::path& folder, std::int64_t utc_ns) {
    return find_books(
        folder, UINT64_MAX, [&](const CheckpointRecord& end) { return end.newest_utc_ns < utc_ns; },
        [&](const SegmentReader& segment) { return !segment.ended() || segment.tail()->oldest_utc_ns < utc_ns; });
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
