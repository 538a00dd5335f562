#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/journal/book_parts.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/journal/segment_reader.hpp>
#include <millpond/market/quote_board.hpp>

namespace millpond::journal {

/// Handler of a reader: receives the events of a feed, and losses between them. If it has the function
/// on_unknown_kind(), that is called for a complete record of a kind that this build does not know; otherwise such a
/// record is a loss.
template <class Handler>
concept JournalHandler =
    feed::EventHandler<Handler> && requires(Handler& handler, const LostRecord& lost) { handler.on(lost); };

/// Handler with a member `kReadsCheckpoints` that is true: receives the parts of checkpoints' books too, also of
/// checkpoints that are not complete.
template <class Handler>
concept CheckpointHandler = JournalHandler<Handler> && Handler::kReadsCheckpoints &&
                            requires(Handler& handler, const BookPart& part) { handler.on(part); };

/// Position and origin of a record.
struct Position {
    std::uint64_t record{0};  ///< Number of the record in the journal; seek(record + 1) continues after it.
    std::uint64_t epoch{0};   ///< The ring's epoch.
    /// Number of the event in the ring; of a part of a book, that of the newest event before it; 0 in a loss that the
    /// reader found.
    std::uint64_t ring{0};
};

/// Reads a journal from any position, even while it is being written: records are available once they are appended.
///
/// Threads: one.
/// Memory:  the pages of one segment; one name for every instrument.
class JournalReader {
public:
    /// Starts at the oldest record. A folder without segments is an empty journal; the file of a single segment can be
    /// read too. Throws std::filesystem::filesystem_error if neither exists.
    explicit JournalReader(std::filesystem::path folder);

    /// Continues at the record with this number, or at the first existing one after it. Opens O(log N) of the segments.
    void seek(std::uint64_t record);
    /// Restricts delivery to events received from `since` on and before `until`. Call before the first poll. An event
    /// without a receive time counts as received with its neighbours. Receive times can go back in a journal, so all of
    /// it is read, except segments whose header shows that they have no such events. Losses are omitted if it is known
    /// that no event of that time was lost.
    void select(std::optional<std::int64_t> since, std::optional<std::int64_t> until) noexcept;

    /// Leaves out the events and losses of other rings. Call before the first poll.
    void select_ring(std::string ring) { selected_ring_ = std::move(ring); }

    /// Leaves out the events and losses of this epoch up to this ring number: another reader delivered them. Opens each
    /// segment, but reads little of those without others.
    void skip(std::uint64_t epoch, std::uint64_t ring) noexcept;

    /// Reads up to `max` records and delivers the selected ones; names and channels are not delivered, and checkpoints
    /// only to a CheckpointHandler. Returns the number of records read; less than `max` at the current end. A segment
    /// that cannot be read is skipped and reported as a LostRecord: see drain_faults. Throws memory::RegionError if
    /// memory or descriptors are short.
    template <JournalHandler Handler>
    std::size_t poll(Handler& handler, std::size_t max);

    /// Position of the record that poll is delivering, for use inside the handler; afterwards, of the last one.
    [[nodiscard]] const Position& current() const noexcept { return position_; }
    /// The newest record that was read, selected or not, with the epoch and ring number of the newest event or loss
    /// among them; 0 if there was none.
    [[nodiscard]] const Position& passed() const noexcept { return passed_; }
    /// Returns, once, the segments that were skipped or whose header is damaged, each with what was found.
    [[nodiscard]] std::vector<std::string> drain_faults() { return std::exchange(faults_, {}); }
    /// Number of the next record.
    [[nodiscard]] std::uint64_t next_record() const noexcept { return expected_; }
    /// Number of records that poll read and did not deliver because they are not selected or the handler has no
    /// function for them.
    [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }
    /// Returns nullptr if the instrument has no name in this epoch; the instrument of a delivered event has one unless
    /// its name is damaged.
    [[nodiscard]] const market::Instrument* instrument(feed::InstrumentId id) const noexcept;
    /// What the feed of a channel sends of its books, for the event that poll is delivering.
    [[nodiscard]] market::ChannelDepth depth(std::uint16_t channel) const noexcept;
    /// Name of the ring that is journaled; empty before the first segment.
    [[nodiscard]] std::string_view ring() const noexcept;

private:
    enum class Step : std::uint8_t { record, lost, left_out, nothing };
    /// Position of a segment's receive times relative to the selection.
    enum class Side : std::uint8_t { selected, before, behind };

