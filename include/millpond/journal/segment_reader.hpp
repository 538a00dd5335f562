#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <millpond/journal/layout.hpp>
#include <millpond/journal/segment_header.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::journal {

/// A record in the file. Valid for the lifetime of its SegmentReader.
struct RecordView {
    RecordKind kind{};
    std::uint64_t record{0};  ///< Number of the record in the journal.
    std::uint64_t ring{0};
    std::size_t offset{0};
    std::span<const std::uint64_t> payload{};

    /// Copies the payload. Returns false if it has another size.
    template <class Payload>
    [[nodiscard]] bool copy_to(Payload& into) const noexcept {
        if (payload.size_bytes() != sizeof into) return false;
        std::memcpy(static_cast<void*>(&into), payload.data(), sizeof into);
        return true;
    }
};

/// Receive time of an event, or time of a loss; nullopt for another record.
[[nodiscard]] std::optional<std::int64_t> receive_time(const RecordView& view) noexcept;

enum class ReadOutcome : std::uint8_t {
    record,   ///< A record was read.
    nothing,  ///< No record is available yet: the writer may append more.
    end,      ///< All records of an ended segment have been read.
    damaged,  ///< The bytes here are damaged: see damage(). The reader is after them.
};

/// A damaged range: from `offset` on, up to the next complete record or the segment's end. Also reports that a file was
/// cut off.
struct Damage {
    std::size_t offset{0};
    std::uint64_t first_record{0};
    /// first_record - 1 if there is no record in the range. Exact if the index or the header has the following number;
    /// in the newest part of a growing segment an upper bound.
    std::uint64_t last_record{0};
};

/// Reads a segment from its first record or from a place in its index, also while it grows. A damaged index is not
/// used; a damaged end is treated like that of a growing segment; of a file that was cut off, the remaining part is
/// read.
///
/// Threads: one.
/// Memory:  the file's pages, mapped read-only.
class SegmentReader {
public:
    /// Throws JournalError if the header has too little information to read the records, and memory::RegionError.
    explicit SegmentReader(const std::filesystem::path& path);

    /// Returns false if the segment is unused: it has no records and no identity yet.
    [[nodiscard]] static bool is_started(const std::filesystem::path& path);
    /// True for a file that was allocated and never used: all bytes that a used one writes first are zero. Such a file
    /// can be removed. Also true if there is no such file.
    [[nodiscard]] static bool is_blank(const std::filesystem::path& path);
    /// True for a file with more than a header or too small for one, and for a file that is not regular; an unused
    /// segment is none of these.
    [[nodiscard]] static bool is_filled(const std::filesystem::path& path);

    [[nodiscard]] ReadOutcome next(RecordView& into) noexcept;
    [[nodiscard]] const Damage& damage() const noexcept { return damage_; }

    /// Moves to the last indexed record whose number is not above `record`: at most 64 KiB before it.
    void seek(std::uint64_t record) noexcept;
    /// Moves to an indexed record before which all receive times are earlier than `utc_ns`: at most 64 KiB before the
    /// first record of that time.
    void seek_time(std::int64_t utc_ns) noexcept;
    /// Moves forward to an indexed record before which all ring numbers are at most `ring`: at most 64 KiB before the
    /// first record with a larger one.
    void skip_ring(std::uint64_t ring) noexcept;
    /// Moves to the end of an ended segment.
    void seek_end() noexcept;

    /// Calls visit(record) with the NameRecord of every instrument that is named so far and, if it can be called so,
    /// with the ChannelRecord of every channel; the newest first.
    template <class Visitor>
    void for_each_description(Visitor&& visit) const;

    /// Calls visit(offset, checkpoint) with the end of each checkpoint of the segment so far, the newest first, until
    /// it returns true.
    template <class Visitor>
    void find_checkpoint(Visitor&& visit) const;
    /// First record of the newest checkpoint before the segment; 0 if there is none in its epoch, nullopt if the
    /// header's field is damaged.
    [[nodiscard]] std::optional<std::uint64_t> needed_checkpoint() const noexcept {
        return read_needed_checkpoint(header(), identity_);
    }
    /// Moves to the record at `offset`, of which `record` is the number.
    void seek_to(std::size_t offset, std::uint64_t record) noexcept {
        at_ = offset;
        record_ = record;
    }

    /// Declares that no more records are appended, whatever the header says: records after damaged bytes are searched
    /// for up to the end of the file, then `next` returns `end`. next_record: the number after the last record, from
    /// the next segment; 0: unknown.
    void set_over(std::uint64_t next_record) noexcept;

