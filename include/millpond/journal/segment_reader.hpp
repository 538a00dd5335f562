#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include <millpond/journal/layout.hpp>
#include <millpond/journal/segment_header.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::journal {

/// One record in the file. Valid for the lifetime of its SegmentReader.
struct RecordView {
    RecordKind kind{};
    std::uint64_t record{0};  ///< Its number in the journal.
    std::uint64_t ring{0};
    std::size_t offset{0};
    std::span<const std::uint64_t> payload{};

    /// False when the payload has not the size of such a record.
    template <class Payload>
    [[nodiscard]] bool copy_to(Payload& into) const noexcept {
        if (payload.size_bytes() != sizeof into) return false;
        std::memcpy(static_cast<void*>(&into), payload.data(), sizeof into);
        return true;
    }
};

/// The receive time of an event's record, the time of a loss; nothing for a name.
[[nodiscard]] std::optional<std::int64_t> receive_time(const RecordView& view) noexcept;

enum class ReadOutcome : std::uint8_t {
    record,   ///< There is one.
    nothing,  ///< None yet: the writer may append more.
    end,      ///< The segment is ended, or over, and read.
    damaged,  ///< The bytes here are damaged: see damage(). The reader is behind them.
};

/// Bytes that are no record: from `offset` on, up to the next whole record or the segment's end. Also records that a
/// file which was cut off has no more.
struct Damage {
    std::size_t offset{0};
    std::uint64_t first_record{0};
    /// first_record - 1 when the bytes hold none. Exact where the index or the header knows what follows; in the newest
    /// part of a growing segment not fewer than there were.
    std::uint64_t last_record{0};
};

/// Reads a segment from its first record or from a place that its index gives, also while it grows. A damaged index is
/// not used, a damaged end is read past like that of a segment that grows, and of a file that was cut off what is left
/// is read.
///
/// Threads: one.
/// Memory:  the file's pages, mapped read-only.
class SegmentReader {
public:
    /// Throws JournalError where the header says too little to read the records, memory::RegionError.
    explicit SegmentReader(const std::filesystem::path& path);

    /// False while the segment waits to be used: it has no records and no identity yet.
    [[nodiscard]] static bool is_started(const std::filesystem::path& path);
    /// True for a file that was allocated and never used: all that a used one would hold first is zero. Such a file
    /// can go. Also true where there is no such file.
    [[nodiscard]] static bool is_blank(const std::filesystem::path& path);
    /// True for a file that holds more than a header or has room for less, and for what is no regular file: one that
    /// waits to be used is neither.
    [[nodiscard]] static bool is_filled(const std::filesystem::path& path);

    [[nodiscard]] ReadOutcome next(RecordView& into) noexcept;
    [[nodiscard]] const Damage& damage() const noexcept { return damage_; }

    /// Goes to the last indexed record whose number is not above `record`: at most 64 KiB before it.
    void seek(std::uint64_t record) noexcept;
    /// Goes to an indexed record before which no receive time is as late as `utc_ns`: at most 64 KiB before the first
    /// record of that time.
    void seek_time(std::int64_t utc_ns) noexcept;

    /// Calls visit(name) for every instrument that is named so far, the newest first.
    template <class Visitor>
    void for_each_name(Visitor&& visit) const;

    /// Nothing more is appended, whatever the header says: records behind damaged bytes are looked for up to the end of
    /// the file, then `next` gives `end`. next_record: the number behind the last record, as the next segment says; 0:
    /// not known.
    void set_over(std::uint64_t next_record) noexcept;

    [[nodiscard]] const SegmentIdentity& identity() const noexcept { return identity_; }
    /// Where the records stop; nothing while the segment may grow, or when the header does not say it reliably.
    [[nodiscard]] const std::optional<SegmentTail>& tail() const noexcept { return tail_; }
    [[nodiscard]] bool ended() const noexcept { return tail_.has_value(); }
    /// What is damaged in the header or the file's length although the records can be read; empty when nothing is.
    [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
    /// Where the newest name lies, 0 when there is none; nothing when that is damaged, which before version 3 nothing
    /// shows.
    [[nodiscard]] std::optional<std::uint64_t> last_name() const noexcept;
    /// The index's entry of a block of 64 KiB; nothing when there is none or it is damaged.
    [[nodiscard]] std::optional<IndexedPlace> place(std::size_t block) const noexcept;
    /// Number of the next record that `next` gives.
    [[nodiscard]] std::uint64_t next_record() const noexcept { return record_; }
    [[nodiscard]] std::size_t offset() const noexcept { return at_; }

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
    /// Behind the record at `offset`, or behind the damage that lies there.
    [[nodiscard]] std::size_t behind(std::size_t offset, std::size_t limit) const noexcept;
    [[nodiscard]] bool read_name(std::size_t offset, NameRecord& into) const noexcept;
    template <class Before>
    void seek_last(Before&& before) noexcept;
    struct Known {
        std::size_t offset;
        std::uint64_t record;  ///< 0: not known
    };
    [[nodiscard]] Known known_behind(std::size_t limit) const noexcept;
    ReadOutcome skip_damage(std::size_t limit) noexcept;
    ReadOutcome finish() noexcept;

    memory::Region region_;
    SegmentIdentity identity_;
    std::optional<SegmentTail> tail_;
    std::string fault_;
    std::size_t bytes_{0};  // of the segment that the file has
    std::size_t at_{0};
    std::uint64_t record_{0};
    std::uint64_t behind_last_{0};  // number behind the last record; 0: not known
    bool over_{false};              // nothing more is appended
    Damage damage_{};
};

template <class Visitor>
void SegmentReader::for_each_name(Visitor&& visit) const {
    NameRecord name;
    auto at = identity_.layout_version < kFirstIndexChecksums ? std::nullopt : last_name();
    while (at && *at != 0) {
        if (!read_name(*at, name) || name.previous >= *at) {
            at.reset();
        } else {
            visit(name);
            at = name.previous;
        }
    }
    if (at) return;
    // The chain is damaged, or of a version that cannot show that it is not.
    const auto stop = limit();
    for (auto offset = data_offset(identity_.segment_bytes); offset < stop; offset = behind(offset, stop)) {
        if (read_name(offset, name)) visit(name);
    }
}

}  // namespace millpond::journal
