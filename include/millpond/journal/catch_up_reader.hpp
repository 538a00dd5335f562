#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/journal/book_parts.hpp>
#include <millpond/journal/journal_reader.hpp>
#include <millpond/journal/kept_books.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/journal/saved_position.hpp>
#include <millpond/market/board_layout.hpp>
#include <millpond/market/quote_board.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/queue/broadcast_reader.hpp>

namespace millpond::journal {

/// The following entries come from another ring: ids have new meanings, and what was known of instruments is void.
struct NewEpoch {
    std::uint64_t epoch{0};
    std::uint64_t before{0};  ///< The epoch before.
    /// Number of the last entry that was read of it. If it had more, the journal does not know, and they are lost.
    std::uint64_t last_of_before{0};
};

/// Handler of a CatchUpReader.
template <class Handler>
concept CatchUpHandler =
    market::RingHandler<Handler> && requires(Handler& handler, const NewEpoch& change) { handler.on(change); };

/// Entries by outcome since the reader's first one: published = delivered + filtered + missed + queued.
struct CatchUpAccount {
    std::uint64_t published{0};  ///< Entries since the first one, by their numbers in the rings.
    std::uint64_t delivered{0};
    std::uint64_t filtered{0};  ///< Entries of a kind without an `on` function, or that this build does not know.
    std::uint64_t missed{0};    ///< Entries of the ranges that were reported as missed.
    std::uint64_t queued{0};    ///< Entries of the ring that were not read yet; 0 while there is no ring of this epoch.
    std::uint64_t snapshot{0};  ///< Events of checkpoints; not part of the sum.
};

struct CatchUpOptions {
    std::filesystem::path folder{};  ///< The journal's.
    std::string ring{};              ///< Empty: the ring that is journaled.
    bool only_ring{false};           ///< Leaves out the events of other rings that the journal has.
    std::string visible_as{};        ///< As in market::RingReaderOptions, like the next two.
    std::chrono::nanoseconds silent_after{std::chrono::seconds{1}};
    bool own{false};
    /// Delivers the books too: before the first entry those of that place, and from checkpoints those that the handler
    /// does not have complete. Reading begins at a checkpoint, and the entries up to the first one are not delivered.
    /// An entry of the journal of a kind that this build does not know is missed, not filtered: it may change a book.
    bool books{false};
};

/// Begins with this record of the journal, or the first one after it that exists.
struct AtRecord {
    std::uint64_t record{1};
};
/// Begins with the first event of the journal that was received at this time or later.
struct AtTime {
    std::int64_t utc_ns{0};
    /// Record before which there is no such event, so that the segments before it are not opened. Not used with books.
    std::uint64_t not_before{1};
};
/// A saved position continues after its entry.
using StartAt = std::variant<AtRecord, AtTime, SavedPosition>;

/// Reads a journal to its end, and then the ring, without an entry that is missing or delivered twice: what is
/// delivered is what a reader of the ring got that was there from the start, without the ranges that are reported as
/// missed.
///
/// A time or record after the journal's newest event continues with the ring's next one, except with `books`.
///
/// With `books` a handler also gets snapshots: a Clear of each channel and the orders and levels of each instrument,
/// without times. They are no entries; in_snapshot() is then true. A book that is not complete in the journal is marked
/// incomplete.
///
/// The unit is the ring's entry, named by epoch and number. The reader switches to the ring when that has the entry
/// after the journal's last one, and returns to the journal when the ring has overtaken it, or has ended; while the
/// journal lags, it waits for it. An entry is missed if the journal lost it or lacks it, and a handler gets its range
/// in the place of the entries.
///
/// Threads: one.
/// Memory:  as JournalReader and market::RingReader; with `books`, those of all instruments until the first entry.
class CatchUpReader {
public:
    /// Opens the journal; the ring is opened once the reader needs it. Throws std::filesystem::filesystem_error, and
    /// JournalError for a saved position beyond the journal's end.
    explicit CatchUpReader(CatchUpOptions options, const StartAt& from = AtRecord{});

    /// Delivers what is ready. Returns the number of records and entries that were read; at most `max`, less if the
    /// reader has caught up. Throws what JournalReader::poll does, and market::RingError for a ring that this build or
    /// this user may not read.
    template <CatchUpHandler Handler>
    std::size_t poll(Handler& handler, std::size_t max);

