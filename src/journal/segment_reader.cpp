#include <millpond/journal/segment_reader.hpp>

#include <algorithm>
#include <atomic>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <millpond/journal/crc32c.hpp>
#include <millpond/journal/journal_error.hpp>

namespace millpond::journal {
namespace {

memory::Region open_segment(const std::filesystem::path& path) {
    auto region = memory::Region::open_file(path);
    const auto refuse = [&](const std::string& what) { throw JournalError(path.string() + ": " + what); };
    if (region.size() < kHeaderBytes)
        refuse("no journal segment: " + std::to_string(region.size()) + " bytes, the least is 4096");
    const auto& header = *reinterpret_cast<const SegmentHeader*>(std::as_const(region).data());
    const auto magic = header.magic.load(std::memory_order_acquire);  // sync "segment begun": SegmentWriter::begin
    if (magic == 0) refuse("a journal segment that is not in use yet");
    if (magic != kMagic) refuse("no journal segment (magic differs)");
    if (header.layout_version != kLayoutVersion || header.header_bytes != kHeaderBytes) {
        refuse("a journal segment of layout version " + std::to_string(header.layout_version) +
               "; this build reads version " + std::to_string(kLayoutVersion));
    }
    if (header.segment_bytes != region.size() || region.size() % kIndexBlockBytes != 0) {
        refuse("cut off: " + std::to_string(region.size()) + " bytes, its header says " +
               std::to_string(header.segment_bytes));
    }
    const auto end = header.end.load(std::memory_order_relaxed);
    if (end != 0 && (end < data_offset(region.size()) || end > region.size() || end % 8 != 0)) {
        refuse("its header says that it ends at byte " + std::to_string(end) + ", outside of its data");
    }
    return region;
}

}  // namespace

SegmentReader::SegmentReader(const std::filesystem::path& path) : region_(open_segment(path)) { seek(0); }

bool SegmentReader::begun(const std::filesystem::path& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    std::uint64_t magic = 0;
    const bool got = read(descriptor, &magic, sizeof magic) == sizeof magic;
    close(descriptor);
    return got && magic != 0;
}

bool SegmentReader::ended() const noexcept {
    return header().end.load(std::memory_order_acquire) != 0;  // sync "segment ended": end_segment
}

std::size_t SegmentReader::limit() const noexcept {
    const auto end = header().end.load(std::memory_order_acquire);  // sync "segment ended": end_segment
    return end == 0 ? region_.size() : std::min<std::size_t>(end, region_.size());
}

bool SegmentReader::whole(std::size_t limit, CommitWord commit) const noexcept {
    if (commit.words < kRecordHeadWords || commit.words > kMostRecordWords) return false;
    if (limit - at_ < std::size_t{commit.words} * 8) return false;
    const auto* record = reinterpret_cast<const std::uint64_t*>(region_.data() + at_);
    return crc32c({record + 1, std::size_t{commit.words} - 1}) == commit.crc;
}

ReadOutcome SegmentReader::next(RecordView& into) noexcept {
    auto end = limit();
    if (at_ + kRecordHeadWords * 8 > end) return ended() ? ReadOutcome::end : ReadOutcome::nothing;
    // The file is mapped read-only: atomic_ref wants an object that is not const, and only loads.
    auto* record = const_cast<std::uint64_t*>(reinterpret_cast<const std::uint64_t*>(region_.data() + at_));
    // sync "record whole": SegmentWriter::append
    const auto word = std::atomic_ref{*record}.load(std::memory_order_acquire);
    if (word == 0) {
        if (!ended()) return ReadOutcome::nothing;
        end = limit();
        if (at_ >= end) return ReadOutcome::end;
        return skip_damage(end);
    }
    const auto commit = CommitWord::of(word);
    if (!whole(end, commit)) return skip_damage(end);
    into.kind = static_cast<RecordKind>(commit.kind);
    into.record = record_;
    into.ring = record[1];
    into.offset = at_;
    into.payload = {record + kRecordHeadWords, std::size_t{commit.words} - kRecordHeadWords};
    at_ += std::size_t{commit.words} * 8;
    ++record_;
    return ReadOutcome::record;
}

ReadOutcome SegmentReader::skip_damage(std::size_t limit) noexcept {
    damage_ = {.offset = at_, .first_record = record_, .last_record = record_ - 1};
    for (auto block = at_ / kIndexBlockBytes + 1; block < index_entries(region_.size()); ++block) {
        const auto& place = index(block);
        // sync "place indexed": SegmentWriter::note_in_index
        const auto record = place.record.load(std::memory_order_acquire);
        const auto offset = place.offset.load(std::memory_order_relaxed);
        if (record <= record_ || offset <= at_ || offset >= limit || offset % 8 != 0) continue;
        damage_.last_record = record - 1;
        at_ = offset;
        record_ = record;
        return ReadOutcome::damaged;
    }
    if (const auto next = header().next_record.load(std::memory_order_relaxed); ended() && next > record_) {
        damage_.last_record = next - 1;
        record_ = next;
    }
    at_ = limit;
    return ReadOutcome::damaged;
}

void SegmentReader::go_to(std::size_t block) noexcept {
    const auto& place = index(block);
    at_ = place.offset.load(std::memory_order_relaxed);
    record_ = place.record.load(std::memory_order_relaxed);
    indexed_ring_ = place.ring.load(std::memory_order_relaxed);
    indexed_utc_ns_ = static_cast<std::int64_t>(place.newest_utc_ns.load(std::memory_order_relaxed));
}

template <class Before>
void SegmentReader::seek_last(Before&& before) noexcept {
    at_ = data_offset(region_.size());
    record_ = header().first_record;
    indexed_ring_ = 0;
    indexed_utc_ns_ = 0;
    auto first = at_ / kIndexBlockBytes;
    auto last = index_entries(region_.size());
    const auto stop = limit();
    while (first < last) {
        const auto middle = first + (last - first) / 2;
        const auto& place = index(middle);
        // sync "place indexed": SegmentWriter::note_in_index
        const auto record = place.record.load(std::memory_order_acquire);
        const auto offset = place.offset.load(std::memory_order_relaxed);
        const bool sound = record >= header().first_record && offset >= data_offset(region_.size()) && offset < stop &&
                           offset / kIndexBlockBytes == middle;
        if (sound && before(place, record)) {
            go_to(middle);
            first = middle + 1;
        } else {
            last = middle;
        }
    }
}

void SegmentReader::seek(std::uint64_t record) noexcept {
    seek_last([record](const IndexEntry&, std::uint64_t indexed) { return indexed <= record; });
}

void SegmentReader::seek_time(std::int64_t utc_ns) noexcept {
    seek_last([utc_ns](const IndexEntry& place, std::uint64_t) {
        return static_cast<std::int64_t>(place.newest_utc_ns.load(std::memory_order_relaxed)) < utc_ns;
    });
}

}  // namespace millpond::journal
