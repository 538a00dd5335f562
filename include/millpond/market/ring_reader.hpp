#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <millpond/core/moment.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/market/heartbeat_watch.hpp>
#include <millpond/market/quote_board.hpp>
#include <millpond/market/reader_registry.hpp>
#include <millpond/memory/region.hpp>
#include <millpond/queue/broadcast_reader.hpp>

namespace millpond::market {

struct RingReaderOptions {
    std::string name{};
    std::string visible_as{};  ///< Up to 32 characters under which the reader shows itself; empty: it does not.
    std::chrono::nanoseconds silent_after{std::chrono::seconds{1}};  ///< Patience with the writer's heartbeat.
    /// Refuse a ring of another user, root excepted. The owner of a ring can end its readers by truncating it.
    bool own{false};
};

/// What a reader hands its events to: those of a feed, and the ranges that it lost.
template <class Handler>
concept RingHandler =
    feed::EventHandler<Handler> && requires(Handler& handler, const queue::MissedRange& missed) { handler.on(missed); };

enum class WriterState : std::uint8_t {
    alive,
    silent,      ///< No heartbeat for longer than the reader's limit: it is stuck or dead, and may recover.
    superseded,  ///< Read the rest, then open the name again: another ring took it.
    closed,      ///< Read the rest, then the stream has ended; open the name again for a new ring.
};

/// What became of the entries since the reader joined: published = delivered + filtered + missed + queued.
struct RingAccount {
    std::uint64_t since;      ///< Ring number of the first entry after the join.
    std::uint64_t published;  ///< Entries from `since` on.
    std::uint64_t delivered;
    std::uint64_t filtered;    ///< Not newer than what the join took from the board, or of a kind that is not known.
    std::uint64_t missed;      ///< Overwritten before they were read, counted even before poll reaches them.
    std::uint64_t queued;      ///< Still in the ring: at most its capacity.
    std::uint64_t from_board;  ///< Events that the join delivered from the board; not part of the sum.
};

/// A reader of a named market ring. The writer does not know it.
///
/// Threads: one.
/// Memory:  the ring's pages, mapped read-only; 16 bytes and a name per instrument, taken when it joins.
class RingReader {
public:
    /// Opens the ring; its first entry is the next one published, unless `join` or `seek` say otherwise. A reader that
    /// cannot make the object by which it shows itself reads unseen: see registered(). Throws RingError.
    explicit RingReader(const RingReaderOptions& options);

    /// Delivers the board, then makes poll continue where the board ends: no event is lost or delivered twice between
    /// them. Instruments without a quote bring none; an emptied one brings a quote whose sizes are 0; one that is not
    /// newer than its channel's last gap is marked incomplete. Starts a new account. O(instruments). `step` is called
    /// between any two records of the board; for tests.
    template <RingHandler Handler, class Step = queue::NoStep>
    void join(Handler& handler, Step&& step = {});

    /// Delivers up to `max` entries that are ready; a lost range counts as one. Returns how many it took from the ring.
    template <RingHandler Handler>
    std::size_t poll(Handler& handler, std::size_t max);

    /// Makes poll continue at entry `number`, without the board, and resets the account. Overwritten entries are
    /// missed.
    void seek(std::uint64_t number) noexcept;

    /// Ring number of the event that poll or join is delivering, for use inside the handler.
    [[nodiscard]] std::uint64_t current() const noexcept { return head_.number; }
    [[nodiscard]] std::uint64_t oldest() const noexcept { return ring_.oldest(); }
    [[nodiscard]] std::uint64_t newest() const noexcept { return ring_.cursor(); }
    [[nodiscard]] RingAccount account() const noexcept;

    /// Null when the instrument has no name, which no delivered event's has. The name stays where it is while the
    /// reader lives. O(1); the first call for an instrument copies.
    [[nodiscard]] const Instrument* instrument(feed::InstrumentId id) noexcept;
    /// Instruments below this id may have a name.
    [[nodiscard]] std::uint32_t instruments() const noexcept { return board_.instruments(); }
    [[nodiscard]] std::uint32_t max_instruments() const noexcept { return board_.max_instruments(); }
    [[nodiscard]] const QuoteBoard& board() const noexcept { return board_; }

