#pragma once

#include <cstdint>
#include <limits>

#include <millpond/core/fixed_string.hpp>

/// The events that decoders make, the ring carries and sinks read. Each is at most 112 bytes, trivially copyable and
/// without padding that is left unset, so that it can travel as 64-bit words through shared memory.
///
/// Prices: signed integers in 1/10000 of the currency's unit. Sizes: shares or contracts.
/// Times:  nanoseconds since 1970-01-01 UTC; 0 where the format carries none. Ticks: core::ticks().
namespace millpond::feed {

using Price = std::int64_t;
inline constexpr Price kPriceScale = 10'000;

/// Index of an instrument: its place in the InstrumentTable and its slot on the QuoteBoard.
using InstrumentId = std::uint32_t;
/// Stands for "every instrument of the channel" in Status and Clear, and for "not in the table" in look-ups.
inline constexpr InstrumentId kNoInstrument = std::numeric_limits<InstrumentId>::max();

using Venue = core::FixedString<8>;
using Symbol = core::FixedString<32>;

enum class EventKind : std::uint32_t { quote = 1, trade = 2, status = 3, gap = 4, clear = 5, trade_break = 6 };

/// Where and when a datagram came in; decoders copy it into every event they make of it.
struct Arrival {
    std::int64_t receive_utc_ns{0};  ///< Kernel's or NIC's receive time.
    std::uint64_t receive_ticks{0};  ///< core::ticks() right after the receive call; 0: no datagram caused the event.
    std::uint16_t channel{0};        ///< The feed's number in the gateway's configuration.
};

/// Bits of Quote::flags and Trade::flags.
enum QuoteFlag : std::uint16_t {
    kIncomplete = 1U << 0,  ///< Made from a book that started late or has a gap: a better price may exist.
    kHalted = 1U << 1,      ///< The instrument does not trade at the moment.
    kNotFirm = 1U << 2,     ///< The venue does not guarantee a trade at these prices.
};
inline constexpr std::uint16_t kQuoteFlags = kIncomplete | kHalted | kNotFirm;

/// Best bid and offer of one instrument. A side whose size is 0 has no quote; its price is then 0.
struct Quote {
    static constexpr EventKind kKind = EventKind::quote;

    InstrumentId instrument{kNoInstrument};
    std::uint16_t channel{0};
    std::uint16_t flags{0};
    Price bid_price{0};
    Price ask_price{0};
    std::uint64_t bid_size{0};
    std::uint64_t ask_size{0};
    std::int64_t exchange_utc_ns{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
    std::uint64_t feed_sequence{0};  ///< Sequence number on the wire, 0 where the format has none.
};

/// An execution that the venue reported.
struct Trade {
    static constexpr EventKind kKind = EventKind::trade;

    InstrumentId instrument{kNoInstrument};
    std::uint16_t channel{0};
    std::uint16_t flags{0};
    Price price{0};
    std::uint64_t size{0};
    std::uint64_t trade_id{0};  ///< The venue's match number, or 0.
    std::int64_t exchange_utc_ns{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
    std::uint64_t feed_sequence{0};
};

/// The venue reports that an execution is void: the Trade with this id has not happened. The trade itself is not
/// repeated.
struct TradeBreak {
    static constexpr EventKind kKind = EventKind::trade_break;

    InstrumentId instrument{kNoInstrument};
    std::uint16_t channel{0};
    std::uint16_t reserved{0};
    std::uint64_t trade_id{0};  ///< As in the Trade.
    std::int64_t exchange_utc_ns{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
    std::uint64_t feed_sequence{0};
};

enum class TradingState : std::uint32_t {
    unknown = 0,  ///< Of a new session, until the venue reports a state.
    trading = 1,
    halted = 2,
    paused = 3,
    quotation_only = 4,
    operational_halt = 5,  ///< Halted on this market only.
    start_of_messages = 10,
    start_of_system_hours = 11,
    start_of_market_hours = 12,
    end_of_market_hours = 13,
    end_of_system_hours = 14,
    end_of_messages = 15,
    circuit_breaker = 20,  ///< Of a channel: a market-wide circuit breaker was triggered; the reason is its level.
};

/// A change of the trading state of an instrument, or of the whole channel (instrument is kNoInstrument).
struct Status {
    static constexpr EventKind kKind = EventKind::status;

    InstrumentId instrument{kNoInstrument};
    std::uint16_t channel{0};
    std::uint16_t reserved{0};
    TradingState state{TradingState::trading};
    core::FixedString<4> reason{};  ///< The venue's code, unchanged.
    std::int64_t exchange_utc_ns{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
    std::uint64_t feed_sequence{0};
};

enum class GapReason : std::uint16_t {
    sequence = 0,  ///< Sequence numbers were jumped over.
    rejected = 1,  ///< The message was there, but could not be decoded.
    dropped = 2,   ///< The kernel dropped datagrams of a feed that has no sequence numbers.
    silence = 3,   ///< Nothing arrived for longer than the feed may be silent.
};

/// Something of the channel was lost: its quotes are incomplete until newer ones replace them.
struct Gap {
    static constexpr EventKind kKind = EventKind::gap;

    std::uint16_t channel{0};
    GapReason reason{GapReason::sequence};
    std::uint16_t reserved[2]{};
    std::uint64_t first{0};  ///< Sequence numbers first..last on the wire; 0 where none are known.
    std::uint64_t last{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
};

enum class ClearReason : std::uint32_t { new_session = 1, end_of_session = 2, sender_request = 3 };

/// Every instrument of the channel (or the one named) has no quote any more.
struct Clear {
    static constexpr EventKind kKind = EventKind::clear;

    InstrumentId instrument{kNoInstrument};
    std::uint16_t channel{0};
    std::uint16_t reserved{0};
    ClearReason reason{ClearReason::new_session};
    std::uint32_t reserved2{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
};

/// What a decoder hands its events to: one overload of `on` an event, called on the decoder's thread.
template <class Handler>
concept EventHandler = requires(Handler& handler, const Quote& quote, const Trade& trade, const TradeBreak& broken,
                                const Status& status, const Gap& gap, const Clear& clear) {
    handler.on(quote);
    handler.on(trade);
    handler.on(broken);
    handler.on(status);
    handler.on(gap);
    handler.on(clear);
};

}  // namespace millpond::feed