    [[nodiscard]] Step step(RecordView& view, LostRecord& lost, bool with_books);
    [[nodiscard]] static bool is_of_checkpoint(const RecordView& view) noexcept;
    [[nodiscard]] bool open_next();
    [[nodiscard]] std::vector<SegmentFile> started_behind(std::uint64_t ordinal);
    [[nodiscard]] std::optional<SegmentFile> next_started();
    [[nodiscard]] bool find_over();
    [[nodiscard]] bool try_open(const SegmentFile& file);
    [[nodiscard]] std::optional<SegmentReader> reader_of(const SegmentFile& file);
    [[nodiscard]] std::optional<SegmentReader> reader_of_started(const SegmentFile& file);
    [[nodiscard]] std::vector<SegmentFile> around(std::uint64_t record);
    [[nodiscard]] Side side_of(const SegmentReader& segment) const noexcept;
    void enter_segment();
    void pass_segment() noexcept;
    [[nodiscard]] bool is_skipped(const RecordView& view) const noexcept {
        return is_of_other_ring_ || (view.ring <= skipped_ring_ && segment_->identity().epoch == skipped_epoch_);
    }
    [[nodiscard]] bool is_selected(const RecordView& view) noexcept;
    void pass_over(const SegmentFile& file, const std::exception& error);
    void note_fault(const SegmentFile& file, const std::string& what);
    void learn(const NameRecord& name);
    void learn(const ChannelRecord& channel);
    template <class Event, class Handler>
    void deliver(Handler& handler, const RecordView& view);
    template <class Handler>
    void dispatch(Handler& handler, const RecordView& view);
    [[nodiscard]] LostRecord missing(std::uint64_t first, std::uint64_t last, LostReason reason) noexcept;

    std::filesystem::path folder_;
    std::optional<SegmentReader> segment_;
    std::uint64_t ordinal_{0};
    std::uint64_t waits_{0};          ///< Ordinal of a file that was seen unused.
    bool passed_over_{false};         ///< A segment between the newest record and the next one cannot be read.
    std::set<std::uint64_t> faulty_;  ///< Ordinals that were added to faults_.
    std::vector<std::string> faults_;
    std::uint64_t expected_{0};  ///< Number of the next record; 0 before the first segment is known.
    Position position_{};
    Position passed_{};
    std::optional<std::int64_t> since_;
    std::optional<std::int64_t> until_;
    std::string selected_ring_{};     ///< Empty: all.
    bool is_of_other_ring_{false};    ///< The open segment.
    std::uint64_t skipped_epoch_{0};  ///< See skip.
    std::uint64_t skipped_ring_{0};   ///< 0: none
    std::uint64_t left_out_{0};
    bool entered_{false};                       ///< The open segment is at or after its first selected record.
    Side side_{Side::selected};                 ///< Side of the newest segment that was entered.
    std::int64_t newest_utc_ns_{kTimeUnknown};  ///< Largest receive time so far.
    std::vector<std::optional<market::Instrument>> names_;
    std::vector<market::ChannelDepth> depths_;  ///< Of the open segment, by channel.
};

template <JournalHandler Handler>
std::size_t JournalReader::poll(Handler& handler, std::size_t max) {
    std::size_t polled = 0;
    RecordView view;
    LostRecord lost;
    for (; polled < max; ++polled) {
        switch (step(view, lost, CheckpointHandler<Handler>)) {
            case Step::nothing: return polled;
            case Step::left_out: break;
            case Step::lost: handler.on(lost); break;
            case Step::record: dispatch(handler, view); break;
        }
    }
    return polled;
}

template <class Event, class Handler>
void JournalReader::deliver(Handler& handler, const RecordView& view) {
    Event event;
    if (view.copy_to(event)) {
        handler.on(event);
    } else {
        handler.on(missing(view.record, view.record, LostReason::damaged));
    }
}

template <class Handler>
void JournalReader::dispatch(Handler& handler, const RecordView& view) {
    if (view.kind == RecordKind::lost) return deliver<LostRecord>(handler, view);
    if constexpr (CheckpointHandler<Handler>) {
        if (view.kind == RecordKind::book) return handler.on(*book_part(view));
    }
    const auto kind = static_cast<feed::EventKind>(view.kind);
    const bool is_known = feed::Events::visit(kind, [&]<class Event>() {
        if constexpr (feed::HandlerOf<Handler, Event>) {
            deliver<Event>(handler, view);
        } else {
            ++left_out_;
        }
    });
    if (is_known) return;
    if constexpr (requires { handler.on_unknown_kind(); }) {
        handler.on_unknown_kind();
    } else {
        handler.on(missing(view.record, view.record, LostReason::damaged));
    }
}

}  // namespace millpond::journal