    /// Epoch and ring number of the entry that poll is delivering, for use inside the handler; afterwards, of the last
    /// one. 0 before the first.
    [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
    [[nodiscard]] std::uint64_t current() const noexcept { return last_; }
    /// The position after that entry; nullopt before the first one.
    [[nodiscard]] std::optional<SavedPosition> position() const noexcept;
    [[nodiscard]] CatchUpAccount account() const noexcept;

    /// True while poll delivers events of a checkpoint.
    [[nodiscard]] bool in_snapshot() const noexcept { return in_snapshot_; }

    /// True while the reader reads the ring.
    [[nodiscard]] bool is_live() const noexcept { return is_live_; }
    /// State of the ring's writer; nullopt while no ring is open.
    [[nodiscard]] std::optional<market::WriterState> writer_state() noexcept;
    /// Returns nullptr if the instrument has no name; the instrument of a delivered event has one unless its name in
    /// the journal is damaged.
    [[nodiscard]] const market::Instrument* instrument(feed::InstrumentId id) noexcept;
    /// What the channel sends of its books, for the event that poll is delivering.
    [[nodiscard]] market::ChannelDepth depth(std::uint16_t channel) const noexcept;
    /// The journal's reader, for its position and its faults.
    [[nodiscard]] JournalReader& journal() noexcept { return journal_; }

private:
    template <class Handler>
    struct JournalEvents;
    template <class Handler>
    struct RingEvents;

    void check(const SavedPosition& saved) const;
    template <class Handler>
    std::size_t poll_ring(Handler& handler, std::size_t max);
    template <class Handler>
    struct Snapshot;

    /// Begins with the books at the place at which the reader begins.
    void prepare_books(const StartAt& from);
    /// True if the record of the journal that is being read, of this time, is not before the place at which the reader
    /// begins.
    [[nodiscard]] bool has_begun(std::int64_t utc_ns) noexcept;
    /// Enters the epoch of an entry before that place, and makes the books incomplete if others before it are missing.
    /// Returns false if the books include the entry, which the ring delivered. ring: 0 if unknown.
    [[nodiscard]] bool is_newest(std::uint64_t epoch, std::uint64_t ring) noexcept;
    /// Applies an event before that place to the books.
    template <class Event>
    void prepare(const Event& event, std::uint64_t epoch, std::uint64_t ring);
    /// Applies a part of a book, or delivers it if the handler does not have that book complete.
    template <class Handler>
    void use(Handler& handler, const BookPart& part);
    /// Place of a book in known_.
    [[nodiscard]] static std::size_t place_of(const BookHead& head) noexcept {
        return 2 * std::size_t{head.instrument} + ((head.flags & kBookOfOrders) != 0 ? 1 : 0);
    }
    [[nodiscard]] bool is_wanted(const BookHead& head) const noexcept {
        const bool is_complete = head.instrument < market::kMaxInstruments && (head.flags & kBookIncomplete) == 0;
        return is_complete && (place_of(head) >= known_.size() || !known_[place_of(head)]);
    }
    /// Notes that the handler got the book.
    void know(const BookHead& head);
    /// Delivers the books before the first entry.
    template <class Handler>
    void deliver_books(Handler& handler);
    /// Enters the epoch of an entry of the journal.
    template <class Handler>
    void enter(Handler& handler, std::uint64_t epoch, std::uint64_t ring);
    /// Reports the entries up to `last` as missed.
    template <class Handler>
    void miss_up_to(Handler& handler, std::uint64_t last);
    template <class Event, class Handler>
    void deliver(Handler& handler, const Event& event, std::uint64_t ring);
    /// An entry of the ring, by its epoch and number there.
    struct Entry {
        std::uint64_t epoch;
        std::uint64_t ring;
    };
    /// The journal's newest event, if all of the journal is read and nothing of it was to be delivered.
    [[nodiscard]] std::optional<Entry> end_of_journal() const noexcept;
    /// Switches to the ring; false if it does not have the next entry, or if there is none.
    [[nodiscard]] bool switch_to_ring();
    /// Opens the ring of that epoch if it exists.
    [[nodiscard]] bool open_ring(std::uint64_t epoch);
    void leave_ring() noexcept;

    CatchUpOptions options_;
    JournalReader journal_;
    std::optional<market::RingReader> ring_;
    std::uint64_t epoch_at_open_{0};  ///< Epoch of the reader when it opened the ring.
    bool is_live_{false};
    std::optional<std::int64_t> since_;  ///< The reader has yet to find the first event of this time.
    bool has_entry_{false};              ///< The fields below are valid.
    std::uint64_t epoch_{0};
    std::uint64_t last_{0};               ///< Newest entry that was delivered, filtered or missed.
    std::uint64_t first_{0};              ///< First entry of the epoch that counts.
    std::uint64_t of_earlier_epochs_{0};  ///< Entries.
    std::uint64_t delivered_{0};
    std::uint64_t filtered_{0};
    std::uint64_t missed_{0};

    std::vector<bool> known_;  ///< Books that were delivered complete, and that no missed range made incomplete.
    bool in_snapshot_{false};
    std::uint64_t snapshot_{0};
    BookAssembler parts_;
    // Before the first entry.
    std::unique_ptr<KeptBooks> books_;  ///< nullptr: after it, or books are not wanted
    std::uint64_t begins_at_{0};        ///< Record.
    std::uint64_t origin_end_{0};       ///< Last record of the checkpoint with which books_ begin; 0: none.
    std::uint64_t prepared_epoch_{0};   ///< Of books_.
    std::uint64_t prepared_ring_{0};    ///< Newest entry in books_.
};

/// Counts the events of a snapshot.
template <class Handler>
struct CatchUpReader::Snapshot {
    Snapshot(CatchUpReader& reader, Handler& to) : of(reader), handler(to) { of.in_snapshot_ = true; }
    ~Snapshot() { of.in_snapshot_ = false; }
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;