    /// Setting the system's clock changes nothing but the first answer, which has only UTC to go by.
    [[nodiscard]] WriterState writer_state() noexcept { return writer_state(clock_.now()); }
    [[nodiscard]] WriterState writer_state(core::Moment now) noexcept;
    /// False as soon as no process holds the ring as its writer. A system call.
    [[nodiscard]] bool has_writer() const noexcept { return region_.owned_elsewhere(); }
    [[nodiscard]] std::uint64_t writer_pid() const noexcept { return ring_.writer_pid(); }
    /// Incremented when a new writer continues this ring.
    [[nodiscard]] std::uint64_t writer_starts() const noexcept { return ring_.writer_starts(); }
    [[nodiscard]] std::uint64_t epoch() const noexcept { return ring_.epoch(); }
    [[nodiscard]] std::uint64_t capacity() const noexcept { return ring_.capacity(); }
    /// Whether this reader shows itself.
    [[nodiscard]] bool registered() const noexcept { return seat_.has_value(); }

private:
    /// The board as a join copied it.
    struct Copy {
        std::vector<BoardRecord<feed::Quote>> quotes;
        std::vector<BoardRecord<feed::Status>> statuses;
        std::vector<BoardRecord<feed::Status>> channel_statuses;
    };
    /// Ring numbers up to which the board includes the ring's entries.
    struct Covered {
        std::vector<std::uint64_t> quotes;
        std::vector<std::uint64_t> statuses;
        std::vector<std::uint64_t> channel_statuses;
        std::vector<std::uint64_t> clears;
        std::vector<std::uint64_t> gaps;
        std::uint64_t until{0};  ///< The largest of them: later entries need no look.
    };
    struct Opened {
        memory::Region region;
        QuoteBoard board;
    };

    RingReader(const RingReaderOptions& options, Opened opened);
    [[nodiscard]] static Opened open(const RingReaderOptions& options);

    template <class Step>
    void copy_board(Copy& copy, Step& step);
    template <RingHandler Handler>
    void deliver_board(Handler& handler, const Copy& copy);
    template <BoardEvent Event>
    [[nodiscard]] std::uint64_t cover(const BoardRecord<Event>& record) noexcept;
    [[nodiscard]] bool covered(const feed::Quote& quote) const noexcept;
    [[nodiscard]] bool covered(const feed::Status& status) const noexcept;
    [[nodiscard]] bool covered(const feed::Clear& clear) const noexcept;
    [[nodiscard]] bool voided(const feed::Quote& quote) const noexcept;
    [[nodiscard]] bool covered(const feed::Gap& gap) const noexcept;
    [[nodiscard]] bool covered(const feed::Trade&) const noexcept { return false; }
    [[nodiscard]] bool covered(const feed::TradeBreak&) const noexcept { return false; }
    /// Sets the flag of a quote that is not newer than the copied gap of its channel.
    void mark_gapped(feed::Quote& quote, std::uint64_t number) const noexcept;
    template <RingHandler Handler>
    void dispatch(Handler& handler);
    template <class Event, RingHandler Handler>
    void deliver(Handler& handler);

    memory::Region region_;
    QuoteBoard board_;
    queue::BroadcastReader ring_;
    queue::BroadcastHead head_{};  // of the entry that is being delivered
    Covered covered_;
    std::uint64_t filtered_{0};
    std::uint64_t from_board_{0};
    std::vector<std::optional<Instrument>> names_;
    std::chrono::nanoseconds silent_after_;
    HeartbeatWatch heartbeat_;
    core::MomentClock clock_;
    std::optional<ReaderSeat> seat_;
};

template <RingHandler Handler, class Step>
void RingReader::join(Handler& handler, Step&& step) {
    // Entries published from here on are read from the ring, whatever of them the copy below already holds. A ring that
    // goes round faster than the board is copied would leave a hole, so begin again; if it always does, the loss is
    // reported by the first poll like any other.
    constexpr int kAttempts = 16;
    Copy copy;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        seek(ring_.cursor() + 1);
        copy_board(copy, step);
        if (!ring_.overrun()) break;
    }
    deliver_board(handler, copy);
}

