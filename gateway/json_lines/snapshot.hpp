#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/event_json.hpp>
#include <millpond/feed/quote_json.hpp>
#include <millpond/feed/venues_json.hpp>

namespace millpond::gateway::json_lines {

/// Newest quote and trading state of each instrument and newest state of each channel, with their log lines: for
/// clients that join, or whose next line is overwritten.
///
/// Threads: one.
class Snapshot {
public:
    static constexpr std::uint64_t kNoLine = ~std::uint64_t{0};

    void name(const feed::Venue& venue, const feed::Symbol& symbol, unsigned decimals) {
        instruments_.push_back({feed::JsonSymbol{symbol, decimals}, symbol, venue, {}, {}, kNoLine});
    }
    /// Quotes are written with their venues, because several have the same symbols. of: the venue of each channel.
    void show_venues(const feed::ChannelVenues& of) noexcept {
        shows_venues_ = true;
        channel_venues_ = of;
    }

    /// Stores a quote. number: number of its ring entry. line: its line in the log; kNoLine for a quote of the board.
    void put(const feed::Quote& quote, std::uint64_t number, std::uint64_t line = kNoLine) {
        instruments_[quote.instrument].quote = {quote, number, line};
        instruments_[quote.instrument].incomplete_since = kNoLine;
    }
    /// Stores the venues of a composite's next quote.
    void put(const feed::BestVenues& venues) {
        if (venues.instrument >= venues_.size()) venues_.resize(venues.instrument + std::size_t{1});
        venues_[venues.instrument] = venues;
    }
    /// Whether the venues of a composite's instrument are known.
    [[nodiscard]] bool has_venues(feed::InstrumentId id) const noexcept {
        return id < venues_.size() && venues_[id].instrument == id;
    }
    void forget_venues() noexcept { venues_.clear(); }
    /// Writes a quote of an instrument, with its venue if that is shown, and with those of a composite's quote.
    [[nodiscard]] std::string_view json(std::span<char, feed::kMaxJsonBytes> out, const feed::Quote& quote,
                                        std::uint64_t number) const noexcept {
        const auto id = quote.instrument;
        auto text = feed::quote_json(out, quote, instruments_[id].json, number);
        if (!shows_venues_) return text;
        text = feed::add_venue_json(out, text, instruments_[id].venue);
        if (!has_venues(id)) return text;
        return feed::add_venues_json<feed::Quote>(out, text, venues_[id], channel_venues_);
    }
    /// Stores a state, which is the channel's if its instrument is kNoInstrument.
    void put(const feed::Status& status, std::uint64_t number, std::uint64_t line = kNoLine) {
        const bool all = status.instrument == feed::kNoInstrument;
        (all ? channels_[status.channel] : instruments_[status.instrument].state) = {status, number, line};
    }
    /// Marks the quotes of the channel, or of all channels, as incomplete since that line.
    void mark_incomplete(std::optional<std::uint16_t> channel, std::uint64_t line) noexcept {
        for (auto& [json, symbol, venue, quote, state, incomplete_since] : instruments_) {
            if (quote.number == 0 || (channel && quote.event.channel != *channel)) continue;
            if ((quote.event.flags & feed::kIncomplete) != 0) continue;
            quote.event.flags |= feed::kIncomplete;
            incomplete_since = line;
        }
    }
    /// Whether that line marked the newest quote as incomplete.
    [[nodiscard]] bool is_marked_by(feed::InstrumentId id, std::uint64_t line) const noexcept {
        return instruments_[id].incomplete_since == line;
    }
    /// Removes the quotes of the channel, or of one instrument.
    void clear(const feed::Clear& clear) noexcept {
        for (auto& instrument : instruments_) {
            auto& quote = instrument.quote;
            if (quote.event.channel != clear.channel) continue;
            if (clear.instrument != feed::kNoInstrument && clear.instrument != quote.event.instrument) continue;
            quote.number = 0;
            quote.line = kNoLine;
            instrument.incomplete_since = kNoLine;
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return instruments_.size(); }
    [[nodiscard]] bool has_quote(feed::InstrumentId id) const noexcept { return instruments_[id].quote.number != 0; }
    [[nodiscard]] bool has_complete_quote(feed::InstrumentId id) const noexcept {
        return has_quote(id) && (instruments_[id].quote.event.flags & feed::kIncomplete) == 0;
    }
    [[nodiscard]] bool has_state(feed::InstrumentId id) const noexcept { return instruments_[id].state.number != 0; }
    /// Channel of the newest quote or state; nullopt if there is none.
    [[nodiscard]] std::optional<std::uint16_t> channel(feed::InstrumentId id) const noexcept {
        const auto& instrument = instruments_[id];
        if (instrument.quote.number != 0) return instrument.quote.event.channel;
        if (instrument.state.number != 0) return instrument.state.event.channel;
        return std::nullopt;
    }
    /// Whether the newest quote is newer than that of `other`, another snapshot of the ring, or its only one.
    [[nodiscard]] bool has_newer_quote(feed::InstrumentId id, const Snapshot& other) const noexcept {
        return is_newer(instruments_[id].quote,
                        id < other.size() ? other.instruments_[id].quote : decltype(Instrument::quote){});
    }
    /// Likewise for the newest state.
    [[nodiscard]] bool has_newer_state(feed::InstrumentId id, const Snapshot& other) const noexcept {
        return is_newer(instruments_[id].state,
                        id < other.size() ? other.instruments_[id].state : decltype(Instrument::state){});
    }
    [[nodiscard]] const feed::JsonSymbol& json_symbol(feed::InstrumentId id) const noexcept {
        return instruments_[id].json;
    }
    [[nodiscard]] std::string_view symbol(feed::InstrumentId id) const noexcept {
        return instruments_[id].symbol.view();
    }
    /// Line of the newest quote; kNoLine if there is none.
    [[nodiscard]] std::uint64_t line(feed::InstrumentId id) const noexcept { return instruments_[id].quote.line; }
    /// Line of the newest state; kNoLine if there is none.
    [[nodiscard]] std::uint64_t state_line(feed::InstrumentId id) const noexcept { return instruments_[id].state.line; }

    /// Appends the newest quote as JSON with a newline.
    void write(feed::InstrumentId id, std::string& out) const {
        std::array<char, feed::kMaxJsonBytes> buffer;
        const auto& quote = instruments_[id].quote;
        out += json(buffer, quote.event, quote.number);
        out += '\n';
    }
    /// Appends the newest quote, as an incomplete one.
    void write_incomplete(feed::InstrumentId id, std::string& out) const {
        std::array<char, feed::kMaxJsonBytes> buffer;
        auto quote = instruments_[id].quote.event;
        quote.flags |= feed::kIncomplete;
        out += json(buffer, quote, instruments_[id].quote.number);
        out += '\n';
    }
    /// Appends the newest state as JSON with a newline.
    void write_state(feed::InstrumentId id, std::string& out) const {
        write(instruments_[id].state, instruments_[id].json, out);
    }
    /// Appends the state of each channel that has no line from `next` on and, if `known` is given, is newer than there;
    /// returns their number.
    std::uint64_t write_channels(std::uint64_t next, std::string& out, const Snapshot* known = nullptr) const {
        std::uint64_t count = 0;
        for (const auto& [channel, state] : channels_) {
            if (state.line != kNoLine && state.line >= next) continue;
            if (known != nullptr) {
                const auto found = known->channels_.find(channel);
                if (found != known->channels_.end() && !is_newer(state, found->second)) continue;
            }
            write(state, feed::JsonSymbol{}, out);
            ++count;
        }
        return count;
    }

private:
    template <class Event>
    struct Newest {
        Event event{};
        std::uint64_t number{0};  ///< Number of its ring entry; 0 if there is none.
        std::uint64_t line{kNoLine};
    };
    struct Instrument {
        feed::JsonSymbol json;
        feed::Symbol symbol;
        feed::Venue venue;
        Newest<feed::Quote> quote;
        Newest<feed::Status> state;
        std::uint64_t incomplete_since{kNoLine};  ///< Line that marked the complete quote as incomplete.
    };

    [[nodiscard]] static bool is_same(const feed::Quote& a, const feed::Quote& b) noexcept {
        return a.bid_price == b.bid_price && a.ask_price == b.ask_price && a.bid_size == b.bid_size &&
               a.ask_size == b.ask_size && a.receive_utc_ns == b.receive_utc_ns && a.feed_sequence == b.feed_sequence;
    }
    [[nodiscard]] static bool is_same(const feed::Status& a, const feed::Status& b) noexcept {
        return a.state == b.state && a.reason == b.reason && a.receive_utc_ns == b.receive_utc_ns &&
               a.feed_sequence == b.feed_sequence;
    }
    template <class Event>
    [[nodiscard]] static bool is_newer(const Newest<Event>& a, const Newest<Event>& b) noexcept {
        // What the board had has the number of the newest entry then, which may be another one.
        return a.number > b.number && (b.number == 0 || !is_same(a.event, b.event));
    }
    static void write(const Newest<feed::Status>& state, const feed::JsonSymbol& symbol, std::string& out) {
        std::array<char, feed::kMaxJsonBytes> buffer;
        out += feed::event_json(buffer, state.event, symbol, state.number);
        out += '\n';
    }

    std::vector<Instrument> instruments_;
    std::vector<feed::BestVenues> venues_;  // by instrument, up to the last one that has them
    feed::ChannelVenues channel_venues_{};
    bool shows_venues_{false};
    std::map<std::uint16_t, Newest<feed::Status>> channels_;
};

}  // namespace millpond::gateway::json_lines
