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

/// Limits of plausible differences between exchange and receive times; no network or card causes larger ones.
constexpr std::int64_t kMaxBehindNs = 60'000'000'000;
constexpr std::int64_t kMaxAheadNs = 1'000'000'000;

/// Difference of two times, limited to a year: an exchange time can be any 64-bit number.
std::int64_t difference(std::int64_t one, std::int64_t other) {
    constexpr std::int64_t kYearNs = 365LL * 86'400'000'000'000;
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(one, other, &difference)) return one < other ? -kYearNs : kYearNs;
    return std::clamp(difference, -kYearNs, kYearNs);
}

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

void Monitor::update_board(std::size_t index, std::int64_t now) {
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
    pipeline.for_each_feed([&](const auto& feed) {
        const auto channel = *feed.config().channel;
        const auto known = std::find_if(state_.feeds.begin(), state_.feeds.end(),
                                        [&](const auto& one) { return one.name == feed.config().name; });
        auto& state = *known;
        const auto& seen = channels[channel];
        state.instruments_halted = seen.halted;
        state.instruments_incomplete = seen.incomplete;
        state.quotes_incomplete.update(seen.incomplete != 0, now);
        state.delay_ns.reset();
        if (seen.newest.exchange_utc_ns != 0) {
            state.delay_ns = difference(seen.newest.receive_utc_ns, seen.newest.exchange_utc_ns);
        }
        const auto delay = state.delay_ns.value_or(0);
        state.implausible_delay.update(delay < -kMaxAheadNs || delay > kMaxBehindNs, now);
        const auto status = board.channel_status(channel);
        const bool whole = status.state == market::RecordState::whole;
        state.channel_state = whole ? feed::to_string(status.event.state) : std::string_view{};
        if (whole && status.event.state == feed::TradingState::circuit_breaker) {
            state.channel_state += fmt::format(", level {}", status.event.reason.view());
        }
        state.session_over = (whole && ends_session(status.event.state)) || feed.session_over().read() != 0;
        state.halted.update(whole && is_halt(status.event.state), now);
        state.some_halted.update(seen.halted != 0, now);
    });
}

}  // namespace millpond::gateway::health