    [[nodiscard]] const SegmentIdentity& identity() const noexcept { return identity_; }
    /// End of the records; nullopt while the segment may grow, or if the header is damaged.
    [[nodiscard]] const std::optional<SegmentTail>& tail() const noexcept { return tail_; }
    [[nodiscard]] bool ended() const noexcept { return tail_.has_value(); }
    /// Damage of the header or of the file's length that does not prevent reading the records; empty if there is none.
    [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
    /// Offset of the newest description's record, 0 if there is none; nullopt if the header's field is damaged.
    [[nodiscard]] std::optional<std::uint64_t> last_description() const noexcept;
    /// Offset of the newest CheckpointRecord; 0 if there is none, nullopt if the header's field is damaged.
    [[nodiscard]] std::optional<std::uint64_t> last_checkpoint() const noexcept;
    /// Index entry of a block of 64 KiB; nullopt if there is none or it is damaged.
    [[nodiscard]] std::optional<IndexedPlace> place(std::size_t block) const noexcept;
    /// Number of the record that `next` returns next.
    [[nodiscard]] std::uint64_t next_record() const noexcept { return record_; }
    [[nodiscard]] std::size_t offset() const noexcept { return at_; }
    /// Commit word of a record that was read at `offset`.
    [[nodiscard]] std::uint64_t commit_word(std::size_t offset) const noexcept { return commit_at(offset).word(); }

private:
    [[nodiscard]] const SegmentHeader& header() const noexcept {
        return *reinterpret_cast<const SegmentHeader*>(region_.data());
    }
    void note_fault(const std::string& what);
    void find_tail() noexcept;
    [[nodiscard]] std::size_t limit() const noexcept;
    [[nodiscard]] CommitWord commit_at(std::size_t offset) const noexcept;
    [[nodiscard]] bool whole(std::size_t offset, std::size_t limit) const noexcept;
    [[nodiscard]] std::size_t next_whole(std::size_t offset, std::size_t limit) const noexcept;
    /// Offset after the record at `offset`, or after the damage there.
    [[nodiscard]] std::size_t behind(std::size_t offset, std::size_t limit) const noexcept;
    /// The complete record at `offset`; nullopt if there is none.
    [[nodiscard]] std::optional<RecordView> view_at(std::size_t offset) const noexcept;
    /// Visits the description at `offset`. Returns the offset of the previous one; nullopt if there is none here.
    template <class Visitor>
    [[nodiscard]] std::optional<std::uint64_t> visit_description(std::size_t offset, Visitor& visit) const;
    template <class Before>
    void seek_last(Before&& before) noexcept;
    struct Known {
        std::size_t offset;
        std::uint64_t record;  ///< 0: unknown
    };
    [[nodiscard]] Known known_behind(std::size_t limit) const noexcept;
    ReadOutcome skip_damage(std::size_t limit) noexcept;
    ReadOutcome finish() noexcept;

    memory::Region region_;
    SegmentIdentity identity_;
    std::optional<SegmentTail> tail_;
    std::string fault_;
    std::size_t bytes_{0};  // bytes of the segment that the file has
    std::size_t at_{0};
    std::uint64_t record_{0};
    std::uint64_t behind_last_{0};  // number after the last record; 0: unknown
    bool over_{false};              // no more records are appended
    Damage damage_{};
};

template <class Visitor>
std::optional<std::uint64_t> SegmentReader::visit_description(std::size_t offset, Visitor& visit) const {
    const auto view = view_at(offset);
    if (!view) return std::nullopt;
    if (NameRecord name; view->kind == RecordKind::name && view->copy_to(name)) {
        visit(std::as_const(name));
        return name.previous;
    }
    if (ChannelRecord channel; view->kind == RecordKind::channel && view->copy_to(channel)) {
        if constexpr (std::is_invocable_v<Visitor&, const ChannelRecord&>) visit(std::as_const(channel));
        return channel.previous;
    }
    return std::nullopt;
}

template <class Visitor>
void SegmentReader::for_each_description(Visitor&& visit) const {
    auto at = last_description();
    while (at && *at != 0) {
        const auto previous = visit_description(*at, visit);
        at = previous && *previous < *at ? previous : std::nullopt;
    }
    if (at) return;
    // The chain is damaged.
    const auto stop = limit();
    for (auto offset = data_offset(identity_.segment_bytes); offset < stop; offset = behind(offset, stop))
        static_cast<void>(visit_description(offset, visit));
}

template <class Visitor>
void SegmentReader::find_checkpoint(Visitor&& visit) const {
    const auto checkpoint_at = [&](std::size_t offset) -> std::optional<CheckpointRecord> {
        const auto view = view_at(offset);
        CheckpointRecord found;
        if (!view || view->kind != RecordKind::checkpoint || !view->copy_to(found)) return std::nullopt;
        return found;
    };
    auto at = last_checkpoint();
    while (at && *at != 0) {
        const auto found = checkpoint_at(*at);
        if (found && visit(static_cast<std::size_t>(*at), *found)) return;
        at = found && found->previous < *at ? std::optional{found->previous} : std::nullopt;
    }
    if (at) return;
    // The chain is damaged.
    std::vector<std::size_t> offsets;
    const auto stop = limit();
    for (auto offset = data_offset(identity_.segment_bytes); offset < stop; offset = behind(offset, stop)) {
        if (checkpoint_at(offset)) offsets.push_back(offset);
    }
    for (auto offset = offsets.rbegin(); offset != offsets.rend(); ++offset) {
        if (visit(*offset, *checkpoint_at(*offset))) return;
    }
}

}  // namespace millpond::journal
