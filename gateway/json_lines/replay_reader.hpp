#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <millpond/feed/event.hpp>
#include <millpond/feed/venues_json.hpp>
#include <millpond/journal/catch_up_reader.hpp>
#include <millpond/journal/segment_index.hpp>
#include <millpond/queue/broadcast_reader.hpp>

#include "gateway/json_lines/event_lines.hpp"
#include "gateway/json_lines/replay.hpp"
#include "gateway/json_lines/subscriber.hpp"
#include "gateway/sinks/account.hpp"

namespace millpond::gateway::json_lines {

/// Reads the events of one replay from the journal and the ring, and makes the text that the client would have got had
/// it been there: with the same code, for this client alone.
///
/// Threads: one.
/// Memory:  kLines lines, about twice kPartBytes of text and at most a book more, a CatchUpReader, and the books of the
///          instruments that the client wants with depth.
class ReplayReader {
public:
    /// The ring that the sink reads, and its journal.
    struct From {
        std::filesystem::path journal;
        std::string ring;
        std::uint64_t epoch{0};
        /// Time without a new record after which a journal that the ring has overtaken has stopped.
        std::chrono::nanoseconds patience{std::chrono::seconds{10}};
        std::optional<feed::ChannelVenues> venues{};  ///< See EventLines::open.
    };
    enum class Outcome : std::uint8_t {
        moved,
        waits_for_client,  ///< Parts wait to be sent, or an offer to be answered.
        waits_for_events,
        over,
    };

    /// index: of the same journal and ring; it may be that of several readers.
    ReplayReader(const From& from, millpond::journal::SegmentIndex& index, std::shared_ptr<Replay> replay);

    /// Reads on without blocking and pushes at most one part. live: number of the newest ring entry that the sink has
    /// read, beyond which the replay does not read.
    [[nodiscard]] Outcome step(std::uint64_t live) noexcept;
    [[nodiscard]] const Replay& replay() const noexcept { return *replay_; }

private:
    static constexpr std::size_t kLines = 4'096;
    static constexpr std::size_t kMaxEntriesOfStep = 2'048;
    static constexpr std::size_t kMaxSegmentsOfStep = 64;
    static constexpr std::size_t kPartBytes = LineRuns::kMaxText;

    /// Begins. False if the index is to be read further first.
    [[nodiscard]] bool open();
    /// Throws RequestError if the ring has newer entries, and the journal has got none of them for too long.
    void check_journal(bool waits_for_journal, std::uint64_t limit);
    /// Throws RequestError if the journal does not have the start.
    [[nodiscard]] millpond::journal::StartAt checked_start() const;
    [[nodiscard]] Outcome read(std::uint64_t live);
    void push(ReplayPart&& part);

    template <class Event>
    void on(const Event& event);
    void on(const queue::MissedRange& missed);
    void on(const millpond::journal::NewEpoch& change);
    void name_up_to(feed::InstrumentId id);
    /// Begins with empty books and names.
    void begin();
    /// Moves text of lines and books to the part until it has that many bytes; more is left then.
    void drain(std::size_t max_bytes);
    [[nodiscard]] bool is_drained() const noexcept { return !subscriber_->has_pending() && !subscriber_->has_lines(); }
    [[nodiscard]] Account account() const noexcept;
    [[nodiscard]] std::unique_ptr<ReplayedState> state();

    struct Handler;

    const From& from_;
    millpond::journal::SegmentIndex& index_;
    std::shared_ptr<Replay> replay_;
    std::optional<millpond::journal::CatchUpReader> reader_;
    std::unique_ptr<EventLines> lines_;
    std::unique_ptr<Subscriber> subscriber_;
    feed::InstrumentId named_{0};
    std::string text_;            // of the next part
    Account earlier_;             // of earlier epochs
    std::uint64_t reached_{0};    // the offer that was reached; 0: none
    std::uint64_t announced_{0};  // number of the last part
    std::uint64_t announced_live_{0};
    std::int64_t waits_since_ns_{0};  // for the journal, while the ring has newer entries; 0: it does not
};

}  // namespace millpond::gateway::json_lines
