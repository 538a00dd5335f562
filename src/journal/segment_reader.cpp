#include <millpond/journal/segment_reader.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <millpond/journal/crc32c.hpp>
#include <millpond/journal/journal_error.hpp>

namespace millpond::journal {

std::uint64_t identity_crc(const SegmentHeader& header) noexcept {
    constexpr auto kFirst = offsetof(SegmentHeader, layout_version);
    constexpr auto kWords = (offsetof(SegmentHeader, identity_crc) - kFirst) / 8;
    std::array<std::uint64_t, kWords> words;
    std::memcpy(words.data(), reinterpret_cast<const std::byte*>(&header) + kFirst, sizeof words);
    return crc32c(words);
}

std::uint64_t end_crc(const SegmentHeader& header) noexcept {
    const std::array<std::uint64_t, 4> words{
        header.next_record.load(std::memory_order_relaxed), header.last_ring.load(std::memory_order_relaxed),
        header.newest_utc_ns.load(std::memory_order_relaxed), header.end.load(std::memory_order_relaxed)};
    return crc32c(words);
}

namespace {

memory::Region open_segment(const std::filesystem::path& path) {
    auto region = memory::Region::open_file(path);
    const auto refuse = [&](const std::string& what) { throw JournalError(path.string() + ": " + what); };
    if (region.size() < kHeaderBytes)
        refuse("no journal segment: " + std::to_string(region.size()) + " bytes, the least is 4096");
    const auto& header = *reinterpret_cast<const SegmentHeader*>(std::as_const(region).data());
    const auto magic = header.magic.load(std::memory_order_acquire);  // sync "segment started": SegmentWriter::begin
    if (magic == 0) refuse("a journal segment that is not in use yet");
    if (magic != kMagic) refuse("no journal segment (magic differs)");
    if (header.layout_version < kOldestLayoutVersion || header.layout_version > kLayoutVersion ||
        header.header_bytes != kHeaderBytes) {
        refuse("a journal segment of layout version " + std::to_string(header.layout_version) +
               "; this build reads versions " + std::to_string(kOldestLayoutVersion) + " to " +
               std::to_string(kLayoutVersion));
    }
    const bool has_checksums = header.layout_version > 1;
    if (has_checksums && header.identity_crc != identity_crc(header))
        refuse("its header is damaged (checksum differs)");
    if (header.segment_bytes != region.size() || region.size() % kIndexBlockBytes != 0) {
        refuse("cut off: " + std::to_string(region.size()) + " bytes, its header says " +
               std::to_string(header.segment_bytes));
    }
    const auto end = header.end.load(std::memory_order_acquire);  // sync "segment ended": end_segment
    if (has_checksums && end != 0 && header.end_crc.load(std::memory_order_relaxed) != end_crc(header)) {
        refuse("the end in its header is damaged (checksum differs)");
    }
    if (end != 0 && (end < data_offset(region.size()) || end > region.size() || end % 8 != 0)) {
        refuse("its header says that it ends at byte " + std::to_string(end) + ", outside of its data");
    }
    return region;
}

}  // namespace

SegmentReader::SegmentReader(const std::filesystem::path& path) : region_(open_segment(path)) { seek(0); }

bool SegmentReader::begun(const std::filesystem::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) return false;
    std::uint64_t magic = 0;
    const bool got = read(descriptor, &magic, sizeof magic) == sizeof magic;
    close(descriptor);
    return got && magic != 0;
}

bool SegmentReader::is_blank(const std::filesystem::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) return errno == ENOENT;
    bool blank = true;
    struct stat facts{};
    blank = fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode);
    const auto bytes = static_cast<std::uint64_t>(facts.st_size);
    std::array<std::byte, kHeaderBytes> page{};
    // The header, the index and the first records.
    const auto stop = bytes == 0 ? 0 : std::min<std::uint64_t>(bytes, data_offset(bytes) + kHeaderBytes);
    for (std::uint64_t at = 0; blank && at < stop; at += page.size()) {
        const auto got = pread(descriptor, page.data(), page.size(), static_cast<off_t>(at));
        blank = got > 0 && std::ranges::all_of(std::span{page}.first(static_cast<std::size_t>(got)),
                                               [](std::byte byte) { return byte == std::byte{0}; });
    }
    close(descriptor);
    return blank;
}

bool SegmentReader::ended() const noexcept {
    return header().end.load(std::memory_order_acquire) != 0;  // sync "segment ended": end_segment
}

std::size_t SegmentReader::limit() const noexcept {
    const auto end = header().end.load(std::memory_order_acquire);  // sync "segment ended": end_segment
    return end == 0 ? region_.size() : std::min<std::size_t>(end, region_.size());
}

CommitWord SegmentReader::commit_at(std::size_t offset) const noexcept {
    // The file is mapped read-only: atomic_ref wants an object that is not const, and only loads.
    auto* word = const_cast<std::uint64_t*>(reinterpret_cast<const std::uint64_t*>(region_.data() + offset));
    // sync "record whole": SegmentWriter::append
    return CommitWord::of(std::atomic_ref{*word}.load(std::memory_order_acquire));
}

