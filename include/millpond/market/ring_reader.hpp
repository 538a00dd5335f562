#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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
    std::string
        visible_as{};  ///< Up to 32 characters; the reader registers under this name. Empty: it does not register.
    /// Registers in `join` instead of the constructor: a writer that waits for registered readers then publishes
    /// nothing before the reader's first entry.
    bool joins{false};
    std::chrono::nanoseconds silent_after{std::chrono::seconds{1}};  ///< Maximum age of the writer's heartbeat.
    /// Refuses a ring of another user, root excepted. The owner of a ring can end its readers by truncating it.
    bool own{false};
};

/// Receives the events of a ring, and the ranges that the reader missed.
template <class Handler>
concept RingHandler =
    feed::EventHandler<Handler> && requires(Handler& handler, const queue::MissedRange& missed) { handler.on(missed); };

enum class WriterState : std::uint8_t {
    alive,
    silent,      ///< The heartbeat is older than `silent_after`: the writer is stuck or dead, and may recover.
    superseded,  ///< Another ring has the name now: read the rest, then open the name again.
    closed,      ///< The writer closed the ring: read the rest; open the name again for a new ring.
};

/// Outcome of RingReader::rejoin.
enum class RejoinOutcome : std::uint8_t {
    delivered,
    behind,  ///< `poll` is behind the levels, or they are being written: call it again after a poll.
    none,    ///< The board has none since the channel's last Clear and Gap: call it again after the next Level.
};

/// Entries since the reader joined, by outcome: published = delivered + filtered + missed + queued.
struct RingAccount {
    std::uint64_t since;      ///< Ring number of the first entry after the join.
    std::uint64_t published;  ///< Entries from `since` on.
    std::uint64_t delivered;
    std::uint64_t filtered;    ///< Entries that the board of the join includes, or of a kind without an `on` function.
    std::uint64_t missed;      ///< Entries overwritten before they were read, counted even before poll reaches them.
    std::uint64_t queued;      ///< Entries still in the ring: at most its capacity.
    std::uint64_t from_board;  ///< Events that the join delivered from the board; not part of the sum.
};

/// Reads a named market ring. The writer does not know its readers.
///
/// Threads: one.
/// Memory:  the ring's pages, mapped read-only; 16 bytes and a name per instrument, allocated in the constructor; a
///          copy of the board during a join.
class RingReader {
public:
    /// Opens the ring; its first entry is the next one published, unless `join` or `seek` say otherwise. If
    /// registration fails, the reader works unregistered: see registered(). Throws RingError.
    explicit RingReader(const RingReaderOptions& options);

    /// Delivers the board, then makes poll continue where the board ends: no event is lost or delivered twice between
    /// them. An instrument without a quote delivers none; a cleared quote has size 0 on both sides; a quote not newer
    /// than its channel's last gap is marked incomplete. Before the quote of a composite come its venues. After the
    /// quote come the instrument's levels, as a snapshot from the worst to the best, if the handler has a function for
    /// them; incomplete if the slot is, is being written, or is not newer than the last gap. Resets the account.
    /// O(instruments x depth).
    ///
    /// If the ring overtakes the copy of the board, the join starts again, at most three times; the entries lost in the
    /// last copy are then reported by the first poll. Throws memory::RegionError or std::bad_alloc if there is no
    /// memory for the copy; nothing was delivered then. step: called between the records of the board; for tests.
    template <RingHandler Handler, class Step = queue::NoStep>
    void join(Handler& handler, Step&& step = {});

    /// Delivers the instrument's levels from the board as join does, so that its book is complete again after a missed
    /// range. O(depth).
    template <RingHandler Handler>
        requires feed::HandlerOf<Handler, feed::Level>
    RejoinOutcome rejoin(Handler& handler, feed::InstrumentId id);

    /// Delivers up to `max` entries that are ready; a lost range counts as one. Returns the number of entries read from
    /// the ring.
    template <RingHandler Handler>
    std::size_t poll(Handler& handler, std::size_t max);

    /// Makes poll continue at entry `number`, without the board, and resets the account. Overwritten entries are
    /// missed.
    void seek(std::uint64_t number) noexcept;

    /// Ring number of the event that poll or join is delivering, for use inside the handler.
    [[nodiscard]] std::uint64_t current() const noexcept { return head_.number; }
    [[nodiscard]] std::uint64_t oldest() const noexcept { return ring_.oldest(); }
    [[nodiscard]] std::uint64_t newest() const noexcept { return ring_.cursor(); }
    /// Ring number of the entry that poll reads next; it has delivered, filtered or reported as missed those before.
    [[nodiscard]] std::uint64_t next() const noexcept { return ring_.next(); }
    [[nodiscard]] RingAccount account() const noexcept;

