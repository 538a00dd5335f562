#include "gateway/sinks/mqtt/mqtt_sink.hpp"

#include <memory>
#include <span>
#include <utility>

namespace millpond::gateway::mqtt {

bool is_built() noexcept { return true; }

std::unique_ptr<Sink> open(const Options& options, service::Say say) {
    return std::make_unique<MqttSink>(options, std::move(say));
}

MqttSink::MqttSink(const Options& options, service::Say say)
    : mode_(options.mode),
      topic_(options.topic, TopicRules::mqtt),
      link_(std::make_unique<Link>(options, std::move(say))) {}

std::size_t MqttSink::room() const noexcept {
    // The quotes for a new connection precede newer ones.
    if (due_.size() != 0 || told_connections_ != link_->connections()) return 0;
    return link_->room();
}

void MqttSink::name(feed::InstrumentId, const feed::Venue& venue, const feed::Symbol& symbol) {
    instruments_.push_back({.symbol = feed::JsonSymbol{symbol}, .topic = topic_.name(venue, symbol)});
}

void MqttSink::board(const feed::Quote& quote, std::uint64_t number) {
    auto& instrument = instruments_[quote.instrument];
    instrument.quote = quote;
    instrument.number = number;
}

Taken MqttSink::on(const feed::Quote& quote, std::uint64_t number) {
    board(quote, number);
    offer(quote, number, true);
    return Taken::kept;
}

void MqttSink::offer(const feed::Quote& quote, std::uint64_t number, bool event) {
    const auto& instrument = instruments_[quote.instrument];
    Message message{.topic = &instrument.topic, .event = event};
    message.length =
        static_cast<std::uint16_t>(feed::quote_json(message.payload, quote, instrument.symbol, number).size());
    link_->offer(message);
    offered_ = true;
}

Taken MqttSink::on(const feed::Clear& clear, std::uint64_t number) {
    for (auto& [symbol, topic, quote, quote_number] : instruments_) {
        if (quote_number == 0 || quote.channel != clear.channel) continue;
        if (clear.instrument != feed::kNoInstrument && clear.instrument != quote.instrument) continue;
        const feed::Quote none{.instrument = quote.instrument,
                               .channel = quote.channel,
                               .receive_utc_ns = clear.receive_utc_ns,
                               .receive_ticks = clear.receive_ticks};
        quote = none;
        quote_number = number;
        due_.put(none, number);
    }
    ++answered_later_;
    return Taken::kept;
}

Taken MqttSink::on(const feed::Gap& gap, std::uint64_t) {
    mark_incomplete(gap.channel);
    ++answered_later_;
    return Taken::kept;
}

void MqttSink::missed(std::uint64_t, std::uint64_t) { mark_incomplete(std::nullopt); }

void MqttSink::mark_incomplete(std::optional<std::uint16_t> channel) {
    for (auto& [symbol, topic, quote, number] : instruments_) {
        if (number == 0 || (channel && quote.channel != *channel) || (quote.flags & feed::kIncomplete) != 0) continue;
        quote.flags |= feed::kIncomplete;
        due_.put(quote, number);
    }
}

void MqttSink::step(std::int64_t) {
    if (const auto connections = link_->connections(); connections != told_connections_) {
        told_connections_ = connections;
        for (const auto& instrument : instruments_) {
            if (instrument.number != 0) due_.put(instrument.quote, instrument.number);
        }
    }
    Conflator::Waiting next;
    while (due_.size() != 0 && link_->room() != 0) {
        if (!due_.take(next)) break;
        // A newer one may have gone out in the round in which a Clear came.
        if (next.number == instruments_[next.quote.instrument].number) offer(next.quote, next.number, false);
    }
    if (due_.size() == 0) answered_later_ = 0;
    if (std::exchange(offered_, false)) link_->wake();
}

}  // namespace millpond::gateway::mqtt
