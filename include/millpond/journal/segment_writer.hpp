#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <string>

#include <millpond/core/crc32c.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/journal/segment_header.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::journal {

/// Marks the segment as ended in its header, and returns the space after `tail` to the file system if it supports that.
void end_segment(memory::Region& segment, const SegmentTail& tail) noexcept;

/// The state of a segment whose writer died.
struct DeadSegment {
    SegmentIdentity identity{};
    SegmentTail tail{};
    std::string fault{};  ///< See SegmentReader::fault.
};

/// Ends a segment whose writer died, after its last complete record, and repairs a damaged header; a segment that is
/// intact and ended is not changed. Reads all of a segment that is not ended. next_record: first number of the next
/// segment; 0: unknown. Throws JournalError if the file is not a readable segment, and memory::RegionError.
DeadSegment end_dead_segment(const std::filesystem::path& path, std::uint64_t next_record = 0);

/// Writes one segment's file: allocates, starts, appends to and ends it.
///
/// Threads: one appends; `next_record` and `sync` on any.
/// Memory:  the file, allocated completely and mapped.
class SegmentWriter {
public:
    /// Allocates the file. bytes: a multiple of 64 KiB. Throws memory::RegionError, with ENOSPC if the disk is full.
    SegmentWriter(SegmentFile file, std::uint64_t bytes, std::uint32_t mode = 0640);
    SegmentWriter(const SegmentWriter&) = delete;
    SegmentWriter& operator=(const SegmentWriter&) = delete;

    /// Starts the segment, so that readers accept it. Its size is the file's, whatever `identity` says.
    /// needed_checkpoint: first record of the newest checkpoint of the epoch; 0: there is none.
    void begin(const SegmentIdentity& identity, std::uint64_t needed_checkpoint = 0) noexcept;

    /// Appends a record. Returns false, with nothing changed, if it does not fit. utc_ns: its receive time, for the
    /// index.
    template <class Payload>
    [[nodiscard]] bool append(RecordKind kind, std::uint64_t ring, const Payload& payload,
                              std::int64_t utc_ns) noexcept;
    /// Appends an instrument's name.
    [[nodiscard]] bool append_name(NameRecord name) noexcept { return append_to_chain(RecordKind::name, name); }
    /// Appends a channel's depth.
    [[nodiscard]] bool append_channel(ChannelRecord channel) noexcept {
        return append_to_chain(RecordKind::channel, channel);
    }
    /// Appends the end of a checkpoint. ring: number of the newest event before it.
    [[nodiscard]] bool append_checkpoint(std::uint64_t ring, CheckpointRecord checkpoint) noexcept;

    /// Ends the segment: see end_segment.
    void end() noexcept;

    /// Waits until all earlier records are on the disk. Throws std::system_error that names the file.
    void sync() const;

    [[nodiscard]] std::uint64_t next_record() const noexcept {
        return next_record_.load(std::memory_order_acquire);  // sync "record complete": append
    }
    [[nodiscard]] std::uint64_t last_ring() const noexcept { return last_ring_; }
    [[nodiscard]] std::uint64_t free_bytes() const noexcept { return region_.size() - at_; }
    [[nodiscard]] std::size_t offset() const noexcept { return at_; }
    /// Commit word of the record at `offset`.
    [[nodiscard]] std::uint64_t commit_at(std::size_t offset) const noexcept {
        return *reinterpret_cast<const std::uint64_t*>(region_.data() + offset);
    }
    [[nodiscard]] const SegmentHeader& header() const noexcept {
        return *reinterpret_cast<const SegmentHeader*>(region_.data());
    }
    [[nodiscard]] const SegmentFile& file() const noexcept { return file_; }
    /// Returns false once another process has moved or removed the file. A system call.
    [[nodiscard]] bool is_in_place() const noexcept { return region_.name_is_current(); }

private:
    SegmentHeader& own_header() noexcept { return *reinterpret_cast<SegmentHeader*>(region_.data()); }
    void note_in_index() noexcept;
    template <class Payload>
    [[nodiscard]] bool append_to_chain(RecordKind kind, Payload payload) noexcept;

    SegmentFile file_;
    memory::Region region_;
    std::size_t at_{0};     // offset of the next record
    std::size_t block_{0};  // blocks below this one have their index entry
    std::uint64_t last_description_{0};
    std::uint64_t last_checkpoint_{0};
    std::uint64_t last_ring_{0};
    std::int64_t newest_utc_ns_{0};
    std::int64_t oldest_utc_ns_{std::numeric_limits<std::int64_t>::max()};
    std::atomic<std::uint64_t> next_record_{1};
};

template <class Payload>
bool SegmentWriter::append(RecordKind kind, std::uint64_t ring, const Payload& payload, std::int64_t utc_ns) noexcept {
    constexpr std::size_t kWords = kRecordBytes<Payload> / 8;
    static_assert(kWords <= kMaxRecordWords && sizeof(Payload) % 8 == 0);
    if (region_.size() - at_ < kWords * 8) return false;
    if (at_ / kIndexBlockBytes >= block_) note_in_index();
    CommitWord commit{.kind = static_cast<std::uint16_t>(kind), .words = static_cast<std::uint16_t>(kWords)};
    std::array<std::uint64_t, kWords> words{commit.covered(), ring};
    std::memcpy(&words[kRecordHeadWords], &payload, sizeof payload);
    commit.crc = core::crc32c(words);
    auto* record = reinterpret_cast<std::uint64_t*>(region_.data() + at_);
    std::memcpy(record + 1, &words[1], (kWords - 1) * 8);
    // sync "record complete": SegmentReader::next
    std::atomic_ref{*record}.store(commit.word(), std::memory_order_release);
    at_ += kWords * 8;
    if (ring > last_ring_) last_ring_ = ring;
    if (utc_ns > newest_utc_ns_) newest_utc_ns_ = utc_ns;
    if (utc_ns < oldest_utc_ns_ && is_of_ring(kind)) oldest_utc_ns_ = utc_ns;
    // sync "record complete": next_record
    next_record_.store(next_record_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    return true;
}

}  // namespace millpond::journal
