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
#include <utility>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/checkpoint_writer.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/journal/segment_writer.hpp>
#include <millpond/market/quote_board.hpp>
#include <millpond/queue/spsc_ring.hpp>

namespace millpond::journal {

class JournalReader;

/// Policy for which records survive a crash of the machine. A crash of the process loses no appended record.
enum class Sync : std::uint8_t {
    none,      ///< Only data that the kernel has already written: by default up to 30 seconds may be lost.
    interval,  ///< Events since the last due `service` may be lost.
    each,      ///< Every record for which a `sync` call has returned survives.
};

struct WriterOptions {
    std::filesystem::path folder{};  ///< Created if it does not exist.
    std::string ring{};              ///< Name of the ring that is journaled, up to 64 characters.
    std::uint64_t segment_bytes{std::uint64_t{256} * 1024 * 1024};  ///< A multiple of 64 KiB, 1 MiB to 32 GiB.
    std::chrono::nanoseconds roll_after{std::chrono::hours{1}};  ///< A segment of this age is ended; 0: by size only.
    std::uint64_t keep_bytes{0};  ///< If all segments together are larger, the oldest are removed; 0: unlimited.
    std::chrono::nanoseconds keep_for{
        0};  ///< Segments whose last event is older are removed, except the newest; 0: unlimited.
    Sync sync{Sync::interval};
    std::chrono::nanoseconds sync_interval{std::chrono::seconds{1}};
    /// A checkpoint of the books is written at this interval, if `keep_books` was called and at least as many bytes of
    /// events were written as the checkpoint before had.
    std::chrono::nanoseconds checkpoint_interval{std::chrono::seconds{60}};
    /// Duration after which the writing of a checkpoint stops at the end of a book, until the next `step`.
    std::chrono::nanoseconds checkpoint_slice{std::chrono::milliseconds{1}};
    std::uint32_t file_mode{0640};  ///< Permissions of created files; folders can also be searched.
    friend bool operator==(const WriterOptions&, const WriterOptions&) = default;
};

/// Counters of a writer. The first group is written by the appending thread, the second by the servicing one; read on
/// any.
struct WriterCounters {
    core::Tally records;
    core::Tally newest_record;  ///< Number of the newest record; 0 in an empty journal.
    core::Tally bytes;
    core::Tally segments;  ///< Started segments.
    core::Tally refused;   ///< Appends that did not fit: the next segment was not ready.
    core::Tally unnamed;   ///< Names and channels for which a segment is too small: raise segment_bytes.
    core::Tally lost;      ///< Ring entries that were lost: the journal has a lost record instead.
    core::Tally checkpoints;
    core::Tally checkpoint_bytes;            ///< Bytes of the newest checkpoint.
    core::Tally checkpoint_age_seconds;      ///< Since the newest checkpoint, or the start; 0 if no feed sends books.
    core::Tally checkpoint_overdue_seconds;  ///< Time for which a checkpoint has been due; 0 if none is.
    core::Tally checkpoint_errors;           ///< Checkpoints that did not fit into a segment: raise segment_bytes.

    core::Tally removed_segments;    ///< Segments removed by retention.
    core::Tally set_aside_segments;  ///< Unreadable segments that were renamed when the journal was opened.
    core::Tally allocation_errors;   ///< Failed allocations of the next segment; retried.
    core::Tally sync_errors;
    core::Tally synced_record;  ///< All records up to this number are on disk, if `sync` requires it.
};

/// Appends the events of one ring to a journal. The slow work - allocating the next segment, syncing, ending full
/// segments, removing old ones - is done by `service`, so that an append is a copy into mapped memory.
///
/// Threads: one appends (append, append_lost, name, set_depth, set_epoch, begin_session, keep_books, end_books,
///          apply_board, step, sync); one, which may be the same, calls service.
/// Memory:  the segments' pages; one name for every instrument; with keep_books, KeptBooks'.
class JournalWriter {
public:
    /// Locks the folder, ends segments that a dead writer left open, repairs damaged headers (see repaired_segments),
    /// sets aside segments that cannot be read (see set_aside_segments) and allocates the first segment. If the disk is
    /// full, nothing can be appended until `step` and `service` have succeeded in that. Throws JournalError,
    /// memory::RegionError, std::invalid_argument, std::filesystem::filesystem_error: each names the path.
    JournalWriter(const WriterOptions& options, std::int64_t utc_ns);
    /// Ends the segment, except in a process that was forked since.
    ~JournalWriter();
    JournalWriter(const JournalWriter&) = delete;
    JournalWriter& operator=(const JournalWriter&) = delete;

