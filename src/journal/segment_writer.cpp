#include <millpond/journal/segment_writer.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <millpond/journal/segment_reader.hpp>

namespace millpond::journal {
namespace {

std::uint64_t checked(std::uint64_t bytes) {
    if (bytes == 0 || bytes % kIndexBlockBytes != 0 || bytes > kMostSegmentBytes) {
        throw std::invalid_argument("journal segment of " + std::to_string(bytes) +
                                    " bytes: needs a multiple of 65536, at most " + std::to_string(kMostSegmentBytes));
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
    std::uint64_t last_name = 0;
    if (was_ended) {
        dead.tail = *reader.tail();
        if (dead.fault.empty()) return dead;
    } else {
        reader.set_over(next_record);
        dead.tail = {.end = reader.offset(), .next_record = reader.next_record()};
        RecordView record;
        for (;;) {
            const auto outcome = reader.next(record);
            if (outcome == ReadOutcome::damaged && reader.damage().last_record >= reader.damage().first_record)
                continue;
            if (outcome != ReadOutcome::record) break;
            dead.tail.end = reader.offset();
            dead.tail.last_ring = std::max(dead.tail.last_ring, record.ring);
            dead.tail.newest_utc_ns = std::max(dead.tail.newest_utc_ns, receive_time(record).value_or(0));
            if (record.kind == RecordKind::name) last_name = record.offset;
        }
        dead.tail.next_record = reader.next_record();
    }
    auto region = memory::Region::open_file(path, memory::Access::writable);
    auto& header = header_of(region);
    write_identity(header, dead.identity);
    header.magic.store(kMagic, std::memory_order_release);  // sync "segment started": SegmentReader
    if (was_ended) return dead;
    if (dead.identity.layout_version >= kFirstIndexChecksums) {
        header.last_name.store(name_word(last_name), std::memory_order_relaxed);
    }
    end_segment(region, dead.tail);
    return dead;
}

SegmentWriter::SegmentWriter(SegmentFile file, std::uint64_t bytes, std::uint32_t mode)
    : file_(std::move(file)), region_(memory::Region::file(file_.path, checked(bytes), {.own = true, .mode = mode})) {}

void SegmentWriter::begin(const SegmentIdentity& identity) noexcept {
    auto own = identity;
    own.layout_version = kLayoutVersion;
    own.segment_bytes = region_.size();
    auto& header = own_header();
    write_identity(header, own);
    header.last_name.store(name_word(0), std::memory_order_relaxed);
    at_ = data_offset(region_.size());
    newest_utc_ns_ = 0;
    next_record_.store(identity.first_record, std::memory_order_relaxed);
    header.magic.store(kMagic, std::memory_order_release);  // sync "segment started": SegmentReader
}

bool SegmentWriter::append_name(NameRecord name) noexcept {
    name.previous = last_name_;
    const auto offset = at_;
    if (!append(RecordKind::name, 0, name, 0)) return false;
    last_name_ = offset;
    // sync "name whole": SegmentReader::last_name
    own_header().last_name.store(name_word(offset), std::memory_order_release);
    return true;
}

void SegmentWriter::end() noexcept {
    end_segment(region_, {.end = at_,
                          .next_record = next_record_.load(std::memory_order_relaxed),
                          .last_ring = last_ring_,
                          .newest_utc_ns = newest_utc_ns_});
}

void SegmentWriter::sync() const {
    // msync takes a non-const pointer, but does not write.
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
