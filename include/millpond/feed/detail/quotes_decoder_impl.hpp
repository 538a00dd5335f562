#pragma once

#include <millpond/feed/quotes_decoder.hpp>

namespace millpond::feed {

template <EventHandler Handler>
DecodeResult QuotesDecoder::decode(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler) {
    namespace at = quotes_layout;
    counters_.datagrams.add();
    counters_.bytes.add(datagram.size());
    const auto checked = check(datagram);
    if (checked.error) {
        counters_.add_malformed(datagram.size() - checked.end);
        if (checked.end == 0) return {.error = checked.error};
    }
    const auto& header = checked.header;
    if (!wire_channel_) wire_channel_ = header.channel;
    if (header.channel != *wire_channel_) {
        counters_.messages.add(checked.quotes);
        counters_.ignored.add(checked.quotes);
        other_channels_.add();
        return {.messages = checked.quotes, .error = checked.error};
    }
    if (sessions_.is_current(header.session, arrival.receive_utc_ns)) [[likely]] {
        apply(datagram, checked, arrival, handler);
        return {.messages = checked.quotes, .error = checked.error};
    }
    const Sessions::Datagram other{
        .numbers = {.session = header.session, .first = header.sequence, .count = checked.quotes},
        .bytes = datagram,
        .arrival = arrival};
    return {.messages = apply_other(other, checked, handler), .error = checked.error};
}

template <class Handler>
void QuotesDecoder::apply(std::span<const std::byte> datagram, const Checked& checked, const Arrival& arrival,
                          Handler& handler) {
    const auto& header = checked.header;
    counters_.messages.add(checked.quotes);
    const auto old = follow(header, checked.quotes, arrival, handler);
    if (header.count == 0) counters_.add_heartbeat(header.sequence, tracker_.next());
    counters_.stale.add(old);
    const auto* bytes = datagram.data() + quotes_layout::kHeaderBytes;
    for (std::uint64_t i = 0; i < checked.quotes; ++i) {
        if (i >= old) apply_quote(bytes, header.sequence + i, arrival, handler);
        bytes += quote_bytes(bytes);
    }
}

template <class Handler>
std::uint32_t QuotesDecoder::apply_other(const Sessions::Datagram& datagram, const Checked& checked, Handler& handler) {
    // Invalid datagrams must not look like a new session.
    switch (checked.error ? Sessions::Verdict::ignored : sessions_.observe(datagram)) {
        case Sessions::Verdict::joined:
            apply(datagram.bytes, checked, datagram.arrival, handler);
            return checked.quotes;
        case Sessions::Verdict::changed: break;
        case Sessions::Verdict::ignored:
            counters_.messages.add(checked.quotes);
            counters_.stale.add(checked.quotes);
            return checked.quotes;
        case Sessions::Verdict::held:
        case Sessions::Verdict::copy: return 0;  // counted when the session is confirmed
    }
    begin_session({checked.header.session, checked.header.channel}, 1, datagram.arrival, handler);
    std::uint32_t quotes = 0;
    sessions_.apply_confirmed(datagram, [&](const Sessions::Datagram& confirmed) {
        const auto whole = check(confirmed.bytes);
        apply(confirmed.bytes, whole, confirmed.arrival, handler);
        quotes += whole.quotes;
    });
    return quotes;
}

/// Whole quotes are counted before a sequence number is used, so that the rest counts as missing.
inline auto QuotesDecoder::check(std::span<const std::byte> datagram) noexcept -> Checked {
    Checked checked;
    checked.error = check_header(datagram, checked.header);
    if (checked.error) return checked;
    checked.end = quotes_layout::kHeaderBytes;
    for (; checked.quotes < checked.header.count; ++checked.quotes) {
        checked.error = check_quote(datagram, checked.end);
        if (checked.error) return checked;
        checked.end += quote_bytes(datagram.data() + checked.end);
    }
    if (checked.end != datagram.size())
        checked.error = DecodeError{DecodeErrorKind::oversized, checked.end, datagram.size(), checked.end};
    return checked;
}

inline std::optional<DecodeError> QuotesDecoder::check_header(std::span<const std::byte> datagram,
                                                              Header& header) noexcept {
    namespace at = quotes_layout;
    using enum DecodeErrorKind;
    const auto size = datagram.size();
    const auto* const bytes = datagram.data();
    if (size < at::kHeaderBytes) return DecodeError{truncated, 0, size, at::kHeaderBytes};
    const auto magic = core::load_le<std::uint32_t>(bytes + at::kMagicAt);
    if (magic != at::kMagic) return DecodeError{bad_magic, at::kMagicAt, magic, at::kMagic};
    const auto version = static_cast<std::uint8_t>(bytes[at::kVersionAt]);
    if (version != at::kVersion) return DecodeError{bad_version, at::kVersionAt, version, at::kVersion};
    if (size > at::kMaxDatagramBytes) return DecodeError{oversized, 0, size, at::kMaxDatagramBytes};
    const auto length = core::load_le<std::uint16_t>(bytes + at::kLengthAt);
    if (size < length) return DecodeError{truncated, at::kLengthAt, size, length};
    if (size > length) return DecodeError{oversized, at::kLengthAt, size, length};
    header.count = core::load_le<std::uint16_t>(bytes + at::kCountAt);
    if (header.count > at::kMaxQuotes) return DecodeError{bad_count, at::kCountAt, header.count, at::kMaxQuotes};
    header.channel = core::load_le<std::uint16_t>(bytes + at::kChannelAt);
    header.session = core::load_le<std::uint64_t>(bytes + at::kSessionAt);
    header.sequence = core::load_le<std::uint64_t>(bytes + at::kSequenceAt);
    header.generation = core::load_le<std::uint32_t>(bytes + at::kGenerationAt);
    constexpr auto kLast = std::numeric_limits<std::uint64_t>::max() - at::kMaxQuotes - 1;
    if (header.sequence == 0 || header.sequence > kLast) {
        return DecodeError{bad_sequence, at::kSequenceAt, header.sequence, kLast};
    }
    return std::nullopt;
}

inline std::optional<DecodeError> QuotesDecoder::check_quote(std::span<const std::byte> datagram,
                                                             std::size_t at) noexcept {
    using enum DecodeErrorKind;
    const auto left = datagram.size() - at;
    if (left <= quotes_layout::kNamesAt) return DecodeError{truncated, at, left, quotes_layout::kNamesAt + 1};
    const auto symbol = static_cast<std::size_t>(datagram[at + quotes_layout::kSymbolLengthAt]);
    const auto venue = static_cast<std::size_t>(datagram[at + quotes_layout::kVenueLengthAt]);
    if (symbol == 0 || symbol > Symbol::capacity()) return DecodeError{bad_length, at, symbol, Symbol::capacity()};
    if (venue > Venue::capacity()) return DecodeError{bad_length, at + 1, venue, Venue::capacity()};
    const auto bytes = quotes_layout::kNamesAt + venue + symbol;
    if (left < bytes) return DecodeError{truncated, at, left, bytes};
    return std::nullopt;
}

template <class Handler>
std::uint64_t QuotesDecoder::follow(const Header& header, std::uint64_t whole, const Arrival& arrival,
                                    Handler& handler) {
    const auto step = tracker_.observe(header.sequence, whole);
    if (step.restarted) {
        emit(counters_, handler, make_clear(arrival, ClearReason::new_session));
        generation_.reset();
    }
    if (step.gap()) emit(counters_, handler, make_gap(arrival, step.gap_first, step.gap_last));
    if (!generation_) {
        generation_ = header.generation;
    } else if (header.generation > *generation_) {
        generation_ = header.generation;
        emit(counters_, handler, make_clear(arrival, ClearReason::sender_request));
    }
    return step.old;
}

template <class Handler>
void QuotesDecoder::apply_quote(const std::byte* bytes, std::uint64_t sequence, const Arrival& arrival,
                                Handler& handler) {
    namespace at = quotes_layout;
    const auto venue_bytes = static_cast<std::size_t>(bytes[at::kVenueLengthAt]);
    const auto symbol_bytes = static_cast<std::size_t>(bytes[at::kSymbolLengthAt]);
    Venue venue;
    Symbol symbol;
    // More than the eight bytes that read_name needs precede the names.
    if (!read_name(bytes + at::kNamesAt, venue_bytes, venue) ||
        !read_name(bytes + at::kNamesAt + venue_bytes, symbol_bytes, symbol)) {
        counters_.rejected.add();
        return emit(counters_, handler, make_gap(arrival, sequence, sequence, GapReason::rejected));
    }
    const auto id = instruments_->find_or_add(venue, symbol);
    if (id == kNoInstrument) {
        counters_.refused.add();
        return;
    }
    Quote quote;
    quote.instrument = id;
    quote.channel = arrival.channel;
    quote.flags = core::load_le<std::uint16_t>(bytes + at::kFlagsAt) & kQuoteFlags;
    quote.bid_size = core::load_le<std::uint64_t>(bytes + at::kBidSizeAt);
    quote.ask_size = core::load_le<std::uint64_t>(bytes + at::kAskSizeAt);
    quote.bid_price = quote.bid_size != 0 ? core::load_le<std::int64_t>(bytes + at::kBidPriceAt) : 0;
    quote.ask_price = quote.ask_size != 0 ? core::load_le<std::int64_t>(bytes + at::kAskPriceAt) : 0;
    quote.exchange_utc_ns = core::load_le<std::int64_t>(bytes + at::kExchangeTimeAt);
    quote.receive_utc_ns = arrival.receive_utc_ns;
    quote.receive_ticks = arrival.receive_ticks;
    quote.feed_sequence = sequence;
    counters_.applied.add();
    emit(counters_, handler, quote);
}

}  // namespace millpond::feed
