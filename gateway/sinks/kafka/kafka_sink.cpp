#include "gateway/sinks/kafka/kafka_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/core/pinning.hpp>

#include "gateway/start_thread.hpp"

namespace millpond::gateway::kafka {
namespace {

constexpr std::size_t kRecordsPerRound = 1'024;
constexpr std::chrono::milliseconds kIdle{1};
constexpr std::int64_t kSaveEveryNs = 100'000'000;
constexpr std::chrono::milliseconds kFirstPause{250};
constexpr std::chrono::milliseconds kLongestPause{30'000};
constexpr std::chrono::milliseconds kTick{50};
/// At the end what waits goes out for so long at most, and for so long while nothing moves.
constexpr std::int64_t kLastPatienceNs = 2'000'000'000;
constexpr std::int64_t kStandstillNs = 300'000'000;

}  // namespace

bool is_built() noexcept { return true; }

std::unique_ptr<Consumer> open(const Options& options, Say say) {
    return std::make_unique<KafkaSink>(options, std::move(say));
}

KafkaSink::KafkaSink(const Options& options, Say say)
    : options_(options),
      say_(std::move(say)),
      topic_(options.topic, TopicRules::kafka),
      position_(options.position_file),
      reader_(options.journal),
      start_(position_.record()),
      settled_(start_),
      pause_(kFirstPause) {
    if (const auto newest = options_.newest_record->read(); start_ > newest) {
        say_(
            Severity::warning, options_.name + ".position",
            fmt::format("kafka sink '{}': its position {} is behind the journal's end {}: the journal was made anew or "
                        "lost its end with the machine; goes on at {}",
                        options_.name, start_, newest, newest + 1));
        start_ = settled_ = newest;
    }
    if (start_ == 0) {  // never before: from the oldest record on
        reader_.seek(1);
        start_ = settled_ = reader_.next_record() - 1;
    }
    go_to_position();
    begin();
    counters_.position.set(settled_);
    publish_account();
}

KafkaSink::~KafkaSink() { stop(); }

void KafkaSink::start() {
    const auto prepare = [this] {
        try {
            if (options_.pin) core::pin_this_thread(static_cast<int>(*options_.pin));
        } catch (const std::exception& error) {
            throw std::runtime_error(fmt::format("sink '{}': {}", options_.name, error.what()));
        }
    };
    start_thread(thread_, prepare, [this](const std::stop_token& stop) { run(stop); });
}

void KafkaSink::stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
}

void KafkaSink::run(const std::stop_token& stop) try {
    while (!stop.stop_requested()) {
        const auto read = round();
        if (!failure_.empty()) {
            begin_anew();
            const auto until = core::monotonic_nanos() + std::chrono::nanoseconds{pause_}.count();
            while (!stop.stop_requested() && core::monotonic_nanos() < until) std::this_thread::sleep_for(kTick);
            pause_ = std::min(pause_ * 2, kLongestPause);
            continue;
        }
        save_position(core::monotonic_nanos(), false);
        publish_account();
        if (read == 0) producer_->poll(kIdle);
    }
    finish();
} catch (const std::exception& error) {
    ended_.store(true, std::memory_order_relaxed);
    say_(Severity::error, options_.name + ".ended",
         fmt::format("sink '{}' has ended: {}", options_.name, error.what()));
}

std::size_t KafkaSink::round() {
    if (!producer_) {
        try {
            begin();
        } catch (const std::invalid_argument& error) {  // files that its settings name may be gone for a while
            failure_ = error.what();
            return 0;
        }
    }
    producer_->poll(std::chrono::milliseconds{0});
    std::size_t read = 0;
    if (gone_) on(*std::exchange(gone_, std::nullopt));
    if (failure_.empty() && pending_.size() < options_.window) {
        // One at a time, so that nothing is read behind a message that is not taken.
        const auto most = std::min(kRecordsPerRound, options_.window - pending_.size());
        while (read < most && failure_.empty() && reader_.poll(*this, 1) == 1) ++read;
    }
    settle();
    return read;
}

void KafkaSink::begin() {
    producer_ = std::make_unique<Producer>(options_, *this);
    events_ = producer_->topic(options_.events_topic);
    instruments_.clear();
}

void KafkaSink::go_to_position() {
    missed_ = settled_missed_;
    reader_.seek(settled_ + 1);
    gone_.reset();
    if (const auto next = reader_.next_record(); next > settled_ + 1) {  // removed since
        gone_ = {.first = settled_ + 1,
                 .last = next - 1,
                 .reason = millpond::journal::LostReason::removed,
                 .utc_ns = core::utc_nanos()};
    }
}

void KafkaSink::begin_anew() {
    say_(Severity::error, options_.name + ".failed",
         fmt::format("kafka sink '{}': {}; begins again behind record {}", options_.name, failure_, settled_));
    // What the old producer still has to say concerns messages that will be sent again.
    first_pending_ += pending_.size();
    pending_.clear();
    pending_losses_ = 0;
    producer_.reset();
    failure_.clear();
    go_to_position();
    counters_.restarts.add();
    counters_.in_flight.set(0);
    publish_account();
}

void KafkaSink::finish() {
    const auto until = core::monotonic_nanos() + kLastPatienceNs;
    auto moved = core::monotonic_nanos();
    auto queued = account().queued;
    while (failure_.empty()) {
        const auto read = round();
        const auto now = core::monotonic_nanos();
        publish_account();
        if (const auto left = account().queued; left != queued) {
            queued = left;
            moved = now;
        }
        if (queued == 0 || now >= until || now - moved >= kStandstillNs) break;
        if (read == 0 && producer_) producer_->poll(kIdle);
    }
    save_position(0, true);
    producer_.reset();
}

void KafkaSink::delivered(std::uint64_t number, std::size_t bytes) {
    if (number < first_pending_) return;
    pending_[number - first_pending_].delivered = true;
    counters_.messages.add();
    counters_.bytes.add(bytes);
    pause_ = kFirstPause;
}

void KafkaSink::failed(std::uint64_t number, const std::string& reason) {
    if (number < first_pending_) return;
    counters_.failures.add();
    if (failure_.empty()) failure_ = "a message was refused: " + reason;
}

void KafkaSink::error(const std::string& text) {
    counters_.errors.add();
    say_(Severity::warning, options_.name + ".broker", fmt::format("kafka sink '{}': {}", options_.name, text));
}

void KafkaSink::settle() {
    for (; !pending_.empty() && pending_.front().delivered; pending_.pop_front(), ++first_pending_) {
        const auto& message = pending_.front();
        settled_ = message.record;
        settled_missed_ = message.missed;
        if (message.counts) {
            ++settled_count_;
        } else {
            --pending_losses_;
        }
    }
    // Names behind the last message need no delivery.
    if (pending_.empty() && reader_.next_record() != 0) settled_ = std::max(settled_, reader_.next_record() - 1);
    counters_.position.set(settled_);
    counters_.in_flight.set(pending_.size());
}

void KafkaSink::save_position(std::int64_t now_ns, bool at_once) {
    if (settled_ == position_.record() || (!at_once && now_ns - saved_ns_ < kSaveEveryNs)) return;
    saved_ns_ = now_ns;
    try {
        position_.save(settled_);
    } catch (const std::exception& error) {  // a full disk: more is sent again after a restart
        say_(Severity::error, options_.name + ".save",
             fmt::format("kafka sink '{}': {}; trying again", options_.name, error.what()));
    }
}

void KafkaSink::publish_account() {
    const auto next = std::max(reader_.next_record(), settled_ + 1);
    const auto newest = std::max(options_.newest_record->read(), next - 1);
    const auto counted = pending_.size() - pending_losses_;
    const auto read = next - 1 - start_;
    account_.write({.published = newest - start_,
                    .delivered = settled_count_,
                    .filtered = read - settled_count_ - counted - missed_,
                    .missed = missed_,
                    .queued = newest - (next - 1) + counted});
}

const KafkaSink::Instrument& KafkaSink::instrument_of(feed::InstrumentId id) {
    if (reader_.current().epoch != epoch_) {
        epoch_ = reader_.current().epoch;
        instruments_.clear();
    }
    if (id >= instruments_.size()) instruments_.resize(std::size_t{id} + 1);
    auto& instrument = instruments_[id];
    if (!instrument) {
        const auto* known = reader_.instrument(id);
        // A damaged name is the only one that is missing.
        const auto venue = known != nullptr ? known->venue : feed::Venue{};
        const auto symbol = known != nullptr ? known->symbol : feed::Symbol{fmt::format("#{}", id)};
        instrument = Instrument{.key = std::string{symbol.view()},
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
        failure_ = "the producer takes no message: " + *refusal;
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
        say_(Severity::error, options_.name + ".lost",
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
