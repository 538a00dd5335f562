#include "gateway/json_lines/json_lines_sink.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <millpond/feed/venues_json.hpp>
#include <millpond/market/ring_reader.hpp>

namespace millpond::gateway::json_lines {
namespace {

/// The venue of each channel; nullopt if the ring has no composites.
std::optional<feed::ChannelVenues> venues_of(const market::QuoteBoard& board) {
    if (!board.has_best_venues()) return std::nullopt;
    feed::ChannelVenues venues;
    const auto channels = std::min<std::uint32_t>(board.max_channels(), feed::kMaxCompositeChannels);
    for (std::uint16_t channel = 0; channel < channels; ++channel) venues[channel] = board.venue(channel);
    return venues;
}

}  // namespace

JsonLinesSink::JsonLinesSink(const JsonLinesSettings& settings)
    : events_(settings.backlog),
      replays_({.sink = settings.name,
                .ring = settings.ring,
                .journal = settings.journal,
                .max = settings.max_replays.value_or(JsonLinesSettings::kMaxReplays)}) {}

void JsonLinesSink::open(const market::RingReader& ring) {
    ring_ = &ring;
    const auto venues = venues_of(ring.board());
    events_.open({.max_instruments = ring.max_instruments(),
                  .max_channels = ring.board().max_channels(),
                  .depth_of = [&ring](std::uint16_t channel) { return ring.depth(channel); }},
                 venues);
    replays_.open(ring.epoch(), venues);
}

void JsonLinesSink::find_venues(const feed::Quote& quote, std::uint64_t number) {
    if (snapshot().has_venues(quote.instrument)) return;
    const auto venues = ring_->board().best_venues(quote.instrument);
    // Newer ones are still in the ring.
    if (venues.state == market::RecordState::whole && venues.number < number) events_.board(venues.event);
}

bool JsonLinesSink::poll_replays() noexcept {
    // Also without a replay: the first one must not read up to, or be offered, an older entry than the log's end.
    if (ring_ != nullptr) {
        if (board_end_ == 0) board_end_ = ring_->newest();
        // The log lacks entries that the board included: a replay must not end before one of them.
        if (ring_->next() > board_end_) replays_.set_live(ring_->next() - 1);
    }
    return replays_.pop_news();
}

}  // namespace millpond::gateway::json_lines
