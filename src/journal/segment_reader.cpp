#include <millpond/core/descriptor.hpp>
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

#include <millpond/core/crc32c.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/journal/journal_error.hpp>

namespace millpond::journal {

namespace {

/// True for a regular file that has only zeros from this offset until after the place of its first records. False for a
/// file that is shorter than a header, which no writer allocates.
bool is_zero_from(const core::Descriptor& file, std::uint64_t offset) {
    struct stat facts{};
    bool zero = fstat(file.get(), &facts) == 0 && S_ISREG(facts.st_mode);
    const auto bytes = static_cast<std::uint64_t>(facts.st_size);
    if (bytes != 0 && bytes < kHeaderBytes) return false;
    std::array<std::byte, kHeaderBytes> page{};
    const auto stop = bytes == 0 ? 0 : std::min<std::uint64_t>(bytes, data_offset(bytes) + kHeaderBytes);
    for (auto at = offset; zero && at < stop; at += page.size()) {
        const auto got = pread(file.get(), page.data(), page.size(), static_cast<off_t>(at));
        zero = got > 0 && std::ranges::all_of(std::span{page}.first(static_cast<std::size_t>(got)),
                                              [](std::byte byte) { return byte == std::byte{0}; });
    }
    return zero;
}

memory::Region open_segment(const std::filesystem::path& path) {
    try {
        return memory::Region::open_file(path);
    } catch (const memory::RegionError& error) {
        if (error.code().value() != EAGAIN) throw;
        throw JournalError(path.string() + ": it is empty");
    }
}

core::Descriptor open_to_look(const std::filesystem::path& path) {
    return core::Descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
}

}  // namespace

std::optional<std::int64_t> receive_time(const RecordView& view) noexcept {
    if (view.kind == RecordKind::lost) {
        LostRecord lost;
        if (!view.copy_to(lost)) return std::nullopt;
        return lost.utc_ns;
    }
    std::optional<std::int64_t> time;
    feed::Events::visit(static_cast<feed::EventKind>(view.kind), [&]<class Event>() {
        if (Event event; view.copy_to(event)) time = event.receive_utc_ns;
    });
    return time;
}

SegmentReader::SegmentReader(const std::filesystem::path& path) : region_(open_segment(path)) {
    const auto refuse = [&](const std::string& what) { throw JournalError(path.string() + ": " + what); };
    if (region_.size() < kHeaderBytes)
        refuse("not a journal segment: " + std::to_string(region_.size()) + " bytes, the minimum is 4096");
    auto read = read_identity(header());
    if (!read) refuse(read.error());
    identity_ = read->identity;
    const auto said = identity_.segment_bytes;
    const auto lengths = std::to_string(region_.size()) + " bytes, its header says " + std::to_string(said);
    if (said == 0 || said % kIndexBlockBytes != 0) refuse("no whole number of 64 KiB: " + lengths);
    if (region_.size() < said && region_.size() <= data_offset(said))
        refuse("cut off before its first record: " + lengths);
    if (!read->fault.empty()) note_fault(read->fault);
    if (region_.size() < said) note_fault("cut off: " + lengths);
    if (region_.size() > said) note_fault("too long: " + lengths);
    bytes_ = std::min<std::size_t>(region_.size(), said) / 8 * 8;
    SegmentTail tail;
    if (read_tail(header(), identity_, tail) == TailState::damaged) note_fault("the end in its header is damaged");
    find_tail();
    seek(0);
}

void SegmentReader::note_fault(const std::string& what) { fault_ += fault_.empty() ? what : "; " + what; }

bool SegmentReader::is_started(const std::filesystem::path& path) {
    const auto file = open_to_look(path);
    if (!file) return false;
    SegmentHeader header{};
    const bool got =
        read(file.get(), static_cast<void*>(&header), sizeof header) >= static_cast<ssize_t>(sizeof(std::uint64_t));
    if (!got) return false;
    // A segment without the magic is about to be started by a writer, unless the rest of its identity is complete.
    return header.magic.load(std::memory_order_relaxed) != 0 || read_identity(header).has_value();
}

bool SegmentReader::is_blank(const std::filesystem::path& path) {
    const auto file = open_to_look(path);
    return file ? is_zero_from(file, 0) : errno == ENOENT;
}

bool SegmentReader::is_filled(const std::filesystem::path& path) {
    const auto file = open_to_look(path);
    return file ? !is_zero_from(file, kHeaderBytes) : errno != ENOENT;
}

void SegmentReader::find_tail() noexcept {
    SegmentTail tail;
    if (read_tail(header(), identity_, tail) != TailState::sound) return;
    tail_ = tail;
    set_over(tail.next_record);
}

void SegmentReader::set_over(std::uint64_t next_record) noexcept {
    over_ = true;
    behind_last_ = next_record;
}

std::size_t SegmentReader::limit() const noexcept { return tail_ ? std::min(tail_->end, bytes_) : bytes_; }

std::optional<std::uint64_t> SegmentReader::last_description() const noexcept {
    // sync "name whole": SegmentWriter::append_name
    return chain_offset(header().last_description.load(std::memory_order_acquire));
}

std::optional<std::uint64_t> SegmentReader::last_checkpoint() const noexcept {
    // sync "checkpoint complete": SegmentWriter::append_checkpoint
    const auto word = header().last_checkpoint.load(std::memory_order_acquire);
    return word == 0 ? std::optional<std::uint64_t>{0} : chain_offset(word);
}

std::optional<IndexedPlace> SegmentReader::place(std::size_t block) const noexcept {
    const auto& entry = reinterpret_cast<const IndexEntry*>(region_.data() + kHeaderBytes)[block];
    const auto found = read_place(entry, block);
    if (!found || found->record < identity_.first_record || found->offset < data_offset(identity_.segment_bytes)) {
        return std::nullopt;
    }
    return found;
}

CommitWord SegmentReader::commit_at(std::size_t offset) const noexcept {
    // The file is mapped read-only: atomic_ref needs a non-const object, but only loads.
    auto* word = const_cast<std::uint64_t*>(reinterpret_cast<const std::uint64_t*>(region_.data() + offset));
    // sync "record complete": SegmentWriter::append
    return CommitWord::of(std::atomic_ref{*word}.load(std::memory_order_acquire));
}

bool SegmentReader::whole(std::size_t offset, std::size_t limit) const noexcept {
    if (offset > limit || limit - offset < kRecordHeadWords * 8) return false;
    const auto commit = commit_at(offset);
    if (commit.words < kRecordHeadWords || commit.words > kMaxRecordWords) return false;
    if (limit - offset < std::size_t{commit.words} * 8) return false;
    const auto covered = commit.covered();
    const auto behind = (std::size_t{commit.words} - 1) * 8;
    return core::crc32c({&covered, 1}, {region_.data() + offset + 8, behind}) == commit.crc;
}

/// Offset of the first complete record from `offset` on; `limit` if there is none.
std::size_t SegmentReader::next_whole(std::size_t offset, std::size_t limit) const noexcept {
    while (offset < limit && !whole(offset, limit)) offset += 8;
    return std::min(offset, limit);
}

std::size_t SegmentReader::behind(std::size_t offset, std::size_t limit) const noexcept {
    return whole(offset, limit) ? offset + std::size_t{commit_at(offset).words} * 8 : next_whole(offset + 8, limit);
}

std::optional<RecordView> SegmentReader::view_at(std::size_t offset) const noexcept {
    if (offset < data_offset(identity_.segment_bytes) || offset % 8 != 0 || !whole(offset, bytes_)) return std::nullopt;
    const auto* record = reinterpret_cast<const std::uint64_t*>(region_.data() + offset);
    const auto commit = commit_at(offset);
    return RecordView{.kind = static_cast<RecordKind>(commit.kind),
                      .ring = record[1],
                      .offset = offset,
                      .payload = {record + kRecordHeadWords, std::size_t{commit.words} - kRecordHeadWords}};
}

ReadOutcome SegmentReader::next(RecordView& into) noexcept {
    const auto has_word = [this](std::size_t end) { return at_ + kRecordHeadWords * 8 <= end; };
    if (!tail_ && (!has_word(bytes_) || commit_at(at_).word() == 0)) {
        find_tail();  // and check again: the writer may have appended before it ended the segment
        if (!over_) return ReadOutcome::nothing;
        if (!tail_ && behind_last_ == record_) return ReadOutcome::end;
    }
    const auto end = limit();
    if (!has_word(end)) return finish();
    if (!whole(at_, end)) return skip_damage(end);
    const auto* record = reinterpret_cast<const std::uint64_t*>(region_.data() + at_);
    const auto commit = commit_at(at_);
    into.kind = static_cast<RecordKind>(commit.kind);
    into.record = record_;
    into.ring = record[1];
    into.offset = at_;
    into.payload = {record + kRecordHeadWords, std::size_t{commit.words} - kRecordHeadWords};
    at_ += std::size_t{commit.words} * 8;
    ++record_;
    return ReadOutcome::record;
}

/// Handles the end of the records: records missing from the file are lost.
ReadOutcome SegmentReader::finish() noexcept {
    if (!over_) return ReadOutcome::nothing;
    if (behind_last_ <= record_) return ReadOutcome::end;
    damage_ = {.offset = at_, .first_record = record_, .last_record = behind_last_ - 1};
    record_ = behind_last_;
    return ReadOutcome::damaged;
}

/// The next offset with a known record number: that of an index entry, otherwise the end of an ended segment, otherwise
/// the end of the records of a growing one.
SegmentReader::Known SegmentReader::known_behind(std::size_t limit) const noexcept {
    for (auto block = at_ / kIndexBlockBytes + 1; block < index_entries(identity_.segment_bytes); ++block) {
        const auto found = place(block);
        if (!found || found->record <= record_ || found->offset <= at_ || found->offset >= limit) continue;
        return {found->offset, found->record};
    }
    if (over_) return {limit, behind_last_ > record_ ? behind_last_ : 0};
    // An entry precedes the first record of its block: nothing lies beyond the end of the block and one more record.
    const auto stop = (at_ / kIndexBlockBytes + 1) * kIndexBlockBytes + kMaxRecordWords * 8;
    return {std::min(limit, stop), 0};
}

ReadOutcome SegmentReader::skip_damage(std::size_t limit) noexcept {
    damage_ = {.offset = at_, .first_record = record_, .last_record = record_ - 1};
    const auto known = known_behind(limit);
    // The damaged record's length, unless it is damaged itself, leads to the next record.
    const auto length = std::size_t{commit_at(at_).words} * 8;
    const bool leads = length != 0 && length <= kMaxRecordWords * 8 && whole(at_ + length, known.offset);
    const auto resume = leads ? at_ + length : next_whole(at_ + 8, known.offset);
    if (resume == known.offset && known.record == 0 && !tail_) {
        if (!over_) return ReadOutcome::nothing;  // incomplete, or not complete yet
        at_ = limit;
        return ReadOutcome::end;
    }
    std::uint64_t lost = 0;
    if (known.record != 0) {
        // Up to the known offset: counts complete records as present, and every further damage as one or more records.
        std::uint64_t others = 0;
        for (auto at = resume; at < known.offset; at = behind(at, known.offset)) ++others;
        const auto all = known.record - record_;
        lost = all > others ? all - others : 1;
    } else if (resume < known.offset) {
        lost = leads ? 1 : std::max<std::uint64_t>(1, (resume - at_) / kMinRecordBytes);
    }
    record_ += lost;
    damage_.last_record = record_ - 1;
    at_ = resume;
    return ReadOutcome::damaged;
}

/// Moves to the last valid entry for which `before` is true; skips missing or damaged entries.
template <class Before>
void SegmentReader::seek_last(Before&& before) noexcept {
    at_ = data_offset(identity_.segment_bytes);
    record_ = identity_.first_record;
    auto first = at_ / kIndexBlockBytes;
    auto last = index_entries(identity_.segment_bytes);
    const auto stop = limit();
    while (first < last) {
        const auto middle = first + (last - first) / 2;
        auto block = middle;
        auto found = place(block);
        while (!found && block > first) found = place(--block);
        if (!found) {
            first = middle + 1;
        } else if (found->offset < stop && before(*found)) {
            at_ = found->offset;
            record_ = found->record;
            first = middle + 1;
        } else {
            last = block;
        }
    }
}

void SegmentReader::seek(std::uint64_t record) noexcept {
    seek_last([record](const IndexedPlace& indexed) { return indexed.record <= record; });
}

void SegmentReader::seek_time(std::int64_t utc_ns) noexcept {
    seek_last([utc_ns](const IndexedPlace& indexed) { return indexed.newest_utc_ns < utc_ns; });
}

void SegmentReader::skip_ring(std::uint64_t ring) noexcept {
    const auto at = at_;
    const auto record = record_;
    seek_last([ring](const IndexedPlace& indexed) { return indexed.ring <= ring; });
    if (record_ >= record) return;
    at_ = at;
    record_ = record;
}

void SegmentReader::seek_end() noexcept {
    at_ = limit();
    record_ = tail_->next_record;
}

}  // namespace millpond::journal
