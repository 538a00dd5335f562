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
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/journal/segment_reader.hpp>
#include <millpond/market/quote_board.hpp>

namespace millpond::journal {

/// The handler of a reader: events of a feed, and losses between them.
template <class Handler>
concept JournalHandler =
    feed::EventHandler<Handler> && requires(Handler& handler, const LostRecord& lost) { handler.on(lost); };

/// Position and origin of a record.
struct Position {
    std::uint64_t record{0};  ///< Its number in the journal; resume behind it with seek(record + 1).
    std::uint64_t epoch{0};   ///< Of the ring.
    std::uint64_t ring{0};    ///< Its number there; 0 in a loss that the reader found.
};

/// Reads a journal from any position, even while it is written: records are available as soon as they are appended.
///
/// Threads: one.
/// Memory:  the pages of one segment; one name of every instrument.
class JournalReader {
public:
    /// Begins at the oldest record. A folder without segments is an empty journal; one segment's file is read by
    /// itself. Throws std::filesystem::filesystem_error when there is neither.
    explicit JournalReader(std::filesystem::path folder);

    /// Makes the record of this number the next one, or the first behind it that is there. Opens O(log N) of the
    /// segments.
    void seek(std::uint64_t record);
    /// Makes the first event received at this time or later the next one, if receive times increase. As seek.
    void seek_time(std::int64_t utc_ns);

    /// Delivers up to `max` records; names are not delivered but known. Returns how many it took; less than `max` at
    /// the end for now. A segment that cannot be read is passed over, and what it held is a LostRecord: see
    /// take_faults. Throws memory::RegionError where memory or descriptors are short.
    template <JournalHandler Handler>
    std::size_t poll(Handler& handler, std::size_t max);

    /// Of the record that poll is delivering, for use inside the handler; later, of the last one.
    [[nodiscard]] const Position& current() const noexcept { return position_; }
    /// Segments that were passed over or whose header is damaged, each with what was found; each is named once.
    [[nodiscard]] std::vector<std::string> take_faults() { return std::exchange(faults_, {}); }
    /// Number of the next record.
    [[nodiscard]] std::uint64_t next_record() const noexcept { return expected_; }
    /// Null when the instrument has no name in this epoch, which no delivered event's has unless its name is damaged.
    [[nodiscard]] const market::Instrument* instrument(feed::InstrumentId id) const noexcept;
    /// Name of the ring that is journaled; empty before the first segment.
    [[nodiscard]] std::string_view ring() const noexcept;

private:
    enum class Step : std::uint8_t { record, lost, nothing };

    [[nodiscard]] Step step(RecordView& view, LostRecord& lost);
    [[nodiscard]] bool open_next();
    [[nodiscard]] std::vector<SegmentFile> started_behind(std::uint64_t ordinal);
    [[nodiscard]] std::optional<SegmentFile> next_started();
    [[nodiscard]] bool find_over();
    [[nodiscard]] bool try_open(const SegmentFile& file);
    [[nodiscard]] std::optional<SegmentReader> look_into(const SegmentFile& file);
    [[nodiscard]] std::optional<SegmentReader> look_into_started(const SegmentFile& file);
    template <class Before>
    [[nodiscard]] std::vector<SegmentFile> around(Before is_before);
    void pass_over(const SegmentFile& file, const std::exception& error);
    void note_fault(const SegmentFile& file, const std::string& what);
    void learn(const NameRecord& name);
    template <class Event, class Handler>
    void deliver(Handler& handler, const RecordView& view);
    template <class Handler>
    void dispatch(Handler& handler, const RecordView& view);
    [[nodiscard]] LostRecord missing(std::uint64_t first, std::uint64_t last, LostReason reason) noexcept;

    std::filesystem::path folder_;
    std::optional<SegmentReader> segment_;
    std::uint64_t ordinal_{0};
    std::uint64_t waits_{0};          ///< Ordinal of a file that was seen waiting to be used.
    bool passed_over_{false};         ///< A segment between the newest record and the next one cannot be read.
    std::set<std::uint64_t> faulty_;  ///< Ordinals that faults_ has or had.
    std::vector<std::string> faults_;
    std::uint64_t expected_{0};  ///< Number of the next record; 0 before the first segment is known.
    Position position_{};
    std::vector<std::optional<market::Instrument>> names_;
};

template <JournalHandler Handler>
std::size_t JournalReader::poll(Handler& handler, std::size_t max) {
    std::size_t taken = 0;
    RecordView view;
    LostRecord lost;
    for (; taken < max; ++taken) {
        switch (step(view, lost)) {
            case Step::nothing: return taken;
            case Step::lost: handler.on(lost); break;
            case Step::record: dispatch(handler, view); break;
        }
    }
    return taken;
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
    switch (view.kind) {
        case RecordKind::quote: return deliver<feed::Quote>(handler, view);
        case RecordKind::trade: return deliver<feed::Trade>(handler, view);
        case RecordKind::status: return deliver<feed::Status>(handler, view);
        case RecordKind::gap: return deliver<feed::Gap>(handler, view);
        case RecordKind::clear: return deliver<feed::Clear>(handler, view);
        case RecordKind::trade_break: return deliver<feed::TradeBreak>(handler, view);
        case RecordKind::lost: return deliver<LostRecord>(handler, view);
        case RecordKind::name: return;
    }
    // A whole record of a kind that this build does not know: a later version's.
    handler.on(missing(view.record, view.record, LostReason::damaged));
}

}  // namespace millpond::journal