    /// Returns nullptr if the instrument has no name; the instrument of a delivered event always has one. The name
    /// stays valid while the reader lives. O(1); the first call for an instrument copies.
    [[nodiscard]] const Instrument* instrument(feed::InstrumentId id) noexcept;
    /// Upper bound of the ids that have a name.
    [[nodiscard]] std::uint32_t instruments() const noexcept { return board_.instruments(); }
    [[nodiscard]] std::uint32_t max_instruments() const noexcept { return board_.max_instruments(); }
    [[nodiscard]] const QuoteBoard& board() const noexcept { return board_; }
    /// What the channel's feed sends; known from the channel's first event on. Off beyond the board's channels, and for
    /// entries of an earlier writer after another continued the ring.
    [[nodiscard]] ChannelDepth depth(std::uint16_t channel) const noexcept {
        if (channel >= board_.max_channels()) return {};
        const auto depth = board_.channel_depth(channel);
        return ring_.next() > board_.depth_since(channel) ? depth : ChannelDepth{};
    }

    /// State of the writer by its heartbeat. Setting the system's clock affects only the first call, which has nothing
    /// but UTC.
    [[nodiscard]] WriterState writer_state() noexcept { return writer_state(clock_.now()); }
    [[nodiscard]] WriterState writer_state(core::Moment now) noexcept;
    /// False once no process holds the ring as its writer. A system call.
    [[nodiscard]] bool has_writer() const noexcept { return region_.owned_elsewhere(); }
    [[nodiscard]] std::uint64_t writer_pid() const noexcept { return ring_.writer_pid(); }
    /// Incremented when a new writer continues this ring.
    [[nodiscard]] std::uint64_t writer_starts() const noexcept { return ring_.writer_starts(); }
    [[nodiscard]] std::uint64_t epoch() const noexcept { return ring_.epoch(); }
    [[nodiscard]] std::uint64_t capacity() const noexcept { return ring_.capacity(); }
    /// True if the reader is registered, and so listed.
    [[nodiscard]] bool registered() const noexcept { return registration_.has_value(); }

private:
    /// Registers with the number of the next entry, unless done.
    void register_once();

    /// Copy of the board, made by join.
    struct Copy {
        std::vector<BoardRecord<feed::Quote>> quotes;
        std::vector<BoardRecord<feed::Status>> statuses;
        std::vector<BoardRecord<feed::Status>> channel_statuses;
        std::vector<BoardRecord<feed::BestVenues>> venues;  // empty if they are not wanted
        std::vector<BoardRecord<DepthHead>> depths;         // empty if levels are not wanted
        memory::Region level_memory;
        std::span<BoardLevel> levels;  // 2 x max_depth of each instrument
    };
    /// Ring numbers up to which the board includes the ring's entries.
    struct Covered {
        std::vector<std::uint64_t> quotes;
        std::vector<std::uint64_t> statuses;
        std::vector<std::uint64_t> venues;
        std::vector<std::uint64_t> channel_statuses;
        std::vector<std::uint64_t> depths;
        std::vector<std::uint64_t> clears;
        std::vector<std::uint64_t> gaps;
        std::uint64_t until{0};  ///< the largest number: entries after it need no check
    };
    struct Opened {
        memory::Region region;
        QuoteBoard board;
    };

    RingReader(const RingReaderOptions& options, Opened opened);
    [[nodiscard]] static Opened open(const RingReaderOptions& options);

    template <class Step>
    void copy_board(Copy& copy, bool with_levels, bool with_venues, Step& step);
    template <RingHandler Handler>
    void deliver_board(Handler& handler, const Copy& copy);
    template <class Handler>
    void deliver_levels(Handler& handler, const BoardRecord<DepthHead>& record, const BoardLevel* levels,
                        feed::InstrumentId id, bool is_gapped);
    /// True if the newest writer's feed of the channel sends levels or orders.
    [[nodiscard]] bool has_books(std::uint16_t channel) const noexcept {
        return channel < board_.max_channels() && board_.channel_depth(channel).is_on();
    }
    template <BoardEvent Event>
    [[nodiscard]] std::uint64_t cover(const BoardRecord<Event>& record) noexcept;

