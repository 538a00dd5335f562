#pragma once

#include <utility>

#include <millpond/feed/miax_tom_decoder.hpp>

namespace millpond::feed {

inline MiaxTomDecoder::MiaxTomDecoder(InstrumentTable& instruments, Options options, std::pmr::memory_resource* memory)
    : instruments_(&instruments),
      options_(std::move(options)),
      index_(instruments.capacity(), memory),
      ids_(memory),
      sides_(instruments.capacity(), memory),
      sessions_(memory) {
    ids_.reserve(instruments.capacity());
}

template <EventHandler Handler>
DecodeResult MiaxTomDecoder::decode(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler) {
    namespace at = miax_tom_layout;
    counters_.datagrams.add();
    counters_.bytes.add(datagram.size());
    const bool is_current =
        datagram.size() >= at::kHeaderBytes &&
        sessions_.is_current(static_cast<std::uint8_t>(datagram[at::kSessionAt]), arrival.receive_utc_ns);
    if (is_current) [[likely]]
        return apply(datagram, arrival, handler);
    return apply_other(datagram, arrival, handler);
}

template <class OnPacket>
DecodeResult MiaxTomDecoder::each_packet(std::span<const std::byte> datagram, OnPacket&& on) {
    DecodeResult result;
    std::size_t place = 0;
    MachPacket packet;
    while (place < datagram.size()) {
        result.error = next_mach_packet(datagram, place, packet);
        if (result.error) break;
        if (packet.has_message()) {
            ++result.messages;
            counters_.messages.add();
        }
        on(packet);
    }
    if (result.error) counters_.add_malformed(datagram.size() - place);
    return result;
}

template <class Handler>
DecodeResult MiaxTomDecoder::apply(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler) {
    return each_packet(datagram, [&](const MachPacket& packet) { on_packet(packet, arrival, handler); });
}

template <class Handler>
DecodeResult MiaxTomDecoder::apply_other(std::span<const std::byte> datagram, const Arrival& arrival,
                                         Handler& handler) {
    const auto numbers = read_mach_numbers(datagram);
    // Invalid datagrams must not look like a new session.
    if (!numbers || !mach_packets_are_whole(datagram, 0)) return ignore(datagram);
    const Sessions::Datagram other{.numbers = *numbers, .bytes = datagram, .arrival = arrival};
    switch (sessions_.observe(other)) {
        case Sessions::Verdict::joined: return apply(datagram, arrival, handler);
        case Sessions::Verdict::changed: break;
        case Sessions::Verdict::ignored: return ignore(datagram);
        case Sessions::Verdict::held:
        case Sessions::Verdict::copy:
        case Sessions::Verdict::foreign: return {};  // counted when the session is confirmed
    }
    begin_session(numbers->session, sessions_.first_number(other), sessions_.first_arrival(other), handler);
    DecodeResult result;
    sessions_.apply_confirmed(other, [&](const Sessions::Datagram& confirmed) {
        result.messages += apply(confirmed.bytes, confirmed.arrival, handler).messages;
    });
    return result;
}

inline DecodeResult MiaxTomDecoder::ignore(std::span<const std::byte> datagram) {
    return each_packet(datagram, [this](const MachPacket& packet) {
        if (packet.has_message())
            (packet.type == miax_tom_layout::kApplicationData ? counters_.stale : counters_.unknown).add();
    });
}

template <class Handler>
void MiaxTomDecoder::on_packet(const MachPacket& packet, const Arrival& arrival, Handler& handler) {
    const bool application = packet.type == miax_tom_layout::kApplicationData;
    if (packet.has_message() && !application) return counters_.unknown.add();
    if (packet.session != sessions_.session()) [[unlikely]] {  // all packets of a datagram are of one session
        if (application) counters_.stale.add();
        return;
    }
    if (application) {
        if (follow(packet.sequence, 1, arrival, handler)) {
            on_message(packet, arrival, handler);
        } else {
            counters_.stale.add();
        }
        return;
    }
    (void)follow(packet.sequence + 1, 0, arrival, handler);
    counters_.add_heartbeat(packet.sequence + 1, tracker_.next());
    if (packet.type != miax_tom_layout::kEndOfSession) return;
    sessions_.end();
    clear(ClearReason::end_of_session, arrival, handler);
}

template <class Handler>
bool MiaxTomDecoder::follow(std::uint64_t first, std::uint64_t count, const Arrival& arrival, Handler& handler) {
    const auto step = tracker_.observe(first, count);
    if (step.restarted) clear(ClearReason::new_session, arrival, handler);
    if (step.gap()) {
        sides_.gap();
        emit(counters_, handler, make_gap(arrival, step.gap_first, step.gap_last));
    }
    return step.old == 0;
}

template <class Handler>
void MiaxTomDecoder::on_message(const MachPacket& packet, const Arrival& arrival, Handler& handler) {
    if (!expect(!packet.message.empty(), packet, arrival, handler)) return;
    switch (static_cast<char>(packet.message[0])) {
        case 'B':
        case 'h': return on_quote(packet, true, false, false, arrival, handler);
        case 'O':
        case 'i': return on_quote(packet, false, true, false, arrival, handler);
        case 'W':
        case 'j': return on_quote(packet, true, false, true, arrival, handler);
        case 'A':
        case 'k': return on_quote(packet, false, true, true, arrival, handler);
        case 'd': return on_quote(packet, true, true, false, arrival, handler);
        case 'D': return on_quote(packet, true, true, true, arrival, handler);
        case 'T': return on_trade(packet, arrival, handler);
        case 'S': return on_system_state(packet, arrival, handler);
        case '1':
            if (!expect(packet.message.size() == miax_tom_layout::kSystemTimeBytes, packet, arrival, handler)) return;
            set_time(core::load_le<std::uint32_t>(packet.message.data() + miax_tom_layout::kSecondsAt),
                     arrival.receive_utc_ns);
            return counters_.applied.add();
        case 'X': return on_trade_cancel(packet, arrival, handler);
        case 'H':
        case 'P': return counters_.ignored.add();
        default: return lose(counters_.unknown, packet, arrival, handler);
    }
}

template <class Handler>
void MiaxTomDecoder::lose(core::Tally& counter, const MachPacket& packet, const Arrival& arrival, Handler& handler) {
    counter.add();
    sides_.gap();
    // One gap marks all quotes before it, however many messages are lost.
    const auto quotes = counters_.quotes.read();
    if (std::exchange(quotes_at_loss_, quotes) == quotes) return;
    emit(counters_, handler, make_gap(arrival, packet.sequence, packet.sequence, GapReason::rejected));
}

template <class Event>
Event MiaxTomDecoder::start(const MachPacket& packet, std::uint32_t nanos, const Arrival& arrival) const noexcept {
    Event event;
    event.channel = arrival.channel;
    event.exchange_utc_ns = exchange_time(nanos);
    event.receive_utc_ns = arrival.receive_utc_ns;
    event.receive_ticks = arrival.receive_ticks;
    event.feed_sequence = packet.sequence;
    return event;
}

template <class Handler>
void MiaxTomDecoder::on_quote(const MachPacket& packet, bool has_bid, bool has_ask, bool wide, const Arrival& arrival,
                              Handler& handler) {
    namespace at = miax_tom_layout;
    const auto side_bytes = (wide ? at::kWide : at::kNarrow).bytes;
    if (!expect(packet.message.size() == at::kSideAt + side_bytes * (has_bid && has_ask ? 2 : 1), packet, arrival,
                handler))
        return;
    const auto nanos = core::load_le<std::uint32_t>(packet.message.data() + at::kNanosAt);
    if (!expect(nanos < 1'000'000'000, packet, arrival, handler)) return;
    const auto slot = find_or_add(core::load_le<std::uint32_t>(packet.message.data() + at::kProductAt));
    if (slot == kNoInstrument) return counters_.refused.add();
    const auto* const first = packet.message.data() + at::kSideAt;
    if (has_bid) sides_.set_bid(slot, read_side(first, wide));
    if (has_ask) sides_.set_ask(slot, read_side(first + (has_bid ? side_bytes : 0), wide));
    auto quote = start<Quote>(packet, nanos, arrival);
    quote.instrument = ids_[slot];
    sides_.fill(slot, quote);
    counters_.applied.add();
    emit(counters_, handler, quote);
}

template <class Handler>
void MiaxTomDecoder::on_trade(const MachPacket& packet, const Arrival& arrival, Handler& handler) {
    namespace at = miax_tom_layout;
    if (!expect(packet.message.size() == at::kTradeBytes, packet, arrival, handler)) return;
    const auto nanos = core::load_le<std::uint32_t>(packet.message.data() + at::kNanosAt);
    if (!expect(nanos < 1'000'000'000, packet, arrival, handler)) return;
    if (packet.message[at::kCorrectionAt] != std::byte{0}) return counters_.ignored.add();  // already reported
    const auto slot = find_or_add(core::load_le<std::uint32_t>(packet.message.data() + at::kProductAt));
    if (slot == kNoInstrument) return counters_.refused.add();
    auto trade = start<Trade>(packet, nanos, arrival);
    trade.instrument = ids_[slot];
    trade.price = price_from<at::kVenueScale>(core::load_le<std::uint32_t>(packet.message.data() + at::kTradePriceAt));
    trade.size = core::load_le<std::uint32_t>(packet.message.data() + at::kTradeSizeAt);
    trade.trade_id = core::load_le<std::uint32_t>(packet.message.data() + at::kTradeIdAt);
    counters_.applied.add();
    emit(counters_, handler, trade);
}

template <class Handler>
void MiaxTomDecoder::on_trade_cancel(const MachPacket& packet, const Arrival& arrival, Handler& handler) {
    namespace at = miax_tom_layout;
    if (!expect(packet.message.size() == at::kTradeCancelBytes, packet, arrival, handler)) return;
    const auto nanos = core::load_le<std::uint32_t>(packet.message.data() + at::kNanosAt);
    if (!expect(nanos < 1'000'000'000, packet, arrival, handler)) return;
    const auto slot = find_or_add(core::load_le<std::uint32_t>(packet.message.data() + at::kProductAt));
    if (slot == kNoInstrument) return counters_.refused.add();
    auto broken = start<TradeBreak>(packet, nanos, arrival);
    broken.instrument = ids_[slot];
    broken.trade_id = core::load_le<std::uint32_t>(packet.message.data() + at::kTradeIdAt);
    counters_.applied.add();
    emit(counters_, handler, broken);
}

template <class Handler>
void MiaxTomDecoder::on_system_state(const MachPacket& packet, const Arrival& arrival, Handler& handler) {
    namespace at = miax_tom_layout;
    if (!expect(packet.message.size() == at::kSystemStateBytes, packet, arrival, handler)) return;
    const char state = static_cast<char>(packet.message[at::kSystemStateAt]);
    if (state != 'S' && state != 'C') return counters_.ignored.add();  // test sessions
    const auto nanos = core::load_le<std::uint32_t>(packet.message.data() + at::kNanosAt);
    auto status = start<Status>(packet, nanos, arrival);
    status.state = state == 'S' ? TradingState::start_of_system_hours : TradingState::end_of_system_hours;
    status.reason = core::FixedString<4>{{&state, 1}};
    counters_.applied.add();
    emit(counters_, handler, status);
}

template <class Handler>
void MiaxTomDecoder::clear(ClearReason reason, const Arrival& arrival, Handler& handler) {
    sides_.clear();
    emit(counters_, handler, make_clear(arrival, reason));
}

inline std::uint32_t MiaxTomDecoder::find_or_add(std::uint32_t product) noexcept {
    if (const auto slot = index_.find(product); slot != kNoInstrument) return slot;
    const auto id = instruments_->find_or_add(options_.venue, options_.names.find(product));
    const auto slot = static_cast<std::uint32_t>(ids_.size());
    if (id == kNoInstrument || !index_.add(product, slot)) return kNoInstrument;
    ids_.push_back(id);  // never allocates: reserved in the constructor
    return slot;
}

inline TwoSidedQuotes::Side MiaxTomDecoder::read_side(const std::byte* bytes, bool wide) noexcept {
    namespace at = miax_tom_layout;
    const auto& layout = wide ? at::kWide : at::kNarrow;
    TwoSidedQuotes::Side side;
    side.price = wide ? price_from<at::kVenueScale>(core::load_le<std::uint32_t>(bytes))
                      : price_from<at::kNarrowScale>(core::load_le<std::uint16_t>(bytes));
    side.size = wide ? core::load_le<std::uint32_t>(bytes + layout.size_at)
                     : core::load_le<std::uint16_t>(bytes + layout.size_at);
    const char condition = static_cast<char>(bytes[layout.condition_at]);
    if (condition == at::kHaltedCondition) side.flags = kHalted;
    if (condition == at::kNotFirmCondition) side.flags = kNotFirm;
    return side;
}

inline void MiaxTomDecoder::set_time(std::uint32_t seconds, std::int64_t receive_utc_ns) noexcept {
    constexpr std::int64_t kNanos = 1'000'000'000;
    const bool of_the_day = seconds < miax_tom_layout::kSecondsOfADay;
    if (of_the_day && day_.midnight_utc_ns() == 0) return;
    second_utc_ns_ = of_the_day ? day_.utc_ns(seconds * kNanos, receive_utc_ns) : seconds * kNanos;
    time_generation_ = sides_.generation();
}

}  // namespace millpond::feed