    /// Segments that could not be read and were renamed when the journal was opened, each with the reason.
    [[nodiscard]] const std::vector<std::string>& set_aside_segments() const noexcept { return set_aside_; }
    /// Segments whose header was damaged or that were cut off, each with what was found. They remain in the journal.
    [[nodiscard]] const std::vector<std::string>& repaired_segments() const noexcept { return repaired_; }

    /// Ring number at which to continue reading: after the newest one of this epoch in the journal; 1 if there is none.
    [[nodiscard]] std::uint64_t resume_at(std::uint64_t epoch) const noexcept;

    /// Sets the ring's epoch for the following records; in a new epoch the ids have new meanings.
    void set_epoch(std::uint64_t epoch) noexcept;
    /// Keeps the books of the following events and writes checkpoints of them. Call it after set_epoch and before the
    /// first event. Gets the books of earlier events from the journal if there are few after its newest checkpoint;
    /// otherwise they are incomplete. Throws what JournalReader throws.
    void keep_books();
    /// Writes a checkpoint of all events so far, whether one is due or not, if it fits into the segment: the next
    /// writer gets the books of it. Call it after the last event.
    void end_books() noexcept;
    /// Makes the following calls of `step` write such a checkpoint in slices.
    void request_checkpoint() noexcept {
        if (checkpoints_) checkpoints_->request();
    }
    /// True until that checkpoint has ended, or does not fit into the segment.
    [[nodiscard]] bool is_checkpoint_requested() const noexcept {
        return checkpoints_ && checkpoints_->is_requested() && current_ != nullptr && !rolls_;
    }
    /// Applies a level of the ring's board to the books, after a loss.
    void apply_board(const feed::Level& level) noexcept {
        if (checkpoints_) checkpoints_->on_board(level);
    }
    /// Starts a new session in a new segment. Returns false if the next segment is not allocated yet: call service and
    /// try again; events that are appended before that belong to the old session.
    [[nodiscard]] bool begin_session() noexcept;
    /// Names an instrument, before its first event. If the segment is full, the name is written before the next event.
    /// Allocates.
    void name(feed::InstrumentId id, const market::Instrument& instrument);
    /// Says what a channel's feed sends of its books from its next event on. A change starts a new segment: the next
    /// event is refused until that is allocated. Allocates at the first call for a channel that sends levels or orders.
    void set_depth(std::uint16_t channel, market::ChannelDepth depth) {
        if (depth != this->depth(channel)) [[unlikely]]
            change_depth(channel, depth);
    }
    /// What the channel sends in the current epoch, also as an earlier writer of the journal recorded it.
    [[nodiscard]] market::ChannelDepth depth(std::uint16_t channel) const noexcept {
        return channel < depths_.size() ? depths_[channel].value_or(market::ChannelDepth{}) : market::ChannelDepth{};
    }
    /// Appends an event. Returns false, and counts, if the segment is full and the next one is not allocated yet: call
    /// service and try again.
    template <class Event>
    [[nodiscard]] bool append(const Event& event, std::uint64_t ring) noexcept;
    /// Records that ring numbers first..last will never arrive.
    [[nodiscard]] bool append_lost(LostRecord lost) noexcept;
    /// Number of events that can be appended now, with a name for each; 0 while the next segment is not allocated yet.
    [[nodiscard]] std::size_t available() const noexcept {
        constexpr std::size_t kMaxBytes = kMaxRecordWords * 8 + kRecordBytes<NameRecord>;
        const auto here = current_ && !rolls_ ? current_->free_bytes() : 0;
        // Half of a segment may be names.
        const auto there = prepared_.load(std::memory_order_relaxed) != nullptr ? options_.segment_bytes / 4 : 0;
        return static_cast<std::size_t>((here + there) / kMaxBytes);
    }

    /// Sets the time, which determines the segments' age, and ends a segment that is too old. Writes a slice of a
    /// checkpoint if one is due. Retries once a second to
    /// open a journal whose disk was full.
    void step(std::int64_t utc_ns) noexcept;
    /// Returns, once, the reason why the latest attempt to open the journal failed. Appending thread only.
    [[nodiscard]] std::optional<std::string> pop_open_error() { return std::exchange(open_error_, std::nullopt); }
    /// Waits until all appended records are on the disk. Throws std::system_error.
    void sync();

    /// Does the slow work that is due. Returns true if there was any. Does not throw: failures are counted, and
    /// pop_error returns their text.
    bool service(std::int64_t utc_ns) noexcept;
    /// Returns, once, the text of the newest failure of `service`. Servicing thread only.
    [[nodiscard]] std::optional<std::string> pop_error();

