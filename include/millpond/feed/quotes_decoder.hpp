#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/name_text.hpp>
#include <millpond/feed/quotes_layout.hpp>
#include <millpond/feed/sequence_tracker.hpp>
#include <millpond/feed/session_follower.hpp>

namespace millpond::feed {

/// Reads `quotes` datagrams (quotes_layout.hpp) of one channel and makes a Quote of each quote in them.
///
/// A new session, a new generation and a sender that began again make a Clear first, jumped-over numbers and a quote
/// whose names cannot be read a Gap. Late
/// and duplicated quotes are counted and not applied, nor is a datagram of another channel or of an earlier session;
/// when many datagrams of one earlier session have come in a row, that session is believed (SessionFollower).
///
/// Threads: one; counters() and sequence() may be read on any.
class QuotesDecoder {
public:
    struct Options {
        std::optional<std::uint16_t> wire_channel{};  ///< Without one, that of the first datagram.
    };

    struct Session {
        std::uint64_t number{0};
        std::uint16_t channel{0};
        friend bool operator==(const Session&, const Session&) = default;
    };

    QuotesDecoder(InstrumentTable& instruments, const Options& options) noexcept
        : instruments_(&instruments), wire_channel_(options.wire_channel) {}

    template <EventHandler Handler>
    DecodeResult decode(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler);

    /// The sender begins again at `first`, as a LineArbiter has found out: everything is forgotten.
    template <EventHandler Handler>
    void begin_again(std::uint64_t first, const Arrival& arrival, Handler& handler) {
        emit(counters_, handler, make_clear(arrival, ClearReason::new_session));
        tracker_.restart(first);
        generation_ = 0;
    }

    [[nodiscard]] const DecodeCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] const SequenceTracker& sequence() const noexcept { return tracker_; }
    /// Of the datagram that was applied last.
    [[nodiscard]] Session session() const noexcept { return {session_.session(), wire_channel_.value_or(0)}; }

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit_counters(Visitor&& visitor) const {
        counters_.visit(visitor);
        tracker_.counters().visit(visitor);
    }

private:
    struct Header {
        std::uint64_t session;
        std::uint64_t sequence;
        std::uint32_t generation;
        std::uint16_t channel;
        std::uint16_t count;
    };

    [[nodiscard]] static std::optional<DecodeError> check(std::span<const std::byte> datagram, Header& header) noexcept;
    [[nodiscard]] static std::optional<DecodeError> check_quote(std::span<const std::byte> datagram,
                                                                std::size_t at) noexcept;
    /// Follows session, generation and sequence numbers; how many of the first `whole` quotes must not be applied.
    template <class Handler>
    std::uint64_t follow(const Header& header, std::uint64_t whole, const Arrival& arrival, Handler& handler);
    template <class Handler>
    void apply(const std::byte* bytes, std::uint64_t sequence, const Arrival& arrival, Handler& handler);

    InstrumentTable* instruments_;
    std::optional<std::uint16_t> wire_channel_;
    SessionFollower<std::uint64_t> session_;
    std::uint32_t generation_{0};
    SequenceTracker tracker_;
    DecodeCounters counters_;
};

template <EventHandler Handler>
DecodeResult QuotesDecoder::decode(std::span<const std::byte> datagram, const Arrival& arrival, Handler& handler) {
    namespace at = quotes_layout;
    counters_.datagrams.add();
    counters_.bytes.add(datagram.size());
    Header header{};
    DecodeResult result{.error = check(datagram, header)};
    if (result.error) {
        counters_.add_malformed(datagram.size());
        return result;
    }
    // Which quotes are whole is known before a sequence number is taken, so that the rest counts as missing.
    auto end = at::kHeaderBytes;
    for (; result.messages < header.count; ++result.messages) {
        result.error = check_quote(datagram, end);
        if (result.error) break;
        end += at::kNamesAt + static_cast<std::size_t>(datagram[end + at::kSymbolLengthAt]) +
               static_cast<std::size_t>(datagram[end + at::kVenueLengthAt]);
    }
    if (!result.error && end != datagram.size()) {
        result.error = DecodeError{DecodeErrorKind::oversized, end, datagram.size(), end};
    }
    if (result.error) {
        counters_.add_malformed(datagram.size() - end);
    }
    counters_.messages.add(result.messages);
    if (!wire_channel_) wire_channel_ = header.channel;
    if (header.channel != *wire_channel_) {
        counters_.ignored.add(result.messages);
        return result;
    }
    if (header.count == 0) counters_.heartbeats.add();
    const auto old = follow(header, result.messages, arrival, handler);
    counters_.stale.add(old);
    const auto* bytes = datagram.data() + at::kHeaderBytes;
    for (std::uint64_t i = 0; i < result.messages; ++i) {
        if (i >= old) apply(bytes, header.sequence + i, arrival, handler);
        bytes += at::kNamesAt + static_cast<std::size_t>(bytes[at::kSymbolLengthAt]) +
                 static_cast<std::size_t>(bytes[at::kVenueLengthAt]);
    }
    return result;
}

inline std::optional<DecodeError> QuotesDecoder::check(std::span<const std::byte> datagram, Header& header) noexcept {
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
    using Verdict = SessionFollower<std::uint64_t>::Verdict;
    const auto verdict = session_.observe(header.session, header.session < session_.session());
    if (verdict == Verdict::past) return whole;
    if (verdict == Verdict::changed) {
        emit(counters_, handler, make_clear(arrival, ClearReason::new_session));
        tracker_.start(1);
    }
    if (verdict != Verdict::current) generation_ = header.generation;
    const auto step = tracker_.observe(header.sequence, whole);
    if (step.restarted) {
        emit(counters_, handler, make_clear(arrival, ClearReason::new_session));
        generation_ = header.generation;
    }
    if (step.gap()) emit(counters_, handler, make_gap(arrival, step.gap_first, step.gap_last));
    if (header.generation > generation_) {
        generation_ = header.generation;
        emit(counters_, handler, make_clear(arrival, ClearReason::sender_request));
    }
    return step.old;
}

template <class Handler>
void QuotesDecoder::apply(const std::byte* bytes, std::uint64_t sequence, const Arrival& arrival, Handler& handler) {
    namespace at = quotes_layout;
    const auto venue_bytes = static_cast<std::size_t>(bytes[at::kVenueLengthAt]);
    const auto symbol_bytes = static_cast<std::size_t>(bytes[at::kSymbolLengthAt]);
    Venue venue;
    Symbol symbol;
    // In front of the names stand more than the eight bytes that read_name asks for.
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
