#include <millpond/journal/segment_writer.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <millpond/journal/segment_reader.hpp>

namespace millpond::journal {
namespace {

std::uint64_t checked(std::uint64_t bytes) {
    if (bytes == 0 || bytes % kIndexBlockBytes != 0 || bytes > kMaxSegmentBytes) {
        throw std::invalid_argument("journal segment of " + std::to_string(bytes) +
                                    " bytes: needs a multiple of 65536, at most " + std::to_string(kMaxSegmentBytes));
    }
    return bytes;
}

SegmentHeader& header_of(memory::Region& segment) { return *reinterpret_cast<SegmentHeader*>(segment.data()); }

}  // namespace

void end_segment(memory::Region& segment, const SegmentTail& tail) noexcept {
    write_tail(header_of(segment), tail);
    const auto unused = (tail.end + kHeaderBytes - 1) / kHeaderBytes * kHeaderBytes;
    // A file system that cannot punch holes frees the space only when the segment is removed.
    if (unused < segment.size()) madvise(segment.data() + unused, segment.size() - unused, MADV_REMOVE);
}

DeadSegment end_dead_segment(const std::filesystem::path& path, std::uint64_t next_record) {
    SegmentReader reader{path};
    DeadSegment dead{.identity = reader.identity(), .tail = {}, .fault = reader.fault()};
    const bool was_ended = reader.ended();
    std::uint64_t last_description = 0;
    std::uint64_t last_checkpoint = 0;
    if (was_ended) {
        dead.tail = *reader.tail();
        if (dead.fault.empty()) return dead;
    } else {
        reader.set_over(next_record);
        dead.tail = {.end = reader.offset(),
                     .next_record = reader.next_record(),
                     .oldest_utc_ns = std::numeric_limits<std::int64_t>::max()};
        RecordView record;
        for (;;) {
            const auto outcome = reader.next(record);
            if (outcome == ReadOutcome::damaged && reader.damage().last_record >= reader.damage().first_record)
                continue;
            if (outcome != ReadOutcome::record) break;
            dead.tail.end = reader.offset();
            dead.tail.last_ring = std::max(dead.tail.last_ring, record.ring);
            const auto time = receive_time(record).value_or(0);
            dead.tail.newest_utc_ns = std::max(dead.tail.newest_utc_ns, time);
            if (is_description(record.kind)) last_description = record.offset;
            if (record.kind == RecordKind::checkpoint) last_checkpoint = record.offset;
            if (is_of_ring(record.kind)) dead.tail.oldest_utc_ns = std::min(dead.tail.oldest_utc_ns, time);
        }
        dead.tail.next_record = reader.next_record();
    }
    auto region = memory::Region::open_file(path, memory::Access::writable);
    auto& header = header_of(region);
    write_identity(header, dead.identity);
    header.magic.store(kMagic, std::memory_order_release);  // sync "segment started": SegmentReader
    if (was_ended) return dead;
    header.last_description.store(chain_word(last_description), std::memory_order_relaxed);
    header.last_checkpoint.store(last_checkpoint == 0 ? 0 : chain_word(last_checkpoint), std::memory_order_relaxed);
    end_segment(region, dead.tail);
    return dead;
}

SegmentWriter::SegmentWriter(SegmentFile file, std::uint64_t bytes, std::uint32_t mode)
    : file_(std::move(file)), region_(memory::Region::file(file_.path, checked(bytes), {.own = true, .mode = mode})) {}

void SegmentWriter::begin(const SegmentIdentity& identity, std::uint64_t needed_checkpoint) noexcept {
    auto own = identity;
    own.segment_bytes = region_.size();
    auto& header = own_header();
    write_identity(header, own);
    header.last_description.store(chain_word(0), std::memory_order_relaxed);
    write_needed_checkpoint(header, needed_checkpoint);
    at_ = data_offset(region_.size());
    newest_utc_ns_ = 0;
    oldest_utc_ns_ = std::numeric_limits<std::int64_t>::max();
    next_record_.store(identity.first_record, std::memory_order_relaxed);
    header.magic.store(kMagic, std::memory_order_release);  // sync "segment started": SegmentReader
}

template <class Payload>
bool SegmentWriter::append_to_chain(RecordKind kind, Payload payload) noexcept {
    payload.previous = last_description_;
    const auto offset = at_;
    if (!append(kind, 0, payload, 0)) return false;
    last_description_ = offset;
    // sync "description complete": SegmentReader::last_description
    own_header().last_description.store(chain_word(offset), std::memory_order_release);
    return true;
}

template bool SegmentWriter::append_to_chain(RecordKind, NameRecord) noexcept;
template bool SegmentWriter::append_to_chain(RecordKind, ChannelRecord) noexcept;

bool SegmentWriter::append_checkpoint(std::uint64_t ring, CheckpointRecord checkpoint) noexcept {
    checkpoint.previous = last_checkpoint_;
    const auto offset = at_;
    if (!append(RecordKind::checkpoint, ring, checkpoint, 0)) return false;
    last_checkpoint_ = offset;
    // sync "checkpoint complete": SegmentReader::last_checkpoint
    own_header().last_checkpoint.store(chain_word(offset), std::memory_order_release);
    return true;
}

void SegmentWriter::end() noexcept {
    end_segment(region_, {.end = at_,
                          .next_record = next_record_.load(std::memory_order_relaxed),
                          .last_ring = last_ring_,
                          .newest_utc_ns = newest_utc_ns_,
                          .oldest_utc_ns = oldest_utc_ns_});
}

void SegmentWriter::sync() const {
    // The parameter of msync is not const, but msync does not write.
    if (msync(const_cast<std::byte*>(region_.data()), region_.size(), MS_SYNC) != 0) {
        throw std::system_error(errno, std::generic_category(), file_.path.string() + ": cannot sync");
    }
}

void SegmentWriter::note_in_index() noexcept {
    const auto block = at_ / kIndexBlockBytes;
    auto& entry = reinterpret_cast<IndexEntry*>(region_.data() + kHeaderBytes)[block];
    write_place(entry, {.offset = at_,
                        .record = next_record_.load(std::memory_order_relaxed),
                        .ring = last_ring_,
                        .newest_utc_ns = newest_utc_ns_});
    block_ = block + 1;
}

}  // namespace millpond::journal