    /// Number of the next record.
    [[nodiscard]] std::uint64_t next_record() const noexcept { return next_record_; }
    [[nodiscard]] const WriterCounters& counters() const noexcept { return counters_; }
    /// True if the journal is open, so that its counters include earlier records. Any thread.
    [[nodiscard]] const std::atomic<bool>& is_open() const noexcept { return is_open_; }

private:
    /// Locks the folder and recovers the journal. Returns false, with open_error_, if the disk is full.
    bool open();
    void recover();
    bool recover(const SegmentFile& file, std::uint64_t next_record);
    void recover_channels(const std::vector<SegmentFile>& files, std::uint64_t newest);
    [[nodiscard]] bool open_segment() noexcept;
    void change_depth(std::uint16_t channel, market::ChannelDepth depth);
    [[nodiscard]] bool write_name(feed::InstrumentId id) noexcept;
    [[nodiscard]] bool write_channel(std::uint16_t channel) noexcept;
    void retire() noexcept;
    void restore_books();
    /// True if a channel of the epoch sends books.
    [[nodiscard]] bool has_depth() const noexcept;
    template <class Write>
    void write_checkpoint(const Write& write) noexcept;
    void count(std::size_t bytes) noexcept;
    template <class Append>
    bool appended(std::size_t bytes, const Append& append) noexcept;

    [[nodiscard]] std::unique_ptr<SegmentWriter> allocate_next();
    bool prepare() noexcept;
    bool end_retired() noexcept;
    bool sync_if_due(std::int64_t utc_ns) noexcept;
    bool remove_old(std::int64_t utc_ns) noexcept;
    /// Detects that another process has moved or removed the growing segment's file.
    bool find_moved(std::int64_t utc_ns) noexcept;
    void note(core::Tally& counter, const std::exception& error) noexcept;

    WriterOptions options_;
    int pid_;
    memory::Region lock_;  ///< Its bytes store numbers beyond the segments: src/journal/kept_numbers.hpp.
    WriterCounters counters_;

    // Used by the appending thread.
    std::unique_ptr<SegmentWriter> current_;
    std::unique_ptr<CheckpointWriter> checkpoints_;  ///< nullptr: no books are kept
    const JournalReader* restored_from_{nullptr};    ///< Knows the depth of channels while books are restored.
    std::uint64_t needed_checkpoint_{0};  ///< First record of the newest one of the epoch; 0: none, or not wanted.
    std::int64_t newest_utc_ns_{0};       ///< Largest receive time of earlier writers.
    std::vector<std::optional<market::Instrument>> names_;
    std::vector<std::optional<market::ChannelDepth>> depths_;  ///< By channel; nullopt: it was never on.
    bool rolls_{false};  ///< A depth has changed: the next event needs a new segment.
    std::uint64_t next_record_{1};
    std::uint64_t epoch_{0};
    std::uint64_t session_{1};
    std::uint64_t last_ring_{0};
    std::int64_t now_utc_ns_{0};
    std::uint64_t first_event_{0};  ///< Number of the record after the names at the start of current_.
    std::optional<std::string> open_error_;
    std::int64_t opened_ns_{0};  ///< Time of the last attempt to open.

    // Shared by both threads.
    std::atomic<bool> is_open_{false};
    std::atomic<SegmentWriter*> prepared_{nullptr};
    std::atomic<SegmentWriter*> growing_{nullptr};      ///< current_, for the sync of the servicing thread.
    std::atomic<const SegmentWriter*> moved_{nullptr};  ///< A growing segment whose file another process moved.
    queue::SpscRing<std::unique_ptr<SegmentWriter>> retired_{64};

    // Used by the servicing thread.
    std::vector<std::string> set_aside_;
    std::vector<std::string> repaired_;
    std::uint64_t next_ordinal_{1};
    std::int64_t synced_ns_{0};
    std::int64_t retention_ns_{0};
    std::int64_t searched_ns_{0};
    std::optional<std::string> error_;
};

template <class Append>
bool JournalWriter::appended(std::size_t bytes, const Append& append) noexcept {
    if (current_ != nullptr && (rolls_ || current_->free_bytes() < bytes)) retire();
    const auto refuse = [this] {
        counters_.refused.add();
        return false;
    };
    if (current_ == nullptr && !open_segment()) return refuse();
    if (rolls_) return refuse();  // retire failed: the segment has the depth before the change
    if (!append(*current_)) return refuse();
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
        return segment.append(kRecordKind<Event>, ring, event, event.receive_utc_ns);
    });
    if (!done) return false;
    last_ring_ = ring;
    if (checkpoints_) checkpoints_->on(event);
    return true;
}

}  // namespace millpond::journal
