#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/json_text.hpp>
#include <millpond/market/book.hpp>
#include <millpond/market/books.hpp>
#include <millpond/queue/broadcast_reader.hpp>

#include "gateway/json_lines/depth.hpp"
#include "gateway/sinks/book_json.hpp"

namespace millpond::gateway::json_lines {

/// A change of a book, for the clients that get min_levels to max_levels levels of a side; clients without levels get
/// 0.
struct BookChange {
    /// The whole book is to be sent again.
    struct Whole {};

    std::variant<Whole, feed::Level, feed::Order> event;
    std::uint64_t number{0};  ///< Number of its ring entry.
    std::uint32_t min_levels{0};
    std::uint32_t max_levels{feed::kFullDepth};
    std::uint32_t events{0};        ///< Ring entries that it accounts for.
    std::uint32_t moved_events{0};  ///< Ring entries of the change before it, which is for the other clients.
};

/// The books of a sink's ring, one set for all clients. From the changes of each group it makes those of clients that
/// get fewer levels than the feed sends: their books hold the best levels of the feed's book after each group.
///
/// A group is applied when it ends, so that a book that a client gets is never in the middle of one. Groups that
/// restart a book are applied at once, because they may be as long as the book; until they end it is incomplete.
///
/// Threads: one.
/// Memory:  that of two market::Books, if the ring has channels with levels or orders, 40 bytes for each instrument
///          with a book, and the open groups: at most kMaxOpen entries.
class DepthBooks {
public:
    static constexpr std::uint64_t kNoLine = ~std::uint64_t{0};

    /// The channels of the events.
    struct Channels {
        std::uint32_t max_instruments{0};  ///< Instruments from this one on have no books.
        std::uint32_t max_channels{0};     ///< Channels that common_depth() looks at.
        market::Books::DepthOf depth_of{};
    };
    /// Must be called before events.
    void open(Channels channels);

    [[nodiscard]] DepthDemand& demand() noexcept { return demand_; }
    /// What the channel's feed sends.
    [[nodiscard]] market::ChannelDepth channel_depth(std::uint16_t channel) const;
    /// What all channels that send books have in common; off if none does.
    [[nodiscard]] market::ChannelDepth common_depth() const;
    /// Channel of the instrument's book; nullopt if it has none.
    [[nodiscard]] std::optional<std::uint16_t> channel(feed::InstrumentId id) const noexcept;

    /// Adds an entry to its group. Call end_group() if it has kLast.
    void add(const feed::Level& level, std::uint64_t number) { add_entry(level, number, 1); }
    void add(const feed::Order& order, std::uint64_t number) { add_entry(order, number, 1); }
    /// Adds a level of the board, which is not an entry of the ring, to a snapshot.
    void add_of_board(const feed::Level& level, std::uint64_t number) { add_entry(level, number, 0); }
    /// True if a group of any instrument is open.
    [[nodiscard]] bool has_open_group() const noexcept { return !open_.empty() || !restarting_.empty(); }
    /// Ends the instrument's group. Returns what changed, for the clients that demand() counts; valid until the next
    /// call. Nothing if no group is open.
    [[nodiscard]] std::span<const BookChange> end_group(feed::InstrumentId id);
    /// Applies a quote or trade that ends a group, after end_group(). Returns changes like end_group().
    template <class Event>
    [[nodiscard]] std::span<const BookChange> apply_last(const Event& event, std::uint64_t number) {
        const auto before = complete_books(event.instrument);
        apply(event);
        changes_.clear();
        if (before != complete_books(event.instrument)) {
            // After a Clear of the instrument alone, the book begins here.
            if (!has_book(event.instrument)) record(event, number);
            changes_.push_back({.event = BookChange::Whole{}, .number = number});
        }
        return changes_;
    }

    void on(const feed::Clear& clear, std::uint64_t number);
    /// line: number of the line that reports the loss.
    void on(const feed::Gap& gap, std::uint64_t line);
    void on(const queue::MissedRange& missed, std::uint64_t line);

    [[nodiscard]] std::size_t size() const noexcept { return states_.size(); }
    [[nodiscard]] bool has_book(feed::InstrumentId id) const noexcept {
        return id < states_.size() && states_[id].number != 0;
    }
    /// Which books of the instrument are complete.
    struct Complete {
        bool levels{false};
        bool orders{false};

        /// Whether all that the depth needs is complete.
        [[nodiscard]] bool covers(Depth depth) const noexcept {
            return (levels || depth.levels == 0) && (orders || !depth.orders);
        }
    };
    [[nodiscard]] Complete complete(feed::InstrumentId id) const noexcept {
        const auto* const levels = book_of_levels(id);
        const auto* const orders = book_of_orders(id);
        return {.levels = levels != nullptr && levels->complete(), .orders = orders != nullptr && orders->complete()};
    }
    /// Whether that line made the book incomplete, and it still is.
    [[nodiscard]] bool is_marked_by(feed::InstrumentId id, std::uint64_t line) const noexcept {
        return id < states_.size() && states_[id].incomplete_since == line;
    }

