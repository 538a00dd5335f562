#include "gateway/sinks/mqtt/mqtt_sink.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace millpond::gateway::mqtt {

bool is_built() noexcept { return true; }

std::unique_ptr<Sink> open(const Settings& settings, const std::string& password, service::LogFunction log) {
    return std::make_unique<MqttSink>(settings, password, std::move(log));
}

MqttSink::MqttSink(const Settings& settings, const std::string& password, service::LogFunction log)
    : mode_(settings.mode),
      book_depth_(settings.book_depth.value_or(kBookDepth)),
      topic_(settings.topic, TopicRules::mqtt),
      book_topic_(settings.book_topic.empty() ? std::nullopt
                                              : std::optional{TopicTemplate{settings.book_topic, TopicRules::mqtt}}),
      link_(std::make_unique<Link>(settings, password, std::move(log))) {}

std::size_t MqttSink::available() const noexcept {
    // Quotes that a new connection repeats precede newer ones. Books would wait forever if quotes filled the window.
    if (due_.size() != 0 || !book_batch_.empty() || seen_connections_ != link_->connections()) return 0;
    return link_->available();
}

void MqttSink::open(const market::RingReader& ring) {
    if (!book_topic_) return;
    ring_ = &ring;
    books_.emplace(market::Books::Options{.max_instruments = ring.max_instruments()}, [this](std::uint16_t channel) {
        return market::ChannelDepth{.depth = sends_levels(channel) ? ring_->depth(channel).depth : 0};
    });
}

void MqttSink::name(feed::InstrumentId, const feed::Venue& venue, const feed::Symbol& symbol, unsigned decimals) {
    auto& instrument = instruments_.emplace_back(
        Instrument{.symbol = feed::JsonSymbol{symbol, decimals}, .topic = topic_.name(venue, symbol)});
    if (book_topic_) instrument.book.topic = book_topic_->name(venue, symbol);
}

void MqttSink::board(const feed::Quote& quote, std::uint64_t number) {
    store(quote, number);
    update_book(quote, number);
}

void MqttSink::store(const feed::Quote& quote, std::uint64_t number) {
    auto& instrument = instruments_[quote.instrument];
    instrument.quote = quote;
    instrument.number = number;
}

void MqttSink::board(const feed::Level& level, std::uint64_t number) {
    if (!sends_levels(level.channel)) return;
    update_book(level, number);
    if ((level.flags & feed::kLast) != 0) set_book_due(level.instrument);
}

Admission MqttSink::on(const feed::Quote& quote, std::uint64_t number) {
    store(quote, number);
    publish(quote, number, true);
    return Admission::kept;
}

Admission MqttSink::on(const feed::Trade& trade, std::uint64_t number) {
    update_book(trade, number);
    return Admission::filtered;
}

Admission MqttSink::on(const feed::Level& level, std::uint64_t number) {
    if (!sends_levels(level.channel)) return Admission::filtered;
    ++instruments_[level.instrument].book.waiting_levels;
    ++waiting_levels_;
    update_book(level, number);
    return Admission::kept;
}

bool MqttSink::sends_levels(std::uint16_t channel) const {
    return ring_ != nullptr && ring_->depth(channel).depth >= book_depth_;
}

template <class Event>
void MqttSink::update_book(const Event& event, std::uint64_t number) {
    if (!books_) return;
    const bool ends = books_->on(event);
    const auto* const book = books_->find(event.instrument);
    if (book == nullptr) return;
    auto& known = instruments_[event.instrument].book;
    known.stamp = {.number = number,
                   .receive_utc_ns = event.receive_utc_ns,
                   .exchange_utc_ns = event.exchange_utc_ns,
                   .channel = event.channel};
    if (ends && (known.waiting_levels != 0 || known.sent_as_complete != book->complete()))
        set_book_due(event.instrument);
}

void MqttSink::set_book_due(feed::InstrumentId id) {
    if (!std::exchange(instruments_[id].book.due, true)) due_books_.push_back(id);
}

void MqttSink::publish(const feed::Quote& quote, std::uint64_t number, bool event) {
    const auto& instrument = instruments_[quote.instrument];
    std::array<char, feed::kMaxJsonBytes> buffer;
    link_->enqueue({.topic = &instrument.topic,
                    .payload = std::string{feed::quote_json(buffer, quote, instrument.symbol, number)},
                    .event = event});
    needs_wake_ = true;
}

Admission MqttSink::on(const feed::Clear& clear, std::uint64_t number) {
    bool changes_quotes = false;
    bool changes_books = false;
    if (books_) books_->on(clear);
    for (feed::InstrumentId id = 0; id < instruments_.size(); ++id) {
        auto& stamp = instruments_[id].book.stamp;
        if (stamp.number == 0 || stamp.channel != clear.channel) continue;
        if (clear.instrument != feed::kNoInstrument && clear.instrument != id) continue;
        stamp.number = number;
        stamp.receive_utc_ns = clear.receive_utc_ns;
        set_book_due(id);
        changes_books = true;
    }
    for (auto& instrument : instruments_) {
        auto& quote = instrument.quote;
        if (instrument.number == 0 || quote.channel != clear.channel) continue;
        if (clear.instrument != feed::kNoInstrument && clear.instrument != quote.instrument) continue;
        const feed::Quote none{.instrument = quote.instrument,
                               .channel = quote.channel,
                               .receive_utc_ns = clear.receive_utc_ns,
                               .receive_ticks = clear.receive_ticks};
        quote = none;
        instrument.number = number;
        due_.push(none, number);
        changes_quotes = true;
    }
    return keep_if(changes_quotes, changes_books);
}

