// Messages of a KafkaSink for each record.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
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
        // A damaged name is the only one that is missing, and whole in the next segment.
        const auto venue = known != nullptr ? known->venue : feed::Venue{};
        const auto symbol = known != nullptr ? known->symbol : feed::Symbol{fmt::format("#{}", id)};
        instrument = Instrument{.is_named = known != nullptr,
                                .key = std::string{symbol.view()},
                                .symbol = feed::JsonSymbol{symbol},
                                .topic = producer_->topic(topic_.name(venue, symbol))};
    }
    return *instrument;
}

void KafkaSink::send(const Pending& message, Producer::Topic topic, std::string_view key, std::string_view value,
                     std::int64_t received) {
    const auto& at = reader_.current();
    const auto number = first_pending_ + pending_.size();
    pending_.push_back(message);
    if (!message.counts) ++pending_losses_;
    const Record record{
        .key = key, .value = value, .epoch = at.epoch, .sequence = at.ring, .received_utc_ns = received};
    if (const auto refusal = producer_->send(topic, record, number)) {
        failure_ = "the producer accepts no message: " + *refusal;
    }
}

template <class Event, class Json>
void KafkaSink::pass_on(const Event& event, std::int64_t received, Json&& json) {
    const Instrument* instrument = nullptr;
    if constexpr (requires { event.instrument; }) {
        if (event.instrument != feed::kNoInstrument) instrument = &instrument_of(event.instrument);
    }
    static const feed::JsonSymbol none;
    const auto sequence = reader_.current().ring;
    const auto value = options_.format == Format::binary
                           ? binary_value(value_, event, sequence)
                           : json(instrument != nullptr ? instrument->symbol : none, sequence);
    const bool single = instrument != nullptr;
    send({.record = reader_.current().record, .missed = missed_, .counts = true}, single ? instrument->topic : events_,
         single ? instrument->key : options_.ring, value, received);
}

void KafkaSink::on(const feed::Quote& quote) {
    pass_on(quote, quote.receive_utc_ns, [&](const feed::JsonSymbol& symbol, std::uint64_t sequence) {
        return feed::quote_json(value_, quote, symbol, sequence);
    });
}

void KafkaSink::on(const feed::Trade& trade) {
    pass_on(trade, trade.receive_utc_ns, [&](const feed::JsonSymbol& symbol, std::uint64_t sequence) {
        return feed::trade_json(value_, trade, symbol, sequence);
    });
}

void KafkaSink::on(const feed::TradeBreak& broken) {
    pass_on(broken, broken.receive_utc_ns, [&](const feed::JsonSymbol& symbol, std::uint64_t sequence) {
        return feed::trade_break_json(value_, broken, symbol, sequence);
    });
}

void KafkaSink::on(const feed::Status& status) {
    pass_on(status, status.receive_utc_ns, [&](const feed::JsonSymbol& symbol, std::uint64_t sequence) {
        return feed::status_json(value_, status, symbol, sequence);
    });
}

void KafkaSink::on(const feed::Gap& gap) {
    pass_on(gap, gap.receive_utc_ns,
            [&](const feed::JsonSymbol&, std::uint64_t sequence) { return feed::gap_json(value_, gap, sequence); });
}

void KafkaSink::on(const feed::Clear& clear) {
    pass_on(clear, clear.receive_utc_ns, [&](const feed::JsonSymbol& symbol, std::uint64_t sequence) {
        return feed::clear_json(value_, clear, symbol, sequence);
    });
}

void KafkaSink::on(const millpond::journal::LostRecord& lost) {
    const bool ours = lost.reason != millpond::journal::LostReason::lapped;  // found by the reader
    if (ours) {
        missed_ += lost.count();
        counters_.lost.add(lost.count());
        say_(service::Severity::error, options_.name + ".lost",
             fmt::format("kafka sink '{}': records {} to {} of the journal are {}", options_.name, lost.first,
                         lost.last, to_string(lost.reason)));
    }
    const auto sequence = reader_.current().ring;
    std::string_view value;
    if (options_.format == Format::binary) {
        value = binary_value(value_, lost, sequence);
    } else {
        const auto end =
            fmt::format_to_n(value_.data(), value_.size(),
                             R"({{"type":"lost","reason":"{}","timestamp":{},"sequence":{},"first":{},"last":{}}})",
                             to_string(lost.reason), lost.utc_ns, sequence, lost.first, lost.last);
        value = {value_.data(), end.size};
    }
    send({.record = ours ? lost.last : reader_.current().record, .missed = missed_, .counts = !ours}, events_,
         options_.ring, value, lost.utc_ns);
}

}  // namespace millpond::gateway::kafka
