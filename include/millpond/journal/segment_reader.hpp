#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>

#include <millpond/journal/layout.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::journal {

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

/// Bytes that are no record: from `offset` on, up to a place that the index knows or the segment's end.
struct Damage {
    std::size_t offset{0};
    std::uint64_t first_record{0};
    std::uint64_t last_record{0};  ///< first_record - 1 when the number of records there is not known.
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
    [[nodiscard]] bool whole(std::size_t limit, CommitWord commit) const noexcept;
    template <class Before>
    void seek_last(Before&& before) noexcept;
    void go_to(std::size_t block) noexcept;
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
    while (offset >= data_offset(region_.size()) && offset <= region_.size() - kRecordBytes<NameRecord>) {
        NameRecord name;
        std::memcpy(static_cast<void*>(&name), region_.data() + offset + kRecordHeadWords * 8, sizeof name);
        visit(name);
        if (name.previous >= offset) return;
        offset = name.previous;
    }
}

}  // namespace millpond::journal