    template <class Event>
        requires feed::HandlerOf<Handler, Event>
    void on(const Event& event) {
        ++of.snapshot_;
        handler.on(event);
    }
    CatchUpReader& of;
    Handler& handler;
};

template <class Handler>
struct CatchUpReader::JournalEvents {
    static constexpr bool kReadsCheckpoints = true;

    template <class Event>
    void on(const Event& event) {
        const auto at = of.journal_.current();
        if (!begins(event.receive_utc_ns)) return of.prepare(event, at.epoch, at.ring);
        if (reach()) of.deliver(handler, event, at.ring);
    }
    void on_unknown_kind() {
        const auto at = of.journal_.current();
        of.prepare(queue::MissedRange{at.ring, at.ring}, at.epoch, at.ring);
        // Without its time, it is before the first event of a time.
        if (of.since_ || !of.has_begun(0) || !reach()) return;
        // The kind may be damaged, and the entry a change of a book.
        if (of.options_.books) return of.miss_up_to(handler, at.ring);
        of.last_ = at.ring;
        ++of.filtered_;
    }
    void on(const LostRecord& lost) {
        const auto at = of.journal_.current();
        of.prepare(queue::MissedRange{lost.first, lost.last}, at.epoch, at.ring);
        // Which entries the other reasons concern is known with the next one.
        if (lost.reason != LostReason::lapped || !begins(lost.utc_ns)) return;
        of.enter(handler, of.journal_.current().epoch, lost.first);
        if (lost.last > of.last_) of.miss_up_to(handler, lost.last);
    }
    void on(const BookPart& part) { of.use(handler, part); }
    CatchUpReader& of;
    Handler& handler;

private:
    /// As has_begun. What the reader passed before its first event does not count.
    bool begins(std::int64_t utc_ns) {
        const bool had_begun = !of.since_;
        if (!of.has_begun(utc_ns)) return false;
        if (!had_begun) of.has_entry_ = false;
        return true;
    }
    /// Enters the epoch of the current record, and reports what is missing before it. False if the ring delivered it.
    bool reach() {
        const auto at = of.journal_.current();
        of.enter(handler, at.epoch, at.ring);
        if (at.ring <= of.last_) return false;
        if (at.ring > of.last_ + 1) of.miss_up_to(handler, at.ring - 1);
        return true;
    }
};

template <class Handler>
struct CatchUpReader::RingEvents {
    template <class Event>
    void on(const Event& event) {
        const auto number = of.ring_->current();
        if (of.books_ && number <= of.last_) return of.prepare(event, of.epoch_, number);
        if (of.since_ && !of.has_begun(event.receive_utc_ns)) {
            of.last_ = number;
            of.first_ = number + 1;
            return;
        }
        of.deliver_books(handler);
        of.filtered_ += number - of.last_ - 1;  // of kinds that this build does not know
        of.deliver(handler, event, number);
    }
    void on(const queue::MissedRange&) { is_overtaken = true; }
    CatchUpReader& of;
    Handler& handler;
    bool is_overtaken{false};
};

template <CatchUpHandler Handler>
std::size_t CatchUpReader::poll(Handler& handler, std::size_t max) {
    JournalEvents<Handler> from_journal{*this, handler};
    std::size_t polled = 0;
    for (bool has_switched = false; polled < max;) {
        if (is_live_) {
            polled += poll_ring(handler, max - polled);
            if (is_live_) break;
        } else {
            polled += journal_.poll(from_journal, max - polled);
            if (polled == max || !switch_to_ring() || std::exchange(has_switched, true)) break;
        }
    }
    return polled;
}

template <class Handler>
std::size_t CatchUpReader::poll_ring(Handler& handler, std::size_t max) {
    RingEvents<Handler> from{*this, handler};
    for (std::size_t polled = 0; polled < max; ++polled) {
        if (ring_->poll(from, 1) == 0) {
            if (polled != 0 || ring_->writer_state() == market::WriterState::alive) return polled;
            // Nothing follows what this poll finds, or the journal may know of another ring.
            if (ring_->poll(from, 1) == 0) {
                leave_ring();
                return 0;
            }
        }
        if (from.is_overtaken) {
            leave_ring();
            return polled;
        }
    }
    return max;
}

template <class Handler>
void CatchUpReader::enter(Handler& handler, std::uint64_t epoch, std::uint64_t ring) {
    if (!has_entry_) {
        has_entry_ = true;
        epoch_ = epoch;
        first_ = ring;
        last_ = ring - 1;
        deliver_books(handler);
    } else if (epoch != epoch_) {
        const NewEpoch change{.epoch = epoch, .before = epoch_, .last_of_before = last_};
        of_earlier_epochs_ += last_ + 1 - first_;
        epoch_ = epoch;
        first_ = 1;
        last_ = 0;
        books_.reset();
        known_.clear();
        handler.on(change);
    } else if (ring > last_) {
        deliver_books(handler);
    }
}

template <class Event>
void CatchUpReader::prepare(const Event& event, std::uint64_t epoch, std::uint64_t ring) {
    if (books_ && is_newest(epoch, ring)) books_->on(event);
}

template <class Handler>
void CatchUpReader::use(Handler& handler, const BookPart& part) {
    const auto at = journal_.current();
    if (books_) {
        // The state of a channel is that of all books only where there are none yet.
        const bool is_late = part.head.instrument == feed::kNoInstrument && at.record > origin_end_;
        static_cast<void>(is_newest(at.epoch, 0));
        if (at.ring < prepared_ring_ || is_late) return;
        if (prepared_ring_ != 0 && at.ring > prepared_ring_)
            books_->on(queue::MissedRange{prepared_ring_ + 1, at.ring});
        prepared_ring_ = at.ring;
        static_cast<void>(parts_.add(part, *books_));
        return;
    }
    if (!options_.books || !has_entry_ || at.epoch != epoch_ || at.ring < last_ || !is_wanted(part.head)) return;
    if (at.ring > last_) miss_up_to(handler, at.ring);
    Snapshot<Handler> snapshot{*this, handler};
    if (parts_.add(part, snapshot)) know(part.head);
}

template <class Handler>
void CatchUpReader::deliver_books(Handler& handler) {
    if (!books_) return;
    const auto books = std::move(books_);
    if (prepared_epoch_ != epoch_) return;
    if (prepared_ring_ < last_) books->on(queue::MissedRange{prepared_ring_ + 1, last_});
    Snapshot<Handler> snapshot{*this, handler};
    const auto pass = [&](const BookPart& part) {
        pass_book(part, snapshot);
        if (part.head.cells_left == 0 && is_wanted(part.head)) know(part.head);
        return true;
    };
    books->visit_channels(pass);
    for (feed::InstrumentId id = 0; id < books->end_id(); ++id) books->visit_books(id, pass);
}

template <class Handler>
void CatchUpReader::miss_up_to(Handler& handler, std::uint64_t last) {
    deliver_books(handler);
    const queue::MissedRange missed{last_ + 1, last};
    missed_ += missed.count();
    last_ = last;
    known_.clear();
    handler.on(missed);
}

template <class Event, class Handler>
void CatchUpReader::deliver(Handler& handler, const Event& event, std::uint64_t ring) {
    last_ = ring;
    if constexpr (feed::HandlerOf<Handler, Event>) {
        ++delivered_;
        handler.on(event);
    } else {
        ++filtered_;
    }
}

}  // namespace millpond::journal
