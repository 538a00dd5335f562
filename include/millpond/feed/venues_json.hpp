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

/// Writes names up to the end of the buffer; `full` afterwards if they did not fit.
class VenueWriter {
public:
    VenueWriter(std::span<char> out, std::size_t size, const ChannelVenues& names) noexcept
        : out_(out), size_(size), names_(names) {}

    void text(std::string_view text) noexcept {
        for (const char c : text) put(c);
    }
    /// The venue of a channel in quotes; the channel's number if it is not known.
    void name(std::uint16_t channel) noexcept {
        put('"');
        if (names_[channel].empty()) {
            std::array<char, 24> number;
            text({number.data(), write_unsigned(number.data(), channel)});
        } else {
            for (const char c : names_[channel].view()) core::put_json_byte(c, [this](char byte) { put(byte); });
        }
        put('"');
    }
    /// Calls visit(channel, is_first) for each channel of the set.
    template <class Visitor>
    static void each(std::uint64_t channels, Visitor&& visit) noexcept {
        for (auto left = channels; left != 0; left &= left - 1)
            visit(static_cast<std::uint16_t>(std::countr_zero(left)), left == channels);
    }
    void list(std::uint64_t channels) noexcept {
        put('[');
        each(channels, [this](std::uint16_t channel, bool is_first) {
            if (!is_first) put(',');
            name(channel);
        });
        put(']');
    }
    [[nodiscard]] bool is_full() const noexcept { return is_full_; }
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
    std::size_t size_;
    const ChannelVenues& names_;
    bool is_full_{false};
};

}  // namespace detail

/// Adds the venue of an instrument to the JSON of its quote, which is at the beginning of `out`: `,"venue":"XNAS"}`.
[[nodiscard]] inline std::string_view add_venue_json(std::span<char, kMaxJsonBytes> out, std::string_view json,
                                                     const Venue& venue) noexcept {
    auto* end = detail::put(out.data() + json.size() - 1, ",\"venue\":\"");
    for (const char c : venue.view()) core::put_json_byte(c, [&](char byte) { *end++ = byte; });
    end = detail::put(end, "\"}");
    return {out.data(), static_cast<std::size_t>(end - out.data())};
}

/// Adds the names of venues to a composite's quote or BestVenues, whose JSON is at the beginning of `out`:
/// ```
/// {"type":"quote",..,"incomplete":true,"venue":"BEST",
///  "bid_venues":["XNAS","IEXG"],"ask_venues":["IEXG"],"left_out":{"XBOS":"silent","MEMX":"halted"}}
/// ```
/// left_out has the reasons incomplete, silent, halted and not_firm. A venue that is not known is its channel's number.
/// If the names do not fit, a quote gets the sets of BestVenues instead: `"bid_channels":5,"ask_channels":2,
/// "left_out_channels":8`.
///
/// Event: the event of the JSON. Memory: writes at most kMaxJsonBytes - 1; allocates nothing.
template <class Event>
[[nodiscard]] std::string_view add_venues_json(std::span<char, kMaxJsonBytes> out, std::string_view json,
                                               const BestVenues& venues, const ChannelVenues& names) noexcept {
    const auto text = out.first<kMaxJsonBytes - 1>();  // the caller may add a newline
    const auto size = json.size() - 1;                 // without the closing brace
    detail::VenueWriter writer{text, size, names};
    writer.text(",\"bid_venues\":");
    writer.list(venues.bid_channels);
    writer.text(",\"ask_venues\":");
    writer.list(venues.ask_channels);
    writer.text(",\"left_out\":{");
    bool is_first = true;
    const auto write_reason = [&](std::uint64_t channels, std::string_view reason) {
        detail::VenueWriter::each(channels, [&](std::uint16_t channel, bool) {
            if (!is_first) writer.text(",");
            is_first = false;
            writer.name(channel);
            writer.text(":\"");
            writer.text(reason);
            writer.text("\"");
        });
    };
    write_reason(venues.incomplete_channels, "incomplete");
    write_reason(venues.silent_channels, "silent");
    write_reason(venues.halted_channels, "halted");
    write_reason(venues.not_firm_channels, "not_firm");
    writer.text("}}");
    if (!writer.is_full()) return writer.view();
    if constexpr (std::is_same_v<Event, BestVenues>) {
        out[size] = '}';
        return json;  // it has the sets
    }
    auto* end = out.data() + size;
    end = write_unsigned(detail::put(end, ",\"bid_channels\":"), venues.bid_channels);
    end = write_unsigned(detail::put(end, ",\"ask_channels\":"), venues.ask_channels);
    end = write_unsigned(detail::put(end, ",\"left_out_channels\":"), venues.left_out());
    end = detail::put(end, "}");
    return {out.data(), static_cast<std::size_t>(end - out.data())};
}

}  // namespace millpond::feed
