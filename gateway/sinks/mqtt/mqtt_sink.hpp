#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/quote_json.hpp>

#include "gateway/sinks/conflator.hpp"
#include "gateway/sinks/mqtt/link.hpp"
#include "gateway/sinks/mqtt/mqtt.hpp"
#include "gateway/sinks/sink.hpp"
#include "gateway/sinks/topic.hpp"

namespace millpond::gateway::mqtt {

/// The newest quote of each instrument, as feed::quote_json on a topic of its own. Trades and states are filtered; a
/// Clear sends the quotes that it voids with empty sides, a Gap and a loss those that they make incomplete.
///
/// While there is no connection, or `window` messages are not confirmed, quotes are conflated or wait in the ring, as
/// the mode says. Each new connection starts with all current quotes: the broker may have lost them.
///
/// Memory: a quote, its names and its topic an instrument; `window` messages.
class MqttSink final : public Sink {
public:
    MqttSink(const Options& options, service::Say say);

    [[nodiscard]] const Counters& counters() const noexcept { return link_->counters(); }

    [[nodiscard]] std::size_t room() const noexcept override;
    [[nodiscard]] Delivery mode() const noexcept override { return mode_; }
    void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol) override;
    void board(const feed::Quote& quote, std::uint64_t number) override;
    void board(const feed::Status&, std::uint64_t) override {}
    Taken on(const feed::Quote& quote, std::uint64_t number) override;
    Taken on(const feed::Trade&, std::uint64_t) override { return Taken::filtered; }
    Taken on(const feed::TradeBreak&, std::uint64_t) override { return Taken::filtered; }
    Taken on(const feed::Status&, std::uint64_t) override { return Taken::filtered; }
    Taken on(const feed::Gap& gap, std::uint64_t number) override;
    Taken on(const feed::Clear& clear, std::uint64_t number) override;
    void missed(std::uint64_t first, std::uint64_t last) override;
    void step(std::int64_t monotonic_ns) override;
    void finish() override { step(0); }
    [[nodiscard]] std::uint64_t held() const noexcept override { return link_->held() + answered_later_; }
    [[nodiscard]] std::string_view type() const noexcept override { return "mqtt"; }
    void visit_metrics(const MetricVisitor& visit) const override { counters().visit(visit); }

private:
    struct Instrument {
        feed::JsonSymbol symbol;
        std::string topic;
        feed::Quote quote{};
        std::uint64_t number{0};  ///< Of the quote's ring entry; 0: there was none.
    };

    void offer(const feed::Quote& quote, std::uint64_t number, bool event);
    /// Sends the complete quotes of the channel, or of all, once more as incomplete ones.
    void mark_incomplete(std::optional<std::uint16_t> channel);

    Delivery mode_;
    TopicTemplate topic_;
    std::deque<Instrument> instruments_;  // topics stay where they are
    Conflator due_;                       // quotes to be sent that are not events
    std::uint64_t answered_later_{0};     // Clears and Gaps whose quotes are among them
    std::uint64_t told_connections_{0};
    bool offered_{false};
    std::unique_ptr<Link> link_;  // uses the members above, so it ends first
};

}  // namespace millpond::gateway::mqtt
