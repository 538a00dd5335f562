#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <millpond/feed/event.hpp>

namespace millpond::gateway::web {

/// First, highest, lowest and last trade and the volume of each instrument, since the sink joined the ring or, if that
/// is later, since the channel's session began. Trades that the volume includes as part of another one do not count.
/// Broken trades are counted, but their sizes are not known any more and stay in the volume.
///
/// Threads: one.
/// Memory:  72 bytes for each instrument up to the highest with a trade.
class TradeStatistics {
public:
    struct Trades {
        std::uint64_t count{0};
        std::uint64_t broken{0};
        std::uint64_t volume{0};
        feed::Price first{0};
        feed::Price high{0};
        feed::Price low{0};
        feed::Price last{0};
        std::int64_t last_utc_ns{0};  ///< Receive time of the last trade.
        std::uint16_t channel{0};
    };
    struct Session {
        std::int64_t since_utc_ns{0};
        bool complete{true};  ///< No event of the channel was lost since then.
    };

    /// joined_utc_ns: when the sink joins the ring.
    explicit TradeStatistics(std::int64_t joined_utc_ns) noexcept : joined_{joined_utc_ns, true} {}

    void add(const feed::Trade& trade) {
        if ((trade.flags & feed::kNotPrintable) != 0) return;
        if (trade.instrument >= trades_.size()) trades_.resize(std::size_t{trade.instrument} + 1);
        auto& of = trades_[trade.instrument];
        if (of.count == 0) of.first = of.high = of.low = trade.price;
        of.high = std::max(of.high, trade.price);
        of.low = std::min(of.low, trade.price);
        of.last = trade.price;
        of.last_utc_ns = trade.receive_utc_ns;
        of.volume += trade.size;
        of.channel = trade.channel;
        ++of.count;
    }
    void add(const feed::TradeBreak& broken) noexcept {
        if (broken.instrument < trades_.size()) ++trades_[broken.instrument].broken;
    }
    /// A gap by silence alone has lost nothing: if it has, a gap in the sequence follows.
    void add(const feed::Gap& gap) {
        if (gap.reason != feed::GapReason::silence) of_channel(gap.channel).complete = false;
    }
    void add(const feed::Clear& clear) {
        if (clear.instrument != feed::kNoInstrument || clear.reason != feed::ClearReason::new_session) return;
        for (auto& of : trades_) {
            if (of.channel == clear.channel) of = {};
        }
        of_channel(clear.channel) = {clear.receive_utc_ns, true};
    }
    /// The sink has missed events of any channel.
    void note_missed() noexcept {
        joined_.complete = false;
        for (auto& [channel, session] : sessions_) session.complete = false;
    }

    /// The instrument's trades; null without any.
    [[nodiscard]] const Trades* find(feed::InstrumentId id) const noexcept {
        return id < trades_.size() && trades_[id].count != 0 ? &trades_[id] : nullptr;
    }
    [[nodiscard]] Session session(std::uint16_t channel) const noexcept {
        const auto found = sessions_.find(channel);
        return found == sessions_.end() ? joined_ : found->second;
    }

private:
    Session& of_channel(std::uint16_t channel) { return sessions_.try_emplace(channel, joined_).first->second; }

    Session joined_;
    std::map<std::uint16_t, Session> sessions_;
    std::vector<Trades> trades_;
};

}  // namespace millpond::gateway::web