    /// Appends the book as a group of snapshot events, one JSON line each: the orders of all levels, and the best
    /// levels. Returns the number of lines.
    [[nodiscard]] std::size_t write_events(feed::InstrumentId id, Depth depth, const feed::JsonSymbol& symbol,
                                           std::string& out) const;
    /// Appends an empty, incomplete book like write_events().
    [[nodiscard]] std::size_t write_empty(feed::InstrumentId id, Depth depth, const feed::JsonSymbol& symbol,
                                          std::string& out) const;
    /// Appends the best levels as one JSON object with a newline. levels: 0 for an empty, incomplete book.
    void write_book(feed::InstrumentId id, std::uint32_t levels, const feed::JsonSymbol& symbol,
                    std::string& out) const;

    static constexpr std::size_t kMaxOpen = 512;

private:
    struct Entry {
        std::variant<feed::Level, feed::Order> event;
        std::uint64_t number;
    };
    /// A group that is applied at once and makes the whole book new.
    struct Restart {
        feed::InstrumentId id;
        std::uint16_t channel;
        std::uint32_t events;
    };
    /// What is known of a book beside its levels and orders.
    struct State : BookStamp {
        std::uint64_t incomplete_since{kNoLine};  ///< Line that made it incomplete.
        bool is_removed{false};  ///< Another writer of the ring sends another depth, and nothing of the book yet.
    };
    /// A level that the group changes. Places count from 1; 0: not in the book.
    struct LevelChange {
        const feed::Level* event;
        std::uint64_t number;
        std::uint32_t events;
        std::size_t old_place;
        std::size_t new_place;

        /// The fewest levels of a client whose book changes; 0: no client's book does.
        [[nodiscard]] std::size_t min_levels() const noexcept { return new_place != 0 ? new_place : old_place; }
    };

    /// ring_entries: 1, or 0 if the event is not an entry of the ring.
    template <class Event>
    void add_entry(const Event& event, std::uint64_t number, std::uint32_t ring_entries);
    template <class Event>
    void apply(const Event& event) {
        if (!levels_) return;
        levels_->on(event);
        orders_->on(event);
    }
    [[nodiscard]] Restart* find_restart(feed::InstrumentId id) noexcept;
    /// Applies the open group in parts: it restarts the book, or is too long to wait for its end.
    Restart& apply_early(feed::InstrumentId id, std::uint16_t channel);
    template <class Event>
    void record(const Event& event, std::uint64_t number);
    /// A bit for each complete book of the instrument.
    [[nodiscard]] unsigned complete_books(feed::InstrumentId id) const noexcept;
    [[nodiscard]] bool wants(const feed::Level& level) const noexcept { return demand_.wants_levels(level.instrument); }
    [[nodiscard]] bool wants(const feed::Order& order) const noexcept { return demand_.wants_orders(order.instrument); }
    /// Drops the open groups of the channel, or all.
    void drop_open(std::optional<std::uint16_t> channel);
    /// Drops open groups and marks books incomplete: those of the channel, or all. line: of the loss.
    template <class Loss>
    void mark_incomplete(const Loss& loss, std::optional<std::uint16_t> channel, std::uint64_t line);

    /// Moves the open entries of the instrument from open_ into group_.
    void extract_group(feed::InstrumentId id);
    /// Null books are empty and incomplete.
    [[nodiscard]] std::size_t write_snapshot(feed::InstrumentId id, Depth depth, const market::Book* orders,
                                             const market::Book* levels, const feed::JsonSymbol& symbol,
                                             std::string& out) const;
    [[nodiscard]] market::Book::Levels levels_of(feed::InstrumentId id, feed::Side side) const;
    void collect_level_changes(feed::InstrumentId id);
    void find_new_places(feed::InstrumentId id);
    void add_order_changes(unsigned complete);
    void add_entering_levels(feed::InstrumentId id, feed::Side side);
    void add_level_changes(bool is_complete);

    /// Null if the instrument has none.
    [[nodiscard]] const market::Book* book_of_levels(feed::InstrumentId id) const noexcept {
        return levels_ ? levels_->find(id) : nullptr;
    }
    [[nodiscard]] const market::Book* book_of_orders(feed::InstrumentId id) const noexcept {
        return orders_ ? orders_->find(id) : nullptr;
    }

    Channels channels_;
    std::optional<market::Books> levels_;  // made of levels; from open() on
    std::optional<market::Books> orders_;  // made of orders, of channels that send them; from open() on
    DepthDemand demand_;
    std::vector<State> states_;
    std::vector<Entry> open_;          // entries of open groups, in the order of the ring
    std::vector<Restart> restarting_;  // open groups that were applied already
    std::vector<Entry> group_;         // entries of the group that ends
    std::vector<LevelChange> level_changes_;
    std::uint32_t unneeded_{0};  // entries of the group that no client needs
    std::vector<BookChange> changes_;
};

}  // namespace millpond::gateway::json_lines
