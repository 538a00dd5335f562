#include <millpond/journal/checkpoint_writer.hpp>

#include <algorithm>
#include <array>
#include <limits>

#include <millpond/core/clock.hpp>
#include <millpond/core/crc32c.hpp>

namespace millpond::journal {
namespace {

template <std::size_t kCells>
bool append_cells(SegmentWriter& segment, std::uint64_t ring, const BookPart& part) noexcept {
    BookRecord<kCells> record{.head = part.head};
    std::copy_n(part.cells.begin(), part.head.cells, record.cells.begin());
    return segment.append(RecordKind::book, ring, record, 0);
}

bool append_part(SegmentWriter& segment, std::uint64_t ring, const BookPart& part) noexcept {
    static_assert(kMaxBookCells == 4);
    switch (part.head.cells) {
        case 4: return append_cells<4>(segment, ring, part);
        case 3: return append_cells<3>(segment, ring, part);
        case 2: return append_cells<2>(segment, ring, part);
        default: return append_cells<1>(segment, ring, part);
    }
}

constexpr std::uint64_t record_bytes(std::uint64_t cells) noexcept {
    return kRecordHeadWords * 8 + sizeof(BookHead) + std::max<std::uint64_t>(cells, 1) * sizeof(BookCell);
}

}  // namespace

void CheckpointWriter::reset() noexcept {
    books_.reset();
    state_ = State::idle;
    has_whole_segment_ = is_requested_ = false;
    newest_ = bytes_ = event_bytes_ = 0;
}

void CheckpointWriter::begin_segment(bool is_full) noexcept {
    if (state_ == State::idle) return;
    // One that does not fit into a whole segment does not fit into the next one either: see step.
    if (state_ == State::waits || !has_whole_segment_ || !is_full) state_ = State::idle;
    has_whole_segment_ = true;
}

bool CheckpointWriter::needs_segment(std::int64_t utc_ns) const noexcept {
    if (state_ != State::waits) return false;
    return utc_ns < waits_since_ns_ || utc_ns - waits_since_ns_ > options_.interval.count();
}

bool CheckpointWriter::is_due(std::int64_t utc_ns) const noexcept {
    if (has_whole_segment_ || is_requested_) return true;
    if (!has_events_for_next()) return false;
    // If the clock was set back, it is due now.
    return utc_ns < written_utc_ns_ || utc_ns - written_utc_ns_ >= options_.interval.count();
}

std::chrono::nanoseconds CheckpointWriter::age(std::int64_t utc_ns) const noexcept {
    if (written_utc_ns_ == 0 || utc_ns < written_utc_ns_ || !has_channels()) return {};
    return std::chrono::nanoseconds{utc_ns - written_utc_ns_};
}

std::uint64_t CheckpointWriter::needed_bytes() const noexcept {
    std::uint64_t bytes = kRecordBytes<CheckpointRecord>;
    books_.visit_channels([&](const BookPart&) {
        bytes += record_bytes(0);
        return true;
    });
    for (feed::InstrumentId id = 0; id < books_.end_id(); ++id) {
        books_.visit_sizes(id, [&](std::uint64_t cells) {
            bytes += cells / kMaxBookCells * record_bytes(kMaxBookCells);
            if (cells == 0 || cells % kMaxBookCells != 0) bytes += record_bytes(cells % kMaxBookCells);
        });
    }
    return bytes;
}

CheckpointWriter::Outcome CheckpointWriter::give_up(std::uint64_t bytes, std::int64_t utc_ns) noexcept {
    state_ = State::idle;
    has_whole_segment_ = is_requested_ = false;
    bytes_ = bytes;
    event_bytes_ = 0;
    written_utc_ns_ = utc_ns;
    return Outcome::too_large;
}

CheckpointWriter::Outcome CheckpointWriter::step(SegmentWriter& segment, std::uint64_t ring,
                                                 std::int64_t utc_ns) noexcept {
    ring_ = ring;
    if (written_utc_ns_ == 0) written_utc_ns_ = utc_ns;
    const auto is_in_segment = [&] { return written_.first_record >= segment.header().first_record; };
    if (state_ == State::writing && !is_in_segment()) return give_up(written_bytes_, utc_ns);
    if (state_ == State::idle && is_due(utc_ns) && has_channels()) {
        // The events during the checkpoint take space too.
        const auto free = has_whole_segment_ || is_requested_ ? segment.free_bytes() : segment.free_bytes() / 2;
        const auto needed = needed_bytes();
        if (needed > free && has_whole_segment_) return give_up(needed, utc_ns);
        is_requested_ = is_requested_ && needed <= free;
        state_ = needed <= free && begin(segment) ? State::writing : State::waits;
        waits_since_ns_ = utc_ns;
    }
    if (state_ != State::writing) return Outcome::nothing;
    return write(segment, core::monotonic_nanos() + options_.slice.count(), utc_ns);
}

CheckpointWriter::Outcome CheckpointWriter::finish(SegmentWriter& segment, std::uint64_t ring,
                                                   std::int64_t utc_ns) noexcept {
    ring_ = ring;
    constexpr auto kNever = std::numeric_limits<std::int64_t>::max();
    const bool goes_on = state_ == State::writing && written_.first_record >= segment.header().first_record;
    if (!goes_on) {
        if (event_bytes_ == 0 || !has_channels() || needed_bytes() > segment.free_bytes()) return Outcome::nothing;
        if (!begin(segment)) return Outcome::nothing;
    }
    state_ = State::writing;
    return write(segment, kNever, utc_ns);
}

CheckpointWriter::Outcome CheckpointWriter::write(SegmentWriter& segment, std::int64_t until,
                                                  std::int64_t utc_ns) noexcept {
    do {
        if (next_ == books_.end_id()) return end(segment, utc_ns) ? Outcome::complete : Outcome::nothing;
        if (!books_.visit_books(next_, [&](const BookPart& part) { return append(segment, part); })) {
            return Outcome::nothing;  // the next event begins another segment
        }
        ++next_;
    } while (core::monotonic_nanos() < until);
    return Outcome::nothing;
}

bool CheckpointWriter::begin(SegmentWriter& segment) noexcept {
    written_ = {.first_record = segment.next_record(), .first_offset = segment.offset()};
    written_bytes_ = 0;
    next_ = 0;
    return books_.visit_channels([&](const BookPart& part) { return append(segment, part); });
}

bool CheckpointWriter::append(SegmentWriter& segment, const BookPart& part) noexcept {
    const auto offset = segment.offset();
    if (!append_part(segment, ring_, part)) return false;
    written_.records_crc = core::crc32c(std::array<std::uint64_t, 2>{written_.records_crc, segment.commit_at(offset)});
    ++written_.records;
    if (part.head.instrument != feed::kNoInstrument && (part.head.flags & kBookBegins) != 0) ++written_.books;
    written_bytes_ += segment.offset() - offset;
    ((part.head.flags & kBookOfOrders) != 0 ? written_.orders : written_.levels) += part.head.cells;
    return true;
}

bool CheckpointWriter::end(SegmentWriter& segment, std::int64_t utc_ns) noexcept {
    written_.newest_utc_ns = newest_utc_ns_;
    if (!segment.append_checkpoint(ring_, written_)) return false;
    state_ = State::idle;
    has_whole_segment_ = is_requested_ = false;
    newest_ = written_.first_record;
    bytes_ = written_bytes_ + kRecordBytes<CheckpointRecord>;
    event_bytes_ = 0;
    written_utc_ns_ = utc_ns;
    return true;
}

}  // namespace millpond::journal