template <class Step>
void RingReader::copy_board(Copy& copy, Step& step) {
    const auto instruments = board_.instruments();
    const auto channels = static_cast<std::uint16_t>(board_.max_channels() - 1);
    copy.quotes.resize(instruments);
    copy.statuses.resize(instruments);
    copy.channel_statuses.resize(board_.max_channels());
    covered_.quotes.resize(instruments);
    covered_.statuses.resize(instruments);
    covered_.channel_statuses.resize(board_.max_channels());
    covered_.clears.resize(board_.max_channels());
    covered_.gaps.resize(board_.max_channels());
    for (std::uint32_t id = 0; id < instruments; ++id) {
        step();
        covered_.quotes[id] = cover(copy.quotes[id] = board_.quote(id));
        step();
        covered_.statuses[id] = cover(copy.statuses[id] = board_.status(id));
    }
    for (std::uint16_t channel = 0;; ++channel) {
        step();
        covered_.channel_statuses[channel] = cover(copy.channel_statuses[channel] = board_.channel_status(channel));
        step();
        // After all quotes: what this Clear voids is void in the copy too, and a later Clear will be read from the
        // ring.
        covered_.clears[channel] = board_.cleared(channel);
        step();
        covered_.gaps[channel] = board_.gapped(channel);  // likewise
        covered_.until = std::max({covered_.until, covered_.clears[channel], covered_.gaps[channel]});
        if (channel == channels) break;
    }
    step();
}

template <BoardEvent Event>
std::uint64_t RingReader::cover(const BoardRecord<Event>& record) noexcept {
    // An event that is being written will be read from the ring; those before it are older news.
    const auto number = record.state == RecordState::being_written ? record.number - 1 : record.number;
    covered_.until = std::max(covered_.until, number);
    return number;
}

template <RingHandler Handler>
void RingReader::deliver_board(Handler& handler, const Copy& copy) {
    const auto deliver_whole = [&](const auto& record) {
        if (record.state != RecordState::whole) return;
        ++from_board_;
        head_.number = record.number;
        handler.on(record.event);
    };
    for (const auto& record : copy.channel_statuses) deliver_whole(record);
    for (std::size_t id = 0; id < copy.quotes.size(); ++id) {
        deliver_whole(copy.statuses[id]);
        auto quote = copy.quotes[id];
        if (quote.event.channel < covered_.clears.size() && quote.number > covered_.clears[quote.event.channel]) {
            mark_gapped(quote.event, quote.number);
            deliver_whole(quote);
        }
    }
}

template <RingHandler Handler>
std::size_t RingReader::poll(Handler& handler, std::size_t max) {
    std::size_t taken = 0;
    for (; taken < max; ++taken) {
        const auto outcome = ring_.try_peek(head_);
        if (outcome == queue::ReadOutcome::nothing) break;
        if (outcome == queue::ReadOutcome::missed) {
            handler.on(ring_.missed());
        } else {
            dispatch(handler);
        }
    }
    if (seat_ && taken != 0) seat_->update(ring_.next(), ring_.missed_total());
    return taken;
}

template <RingHandler Handler>
void RingReader::dispatch(Handler& handler) {
    switch (static_cast<feed::EventKind>(head_.kind)) {
        case feed::EventKind::quote: return deliver<feed::Quote>(handler);
        case feed::EventKind::trade: return deliver<feed::Trade>(handler);
        case feed::EventKind::status: return deliver<feed::Status>(handler);
        case feed::EventKind::gap: return deliver<feed::Gap>(handler);
        case feed::EventKind::clear: return deliver<feed::Clear>(handler);
        case feed::EventKind::trade_break: return deliver<feed::TradeBreak>(handler);
    }
    std::array<std::uint64_t, 1> unknown{};
    if (!ring_.try_take(unknown)) return handler.on(ring_.missed());
    ++filtered_;
}

template <class Event, RingHandler Handler>
void RingReader::deliver(Handler& handler) {
    Event event;
    if (!ring_.try_take(event)) return handler.on(ring_.missed());
    if (head_.bytes != sizeof(Event)) {
        ++filtered_;
        return;
    }
    if (head_.number <= covered_.until) {
        if (covered(event)) {
            ++filtered_;
            return;
        }
        if constexpr (std::is_same_v<Event, feed::Quote>) {
            // The Clear or Gap behind it is in the copy already and will be filtered: a Clear leaves no quote.
            if (voided(event)) {
                event = emptied(event.instrument, event.channel, event.receive_utc_ns, event.receive_ticks);
            }
            mark_gapped(event, head_.number);
        }
    }
    handler.on(event);
}

}  // namespace millpond::market
