#pragma once

#include <millpond/feed/quotes_decoder.hpp>

namespace millpond::feed {

template <EventHandler Handler>
DecodeResult QuotesDecoder::decode(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler) {
    namespace at = quotes_layout;
    counters_.datagrams.add();
    counters_.bytes.add(datagram.size());
    auto checked = check(datagram);
    if (has_other_depth(checked)) [[unlikely]]
        checked = {.error = DecodeError{DecodeErrorKind::bad_depth, at::kDepthAt, checked.header.depth, depth_}};
    if (checked.error) {
        counters_.add_malformed(datagram.size() - checked.end);
        if (checked.end == 0) return {.error = checked.error};
    }
    const auto& header = checked.header;
    if (!wire_channel_) wire_channel_ = header.channel;
    if (header.channel != *wire_channel_) {
        counters_.messages.add(checked.entries);
        counters_.ignored.add(checked.entries);
        other_channels_.add();
        return {.messages = checked.entries, .error = checked.error};
    }
    if (sessions_.is_current(header.session, arrival.receive_utc_ns)) [[likely]] {
        apply(datagram, checked, arrival, handler);
        return {.messages = checked.entries, .error = checked.error};
    }
    const Sessions::Datagram other{
        .numbers = {.session = header.session, .first = header.sequence, .count = checked.entries},
        .bytes = datagram,
        .arrival = arrival};
    return {.messages = apply_other(other, checked, handler), .error = checked.error};
}

template <class Handler>
void QuotesDecoder::apply(std::span<const std::byte> datagram, const Checked& checked, const Arrival& arrival,
                          Handler& handler) {
    const auto& header = checked.header;
    counters_.messages.add(checked.entries);
    const auto old = follow(header, checked.entries, arrival, handler);
    if (header.count == 0) counters_.add_heartbeat(header.sequence, tracker_.next());
    counters_.stale.add(old);
    const auto* bytes = datagram.data() + quotes_layout::kHeaderBytes;
    for (std::uint64_t i = 0; i < checked.entries; ++i) {
        if (i >= old) apply_entry({bytes, header.sequence + i, arrival}, handler);
        bytes += entry_bytes(bytes);
    }
}

template <class Handler>
std::uint32_t QuotesDecoder::apply_other(const Sessions::Datagram& datagram, const Checked& checked, Handler& handler) {
    // Invalid datagrams must not look like a new session.
    switch (checked.error ? Sessions::Verdict::ignored : sessions_.observe(datagram)) {
        case Sessions::Verdict::joined:
            if (checked.header.sequence != 1) {
                joined_at_.set(checked.header.sequence);
                ++losses_;
            }
            apply(datagram.bytes, checked, datagram.arrival, handler);
            return checked.entries;
        case Sessions::Verdict::changed: break;
        case Sessions::Verdict::ignored:
            counters_.messages.add(checked.entries);
            counters_.stale.add(checked.entries);
            return checked.entries;
        case Sessions::Verdict::held:
        case Sessions::Verdict::copy:
        case Sessions::Verdict::foreign: return 0;  // counted when the session is confirmed
    }
    begin_session({checked.header.session, checked.header.channel}, 1, sessions_.first_arrival(datagram), handler);
    std::uint32_t entries = 0;
    sessions_.apply_confirmed(datagram, [&](const Sessions::Datagram& confirmed) {
        const auto whole = check(confirmed.bytes);
        apply(confirmed.bytes, whole, confirmed.arrival, handler);
        entries += whole.entries;
    });
    return entries;
}

/// Counts valid entries before a sequence number is used, so that the rest counts as missing.
inline auto QuotesDecoder::check(std::span<const std::byte> datagram) noexcept -> Checked {
    Checked checked;
    checked.error = check_header(datagram, checked.header);
    if (checked.error) return checked;
    checked.end = quotes_layout::kHeaderBytes;
    for (; checked.entries < checked.header.count; ++checked.entries) {
        checked.error = check_entry(datagram, checked.end);
        if (checked.error) return checked;
        checked.end += entry_bytes(datagram.data() + checked.end);
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
    if (header.count > at::kMaxEntries) return DecodeError{bad_count, at::kCountAt, header.count, at::kMaxEntries};
    header.depth = static_cast<std::uint8_t>(bytes[at::kDepthAt]);
    if (header.depth > at::kMaxDepth) return DecodeError{bad_depth, at::kDepthAt, header.depth, at::kMaxDepth};
    header.channel = core::load_le<std::uint16_t>(bytes + at::kChannelAt);
    header.session = core::load_le<std::uint64_t>(bytes + at::kSessionAt);
    header.sequence = core::load_le<std::uint64_t>(bytes + at::kSequenceAt);
    header.generation = core::load_le<std::uint32_t>(bytes + at::kGenerationAt);
    if (header.sequence == 0 || header.sequence > at::kMaxSequence) {
        return DecodeError{bad_sequence, at::kSequenceAt, header.sequence, at::kMaxSequence};
    }
    return std::nullopt;
}

inline std::optional<DecodeError> QuotesDecoder::check_entry(std::span<const std::byte> datagram,
                                                             std::size_t at) noexcept {
    using enum DecodeErrorKind;
    const auto left = datagram.size() - at;
    if (left <= quotes_layout::kNamesAt) return DecodeError{truncated, at, left, quotes_layout::kNamesAt + 1};
    const auto symbol = static_cast<std::size_t>(datagram[at + quotes_layout::kSymbolLengthAt]);
    const auto venue = static_cast<std::size_t>(datagram[at + quotes_layout::kVenueLengthAt]);
    if (symbol == 0 || symbol > Symbol::capacity()) return DecodeError{bad_length, at, symbol, Symbol::capacity()};
    if (venue > Venue::capacity()) return DecodeError{bad_length, at + 1, venue, Venue::capacity()};
    const auto bytes = entry_bytes(datagram.data() + at);
    if (left < bytes) return DecodeError{truncated, at, left, bytes};
    return std::nullopt;
}

template <class Handler>
std::uint64_t QuotesDecoder::follow(const Header& header, std::uint64_t whole, const Arrival& arrival,
                                    Handler& handler) {
    const auto step = tracker_.observe(header.sequence, whole);
    if (step.restarted) {
        clear(ClearReason::new_session, arrival, handler);
        restarted_at(header.sequence);
    }
    if (step.gap()) lose(make_gap(arrival, step.gap_first, step.gap_last), handler);
    if (!generation_) {
        generation_ = header.generation;
    } else if (header.generation > *generation_) {
        generation_ = header.generation;
        joined_at_.set(0);
        clear(ClearReason::sender_request, arrival, handler);
    }
    return step.old;
}

template <class Handler>
void QuotesDecoder::clear(ClearReason reason, const Arrival& arrival, Handler& handler) {
    ++losses_;
    auto clear = make_clear(arrival, reason);
    if (sends_levels<Handler>()) clear.flags = kIncomplete;
    emit(counters_, handler, clear);
}

template <class Handler>
void QuotesDecoder::apply_entry(const Entry& entry, Handler& handler) {
    namespace at = quotes_layout;
    const auto* const bytes = entry.bytes;
    const auto venue_bytes = static_cast<std::size_t>(bytes[at::kVenueLengthAt]);
    const auto symbol_bytes = static_cast<std::size_t>(bytes[at::kSymbolLengthAt]);
    Venue venue;
    Symbol symbol;
    // read_name needs eight readable bytes; more than that precede the names.
    if (!read_name(bytes + at::kNamesAt, venue_bytes, venue) ||
        !read_name(bytes + at::kNamesAt + venue_bytes, symbol_bytes, symbol)) {
        return reject(entry.sequence, entry.arrival, handler);
    }
    const auto decimals = static_cast<unsigned>(bytes[at::kDecimalsAt]);
    const bool more = is_more_than_quote(bytes);
    if (decimals > kPriceDecimals || !has_price(bytes + at::kBidPriceAt, bytes + at::kBidSizeAt) ||
        !has_price(bytes + at::kAskPriceAt, bytes + at::kAskSizeAt) || (more && !has_valid_levels(bytes))) [[unlikely]]
        return reject(entry.sequence, entry.arrival, handler);
    const auto id = instruments_->find_or_add(venue, symbol, decimals);
    if (id == kNoInstrument) {
        counters_.refused.add();
        return;
    }
    if (more && !apply_levels(entry, id, handler)) return;
    counters_.applied.add();
    Quote quote;
    quote.instrument = id;
    quote.channel = entry.arrival.channel;
    quote.flags = core::load_le<std::uint16_t>(bytes + at::kFlagsAt) & kQuoteFlags;
    if (sends_levels<Handler>()) quote.flags |= kLast;
    quote.bid_size = core::load_le<std::uint64_t>(bytes + at::kBidSizeAt);
    quote.ask_size = core::load_le<std::uint64_t>(bytes + at::kAskSizeAt);
    quote.bid_price = quote.bid_size != 0 ? core::load_le<Price>(bytes + at::kBidPriceAt) : 0;
    quote.ask_price = quote.ask_size != 0 ? core::load_le<Price>(bytes + at::kAskPriceAt) : 0;
    quote.exchange_utc_ns = core::load_le<std::int64_t>(bytes + at::kExchangeTimeAt);
    quote.receive_utc_ns = entry.arrival.receive_utc_ns;
    quote.receive_ticks = entry.arrival.receive_ticks;
    quote.feed_sequence = entry.sequence;
    emit(counters_, handler, quote);
}

template <class Handler>
bool QuotesDecoder::apply_levels(const Entry& entry, InstrumentId id, Handler& handler) {
    namespace at = quotes_layout;
    const auto flags = core::load_le<std::uint16_t>(entry.bytes + at::kFlagsAt);
    const bool has_quote = (flags & at::kNoQuote) == 0;
    if ((flags & at::kCycle) != 0 && std::exchange(cycle_losses_, losses_) == losses_) joined_at_.set(0);
    const bool sends = sends_levels<Handler>() && has_levels(entry.bytes);
    const bool is_known = (flags & at::kRepeated) != 0 && std::exchange(repeated_in_[id], losses_) == losses_;
    if (is_known || (!has_quote && !sends)) {
        counters_.ignored.add();
        return false;
    }
    if (sends) emit_levels(entry, id, handler);
    if (!has_quote) counters_.applied.add();
    return has_quote;
}

inline bool QuotesDecoder::has_valid_levels(const std::byte* entry) noexcept {
    namespace at = quotes_layout;
    const auto flags = core::load_le<std::uint16_t>(entry + at::kFlagsAt);
    const bool all = (flags & at::kAllLevels) != 0;
    if ((flags & at::kNoQuote) != 0 && !has_levels(entry)) return false;
    if ((flags & at::kRepeated) != 0 && levels_of(entry) != 0 && !all) return false;  // it ends what was lost before
    const auto most = all ? std::size_t{at::kMaxDepth} : at::kMaxLevels;
    if (static_cast<std::size_t>(entry[at::kBidLevelsAt]) > most) return false;
    if (static_cast<std::size_t>(entry[at::kAskLevelsAt]) > most) return false;
    const auto* level = entry + levels_at(entry);
    for (auto left = levels_of(entry); left != 0; --left, level += at::kLevelBytes) {
        if (!is_price(core::load_le<Price>(level + at::kLevelPriceAt))) return false;
        const auto orders = core::load_le<std::uint32_t>(level + at::kLevelOrdersAt);
        if (core::load_le<std::uint64_t>(level + at::kLevelSizeAt) == 0 && (all || orders != 0)) return false;
    }
    return true;
}

template <class Handler>
void QuotesDecoder::emit_levels(const Entry& entry, InstrumentId id, Handler& handler) {
    namespace at = quotes_layout;
    if constexpr (HandlerOf<Handler, Level>) {
        const auto flags = core::load_le<std::uint16_t>(entry.bytes + at::kFlagsAt);
        const bool all = (flags & at::kAllLevels) != 0;
        const auto bids = static_cast<std::size_t>(entry.bytes[at::kBidLevelsAt]);
        const auto count = levels_of(entry.bytes);
        // Behind the levels comes the quote, if there is one.
        const auto last = (flags & at::kNoQuote) != 0 ? count : count + 1;
        Level level;
        level.instrument = id;
        level.channel = entry.arrival.channel;
        level.exchange_utc_ns = core::load_le<std::int64_t>(entry.bytes + at::kExchangeTimeAt);
        level.receive_utc_ns = entry.arrival.receive_utc_ns;
        level.receive_ticks = entry.arrival.receive_ticks;
        level.feed_sequence = entry.sequence;
        const std::uint16_t common = static_cast<std::uint16_t>(
            ((flags & at::kLevelsIncomplete) != 0 ? kIncomplete : 0) | (all ? kSnapshot : 0));
        const auto emit_next = [&](std::size_t number) {
            level.flags = number == last ? common | kLast : common;
            emit(counters_, handler, level);
        };
        if (all) emit_next(0);
        const auto* bytes = entry.bytes + levels_at(entry.bytes);
        for (std::size_t i = 0; i < count; ++i, bytes += at::kLevelBytes) {
            level.side = i < bids ? Side::bid : Side::ask;
            level.price = core::load_le<Price>(bytes + at::kLevelPriceAt);
            level.size = core::load_le<std::uint64_t>(bytes + at::kLevelSizeAt);
            level.orders = core::load_le<std::uint32_t>(bytes + at::kLevelOrdersAt);
            emit_next(i + 1);
        }
    }
}

}  // namespace millpond::feed