bool SegmentReader::whole(std::size_t offset, std::size_t limit) const noexcept {
    if (offset > limit || limit - offset < kRecordHeadWords * 8) return false;
    const auto commit = commit_at(offset);
    if (commit.words < kRecordHeadWords || commit.words > kMostRecordWords) return false;
    if (limit - offset < std::size_t{commit.words} * 8) return false;
    const auto* record = reinterpret_cast<const std::uint64_t*>(region_.data() + offset);
    return crc32c({record + 1, std::size_t{commit.words} - 1}) == commit.crc;
}

/// The first place from `offset` on where a whole record lies; `limit` when there is none.
std::size_t SegmentReader::next_whole(std::size_t offset, std::size_t limit) const noexcept {
    while (offset < limit && !whole(offset, limit)) offset += 8;
    return std::min(offset, limit);
}

bool SegmentReader::read_name(std::size_t offset, NameRecord& into) const noexcept {
    if (offset < data_offset(region_.size()) || offset % 8 != 0 || !whole(offset, region_.size())) return false;
    const auto commit = commit_at(offset);
    if (static_cast<RecordKind>(commit.kind) != RecordKind::name) return false;
    if (std::size_t{commit.words} * 8 != kRecordBytes<NameRecord>) return false;
    std::memcpy(static_cast<void*>(&into), region_.data() + offset + kRecordHeadWords * 8, sizeof into);
    return true;
}

ReadOutcome SegmentReader::next(RecordView& into) noexcept {
    auto end = limit();
    if (at_ + kRecordHeadWords * 8 > end) return ended() ? ReadOutcome::end : ReadOutcome::nothing;
    const auto commit = commit_at(at_);
    if (commit.word() == 0) {
        if (!ended()) return ReadOutcome::nothing;
        end = limit();
        if (at_ >= end) return ReadOutcome::end;
        return skip_damage(end);
    }
    if (!whole(at_, end)) return skip_damage(end);
    const auto* record = reinterpret_cast<const std::uint64_t*>(region_.data() + at_);
    into.kind = static_cast<RecordKind>(commit.kind);
    into.record = record_;
    into.ring = record[1];
    into.offset = at_;
    into.payload = {record + kRecordHeadWords, std::size_t{commit.words} - kRecordHeadWords};
    at_ += std::size_t{commit.words} * 8;
    ++record_;
    return ReadOutcome::record;
}

/// The next place whose record number is known: that of an index entry, else the end of an ended segment, else where a
/// growing one has no records yet.
SegmentReader::Known SegmentReader::known_behind(std::size_t limit) const noexcept {
    for (auto block = at_ / kIndexBlockBytes + 1; block < index_entries(region_.size()); ++block) {
        const auto& place = index(block);
        // sync "place indexed": SegmentWriter::note_in_index
        const auto record = place.record.load(std::memory_order_acquire);
        const auto offset = place.offset.load(std::memory_order_relaxed);
        if (record <= record_ || offset <= at_ || offset >= limit || offset % 8 != 0) continue;
        return {offset, record};
    }
    const auto next = header().next_record.load(std::memory_order_relaxed);
    if (ended()) return {limit, next > record_ ? next : 0};
    // An entry precedes the first record of its block: nothing lies beyond the end of the block and one more record.
    const auto stop = (at_ / kIndexBlockBytes + 1) * kIndexBlockBytes + kMostRecordWords * 8;
    return {std::min(limit, stop), 0};
}

ReadOutcome SegmentReader::skip_damage(std::size_t limit) noexcept {
    damage_ = {.offset = at_, .first_record = record_, .last_record = record_ - 1};
    const auto known = known_behind(limit);
    // The damaged record's own length, where that is not what is damaged, leads to the next one.
    const auto length = std::size_t{commit_at(at_).words} * 8;
    const bool leads = length != 0 && length <= kMostRecordWords * 8 && whole(at_ + length, known.offset);
    const auto resume = leads ? at_ + length : next_whole(at_ + 8, known.offset);
    if (resume == known.offset && known.record == 0 && !ended()) return ReadOutcome::nothing;  // torn, or not yet whole
    std::uint64_t lost = 0;
    if (known.record != 0) {
        // Of the records up to the known place those that are whole are there, and every further damage is one or more.
        std::uint64_t others = 0;
        for (auto at = resume; at < known.offset;) {
            ++others;
            at = whole(at, known.offset) ? at + std::size_t{commit_at(at).words} * 8 : next_whole(at, known.offset);
        }
        const auto all = known.record - record_;
        lost = all > others ? all - others : 1;
    } else if (resume < known.offset) {
        lost = leads ? 1 : std::max<std::uint64_t>(1, (resume - at_) / kLeastRecordBytes);
    }
    record_ += lost;
    damage_.last_record = record_ - 1;
    at_ = resume;
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
