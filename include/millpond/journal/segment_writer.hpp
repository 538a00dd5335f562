#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>

#include <millpond/journal/catalog.hpp>
#include <millpond/journal/crc32c.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/journal/segment_header.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::journal {

/// Writes into the header that the segment grows no more, and gives the room behind `tail` back to the file system
/// where that takes it back.
void end_segment(memory::Region& segment, const SegmentTail& tail) noexcept;

/// The state of a segment whose writer died.
struct DeadSegment {
    SegmentIdentity identity{};
    SegmentTail tail{};
    std::string fault{};  ///< SegmentReader::fault
};

/// Ends a segment whose writer died, behind its last whole record, and makes a damaged header good; one that is sound
/// and ended already stays as it is. Reads all of one that is not ended. next_record: the number that the next segment
/// begins with; 0: not known. Throws JournalError when the file is no segment that can be read, memory::RegionError.
DeadSegment end_dead_segment(const std::filesystem::path& path, std::uint64_t next_record = 0);

/// One segment file while it grows: allocated, then started, then appended to, then ended.
///
/// Threads: one appends; `next_record` and `sync` on any.
/// Memory:  the file, allocated whole and mapped.
class SegmentWriter {
public:
    /// Allocates the file. bytes: a multiple of 64 KiB. Throws memory::RegionError, with ENOSPC where the disk is full.
    SegmentWriter(SegmentFile file, std::uint64_t bytes, std::uint32_t mode = 0640);
    SegmentWriter(const SegmentWriter&) = delete;
    SegmentWriter& operator=(const SegmentWriter&) = delete;

    /// Makes the segment one that readers accept. Its version and size are this writer's, whatever `identity` says.
    void begin(const SegmentIdentity& identity) noexcept;

    /// Appends one record. False, and nothing changes, when there is no room. utc_ns: its receive time, for the index.
    template <class Payload>
    [[nodiscard]] bool append(RecordKind kind, std::uint64_t ring, const Payload& payload,
                              std::int64_t utc_ns) noexcept;
    /// As `append`, of an instrument's name.
    [[nodiscard]] bool append_name(NameRecord name) noexcept;

    /// No more is appended: see end_segment.
    void end() noexcept;

    /// Waits until all that was appended before the call is on the disk. Throws std::system_error naming the file.
    void sync() const;

    [[nodiscard]] std::uint64_t next_record() const noexcept {
        return next_record_.load(std::memory_order_acquire);  // sync "record whole": append
    }
    [[nodiscard]] std::uint64_t last_ring() const noexcept { return last_ring_; }
    [[nodiscard]] std::uint64_t free_bytes() const noexcept { return region_.size() - at_; }
    [[nodiscard]] const SegmentHeader& header() const noexcept {
        return *reinterpret_cast<const SegmentHeader*>(region_.data());
    }
    [[nodiscard]] const SegmentFile& file() const noexcept { return file_; }
    /// False once another process has moved or removed the file. A system call.
    [[nodiscard]] bool is_in_place() const noexcept { return region_.name_is_current(); }

private:
    SegmentHeader& own_header() noexcept { return *reinterpret_cast<SegmentHeader*>(region_.data()); }
    void note_in_index() noexcept;

    SegmentFile file_;
    memory::Region region_;
    std::size_t at_{0};     // where the next record begins
    std::size_t block_{0};  // index blocks below this one have their entry
    std::uint64_t last_name_{0};
    std::uint64_t last_ring_{0};
    std::int64_t newest_utc_ns_{0};
    std::atomic<std::uint64_t> next_record_{1};
};

template <class Payload>
bool SegmentWriter::append(RecordKind kind, std::uint64_t ring, const Payload& payload, std::int64_t utc_ns) noexcept {
    constexpr std::size_t kWords = kRecordBytes<Payload> / 8;
    static_assert(kWords <= kMostRecordWords && sizeof(Payload) % 8 == 0);
    if (region_.size() - at_ < kWords * 8) return false;
    if (at_ / kIndexBlockBytes >= block_) note_in_index();
    std::array<std::uint64_t, kWords> words{0, ring};
    std::memcpy(&words[kRecordHeadWords], &payload, sizeof payload);
    words[0] = CommitWord{.kind = static_cast<std::uint16_t>(kind),
                          .words = static_cast<std::uint16_t>(kWords),
                          .crc = crc32c(std::span{words}.subspan(1))}
                   .word();
    auto* record = reinterpret_cast<std::uint64_t*>(region_.data() + at_);
    std::memcpy(record + 1, &words[1], (kWords - 1) * 8);
    // sync "record whole": SegmentReader::next
    std::atomic_ref{*record}.store(words[0], std::memory_order_release);
    at_ += kWords * 8;
    if (ring > last_ring_) last_ring_ = ring;
    if (utc_ns > newest_utc_ns_) newest_utc_ns_ = utc_ns;
    // sync "record whole": next_record
    next_record_.store(next_record_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    return true;
}

}  // namespace millpond::journal
