#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <millpond/core/json_string.hpp>
#include <millpond/feed/decimal.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/json_text.hpp>
#include <millpond/feed/quote_json.hpp>

namespace millpond::feed {

/// The venue of each channel that may take part in a composite; empty if it is not known.
using ChannelVenues = std::array<Venue, kMaxCompositeChannels>;

namespace detail {

/// Continues a JSON object at its closing brace, up to the end of the buffer: what does not fit is left out as a whole.
class VenueWriter {
public:
    /// json: the object, at the beginning of `out`. Leaves a byte for a newline.
    VenueWriter(std::span<char, kMaxJsonBytes> out, std::string_view json) noexcept
        : out_(out.first<kMaxJsonBytes - 1>()), begin_(json.size() - 1), size_(begin_) {}

    void text(std::string_view text) noexcept {
        for (const char c : text) put(c);
    }
    void number(std::uint64_t value) noexcept {
        std::array<char, 24> digits;
        const auto* const end = write_unsigned(digits.data(), value);
        text({digits.data(), static_cast<std::size_t>(end - digits.data())});
    }
    void name(const Venue& venue) noexcept {
        put('"');
        for (const char c : venue.view()) core::put_json_byte(c, [this](char byte) { put(byte); });
        put('"');
    }
    /// The venue of a channel in quotes; the channel's number if it is not known.
    void name(std::uint16_t channel, const ChannelVenues& names) noexcept {
        if (!names[channel].empty()) return name(names[channel]);
        put('"');
        number(channel);
        put('"');
    }
    /// Calls visit(channel, is_first) for each channel of the set.
    template <class Visitor>
    static void each(std::uint64_t channels, Visitor&& visit) noexcept {
        for (auto left = channels; left != 0; left &= left - 1)
            visit(static_cast<std::uint16_t>(std::countr_zero(left)), left == channels);
    }
    void list(std::uint64_t channels, const ChannelVenues& names) noexcept {
        put('[');
        each(channels, [&](std::uint16_t channel, bool is_first) {
            if (!is_first) put(',');
            name(channel, names);
        });
        put(']');
    }
    /// Closes the object. Returns false, with the object as it was, if the text did not fit.
    [[nodiscard]] bool close() noexcept {
        put('}');
        if (!is_full_) return true;
        out_[begin_] = '}';
        size_ = begin_ + 1;
        return false;
    }
    [[nodiscard]] std::string_view view() const noexcept { return {out_.data(), size_}; }

private:
    void put(char c) noexcept {
        if (size_ == out_.size()) {
            is_full_ = true;
        } else {
            out_[size_++] = c;
        }
    }

    std::span<char> out_;
    std::size_t begin_;  // of the closing brace
    std::size_t size_;
    bool is_full_{false};
};

}  // namespace detail

/// Adds the venue of an instrument to the JSON of its quote, which is at the beginning of `out`: `,"venue":"XNAS"}`. A
/// quote whose symbol has so many escapes that the venue does not fit stays as it is.
[[nodiscard]] inline std::string_view add_venue_json(std::span<char, kMaxJsonBytes> out, std::string_view json,
                                                     const Venue& venue) noexcept {
    detail::VenueWriter writer{out, json};
    writer.text(",\"venue\":");
    writer.name(venue);
    static_cast<void>(writer.close());
    return writer.view();
}

/// Adds the names of venues to a composite's quote or BestVenues, whose JSON is at the beginning of `out`:
/// ```
/// {"type":"quote",..,"incomplete":true,"venue":"BEST",
///  "bid_venues":["XNAS","IEXG"],"ask_venues":["IEXG"],"left_out":{"XBOS":"silent","MEMX":"halted"}}
/// ```
/// left_out has the reasons incomplete, silent, halted and not_firm. A venue that is not known is its channel's number.
/// If the names do not fit, a quote gets the sets of BestVenues instead: `"bid_channels":5,"ask_channels":2,
/// "left_out_channels":8`; and none if these do not fit either, as with a symbol of many escapes.
///
/// Event: the event of the JSON. Memory: writes at most kMaxJsonBytes - 1; allocates nothing.
template <class Event>
[[nodiscard]] std::string_view add_venues_json(std::span<char, kMaxJsonBytes> out, std::string_view json,
                                               const BestVenues& venues, const ChannelVenues& names) noexcept {
    detail::VenueWriter writer{out, json};
    writer.text(",\"bid_venues\":");
    writer.list(venues.bid_channels, names);
    writer.text(",\"ask_venues\":");
    writer.list(venues.ask_channels, names);
    writer.text(",\"left_out\":{");
    bool is_first = true;
    const auto write_reason = [&](std::uint64_t channels, std::string_view reason) {
        detail::VenueWriter::each(channels, [&](std::uint16_t channel, bool) {
            if (!is_first) writer.text(",");
            is_first = false;
            writer.name(channel, names);
            writer.text(":\"");
            writer.text(reason);
            writer.text("\"");
        });
    };
    write_reason(venues.incomplete_channels, "incomplete");
    write_reason(venues.silent_channels, "silent");
    write_reason(venues.halted_channels, "halted");
    write_reason(venues.not_firm_channels, "not_firm");
    writer.text("}");
    if (writer.close()) return writer.view();
    if constexpr (std::is_same_v<Event, BestVenues>) return writer.view();  // it has the sets
    detail::VenueWriter sets{out, writer.view()};
    sets.text(",\"bid_channels\":");
    sets.number(venues.bid_channels);
    sets.text(",\"ask_channels\":");
    sets.number(venues.ask_channels);
    sets.text(",\"left_out_channels\":");
    sets.number(venues.left_out());
    static_cast<void>(sets.close());
    return sets.view();
}

}  // namespace millpond::feed
