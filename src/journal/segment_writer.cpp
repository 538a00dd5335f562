#include <millpond/journal/segment_writer.hpp>

#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

#include <millpond/journal/segment_reader.hpp>

namespace millpond::journal {
namespace {

std::uint64_t checked(std::uint64_t bytes) {
    if (bytes == 0 || bytes % kIndexBlockBytes != 0) {
        throw std::invalid_argument("journal segment of " + std::to_string(bytes) +
                                    " bytes: needs a multiple of 65536");
    }
    return bytes;
}

SegmentHeader& header_of(memory::Region& segment) { return *reinterpret_cast<SegmentHeader*>(segment.data()); }

}  // namespace

void end_segment(memory::Region& segment, const SegmentTail& tail) noexcept {
    auto& header = header_of(segment);
    header.next_record.store(tail.next_record, std::memory_order_relaxed);
    header.last_ring.store(tail.last_ring, std::memory_order_relaxed);
    header.newest_utc_ns.store(static_cast<std::uint64_t>(tail.newest_utc_ns), std::memory_order_relaxed);
    // Version 1 has no checksum; a reader compares it only after it has seen `end`.
    const std::array<std::uint64_t, 4> words{tail.next_record, tail.last_ring,
                                             static_cast<std::uint64_t>(tail.newest_utc_ns), tail.end};
    header.end_crc.store(header.layout_version > 1 ? crc32c(words) : 0, std::memory_order_relaxed);
    header.end.store(tail.end, std::memory_order_release);  // sync "segment ended": SegmentReader
    const auto unused = (tail.end + kHeaderBytes - 1) / kHeaderBytes * kHeaderBytes;
    // A file system that cannot punch holes keeps the room until the segment is removed.
    if (unused < segment.size()) madvise(segment.data() + unused, segment.size() - unused, MADV_REMOVE);
}

SegmentTail end_dead_segment(const std::filesystem::path& path) {
    SegmentReader reader{path};
    const auto& header = reader.header();
    SegmentTail tail{};
    if (reader.ended()) {
        tail.end = header.end.load(std::memory_order_relaxed);
        tail.next_record = header.next_record.load(std::memory_order_relaxed);
        tail.last_ring = header.last_ring.load(std::memory_order_relaxed);
        tail.newest_utc_ns = static_cast<std::int64_t>(header.newest_utc_ns.load(std::memory_order_relaxed));
        return tail;
    }
    reader.seek(UINT64_MAX);
    tail = {.end = reader.offset(),
            .next_record = reader.next_record(),
            .last_ring = reader.indexed_ring(),
            .newest_utc_ns = reader.indexed_utc_ns()};
    RecordView record;
    for (;;) {
        const auto outcome = reader.next(record);
        if (outcome == ReadOutcome::damaged && reader.damage().last_record >= reader.damage().first_record) continue;
        if (outcome != ReadOutcome::record) break;
        tail.end = reader.offset();
        tail.next_record = reader.next_record();
        if (record.ring > tail.last_ring) tail.last_ring = record.ring;
    }
    auto region = memory::Region::open_file(path, memory::Access::writable);
    end_segment(region, tail);
    return tail;
}

SegmentWriter::SegmentWriter(const std::filesystem::path& path, std::uint64_t bytes, std::uint32_t mode)
    : path_(path), region_(memory::Region::file(path, checked(bytes), {.own = true, .mode = mode})) {}

void SegmentWriter::begin(const SegmentIdentity& identity) noexcept {
    auto& header = own_header();
    header.layout_version = kLayoutVersion;
    header.header_bytes = kHeaderBytes;
    header.segment_bytes = region_.size();
    header.first_record = identity.first_record;
    header.begun_utc_ns = identity.begun_utc_ns;
    header.epoch = identity.epoch;
    header.session = identity.session;
    header.ring = identity.ring;
    header.identity_crc = identity_crc(header);
    at_ = data_offset(region_.size());
    newest_utc_ns_ = 0;
    next_record_.store(identity.first_record, std::memory_order_relaxed);
    header.magic.store(kMagic, std::memory_order_release);  // sync "segment started": SegmentReader
}

bool SegmentWriter::append_name(NameRecord name) noexcept {
    name.previous = header().last_name.load(std::memory_order_relaxed);
    const auto offset = at_;
    if (!append(RecordKind::name, 0, name, 0)) return false;
    own_header().last_name.store(offset, std::memory_order_release);  // sync "name whole": SegmentReader::for_each_name
    return true;
}

void SegmentWriter::end() noexcept {
    end_segment(region_, {.end = at_,
                          .next_record = next_record_.load(std::memory_order_relaxed),
                          .last_ring = last_ring_,
                          .newest_utc_ns = newest_utc_ns_});
}

void SegmentWriter::sync() const {
    // msync wants a pointer that it does not write through.
    if (msync(const_cast<std::byte*>(region_.data()), region_.size(), MS_SYNC) != 0) {
        throw std::system_error(errno, std::generic_category(), path_.string() + ": cannot sync");
    }
}

void SegmentWriter::note_in_index() noexcept {
    const auto block = at_ / kIndexBlockBytes;
    auto& entry = reinterpret_cast<IndexEntry*>(region_.data() + kHeaderBytes)[block];
    entry.offset.store(at_, std::memory_order_relaxed);
    entry.ring.store(last_ring_, std::memory_order_relaxed);
    entry.newest_utc_ns.store(static_cast<std::uint64_t>(newest_utc_ns_), std::memory_order_relaxed);
    // sync "place indexed": SegmentReader
    entry.record.store(next_record_.load(std::memory_order_relaxed), std::memory_order_release);
    block_ = block + 1;
}

}  // namespace millpond::journal