    /// True if the board includes the entry of this number: the handler does not get it.
    [[nodiscard]] bool covered(const feed::Quote& quote) const noexcept;
    [[nodiscard]] bool covered(const feed::Status& status) const noexcept;
    [[nodiscard]] bool covered(const feed::BestVenues& venues) const noexcept {
        return (venues.instrument < covered_.venues.size() && head_.number <= covered_.venues[venues.instrument]) ||
               voided(venues);
    }
    [[nodiscard]] bool covered(const feed::Clear& clear) const noexcept;
    [[nodiscard]] bool covered(const feed::Gap& gap) const noexcept;
    [[nodiscard]] bool covered(const feed::Order& order) const noexcept { return in_levels(order) || voided(order); }
    [[nodiscard]] bool covered(const feed::Level& level) const noexcept { return in_levels(level) || voided(level); }
    template <class Event>
    [[nodiscard]] bool covered(const Event&) const noexcept {
        return false;
    }
    /// True if the levels that the join delivered include the event's group.
    template <class Event>
    [[nodiscard]] bool in_levels(const Event& event) const noexcept {
        return event.instrument < covered_.depths.size() && head_.number <= covered_.depths[event.instrument];
    }
    /// True if the board includes a Clear of the event's channel that follows.
    template <class Event>
    [[nodiscard]] bool voided(const Event& event) const noexcept {
        return event.channel < covered_.clears.size() && head_.number <= covered_.clears[event.channel];
    }
    /// Gives an event the effect of the Clear or Gap that follows, which will be filtered: a Clear leaves no quote.
    void adapt(feed::Quote& quote) const noexcept;
    void adapt(feed::Trade& trade) const noexcept { trade.flags |= last_flag(trade); }
    void adapt(feed::Order& order) const noexcept { mark_gapped(order, head_.number); }
    void adapt(feed::Level& level) const noexcept { mark_gapped(level, head_.number); }
    void adapt(feed::Clear& clear) const noexcept {
        mark_gapped(clear, head_.number);
        if (voided(clear)) clear.flags |= feed::kIncomplete;  // the Clear of the channel may be
    }
    template <class Event>
    void adapt(Event&) const noexcept {}
    /// kLast if the rest of the event's group is filtered.
    template <class Event>
    [[nodiscard]] std::uint16_t last_flag(const Event& event) const noexcept {
        const bool is_alone = in_levels(event) || (voided(event) && has_books(event.channel));
        return is_alone ? feed::kLast : 0;
    }
    /// Sets the flag of an event that is not newer than the copied gap of its channel.
    template <class Event>
    void mark_gapped(Event& event, std::uint64_t number) const noexcept {
        if (event.channel < covered_.gaps.size() && number <= covered_.gaps[event.channel])
            event.flags |= feed::kIncomplete;
    }
    /// Delivers a Clear of an instrument of which the board includes only the effect on the quote, or only that on the
    /// levels. Returns false if it is to be delivered, or filtered, as any other.
    template <RingHandler Handler>
    bool deliver_in_part(Handler& handler, const feed::Clear& clear);
    template <RingHandler Handler>
    void dispatch(Handler& handler);
    template <class Event, RingHandler Handler>
    void deliver(Handler& handler);

    memory::Region region_;
    QuoteBoard board_;
    queue::BroadcastReader ring_;
    queue::BroadcastHead head_{};  // header of the entry that is being delivered
    Covered covered_;
    std::uint64_t filtered_{0};
    std::uint64_t from_board_{0};
    std::vector<std::optional<Instrument>> names_;
    RingReaderOptions options_;
    HeartbeatWatch heartbeat_;
    core::MomentClock clock_;
    std::optional<ReaderRegistration> registration_;
};

template <RingHandler Handler, class Step>
void RingReader::join(Handler& handler, Step&& step) {
    // Entries published from here on are read from the ring, even if the copy below includes them. If the ring wraps
    // during the copy there would be a gap, so copy again; if it always wraps, the first poll reports the loss like any
    // other.
    constexpr int kMaxRestarts = 3;
    Copy copy;
    for (int restarts = 0; restarts <= kMaxRestarts; ++restarts) {
        seek(ring_.cursor() + 1);
        copy_board(copy, feed::HandlerOf<Handler, feed::Level>, feed::HandlerOf<Handler, feed::BestVenues>, step);
        if (!ring_.overrun()) break;
    }
    register_once();
    deliver_board(handler, copy);
}

