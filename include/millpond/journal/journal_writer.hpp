#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/journal/segment_writer.hpp>
#include <millpond/market/quote_board.hpp>
#include <millpond/queue/spsc_ring.hpp>

namespace millpond::journal {

/// What survives the death of the machine. The death of the process costs nothing that was appended.
enum class Sync : std::uint8_t {
    none,      ///< Only data that the kernel has already written: by default up to 30 seconds may be lost.
    interval,  ///< Events since the last due `service` may be lost.
    each,      ///< Nothing that a `sync` call returned for.
};

struct WriterOptions {
    std::filesystem::path folder{};  ///< Made where it is missing.
    std::string ring{};              ///< Name of the ring that is journaled, up to 64 characters.
    std::uint64_t segment_bytes{std::uint64_t{256} * 1024 * 1024};  ///< A multiple of 64 KiB, 1 MiB to 32 GiB.
    std::chrono::nanoseconds roll_after{std::chrono::hours{1}};  ///< A segment of this age is ended; 0: by size only.
    std::uint64_t keep_bytes{0};           ///< The oldest segments go when all take more; 0: they stay.
    std::chrono::nanoseconds keep_for{0};  ///< Segments whose last event is older go, except the newest; 0: they stay.
    Sync sync{Sync::interval};
    std::chrono::nanoseconds sync_interval{std::chrono::seconds{1}};
    std::uint32_t file_mode{0640};  ///< Permissions of the files that it creates; folders can also be searched.
};

/// Written by the appending thread (first group) and by the servicing one; read on any.
struct WriterCounters {
    core::Tally records;
    core::Tally newest_record;  ///< Its number; 0 in an empty journal.
    core::Tally bytes;
    core::Tally segments;  ///< Started.
    core::Tally refused;   ///< Appends that did not fit: the next segment was not ready.
    core::Tally unnamed;   ///< Names for which a segment is too small: raise segment_bytes.
    core::Tally lost;      ///< Ring entries of which the journal holds a lost record instead.

    core::Tally removed_segments;    ///< By retention.
    core::Tally set_aside_segments;  ///< Unreadable ones, renamed when the journal was opened.
    core::Tally allocation_errors;   ///< Next segments that could not be allocated; tried again.
    core::Tally sync_errors;
    core::Tally synced_record;  ///< All records up to this number are on disk, if `sync` requires it.
};

/// Appends the events of one ring to a journal. What costs time - allocating the next segment, syncing, ending full
/// ones, removing old ones - is done by `service`, so that an append is a copy into mapped memory.
///
/// Threads: one appends (append, append_lost, name, set_epoch, begin_session, step, sync); one, which may be the same,
///          calls service.
/// Memory:  the segments' pages; one name of every instrument.
class JournalWriter {
public:
    /// Takes the folder's lock, ends what a dead writer left open, makes damaged headers good (see repaired_segments),
    /// sets aside segments that cannot be read (see set_aside_segments) and allocates the first segment. Throws
    /// JournalError, memory::RegionError, std::invalid_argument, std::filesystem::filesystem_error: each names the
    /// path.
    JournalWriter(const WriterOptions& options, std::int64_t utc_ns);
    /// Ends the segment; not in a process that was forked since.
    ~JournalWriter();
    JournalWriter(const JournalWriter&) = delete;
    JournalWriter& operator=(const JournalWriter&) = delete;

    /// Segments that could not be read and were renamed when the journal was opened, each with the reason.
    [[nodiscard]] const std::vector<std::string>& set_aside_segments() const noexcept { return set_aside_; }
    /// Segments whose header was damaged or that were cut off, each with what was found. They stay in the journal.
    [[nodiscard]] const std::vector<std::string>& repaired_segments() const noexcept { return repaired_; }

    /// Ring number behind the newest one of this epoch that the journal knows of: where to continue reading. 1 when it
    /// knows none.
    [[nodiscard]] std::uint64_t resume_at(std::uint64_t epoch) const noexcept;

