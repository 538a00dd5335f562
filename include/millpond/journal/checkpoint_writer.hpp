#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <millpond/feed/event.hpp>
#include <millpond/journal/kept_books.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/journal/segment_writer.hpp>
#include <millpond/market/books.hpp>

namespace millpond::journal {

/// Keeps the books of a journal's events and writes checkpoints of them, book by book, between the events.
///
/// Threads: one.
/// Memory:  KeptBooks'.
class CheckpointWriter {
public:
    struct Options {
        std::chrono::nanoseconds interval{0};  ///< Between checkpoints.
        std::chrono::nanoseconds slice{0};     ///< Duration after which a call of `step` ends with the current book.
    };
    enum class Outcome : std::uint8_t {
        nothing,    ///< No checkpoint has ended.
        complete,   ///< A checkpoint is complete.
        too_large,  ///< A checkpoint is larger than a segment.
    };

    CheckpointWriter(const Options& options, const market::Books::DepthOf& depth_of)
        : options_(options), books_(depth_of) {}

    /// Applies an event that was appended.
    template <class Event>
    void on(const Event& event) noexcept {
        if constexpr (std::is_same_v<Event, LostRecord>) {
            books_.on(queue::MissedRange{event.first, event.last});
            set_newest(event.utc_ns);
        } else {
            books_.on(event);
            set_newest(event.receive_utc_ns);
        }
        event_bytes_ += kRecordBytes<Event>;
    }
    /// Applies a level of the ring's board, after a loss.
    void on_board(const feed::Level& level) noexcept { books_.on_board(level); }
    /// The books of an earlier writer's events.
    [[nodiscard]] KeptBooks& books() noexcept { return books_; }
    /// Largest receive time of the earlier events of the journal.
    void set_newest(std::int64_t utc_ns) noexcept { newest_utc_ns_ = std::max(newest_utc_ns_, utc_ns); }
    /// Begins a new epoch.
    void reset() noexcept;
    /// The next step writes to another segment, in which an unfinished checkpoint begins again.
    /// is_full: the segment before ended for lack of space.
    void begin_segment(bool is_full) noexcept;
    /// Makes a checkpoint due now if there were events since the last one; a checkpoint that is being written
    /// continues.
    void request() noexcept {
        is_requested_ = event_bytes_ != 0 && has_channels();
        if (state_ == State::waits) state_ = State::idle;
    }
    /// True until that checkpoint has ended, or does not fit into the segment.
    [[nodiscard]] bool is_requested() const noexcept { return is_requested_; }
    /// True if a checkpoint has waited for another segment for longer than an interval.
    [[nodiscard]] bool needs_segment(std::int64_t utc_ns) const noexcept;
    /// Writes a slice of a checkpoint if one is due.
    /// ring: number of the newest event.
    [[nodiscard]] Outcome step(SegmentWriter& segment, std::uint64_t ring, std::int64_t utc_ns) noexcept;

    /// Writes a checkpoint, or the rest of it, if it fits into the segment and there were events since the last one.
    [[nodiscard]] Outcome finish(SegmentWriter& segment, std::uint64_t ring, std::int64_t utc_ns) noexcept;

    /// First record of the newest complete checkpoint of the epoch; 0: there is none.
    [[nodiscard]] std::uint64_t newest() const noexcept { return newest_; }
    /// Bytes of the newest checkpoint, or of the one that was too large.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    /// Age of the newest checkpoint, or time since the start if there is none; 0 if no feed sends books.
    [[nodiscard]] std::chrono::nanoseconds age(std::int64_t utc_ns) const noexcept;
    /// Time for which a checkpoint has been due; 0 if none is.
    [[nodiscard]] std::chrono::nanoseconds overdue(std::int64_t utc_ns) const noexcept {
        return has_events_for_next() ? std::max(age(utc_ns) - options_.interval, std::chrono::nanoseconds{0})
                                     : std::chrono::nanoseconds{0};
    }

private:
    enum class State : std::uint8_t {
        idle,
        waits,    ///< For the next segment: the checkpoint may not fit into this one.
        writing,  ///< The checkpoint has begun.
    };

    [[nodiscard]] bool is_due(std::int64_t utc_ns) const noexcept;
    [[nodiscard]] bool has_events_for_next() const noexcept { return event_bytes_ != 0 && event_bytes_ >= bytes_; }
    /// Bytes that a checkpoint needs now.
    [[nodiscard]] std::uint64_t needed_bytes() const noexcept;
    [[nodiscard]] bool has_channels() const noexcept {
        return !books_.visit_channels([](const BookPart&) { return false; });
    }
    /// Writes books until one ends after `until`, a monotonic time, or the checkpoint ends.
    [[nodiscard]] Outcome write(SegmentWriter& segment, std::int64_t until, std::int64_t utc_ns) noexcept;
    [[nodiscard]] Outcome give_up(std::uint64_t bytes, std::int64_t utc_ns) noexcept;
    // These return false if the segment is full.
    [[nodiscard]] bool begin(SegmentWriter& segment) noexcept;
    [[nodiscard]] bool append(SegmentWriter& segment, const BookPart& part) noexcept;
    [[nodiscard]] bool end(SegmentWriter& segment, std::int64_t utc_ns) noexcept;

    Options options_;
    KeptBooks books_;
    std::int64_t newest_utc_ns_{0};
    std::int64_t written_utc_ns_{0};  // time of the newest checkpoint, or of the start
    std::uint64_t event_bytes_{0};    // since the newest checkpoint
    std::uint64_t bytes_{0};
    std::uint64_t newest_{0};
    std::uint64_t ring_{0};  // number of the newest event

    State state_{State::idle};
    bool is_requested_{false};
    std::int64_t waits_since_ns_{0};
    bool has_whole_segment_{
        false};                   // the checkpoint begins in a new segment, because it did not fit into the one before
    CheckpointRecord written_{};  // so far
    std::uint64_t written_bytes_{0};
    feed::InstrumentId next_{0};  // instrument
};

}  // namespace millpond::journal
