#include "gateway/sinks/udp/udp_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <poll.h>

#include <millpond/core/clock.hpp>

namespace millpond::gateway::udp {

UdpSink::UdpSink(const Settings& settings, std::uint64_t session, service::LogFunction log)
    : settings_(settings),
      log_(std::move(log)),
      sender_({.to = settings.to, .interface = settings.interface}),
      encoder_({.channel = settings.channel, .session = session, .depth = settings.depth}) {}

void UdpSink::open(const market::RingReader& ring) {
    if (settings_.depth == 0) return;
    ring_ = &ring;
    books_.emplace(market::Books::Options{.max_instruments = ring.max_instruments()},
                   [&ring](std::uint16_t channel) { return ring.depth(channel); });
}

void UdpSink::name(feed::InstrumentId, const feed::Venue& venue, const feed::Symbol& symbol, unsigned decimals) {
    instruments_.push_back({.venue = venue, .symbol = symbol, .decimals = decimals});
}

bool UdpSink::sends_levels(std::uint16_t channel) {
    if (!books_) return false;
    const auto depth = ring_->depth(channel).depth;
    if (depth >= settings_.depth) return true;
    if (std::exchange(is_depth_reported_, true)) return false;
    log_(service::Severity::warning, settings_.name + ".depth",
         fmt::format("udp sink '{}': does not send the levels of channel {}, whose depth {} is less than {}",
                     settings_.name, channel, depth, settings_.depth));
    return false;
}

void UdpSink::begin() {
    assert(closed_count_ < kBuffers);
    encoder_.skip(std::exchange(missed_, 0));
    encoder_.begin(buffers_[(first_closed_ + closed_count_) % kBuffers]);
    is_open_ = true;
}

void UdpSink::add(const Entry& entry, const Instrument& instrument, std::uint64_t events) {
    if (!is_open_) begin();
    if (!encoder_.add_entry(entry, instrument.venue, instrument.symbol, instrument.decimals)) {
        finish_datagram();
        begin();
        const bool fits = encoder_.add_entry(entry, instrument.venue, instrument.symbol, instrument.decimals);
        assert(fits);  // any entry fits an empty datagram
        static_cast<void>(fits);
    }
    open_events_ += events;
}

void UdpSink::send(feed::InstrumentId id, const feed::Quote* quote, std::uint64_t events) {
    auto& instrument = instruments_[id];
    Entry entry{.quote = quote, .exchange_utc_ns = instrument.levels_utc_ns};
    bool has_levels = false;
    const auto* const book = book_of(id);
    if (book != nullptr && !book->is_open() &&
        (instrument.waiting_levels != 0 || instrument.levels_due || instrument.sent_levels.misleads(*book))) {
        has_levels = instrument.sent_levels.follow(*book, settings_.depth, scratch_, entry);
        events += release_levels(instrument);
        instrument.levels_due = false;
    }
    if (quote != nullptr) {
        entry.exchange_utc_ns =
            has_levels ? std::max(instrument.levels_utc_ns, quote->exchange_utc_ns) : quote->exchange_utc_ns;
        instrument.quote_due = false;
    } else if (!has_levels) {
        return;
    }
    add(entry, instrument, events);
}

void UdpSink::finish_datagram() {
    closed_[(first_closed_ + closed_count_++) % kBuffers] = {encoder_.finish(core::utc_nanos()), open_events_};
    closed_events_ += std::exchange(open_events_, 0);
    is_open_ = false;
    send_closed();
}

bool UdpSink::send_closed() {
    while (closed_count_ != 0) {
        const auto& closed = closed_[first_closed_];
        if (!sender_.send(closed.bytes)) {
            log_(service::Severity::warning, settings_.name + ".send",
                 fmt::format("udp sink '{}': cannot send to {}: {}", settings_.name, settings_.to.to_string(),
                             std::generic_category().message(errno)));
            return false;
        }
        closed_events_ -= closed.events;
        first_closed_ = (first_closed_ + 1) % kBuffers;
        --closed_count_;
        sent_ns_ = core::monotonic_nanos();
    }
    return true;
}

void UdpSink::flush() {
    if (!send_closed()) return;
    if (is_open_) finish_datagram();
    if (closed_count_ != 0 || !clear_asked_) return;
    encoder_.clear();
    clear_asked_ = false;
    heartbeat_due_ = true;  // the next datagram has the clear, and must not wait for a quote
}

void UdpSink::board(const feed::Quote& quote, std::uint64_t number) {
    keep(quote, number);
    if (books_) books_->on(quote);
    if (available() == 0) {
        constexpr int kPatienceMs = 10;
        pollfd writable{sender_.fd(), POLLOUT, 0};
        ::poll(&writable, 1, kPatienceMs);
        if (!send_closed()) return board_dropped_.add();
    }
    add({.quote = &quote, .exchange_utc_ns = quote.exchange_utc_ns}, instruments_[quote.instrument], 0);
}

void UdpSink::board(const feed::Level& level, std::uint64_t) {
    if (!sends_levels(level.channel)) return;
    instruments_[level.instrument].levels_utc_ns = level.exchange_utc_ns;
    if (books_->on(level)) set_due(level.instrument, false, true);
}

void UdpSink::keep(const feed::Quote& quote, std::uint64_t number) {
    instruments_[quote.instrument].quote = quote;
    instruments_[quote.instrument].number = number;
}

Admission UdpSink::on(const feed::Quote& quote, std::uint64_t number) {
    keep(quote, number);
    if (books_) books_->on(quote);
    send(quote.instrument, &quote, 1);
    return Admission::kept;
}

Admission UdpSink::on(const feed::Trade& trade, std::uint64_t) {
    if (books_ && books_->on(trade)) send(trade.instrument, nullptr, 0);
    return Admission::filtered;
}

Admission UdpSink::on(const feed::Level& level, std::uint64_t) {
    if (!sends_levels(level.channel)) return Admission::filtered;
    auto& instrument = instruments_[level.instrument];
    instrument.levels_utc_ns = level.exchange_utc_ns;
    ++instrument.waiting_levels;
    ++waiting_levels_;
    if (books_->on(level)) send(level.instrument, nullptr, 0);
    return Admission::kept;
}

Admission UdpSink::on(const feed::Gap& gap, std::uint64_t) {
    if (books_) books_->on(gap);
    for (feed::InstrumentId id = 0; id < instruments_.size(); ++id) {
        auto& instrument = instruments_[id];
        auto& quote = instrument.quote;
        const bool is_quote_due =
            instrument.number != 0 && quote.channel == gap.channel && (quote.flags & feed::kIncomplete) == 0;
        if (is_quote_due) quote.flags |= feed::kIncomplete;
        const auto* const book = book_of(id);
        set_due(id, is_quote_due, book != nullptr && instrument.sent_levels.misleads(*book));
    }
    ++pending_answers_;
    return Admission::kept;
}

void UdpSink::set_due(feed::InstrumentId id, bool quote, bool levels) {
    auto& instrument = instruments_[id];
    const bool waits = instrument.quote_due || instrument.levels_due;
    instrument.quote_due = instrument.quote_due || quote;
    instrument.levels_due = instrument.levels_due || levels;
    if (!waits && (quote || levels)) due_.push_back(id);
}

std::uint32_t UdpSink::release_levels(Instrument& instrument) noexcept {
    waiting_levels_ -= instrument.waiting_levels;
    return std::exchange(instrument.waiting_levels, 0);
}

std::size_t UdpSink::send_due(std::size_t count) {
    std::size_t sent = 0;
    while (sent < count && !due_.empty()) {
        const auto id = due_.front();
        due_.pop_front();
        auto& instrument = instruments_[id];
        if (!instrument.quote_due && !instrument.levels_due) continue;  // sent or voided meanwhile
        send(id, instrument.quote_due ? &instrument.quote : nullptr, 0);
        instrument.levels_due = false;  // an open group sends them at its end
        ++sent;
    }
    return sent;
}

void UdpSink::repeat(std::int64_t monotonic_ns, std::size_t count) {
    constexpr std::int64_t kMicrosecond = 1'000;
    const auto period = std::int64_t{settings_.refresh_seconds} * 1'000'000;
    const auto passed = (monotonic_ns - cycle_ns_) / kMicrosecond;
    if (cycle_ns_ == 0 || (passed >= period && repeated_ >= instruments_.size())) {
        cycle_ns_ = monotonic_ns;
        repeated_ = 0;
        cycle_begins_ = true;
        return;
    }
    const auto instruments = static_cast<std::int64_t>(instruments_.size());
    const auto wanted = static_cast<std::size_t>(instruments * std::min(passed, period) / period);
    while (count != 0 && repeated_ < wanted) {
        const auto& instrument = instruments_[repeated_++];
        Entry entry{.exchange_utc_ns = instrument.levels_utc_ns, .repeated = true};
        if (instrument.number != 0) {
            entry.quote = &instrument.quote;
            entry.exchange_utc_ns = instrument.quote.exchange_utc_ns;
        }
        if (instrument.sent_levels.repeat(entry)) {
            entry.exchange_utc_ns = std::max(entry.exchange_utc_ns, instrument.levels_utc_ns);
        } else if (entry.quote == nullptr) {
            continue;
        }
        entry.begins_cycle = std::exchange(cycle_begins_, false);
        add(entry, instrument, 0);
        repeats_.add();
        --count;
    }
}

Admission UdpSink::on(const feed::Clear& clear, std::uint64_t) {
    if (books_) books_->on(clear);
    for (feed::InstrumentId id = 0; id < instruments_.size(); ++id) {
        auto& instrument = instruments_[id];
        const auto& quote = instrument.quote;
        const bool meant = clear.instrument == feed::kNoInstrument || clear.instrument == quote.instrument;
        if (meant && quote.channel == clear.channel) {
            instrument.number = 0;
            instrument.quote_due = false;
        }
        // Receivers discard all other quotes and levels too.
        instrument.sent_levels.discard();
        const auto* const book = book_of(id);
        if (book != nullptr && !book->is_open()) dropped_levels_ += release_levels(instrument);
        if (book != nullptr && book->bids().empty() && book->asks().empty()) instrument.levels_utc_ns = 0;
        set_due(id, instrument.number != 0, book != nullptr);
    }
    if (!due_.empty()) ++pending_answers_;
    clear_asked_ = true;
    flush();
    return Admission::kept;
}

void UdpSink::missed(std::uint64_t first, std::uint64_t last) {
    // Sends earlier events before the gap, unless the socket is so full that the open datagram must be continued.
    if (is_open_ && closed_count_ == 0) finish_datagram();
    missed_ += last - first + 1;
    heartbeat_due_ = true;
    // Marks the quotes and levels as incomplete, like receivers at the gap; a later Clear repeats them.
    if (books_) books_->on(queue::MissedRange{first, last});
    for (auto& instrument : instruments_) {
        instrument.quote.flags |= feed::kIncomplete;
        instrument.sent_levels.mark_incomplete();
        dropped_levels_ += release_levels(instrument);
    }
}

void UdpSink::step(std::int64_t monotonic_ns) {
    flush();
    if (available() != 0 && monotonic_ns - batch_ns_ >= kRepeatEveryNs) {
        batch_ns_ = monotonic_ns;
        repeat(monotonic_ns, kMaxBatch - send_due(kMaxBatch));
        flush();
    }
    if (due_.empty()) pending_answers_ = 0;
    if (closed_count_ != 0) return;
    if (!std::exchange(heartbeat_due_, false) && monotonic_ns - sent_ns_ < kHeartbeatNs) return;
    begin();
    finish_datagram();
    heartbeats_.add();
}

void UdpSink::finish() {
    flush();
    while (!due_.empty() && available() != 0) {
        send_due(kMaxBatch);
        flush();
    }
    if (due_.empty()) pending_answers_ = 0;
}

void UdpSink::visit_metrics(const MetricVisitor& visit) const {
    const auto& counts = sender_.counters();
    visit("datagrams_total", "Datagrams sent.", counts.datagrams);
    visit("bytes_total", "Bytes sent.", counts.bytes);
    visit("heartbeats_total", "Datagrams without entries.", heartbeats_);
    visit("repeats_total", "Entries repeated for receivers that lack them.", repeats_);
    visit("would_block_total", "Sends that failed because the socket buffer was full; they are retried.",
          counts.would_block);
    visit("no_buffers_total", "Sends that failed because the device queue was full; they are retried.",
          counts.no_buffers);
    visit("peer_refused_total", "ICMP errors: no process receives the datagrams.", counts.peer_refused);
    visit("send_errors_total", "Sends that failed for another reason; they are retried.", counts.errors);
    visit("board_dropped_total", "Quotes of the board that could not be sent when the sink joined.", board_dropped_);
}

}  // namespace millpond::gateway::udp
