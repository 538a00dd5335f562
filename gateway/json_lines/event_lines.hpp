#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/venues_json.hpp>

#include "gateway/json_lines/depth_books.hpp"
#include "gateway/json_lines/line_log.hpp"
#include "gateway/json_lines/snapshot.hpp"
#include "gateway/json_lines/subscriber.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::json_lines {

/// Encodes each event as one JSON line, once for all subscribers. The log accepts every event, so that a slow
/// subscriber falls behind alone.
///
/// Threads: one.
/// Memory:  `backlog` lines, the newest quote and state of each instrument, and its books (DepthBooks).
class EventLines {
public:
    /// backlog: lines, a power of two.
    /// Throws service::OutOfMemory that names the backlog.
    explicit EventLines(std::size_t backlog);

    /// Must be called before events.
    /// venues: of each channel, if the ring has composites, whose lines then have venues.
    void open(DepthBooks::Channels channels, const std::optional<feed::ChannelVenues>& venues) {
        books_.open(std::move(channels));
        if (venues) snapshot_.show_venues(*venues);
    }
    /// Called for each instrument in the order of the ids, before its first event.
    void name(const feed::Venue& venue, const feed::Symbol& symbol, unsigned decimals);
    /// Stores what the board has; levels as groups of snapshot events.
    void board(const feed::Quote& quote, std::uint64_t number) { snapshot_.put(quote, number); }
    void board(const feed::Status& status, std::uint64_t number) { snapshot_.put(status, number); }
    void board(const feed::Level& level, std::uint64_t number);
    void board(const feed::BestVenues& venues) { snapshot_.put(venues); }
    /// Encodes an event. number: number of its ring entry.
    void on(const feed::Quote& quote, std::uint64_t number);
    void on(const feed::Trade& trade, std::uint64_t number);
    void on(const feed::TradeBreak& broken, std::uint64_t number);
    /// Returns whether a subscriber wants it.
    Admission on(const feed::Order& order, std::uint64_t number);
    Admission on(const feed::Level& level, std::uint64_t number);
    void on(const feed::Imbalance& imbalance, std::uint64_t number);
    void on(const feed::Band& band, std::uint64_t number);
    void on(const feed::Definition& definition, std::uint64_t number);
    /// Keeps the venues of a composite's next quotes, whose lines have them. Has no line.
    void on(const feed::BestVenues& venues, std::uint64_t) noexcept { next_venues_ = venues; }
    void on(const feed::Status& status, std::uint64_t number);
    void on(const feed::Gap& gap, std::uint64_t number);
    void on(const feed::Clear& clear, std::uint64_t number);
    void missed(std::uint64_t first, std::uint64_t last);
    /// Counts an event of an instrument that no subscriber wants, without encoding it.
    void skip(feed::InstrumentId id) { append(LineKind::other, id).length = 0; }

    [[nodiscard]] const LineLog& log() const noexcept { return log_; }
    [[nodiscard]] const Snapshot& snapshot() const noexcept { return snapshot_; }
    [[nodiscard]] DepthBooks& books() noexcept { return books_; }
    /// Notifies the subscriber of new instruments and of evicted lines until leave().
    void join(Subscriber& subscriber) { subscribers_.push_back(&subscriber); }
    void leave(const Subscriber& subscriber) { std::erase(subscribers_, &subscriber); }
    /// Finds the oldest line that a subscriber has not sent; call it when subscribers have advanced.
    void find_slowest() noexcept;

private:
    void evict_oldest();
    [[nodiscard]] Line& append(LineKind kind, feed::InstrumentId id, std::uint64_t events = 1);
    /// Ends the instrument's group before the line of a quote or trade.
    template <class Event>
    void end_group(const Event& event, std::uint64_t number);
    void write_changes(feed::InstrumentId id, std::span<const BookChange> changes);
    /// Appends an event of an instrument that the snapshot does not keep.
    template <class Event>
    void pass_on(const Event& event, std::uint64_t number);

    LineLog log_;
    Snapshot snapshot_;
    DepthBooks books_;
    feed::BestVenues next_venues_;  // of the next quote
    std::uint64_t slowest_{0};      // the oldest line that a subscriber has not sent
    std::vector<Subscriber*> subscribers_;
};

}  // namespace millpond::gateway::json_lines