template <class Step>
void RingReader::copy_board(Copy& copy, bool with_levels, bool with_venues, Step& step) {
    constexpr std::size_t kManyBytes = 1U << 20U;  // of which page faults would take longer than the copy
    const auto instruments = board_.instruments();
    const auto stride = std::size_t{2} * board_.max_depth();
    const auto depths = with_levels && stride != 0 ? instruments : 0;
    const auto venues = with_venues && board_.has_best_venues() ? instruments : 0;
    const auto channels = static_cast<std::uint16_t>(board_.max_channels() - 1);
    copy.venues.resize(venues);
    covered_.venues.resize(venues);
    copy.quotes.resize(instruments);
    copy.statuses.resize(instruments);
    copy.channel_statuses.resize(board_.max_channels());
    if (depths > copy.depths.size()) {
        const auto bytes = depths * stride * sizeof(BoardLevel);
        const auto pages = bytes < kManyBytes ? memory::HugePages::none : memory::HugePages::transparent;
        copy.level_memory = memory::Region::anonymous(bytes, {.huge_pages = pages, .prefault = true});
        copy.levels = {reinterpret_cast<BoardLevel*>(copy.level_memory.data()), depths * stride};
    }
    copy.depths.resize(depths);
    covered_.depths.resize(depths);
    covered_.quotes.resize(instruments);
    covered_.statuses.resize(instruments);
    covered_.channel_statuses.resize(board_.max_channels());
    covered_.clears.resize(board_.max_channels());
    covered_.gaps.resize(board_.max_channels());
    for (std::uint32_t id = 0; id < instruments; ++id) {
        step();
        covered_.quotes[id] = cover(copy.quotes[id] = board_.quote(id));
        step();
        if (id < depths) {
            // After the quote: a quote that is on the board already is then of a group in these levels.
            const auto levels = copy.levels.subspan(id * stride, stride);
            covered_.depths[id] = cover(copy.depths[id] = board_.levels(id, levels, step));
            step();
        }
        covered_.statuses[id] = cover(copy.statuses[id] = board_.status(id));
        if (id >= venues) continue;
        step();
        // After the quote, so that venues that are newer than it are followed by theirs in the ring.
        covered_.venues[id] = cover(copy.venues[id] = board_.best_venues(id));
    }
    for (std::uint16_t channel = 0;; ++channel) {
        step();
        covered_.channel_statuses[channel] = cover(copy.channel_statuses[channel] = board_.channel_status(channel));
        step();
        // After all quotes: this Clear voids its quotes in the copy too, and a later Clear will be read from the ring.
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
    // Nothing was copied of a record that is being written: the ring has what follows.
    const auto number = record.state == RecordState::whole ? record.number : 0;
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
            if constexpr (feed::HandlerOf<Handler, feed::BestVenues>) {
                if (id < copy.venues.size() && copy.venues[id].number > covered_.clears[quote.event.channel])
                    deliver_whole(copy.venues[id]);
            }
            if (has_books(quote.event.channel)) quote.event.flags |= feed::kLast;  // the levels have their own group
            deliver_whole(quote);
        }
        if (id >= copy.depths.size()) continue;
        const auto& record = copy.depths[id];
        const auto channel = record.event.channel;
        if (record.state == RecordState::none || channel >= covered_.clears.size()) continue;
        if (record.number <= covered_.clears[channel]) continue;
        deliver_levels(handler, record, &copy.levels[id * std::size_t{2} * board_.max_depth()],
                       static_cast<feed::InstrumentId>(id), record.number <= covered_.gaps[channel]);
    }
}

template <RingHandler Handler>
    requires feed::HandlerOf<Handler, feed::Level>
RejoinOutcome RingReader::rejoin(Handler& handler, feed::InstrumentId id) {
    if (board_.max_depth() == 0 || id >= board_.instruments()) return RejoinOutcome::none;
    std::array<BoardLevel, std::size_t{2} * kMaxBoardDepth> levels;
    const auto record = board_.levels(id, levels);
    if (record.state == RecordState::none) return RejoinOutcome::none;
    // Levels that poll has passed are the newest: the instrument's groups that poll has yet to deliver would be in
    // them.
    if (record.state != RecordState::whole || record.number >= ring_.next()) return RejoinOutcome::behind;
    const auto channel = record.event.channel;
    if (channel >= board_.max_channels()) return RejoinOutcome::none;
    if (record.number <= std::max(board_.cleared(channel), board_.gapped(channel))) return RejoinOutcome::none;
    deliver_levels(handler, record, levels.data(), id, false);
    return RejoinOutcome::delivered;
}

