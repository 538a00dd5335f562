#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/market/book.hpp>
#include <millpond/market/quote_board.hpp>

namespace millpond::app {

/// Makes the book of one instrument from the events of a feed or a journal.
///
/// Threads: one.
/// Memory:  52 MiB from the instrument's first order on, which is enough for 1,048,576 live orders at 65,536 prices of
///          a side; 8 MiB for levels, or 8 KiB if their feed bounds them.
class BookFollower {
public:
    /// Returns what the feed of a channel sends of its books.
    using DepthOf = std::function<market::ChannelDepth(std::uint16_t channel)>;

    /// channel: that of the instrument, if it is known; otherwise that of its first order or level. Books are made of
    /// levels where depth_of says that a channel sends no orders.
    explicit BookFollower(std::string symbol, std::optional<std::uint16_t> channel = {}, DepthOf depth_of = {})
        : symbol_(std::move(symbol)), depth_of_(std::move(depth_of)), channel_(channel) {}

    /// Applies an event. instrument_of(id): pointer to the instrument, null if its name is not known. Throws
    /// std::runtime_error if a second instrument has the symbol, or a second channel sends its books.
    template <class Event, class InstrumentOf>
    void on(const Event& event, const InstrumentOf& instrument_of) {
        if constexpr (requires { event.instrument; }) {
            if (event.instrument != feed::kNoInstrument && !is_wanted(event.instrument, instrument_of)) return;
        }
        apply(event);
    }
    /// Events of every channel are missing.
    void on(const queue::MissedRange& missed);
    /// Instruments have other numbers from now on; their books begin again.
    void begin_epoch();
    /// Notes an instrument that may have no events.
    void note(feed::InstrumentId id, const market::Instrument& instrument);

    [[nodiscard]] const std::string& symbol() const noexcept { return symbol_; }
    /// Whether an instrument with the symbol was seen.
    [[nodiscard]] bool has_instrument() const noexcept { return instrument_.has_value(); }
    [[nodiscard]] unsigned decimals() const noexcept {
        return instrument_ ? instrument_->decimals : feed::kDefaultDecimals;
    }
    /// Symbols of all instruments that were seen.
    [[nodiscard]] const std::set<std::string, std::less<>>& symbols() const noexcept { return symbols_; }
    /// The book; null before its first order or level.
    [[nodiscard]] const market::Book* book() const noexcept { return book_ ? &*book_ : nullptr; }
    /// Creates the book of orders if there were none yet. The channel must be known.
    void make_book() { make_book({.depth = 0, .orders = true}); }
    /// What the book is made of: `orders`, or levels of a depth.
    [[nodiscard]] market::ChannelDepth made_of() const noexcept { return made_of_; }
    /// Causes that made the book incomplete since it was emptied.
    [[nodiscard]] market::Book::Faults faults() const noexcept;
    /// The Clear that emptied the book, if no order or level followed.
    [[nodiscard]] const std::optional<feed::Clear>& cleared() const noexcept { return cleared_; }
    /// Whether there were levels of a channel of which the number of levels is unknown.
    [[nodiscard]] bool has_unknown_depth() const noexcept { return has_unknown_depth_; }
    /// Whether the event is of the book's channel, or the channel is not known yet.
    [[nodiscard]] bool is_of_channel(std::uint16_t channel) const noexcept { return !channel_ || channel == *channel_; }
    /// Whether the channel reported the end of its messages, so that the book does not change later.
    [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

private:
    void make_book(market::ChannelDepth depth);
    /// Makes the channel that of the book. Returns true if it was not known before. Throws std::runtime_error if the
    /// book has another one.
    bool claim(std::uint16_t channel);
    /// Empties the book. It is complete if the channel's Clear says that it has no orders.
    void restart();
    /// Call it before an event that empties the book.
    void forget_faults() { before_ = book_->faults(); }
    template <class InstrumentOf>
    [[nodiscard]] bool is_wanted(feed::InstrumentId id, const InstrumentOf& instrument_of) {
        if (id >= is_noted_.size() || !is_noted_[id]) {
            if (const market::Instrument* const instrument = instrument_of(id)) note(id, *instrument);
        }
        return id == wanted_;
    }
    void apply(const feed::Order& order);
    void apply(const feed::Level& level);
    void apply(const feed::Clear& clear);
    void apply(const feed::Gap& gap);
    void apply(const feed::Status& status);
    template <class Event>
    void apply(const Event& event) {
        if constexpr (requires { book_->apply(event); }) {
            if (book_ && channel_ == event.channel) book_->apply(event);
        }
    }

    std::string symbol_;
    DepthOf depth_of_;
    std::set<std::string, std::less<>> symbols_;
    std::vector<bool> is_noted_;  // by id
    feed::InstrumentId wanted_{feed::kNoInstrument};
    std::optional<market::Instrument> instrument_;
    std::optional<std::uint16_t> channel_;
    std::optional<market::Book> book_;
    market::ChannelDepth made_of_{};
    market::Book::Faults before_{};  // faults of the book before it was emptied
    std::optional<feed::Clear> cleared_;
    bool has_unknown_depth_{false};
    std::map<std::uint16_t, bool> is_complete_;  // by channel: whether a book without events is complete
    bool has_ended_{false};
};

}  // namespace millpond::app
