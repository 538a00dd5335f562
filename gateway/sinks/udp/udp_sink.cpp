#include "gateway/sinks/udp/udp_sink.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <poll.h>

#include <millpond/core/clock.hpp>

namespace millpond::gateway::udp {

UdpSink::UdpSink(const Options& options, std::uint64_t session, service::Say say)
    : options_(options),
      say_(std::move(say)),
      sender_({.to = options.to, .interface = options.interface}),
      encoder_({.channel = options.channel, .session = session}) {}

void UdpSink::name(feed::InstrumentId, const feed::Venue& venue, const feed::Symbol& symbol) {
    instruments_.push_back({.venue = venue, .symbol = symbol});
}

void UdpSink::begin() {
    encoder_.skip(std::exchange(missed_, 0));
    encoder_.begin(buffers_[filling_]);
    begun_ = true;
}

void UdpSink::add(const feed::Quote& quote, bool event) {
    const auto& name = instruments_[quote.instrument];
    if (!begun_) begin();
    if (!encoder_.add(quote, name.venue, name.symbol)) {
        finish_datagram();
        begin();
        const bool fits = encoder_.add(quote, name.venue, name.symbol);
        assert(fits);  // an empty datagram has room for any quote
        static_cast<void>(fits);
    }
    if (event) ++begun_events_;
}

void UdpSink::finish_datagram() {
    assert(closed_.empty());
    closed_ = encoder_.finish(core::utc_nanos());
    closed_events_ = std::exchange(begun_events_, 0);
    begun_ = false;
    filling_ ^= 1U;
    send_closed();
}

bool UdpSink::send_closed() {
    if (closed_.empty()) return true;
    if (!sender_.send(closed_)) {
        say_(service::Severity::warning, options_.name + ".send",
             fmt::format("udp sink '{}': cannot send to {}: {}", options_.name, options_.to.to_string(),
                         std::generic_category().message(errno)));
        return false;
    }
    closed_ = {};
    closed_events_ = 0;
    sent_ns_ = core::monotonic_nanos();
    return true;
}

void UdpSink::flush() {
    if (!send_closed()) return;
    if (begun_) finish_datagram();
    if (!closed_.empty() || !clear_asked_) return;
    encoder_.clear();
    clear_asked_ = false;
    beat_at_once_ = true;  // the next datagram carries it, and must not wait for a quote
}

void UdpSink::board(const feed::Quote& quote, std::uint64_t number) {
    keep(quote, number);
    if (room() == 0) {
        constexpr int kPatienceMs = 10;
        pollfd writable{sender_.fd(), POLLOUT, 0};
        ::poll(&writable, 1, kPatienceMs);
        if (!send_closed()) return board_dropped_.add();
    }
    add(quote, false);
}

void UdpSink::keep(const feed::Quote& quote, std::uint64_t number) {
    instruments_[quote.instrument].quote = quote;
    instruments_[quote.instrument].number = number;
}

Taken UdpSink::on(const feed::Quote& quote, std::uint64_t number) {
    keep(quote, number);
    add(quote, true);
    return Taken::kept;
}

Taken UdpSink::on(const feed::Gap& gap, std::uint64_t) {
    for (auto& [venue, symbol, quote, number] : instruments_) {
        if (number == 0 || quote.channel != gap.channel || (quote.flags & feed::kIncomplete) != 0) continue;
        quote.flags |= feed::kIncomplete;
        due_.put(quote, number);
    }
    ++answered_later_;
    return Taken::kept;
}

void UdpSink::send_due() {
    Conflator::Waiting next;
    for (std::size_t sent = 0; sent < kRound && due_.take(next);) {
        // A newer one may have been sent meanwhile.
        if (next.number != instruments_[next.quote.instrument].number) continue;
        add(next.quote, false);
        ++sent;
    }
}

Taken UdpSink::on(const feed::Clear& clear, std::uint64_t) {
    due_.drop(clear);
    for (auto& [venue, symbol, quote, number] : instruments_) {
        if (number == 0) continue;
        const bool meant = clear.instrument == feed::kNoInstrument || clear.instrument == quote.instrument;
        if (meant && quote.channel == clear.channel) {
            number = 0;
        } else {
            due_.put(quote, number);  // receivers forget this one too
        }
    }
    if (due_.size() != 0) ++answered_later_;
    clear_asked_ = true;
    flush();
    return Taken::kept;
}

void UdpSink::missed(std::uint64_t first, std::uint64_t last) {
    // The gap follows what came before it, unless the socket is so full that the open datagram must be continued.
    if (begun_ && closed_.empty()) finish_datagram();
    missed_ += last - first + 1;
    beat_at_once_ = true;
    // As receivers do at the gap; a later Clear sends them once more.
    for (auto& instrument : instruments_) instrument.quote.flags |= feed::kIncomplete;
    due_.mark_incomplete(std::nullopt);
}

void UdpSink::step(std::int64_t monotonic_ns) {
    flush();
    if (room() != 0 && monotonic_ns - portion_ns_ >= kPortionEveryNs) {
        portion_ns_ = monotonic_ns;
        send_due();
        flush();
    }
    if (due_.size() == 0) answered_later_ = 0;
    if (!closed_.empty()) return;
    if (!std::exchange(beat_at_once_, false) && monotonic_ns - sent_ns_ < options_.heartbeat.count()) return;
    begin();
    finish_datagram();
    heartbeats_.add();
}

void UdpSink::finish() {
    flush();
    while (due_.size() != 0 && room() != 0) {
        send_due();
        flush();
    }
    if (due_.size() == 0) answered_later_ = 0;
}

void UdpSink::visit_metrics(const MetricVisitor& visit) const {
    const auto& counts = sender_.counters();
    visit("datagrams_total", "Datagrams sent.", counts.datagrams);
    visit("bytes_total", "Bytes sent.", counts.bytes);
    visit("heartbeats_total", "Datagrams without quotes.", heartbeats_);
    visit("would_block_total", "Sends that failed because the socket buffer was full; they are retried.",
          counts.would_block);
    visit("no_buffers_total", "Sends that failed because the device queue was full; they are retried.",
          counts.no_buffers);
    visit("peer_refused_total", "ICMP errors: no process receives the datagrams.", counts.peer_refused);
    visit("send_errors_total", "Sends that failed for another reason; they are retried.", counts.errors);
    visit("board_dropped_total", "Quotes of the board that could not be sent when the sink joined.", board_dropped_);
}

}  // namespace millpond::gateway::udp