/// levels: bids, and asks from max_depth on.
template <class Handler>
void RingReader::deliver_levels(Handler& handler, const BoardRecord<DepthHead>& record, const BoardLevel* levels,
                                feed::InstrumentId id, bool is_gapped) {
    if constexpr (feed::HandlerOf<Handler, feed::Level>) {
        const bool is_whole = record.state == RecordState::whole;
        const auto& head = record.event;
        head_.number = record.number;
        feed::Level level;
        level.instrument = id;
        level.channel = head.channel;
        level.exchange_utc_ns = is_whole ? head.exchange_utc_ns : 0;
        level.receive_utc_ns = is_whole ? head.receive_utc_ns : 0;
        level.receive_ticks = is_whole ? head.receive_ticks : 0;
        level.feed_sequence = is_whole ? head.feed_sequence : 0;
        level.flags = feed::kSnapshot;
        if (!is_whole || is_gapped || (head.flags & feed::kIncomplete) != 0) level.flags |= feed::kIncomplete;

        std::size_t left = is_whole ? std::size_t{head.bids} + head.asks : 0;
        const auto pass = [&] {
            if (left == 0) level.flags |= feed::kLast;
            ++from_board_;
            handler.on(level);
        };
        pass();
        const auto pass_side = [&](feed::Side side, const BoardLevel* of_side, std::size_t count) {
            level.side = side;
            while (count-- != 0) {
                level.price = of_side[count].price;
                level.size = of_side[count].size;
                level.orders = static_cast<std::uint32_t>(of_side[count].orders);
                --left;
                pass();
            }
        };
        if (!is_whole) return;
        pass_side(feed::Side::bid, levels, head.bids);
        pass_side(feed::Side::ask, levels + board_.max_depth(), head.asks);
    }
}

template <RingHandler Handler>
std::size_t RingReader::poll(Handler& handler, std::size_t max) {
    std::size_t consumed = 0;
    for (; consumed < max; ++consumed) {
        const auto outcome = ring_.try_peek(head_);
        if (outcome == queue::ReadOutcome::nothing) break;
        if (outcome == queue::ReadOutcome::missed) {
            handler.on(ring_.missed());
        } else {
            dispatch(handler);
        }
    }
    if (registration_ && consumed != 0) registration_->update(ring_.next(), ring_.missed_total());
    return consumed;
}

template <RingHandler Handler>
void RingReader::dispatch(Handler& handler) {
    const auto kind = static_cast<feed::EventKind>(head_.kind);
    bool is_delivered = false;
    feed::Events::visit(kind, [&]<class Event>() {
        if constexpr (feed::HandlerOf<Handler, Event>) {
            is_delivered = true;
            deliver<Event>(handler);
        }
    });
    if (is_delivered) return;
    std::array<std::uint64_t, 1> skipped{};
    if (!ring_.try_consume(skipped)) {
        handler.on(ring_.missed());
        return;
    }
    ++filtered_;
}

template <class Event, RingHandler Handler>
void RingReader::deliver(Handler& handler) {
    Event event;
    if (!ring_.try_consume(event)) {
        handler.on(ring_.missed());
        return;
    }
    if (head_.bytes != sizeof(Event)) {
        ++filtered_;
        return;
    }
    if (head_.number <= covered_.until) {
        if constexpr (std::is_same_v<Event, feed::Clear>) {
            if (deliver_in_part(handler, event)) return;
        }
        if (covered(event)) {
            ++filtered_;
            return;
        }
        adapt(event);
    }
    handler.on(event);
}

template <RingHandler Handler>
bool RingReader::deliver_in_part(Handler& handler, const feed::Clear& clear) {
    if (clear.instrument == feed::kNoInstrument || covered(clear) == in_levels(clear)) return false;
    if (in_levels(clear)) {
        auto quote = emptied(clear.instrument, clear.channel, clear.receive_utc_ns, clear.receive_ticks);
        quote.flags = feed::kLast;
        handler.on(quote);
        return true;
    }
    if (voided(clear) || !has_books(clear.channel)) return false;
    const auto clear_books = [&]<class Event>(Event event) {
        if constexpr (feed::HandlerOf<Handler, Event>) {
            event.instrument = clear.instrument;
            event.channel = clear.channel;
            event.flags = static_cast<std::uint16_t>(feed::kSnapshot | feed::kLast | (clear.flags & feed::kIncomplete));
            event.receive_utc_ns = clear.receive_utc_ns;
            event.receive_ticks = clear.receive_ticks;
            mark_gapped(event, head_.number);
            handler.on(event);
        }
    };
    constexpr bool kHasBooks = feed::HandlerOf<Handler, feed::Order> || feed::HandlerOf<Handler, feed::Level>;
    clear_books(feed::Order{.action = feed::OrderAction::clear});
    clear_books(feed::Level{});
    return kHasBooks;
}

}  // namespace millpond::market