    /// What follows comes from this epoch of the ring; ids mean other instruments if it is not the last one.
    void set_epoch(std::uint64_t epoch) noexcept;
    /// What follows belongs to a new session and goes into a new segment. False when the next segment is not
    /// there yet: service, then try again; what is appended first belongs to the old one.
    [[nodiscard]] bool begin_session() noexcept;
    /// Gives an instrument its name, before its first event. Where there is no room now it is written before the next
    /// event is. Allocates.
    void name(feed::InstrumentId id, const market::Instrument& instrument);
    /// False, counted, when the segment is full and the next one is not there yet: service, then try again.
    template <class Event>
    [[nodiscard]] bool append(const Event& event, std::uint64_t ring) noexcept;
    /// Ring numbers first..last will never arrive.
    [[nodiscard]] bool append_lost(LostRecord lost) noexcept;
    /// Events that can surely be appended now, with a name for each; 0 while the next segment is not there yet.
    [[nodiscard]] std::size_t room() const noexcept {
        constexpr std::size_t kMostBytes = kMostRecordWords * 8 + kRecordBytes<NameRecord>;
        const auto here = current_ ? current_->free_bytes() : 0;
        // Half of a segment may be names.
        const auto there = prepared_.load(std::memory_order_relaxed) != nullptr ? options_.segment_bytes / 4 : 0;
        return static_cast<std::size_t>((here + there) / kMostBytes);
    }

    /// The time, for the segments' age; rolls one that is due.
    void step(std::int64_t utc_ns) noexcept;
    /// Returns when all that was appended is on the disk. Throws std::system_error.
    void sync();

    /// Does what is due, as above. True when it changed anything. Throws nothing: failures are counted, and take_error
    /// says which.
    bool service(std::int64_t utc_ns) noexcept;
    /// The newest failure of `service` in words, once. On the servicing thread.
    [[nodiscard]] std::optional<std::string> take_error();

    /// Number of the next record.
    [[nodiscard]] std::uint64_t next_record() const noexcept { return next_record_; }
    [[nodiscard]] const WriterCounters& counters() const noexcept { return counters_; }

private:
    void recover();
    bool recover(const SegmentFile& file, std::uint64_t next_record);
    [[nodiscard]] bool open_segment() noexcept;
    [[nodiscard]] bool write_name(feed::InstrumentId id) noexcept;
    void retire() noexcept;
    void count(std::size_t bytes) noexcept;
    template <class Append>
    bool appended(std::size_t bytes, const Append& append) noexcept;

    [[nodiscard]] std::unique_ptr<SegmentWriter> allocate_next();
    bool prepare() noexcept;
    bool end_retired() noexcept;
    bool sync_if_due(std::int64_t utc_ns) noexcept;
    bool remove_old(std::int64_t utc_ns) noexcept;
    /// Looks whether the segments in use are still where they were made.
    bool find_taken_away(std::int64_t utc_ns) noexcept;
    void note(core::Tally& counter, const std::exception& error) noexcept;

    WriterOptions options_;
    int pid_;
    memory::Region lock_;  ///< Its bytes keep numbers beyond the segments: src/journal/kept_numbers.hpp.
    WriterCounters counters_;

    // The appending thread's.
    std::unique_ptr<SegmentWriter> current_;
    std::vector<std::optional<market::Instrument>> names_;
    std::uint64_t next_record_{1};
    std::uint64_t epoch_{0};
    std::uint64_t session_{1};
    std::uint64_t last_ring_{0};
    std::int64_t now_utc_ns_{0};
    std::uint64_t first_event_{0};  ///< Number of the record behind the names that current_ begins with.

    // Between the two.
    std::atomic<SegmentWriter*> prepared_{nullptr};
    std::atomic<SegmentWriter*> growing_{nullptr};           ///< current_, for the sync of the servicing thread.
    std::atomic<const SegmentWriter*> taken_away_{nullptr};  ///< A growing one whose file another process moved.
    queue::SpscRing<std::unique_ptr<SegmentWriter>> retired_{64};

    // The servicing thread's.
    std::vector<std::string> set_aside_;
    std::vector<std::string> repaired_;
    std::uint64_t next_ordinal_{1};
    std::int64_t synced_ns_{0};
    std::int64_t looked_ns_{0};
    std::int64_t searched_ns_{0};
    std::optional<std::string> error_;
};

template <class Append>
bool JournalWriter::appended(std::size_t bytes, const Append& append) noexcept {
    if (current_ != nullptr && current_->free_bytes() < bytes) retire();
    if (current_ == nullptr && !open_segment()) {
        counters_.refused.add();
        return false;
    }
    if (!append(*current_)) {
        counters_.refused.add();
        return false;
    }
    count(bytes);
    return true;
}

inline void JournalWriter::count(std::size_t bytes) noexcept {
    ++next_record_;
    counters_.records.add();
    counters_.newest_record.set(next_record_ - 1);
    counters_.bytes.add(bytes);
}

template <class Event>
bool JournalWriter::append(const Event& event, std::uint64_t ring) noexcept {
    const bool done = appended(kRecordBytes<Event>, [&](SegmentWriter& segment) {
        return segment.append(static_cast<RecordKind>(Event::kKind), ring, event, event.receive_utc_ns);
    });
    if (done) last_ring_ = ring;
    return done;
}

}  // namespace millpond::journal