Admission MqttSink::on(const feed::Gap& gap, std::uint64_t) {
    if (books_) books_->on(gap);
    const bool changes_books = repeat_complete_books(gap.channel);
    return keep_if(mark_incomplete(gap.channel), changes_books);
}

Admission MqttSink::keep_if(bool changes_quotes, bool changes_books) noexcept {
    if (!changes_quotes && !changes_books) return Admission::filtered;
    ++(changes_books ? held_for_due_books_ : held_for_quotes_);  // books follow the quotes
    return Admission::kept;
}

void MqttSink::missed(std::uint64_t first, std::uint64_t last) {
    if (books_) books_->on(queue::MissedRange{first, last});
    static_cast<void>(repeat_complete_books(std::nullopt));
    static_cast<void>(mark_incomplete(std::nullopt));
}

bool MqttSink::repeat_complete_books(std::optional<std::uint16_t> channel) {
    bool repeats_any = false;
    for (feed::InstrumentId id = 0; id < instruments_.size(); ++id) {
        const auto& book = instruments_[id].book;
        if (book.stamp.number == 0 || (channel && book.stamp.channel != *channel)) continue;
        if (!book.sent_as_complete.value_or(false) && book.waiting_levels == 0) continue;
        set_book_due(id);
        repeats_any = true;
    }
    return repeats_any;
}

bool MqttSink::mark_incomplete(std::optional<std::uint16_t> channel) {
    bool changes_quotes = false;
    for (auto& instrument : instruments_) {
        auto& quote = instrument.quote;
        if (instrument.number == 0 || (channel && quote.channel != *channel)) continue;
        if ((quote.flags & feed::kIncomplete) != 0) continue;
        quote.flags |= feed::kIncomplete;
        due_.push(quote, instrument.number);
        changes_quotes = true;
    }
    return changes_quotes;
}

void MqttSink::publish_books(std::int64_t monotonic_ns) {
    if (book_batch_.empty() && !due_books_.empty() && (draining_ || monotonic_ns >= next_batch_ns_)) {
        book_batch_.assign(due_books_.begin(), due_books_.end());
        due_books_.clear();
        held_for_batch_ = std::exchange(held_for_due_books_, 0);
    }
    if (book_batch_.empty()) return;
    while (!book_batch_.empty() && link_->available() != 0) {
        auto& instrument = instruments_[book_batch_.front()];
        const auto* const book = books_->find(book_batch_.front());
        book_batch_.pop_front();
        instrument.book.due = false;
        if (book != nullptr && book->is_open()) continue;  // due at the end of its group
        publish_book(instrument, book);
    }
    if (!book_batch_.empty()) return;
    held_for_batch_ = 0;
    if (due_books_.empty()) held_for_due_books_ = 0;  // their books were in this batch
    next_batch_ns_ = monotonic_ns + std::chrono::nanoseconds{kBookInterval}.count();
}

void MqttSink::publish_book(Instrument& instrument, const market::Book* book) {
    auto& known = instrument.book;
    auto& waiting = known.waiting_levels;
    Message message{.topic = &known.topic, .event = waiting != 0};
    append_book_json(message.payload, book, book_depth_, instrument.symbol, known.stamp);
    link_->enqueue(std::move(message));
    needs_wake_ = true;
    known.sent_as_complete = book != nullptr && book->complete();
    // One of the events that waited stands for the message, and is answered with it.
    waiting_levels_ -= waiting;
    if (waiting != 0) conflated_levels_ += std::exchange(waiting, 0) - 1;
}

void MqttSink::step(std::int64_t monotonic_ns) {
    if (const auto connections = link_->connections(); connections != seen_connections_) {
        seen_connections_ = connections;
        for (feed::InstrumentId id = 0; id < instruments_.size(); ++id) {
            const auto& instrument = instruments_[id];
            if (instrument.number != 0) due_.push(instrument.quote, instrument.number);
            if (instrument.book.stamp.number != 0) set_book_due(id);
        }
        next_batch_ns_ = monotonic_ns;
    }
    Conflator::Waiting next;
    while (due_.size() != 0 && link_->available() != 0) {
        if (!due_.pop(next)) break;
        // A newer quote may have been sent in the round in which a Clear arrived.
        if (next.number == instruments_[next.quote.instrument].number) publish(next.quote, next.number, false);
    }
    if (due_.size() == 0) {
        held_for_quotes_ = 0;
        publish_books(monotonic_ns);
    }
    if (std::exchange(needs_wake_, false)) link_->wake();
    answered_ = link_->answered();
}

}  // namespace millpond::gateway::mqtt
