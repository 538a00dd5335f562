#include "gateway/health/monitor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/event_json.hpp>

#include "gateway/sinks/new_session.hpp"

namespace millpond::gateway::health {
namespace {

/// Larger differences between exchange and receive times are not caused by a network or a card.
constexpr std::int64_t kMostBehindNs = 60'000'000'000;
constexpr std::int64_t kMostAheadNs = 1'000'000'000;

bool is_halt(feed::TradingState state) {
    switch (state) {
        case feed::TradingState::halted:
        case feed::TradingState::paused:
        case feed::TradingState::quotation_only:
        case feed::TradingState::operational_halt:
        case feed::TradingState::circuit_breaker:
        case feed::TradingState::end_of_market_hours: return true;
        default: return ends_session(state);
    }
}

}  // namespace

void Monitor::look_at_board(std::size_t index, std::int64_t now) {
    const auto& board = ring_memory_[index].reader->board();
    const auto& pipeline = *pipelines_[index];
    struct Seen {
        std::uint32_t halted{0};
        std::uint32_t incomplete{0};
        feed::Quote newest;
        std::uint64_t cleared{0};
        std::uint64_t gapped{0};
    };
    std::vector<Seen> channels(board.max_channels());
    for (std::size_t channel = 0; channel < channels.size(); ++channel) {
        channels[channel].cleared = board.cleared(static_cast<std::uint16_t>(channel));
        channels[channel].gapped = board.gapped(static_cast<std::uint16_t>(channel));
    }
    const auto instruments = board.instruments();
    for (feed::InstrumentId id = 0; id < instruments; ++id) {
        const auto quote = board.quote(id);
        if (quote.state != market::RecordState::whole || quote.event.channel >= channels.size()) continue;
        auto& seen = channels[quote.event.channel];
        if (quote.number <= seen.cleared) continue;  // void
        const bool incomplete = (quote.event.flags & feed::kIncomplete) != 0 || quote.number <= seen.gapped;
        seen.incomplete += incomplete ? 1U : 0U;
        // Quotes of a rebuilt book have the same receive time: the newest of them counts.
        const auto age_of = [](const feed::Quote& of) { return std::pair{of.receive_utc_ns, of.exchange_utc_ns}; };
        if (age_of(quote.event) > age_of(seen.newest)) seen.newest = quote.event;
        const auto status = board.status(id);
        const bool halted = status.state == market::RecordState::whole && is_halt(status.event.state);
        seen.halted += halted || (quote.event.flags & feed::kHalted) != 0 ? 1U : 0U;
    }
    pipeline.for_each_feed([&](const auto& line) {
        const auto channel = *line.config().channel;
        const auto known = std::find_if(state_.feeds.begin(), state_.feeds.end(),
                                        [&](const auto& feed) { return feed.name == line.config().name; });
        auto& feed = *known;
        const auto& seen = channels[channel];
        feed.instruments_halted = seen.halted;
        feed.instruments_incomplete = seen.incomplete;
        feed.quotes_incomplete.see(seen.incomplete != 0, now);
        feed.delay_ns.reset();
        if (seen.newest.exchange_utc_ns != 0) {
            feed.delay_ns = seen.newest.receive_utc_ns - seen.newest.exchange_utc_ns;
        }
        const auto delay = feed.delay_ns.value_or(0);
        feed.implausible_delay.see(delay < -kMostAheadNs || delay > kMostBehindNs, now);
        const auto status = board.channel_status(channel);
        const bool whole = status.state == market::RecordState::whole;
        feed.channel_state = whole ? feed::to_string(status.event.state) : std::string_view{};
        if (whole && status.event.state == feed::TradingState::circuit_breaker) {
            feed.channel_state += fmt::format(", level {}", status.event.reason.view());
        }
        feed.session_over = (whole && ends_session(status.event.state)) || line.session_over().read() != 0;
        feed.halted.see(whole && is_halt(status.event.state), now);
        feed.some_halted.see(seen.halted != 0, now);
    });
}

}  // namespace millpond::gateway::health
