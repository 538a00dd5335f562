// Functions of KafkaSink that make the message of each record.
#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/sinks/kafka/kafka_sink.hpp"

namespace millpond::gateway::kafka {

const KafkaSink::Instrument& KafkaSink::instrument_of(feed::InstrumentId id) {
    if (reader_.current().epoch != epoch_) {
        epoch_ = reader_.current().epoch;
        instruments_.clear();
    }
    if (id >= instruments_.size()) instruments_.resize(std::size_t{id} + 1);
    auto& instrument = instruments_[id];
    if (!instrument || !instrument->is_named) {
        const auto* known = reader_.instrument(id);
        // A name is missing only if its record is damaged; the next segment repeats it.
        const auto venue = known != nullptr ? known->venue : feed::Venue{};
        const auto decimals = known != nullptr ? known->decimals : feed::kDefaultDecimals;
        const auto symbol = known != nullptr ? known->symbol : feed::Symbol{fmt::format("#{}", id)};
        const auto topic_of = [&](const std::optional<TopicTemplate>& topic) {
            return topic ? producer_->topic(topic->name(venue, symbol)) : nullptr;
        };
        instrument = Instrument{.is_named = known != nullptr,
                                .key = std::string{symbol.view()},
                                .symbol = feed::JsonSymbol{symbol, decimals},
                                .topic = producer_->topic(topic_.name(venue, symbol)),
                                .levels = topic_of(levels_topic_),
                                .orders = topic_of(orders_topic_)};
    }
    return *instrument;
}

void KafkaSink::send(const Pending& message, const millpond::journal::Position& at, std::string_view key,
                     std::string_view value, std::int64_t received) {
    const auto number = first_pending_ + pending_.size();
    auto& pending = pending_.emplace_back(message);
    if (!message.counts) ++pending_losses_;
    const Record record{
        .key = key, .value = value, .epoch = at.epoch, .sequence = at.ring, .received_utc_ns = received};
    if (const auto refusal = producer_->send(pending.topic, record, number)) refuse(pending, *refusal);
}

template <class Event>
void KafkaSink::pass_on(const Event& event) {
    mark(event);
    if (!failure_.empty()) return;  // the record is read again
    const Instrument* instrument = nullptr;
    if constexpr (requires { event.instrument; }) {
        if (event.instrument != feed::kNoInstrument) instrument = &instrument_of(event.instrument);
    }
    static const feed::JsonSymbol none;
    const bool single = instrument != nullptr;
    const auto& at = reader_.current();
    auto* const topic = single ? instrument->topic : events_;
    send({.record = at.record,
          .missed = missed_,
          .counts = true,
          .topic = topic,
          .may_go = !topic_.is_single() && topic != events_},
         at, single ? instrument->key : journal_.ring, value_of(event, single ? instrument->symbol : none, at.ring),
         event.receive_utc_ns);
}

template <class Event>
void KafkaSink::mark(const Event& event) {
    if (reader_.current().epoch != epoch_) cut_group();  // before the names of the instruments change
    if constexpr (std::same_as<Event, feed::Order> || std::same_as<Event, feed::Level>) {
        static_cast<void>(instrument_of(event.instrument));
    }
    last_.on(event, reader_.current().record,
             [this](const auto& marked, std::uint64_t record) { send_marked(marked, record); });
    if (last_.held() == reader_.current().record) last_at_ = reader_.current();
}

void KafkaSink::end_of_kind(feed::InstrumentId instrument) {
    if (reader_.current().epoch != epoch_) cut_group();
    last_.end_of_kind(instrument, [this](const auto& event, std::uint64_t record) { send_marked(event, record); });
}

void KafkaSink::cut_group() {
    last_.cut([this](const auto& event, std::uint64_t record) { send_marked(event, record); });
}

template <class Event>
void KafkaSink::send_marked(const Event& event, std::uint64_t record) {
    if (!failure_.empty()) return;
    constexpr bool kIsOrder = std::same_as<Event, feed::Order>;
    const auto& instrument = *instruments_[event.instrument];
    const auto& at = record == reader_.current().record ? reader_.current() : last_at_;
    send({.record = record,
          .missed = missed_,
          .counts = true,
          .topic = kIsOrder ? instrument.orders : instrument.levels,
          .may_go = !(kIsOrder ? orders_topic_ : levels_topic_)->is_single(),
          .is_change = true},
         at, instrument.key, value_of(event, instrument.symbol, at.ring), event.receive_utc_ns);
}

template <class Event>
std::string_view KafkaSink::value_of(const Event& event, const feed::JsonSymbol& symbol, std::uint64_t sequence) {
    return settings_.format == Format::binary ? binary_value(value_, event, sequence)
                                              : feed::event_json(value_, event, symbol, sequence);
}

void KafkaSink::on(const feed::Quote& quote) { pass_on(quote); }
void KafkaSink::on(const feed::Trade& trade) { pass_on(trade); }
void KafkaSink::on(const feed::TradeBreak& broken) { pass_on(broken); }
void KafkaSink::on(const feed::Order& order) { orders_topic_ ? mark(order) : end_of_kind(order.instrument); }
void KafkaSink::on(const feed::Level& level) { levels_topic_ ? mark(level) : end_of_kind(level.instrument); }
void KafkaSink::on(const feed::Imbalance& imbalance) { pass_on(imbalance); }
void KafkaSink::on(const feed::Band& band) { pass_on(band); }
void KafkaSink::on(const feed::Definition& definition) { pass_on(definition); }
void KafkaSink::on(const feed::BestVenues& venues) { pass_on(venues); }
void KafkaSink::on(const feed::Status& status) { pass_on(status); }
void KafkaSink::on(const feed::Gap& gap) { pass_on(gap); }
void KafkaSink::on(const feed::Clear& clear) { pass_on(clear); }

void KafkaSink::on(const millpond::journal::LostRecord& lost) {
    cut_group();
    const bool ours = lost.reason != millpond::journal::LostReason::lapped;  // reported by the reader, not a record
    if (ours) {
        missed_ += lost.count();
        counters_.lost.add(lost.count());
        log_(service::Severity::error, settings_.name + ".lost",
             fmt::format("kafka sink '{}': records {} to {} of the journal are {}", settings_.name, lost.first,
                         lost.last, to_string(lost.reason)));
    }
    const auto& at = reader_.current();
    send({.record = ours ? lost.last : at.record, .missed = missed_, .counts = !ours, .topic = events_}, at,
         journal_.ring, value_of(lost, {}, at.ring), lost.utc_ns);
}

}  // namespace millpond::gateway::kafka
