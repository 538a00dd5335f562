#include "gateway/json_lines/json_lines_sink.hpp"

#include <cstdint>

#include <millpond/market/ring_reader.hpp>

namespace millpond::gateway::json_lines {

JsonLinesSink::JsonLinesSink(const JsonLinesSettings& settings)
    : events_(settings.backlog),
      replays_({.sink = settings.name,
                .ring = settings.ring,
                .journal = settings.journal,
                .max = settings.max_replays.value_or(JsonLinesSettings::kMaxReplays)}) {}

void JsonLinesSink::open(const market::RingReader& ring) {
    ring_ = &ring;
    events_.open({.max_instruments = ring.max_instruments(),
                  .max_channels = ring.board().max_channels(),
                  .depth_of = [&ring](std::uint16_t channel) { return ring.depth(channel); }});
    replays_.open(ring.epoch(), ring.max_instruments());
}

bool JsonLinesSink::poll_replays() noexcept {
    // Also without a replay: the first one must not read up to, or be offered, an older entry than the log's end.
    if (newest_ == 0 && ring_ != nullptr) newest_ = ring_->account().since - 1;  // the board has what is before it
    replays_.set_live(newest_);
    return replays_.pop_news();
}

}  // namespace millpond::gateway::json_lines
