#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>

#include <millpond/journal/layout.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::journal {

/// The checksums that a header of layout version 2 holds.
[[nodiscard]] std::uint64_t identity_crc(const SegmentHeader& header) noexcept;
[[nodiscard]] std::uint64_t end_crc(const SegmentHeader& header) noexcept;

/// One record as it lies in the file. Valid while its SegmentReader lives.
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

enum class ReadOutcome : std::uint8_t {
    record,   ///< There is one.
    nothing,  ///< None yet: the writer may append more.
    end,      ///< The segment is ended and read.
    damaged,  ///< What lies here was never written so: see damage(). The reader stands behind it.
};

/// Bytes that are no record: from `offset` on, up to the next whole record or the segment's end.
struct Damage {
    std::size_t offset{0};
    std::uint64_t first_record{0};
    /// first_record - 1 when the bytes hold none. Exact where the index or the header knows what follows; in the newest
    /// part of a growing segment not fewer than there were.
    std::uint64_t last_record{0};
};

/// Reads a segment from the begin or from a place that its index gives, also while it grows.
///
/// Threads: one.
/// Memory:  the file's pages, mapped read-only.
class SegmentReader {
public:
    /// Throws JournalError, memory::RegionError.
    explicit SegmentReader(const std::filesystem::path& path);

    /// False while the segment waits to be used: it has no records and no identity yet.
    [[nodiscard]] static bool begun(const std::filesystem::path& path);
    /// True for a file that was allocated and never used: everything that a started one holds first is zero. Such a
    /// file can go. One whose magic alone is zero was started and is damaged. Also true where there is no such file.
    [[nodiscard]] static bool is_blank(const std::filesystem::path& path);

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

    [[nodiscard]] const SegmentHeader& header() const noexcept {
        return *reinterpret_cast<const SegmentHeader*>(region_.data());
    }
    [[nodiscard]] bool ended() const noexcept;
    /// Number of the next record that `next` gives.
    [[nodiscard]] std::uint64_t next_record() const noexcept { return record_; }
    [[nodiscard]] std::size_t offset() const noexcept { return at_; }

    /// Ring number and receive time that the index knows before the place of the last seek; where recovery goes on.
    [[nodiscard]] std::uint64_t indexed_ring() const noexcept { return indexed_ring_; }
    [[nodiscard]] std::int64_t indexed_utc_ns() const noexcept { return indexed_utc_ns_; }

private:
    [[nodiscard]] const IndexEntry& index(std::size_t block) const noexcept {
        return reinterpret_cast<const IndexEntry*>(region_.data() + kHeaderBytes)[block];
    }
    [[nodiscard]] std::size_t limit() const noexcept;
    [[nodiscard]] CommitWord commit_at(std::size_t offset) const noexcept;
    [[nodiscard]] bool whole(std::size_t offset, std::size_t limit) const noexcept;
    [[nodiscard]] std::size_t next_whole(std::size_t offset, std::size_t limit) const noexcept;
    [[nodiscard]] bool read_name(std::size_t offset, NameRecord& into) const noexcept;
    template <class Before>
    void seek_last(Before&& before) noexcept;
    void go_to(std::size_t block) noexcept;
    struct Known {
        std::size_t offset;
        std::uint64_t record;  ///< 0: not known
    };
    [[nodiscard]] Known known_behind(std::size_t limit) const noexcept;
    ReadOutcome skip_damage(std::size_t limit) noexcept;

    memory::Region region_;
    std::size_t at_{0};
    std::uint64_t record_{0};
    std::uint64_t indexed_ring_{0};
    std::int64_t indexed_utc_ns_{0};
    Damage damage_{};
};

template <class Visitor>
void SegmentReader::for_each_name(Visitor&& visit) const {
    // sync "name whole": SegmentWriter::append_name
    auto offset = header().last_name.load(std::memory_order_acquire);
    NameRecord name;
    while (offset != 0) {
        if (!read_name(offset, name)) break;
        visit(name);
        if (name.previous >= offset) break;
        offset = name.previous;
    }
    if (offset == 0) return;
    // A link of the chain is damaged: names come before what speaks of them, most of them first.
    const auto stop = limit();
    for (auto at = data_offset(region_.size()); at < stop; at = next_whole(at + 8, stop)) {
        if (read_name(at, name)) visit(name);
    }
}

}  // namespace millpond::journal
