#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include <millpond/core/fixed_string.hpp>
#include <millpond/feed/price.hpp>

/// Events, which decoders make, the ring carries and sinks read. Each is at most 112 bytes, trivially copyable and
/// without unset padding, so that it can travel as 64-bit words through shared memory. kMeaning says what an event
/// reports, and EventSchema (event_schema.hpp) what its members hold.
///
/// Prices: signed integers in 1/kPriceScale of the currency's unit (price.hpp). Sizes: shares or contracts.
/// Times:  nanoseconds since 1970-01-01 UTC; 0 if the format carries none. Ticks: core::ticks().
namespace millpond::feed {

/// Index of an instrument in the InstrumentTable and of its slot on the QuoteBoard.
using InstrumentId = std::uint32_t;
/// Means "every instrument of the channel" in Status and Clear, and "not in the table" as a result of look-ups.
inline constexpr InstrumentId kNoInstrument = std::numeric_limits<InstrumentId>::max();

using Venue = core::FixedString<8>;
using Symbol = core::FixedString<32>;

enum class EventKind : std::uint32_t {
    quote = 1,
    trade = 2,
    status = 3,
    gap = 4,
    clear = 5,
    trade_break = 6,
    order = 7,
    level = 8,
    imbalance = 9,
    band = 10,
    instrument = 11,
    best_venues = 12,
};

/// Channel and time of a received datagram; decoders copy them into every event of the datagram.
struct Arrival {
    std::int64_t receive_utc_ns{0};  ///< Kernel's or NIC's receive time.
    std::uint64_t receive_ticks{0};  ///< core::ticks() right after the receive call; 0: no datagram caused the event.
    std::uint16_t channel{0};        ///< The feed's number in the gateway's configuration.
};

/// Bits of the events' flags.
enum EventFlag : std::uint16_t {
    kIncomplete = 1U << 0,    ///< The book started late or has a gap: a better price may exist.
    kHalted = 1U << 1,        ///< The instrument does not trade at the moment.
    kNotFirm = 1U << 2,       ///< The venue does not guarantee a trade at these prices.
    kHidden = 1U << 3,        ///< Trade: of an order that was not displayed.
    kCross = 1U << 4,         ///< Trade: of an auction.
    kSnapshot = 1U << 5,      ///< Order, level: part of a snapshot of the whole book.
    kNotPrintable = 1U << 6,  ///< Trade: the volume includes it as part of another trade.
    kLast = 1U << 7,          ///< Last event of its group, after which books are consistent. Not without depth.
    kPriorityLost = 1U << 8,  ///< Order: the change moved it behind all others at its price.
    kLocked = 1U << 9,        ///< Quote of a composite: the best bid is the best offer.
    kCrossed = 1U << 10,      ///< Quote of a composite: the best bid is above the best offer.
};
inline constexpr std::uint16_t kQuoteFlags = kIncomplete | kHalted | kNotFirm | kLocked | kCrossed;

struct Quote {
    static constexpr EventKind kKind = EventKind::quote;
    static constexpr std::string_view kMeaning =
        "Best bid and offer of an instrument. A side whose size is 0 has no quote; its price is then 0.";

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
    std::uint64_t feed_sequence{0};
};

struct Trade {
    static constexpr EventKind kKind = EventKind::trade;
    static constexpr std::string_view kMeaning = "An execution that the venue reported.";

    InstrumentId instrument{kNoInstrument};
    std::uint16_t channel{0};
    std::uint16_t flags{0};
    Price price{0};
    std::uint64_t size{0};
    std::uint64_t trade_id{0};
    std::int64_t exchange_utc_ns{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
    std::uint64_t feed_sequence{0};
};

struct TradeBreak {
    static constexpr EventKind kKind = EventKind::trade_break;
    static constexpr std::string_view kMeaning = "The trade with this number is void.";

    InstrumentId instrument{kNoInstrument};
    std::uint16_t channel{0};
    std::uint16_t reserved{0};
    std::uint64_t trade_id{0};
    std::int64_t exchange_utc_ns{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
    std::uint64_t feed_sequence{0};
};

enum class TradingState : std::uint32_t {
    unknown = 0,  ///< Initial state of a session, until the venue reports one.
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
    circuit_breaker =
        20,  ///< A market-wide circuit breaker was triggered; the reason is its level. Only for a channel.
};

struct Status {
    static constexpr EventKind kKind = EventKind::status;
    static constexpr std::string_view kMeaning =
        "A new trading state of an instrument; without an instrument, of the whole channel.";

    InstrumentId instrument{kNoInstrument};
    std::uint16_t channel{0};
    std::uint16_t reserved{0};
    TradingState state{TradingState::trading};
    core::FixedString<4> reason{};
    std::int64_t exchange_utc_ns{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
    std::uint64_t feed_sequence{0};
};

enum class GapReason : std::uint16_t {
    sequence = 0,  ///< Sequence numbers are missing.
    rejected = 1,  ///< The message could not be decoded.
    dropped = 2,   ///< The kernel dropped datagrams of a feed that has no sequence numbers.
    silence = 3,   ///< The feed was silent for longer than allowed.
    venue = 4,     ///< Of a composite: the quotes of one of its channels are incomplete or void.
};

struct Gap {
    static constexpr EventKind kKind = EventKind::gap;
    static constexpr std::string_view kMeaning =
        "Messages of the channel were lost: all its quotes are incomplete until newer ones arrive.";

    std::uint16_t channel{0};
    GapReason reason{GapReason::sequence};
    std::uint16_t reserved[2]{};
    std::uint64_t first{0};
    std::uint64_t last{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
};

enum class ClearReason : std::uint32_t { new_session = 1, end_of_session = 2, sender_request = 3 };

struct Clear {
    static constexpr EventKind kKind = EventKind::clear;
    static constexpr std::string_view kMeaning =
        "The quote of an instrument is void; without an instrument, those of the whole channel.";

    InstrumentId instrument{kNoInstrument};
    std::uint16_t channel{0};
    std::uint16_t flags{0};  ///< kIncomplete: the emptied books may lack orders.
    ClearReason reason{ClearReason::new_session};
    std::uint32_t reserved2{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
};

/// Depth of a feed that sends all levels.
inline constexpr std::uint32_t kFullDepth = std::numeric_limits<std::uint32_t>::max();

/// Side of an order or level.
enum class Side : std::uint16_t { none = 0, bid = 1, ask = 2 };

enum class OrderAction : std::uint16_t {
    add = 1,
    modify = 2,   ///< The order has a new size or price.
    cancel = 3,   ///< `size` was cancelled.
    execute = 4,  ///< `size` was executed; the trade with the same id follows in the group.
    remove = 5,   ///< The order is gone.
    clear = 6,    ///< All orders of the instrument are void; a snapshot of them follows, up to kLast.
};

struct Order {
    static constexpr EventKind kKind = EventKind::order;
    static constexpr std::string_view kMeaning =
        "A change of one order of the book. An order of which nothing is left is gone.";

    InstrumentId instrument{kNoInstrument};
    std::uint16_t channel{0};
    std::uint16_t flags{0};
    OrderAction action{OrderAction::add};
    Side side{Side::none};
    std::uint32_t reserved{0};
    std::uint64_t order_id{0};  ///< The venue's number of the order.
    Price price{0};             ///< Of the order, also where it was executed at another price.
    std::uint64_t size{0};      ///< Added, cancelled, executed or removed; of a modified order the same as `size_left`.
    std::uint64_t size_left{0};  ///< Of the order, after the change.
    std::uint64_t trade_id{0};   ///< Trade::trade_id of an execution, else 0.
    std::int64_t exchange_utc_ns{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
    std::uint64_t feed_sequence{0};
};

/// Levels behind the depth that a feed sends have no events: a book is trimmed at kLast.
struct Level {
    static constexpr EventKind kKind = EventKind::level;
    static constexpr std::string_view kMeaning =
        "The total of one price level of the book. Without a side: all levels are void, and a snapshot follows.";

    InstrumentId instrument{kNoInstrument};
    std::uint16_t channel{0};
    std::uint16_t flags{0};
    Side side{Side::none};  ///< none: all levels of the instrument are void; a snapshot of them follows, up to kLast.
    std::uint16_t reserved{0};
    std::uint32_t orders{0};  ///< Number of orders; 0 if unknown.
    Price price{0};
    std::uint64_t size{0};  ///< 0: the level is gone.
    std::int64_t exchange_utc_ns{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
    std::uint64_t feed_sequence{0};
};

enum class AuctionKind : std::uint16_t {
    opening = 1,
    closing = 2,
    resumption = 3,  ///< After a halt or pause, and the first one of a new issue.
    extended = 4,    ///< At the close of extended trading.
};

/// Says what an Imbalance knows of its auction.
enum class ImbalanceState : std::uint16_t {
    indicative = 1,    ///< Sizes and side are those of the auction if it took place now.
    insufficient = 2,  ///< Too few orders for an indication: sizes are no information.
    paused = 3,        ///< The venue gives no indication at the moment.
};

struct Imbalance {
    static constexpr EventKind kKind = EventKind::imbalance;
    static constexpr std::string_view kMeaning = "What an auction would trade now, and what it would leave over.";

    InstrumentId instrument{kNoInstrument};
    std::uint16_t channel{0};
    Side side{Side::none};  ///< Of the orders that would be left over.
    AuctionKind auction{AuctionKind::opening};
    ImbalanceState state{ImbalanceState::indicative};
    std::uint32_t reserved{0};
    std::uint64_t paired_size{0};
    std::uint64_t imbalance_size{0};
    Price reference_price{kNoPrice};  ///< Price at which the sizes were calculated.
    Price near_price{kNoPrice};       ///< Auction price with the orders of continuous trading.
    Price far_price{kNoPrice};        ///< Auction price of the orders for the auction alone.
    std::int64_t exchange_utc_ns{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
    std::uint64_t feed_sequence{0};
};

enum class BandKind : std::uint16_t {
    collar = 1,      ///< Range of the prices of an auction.
    short_sale = 2,  ///< Short sales are restricted or not; without prices.
};

enum class ShortSale : std::uint16_t {
    allowed = 0,
    restricted_now = 1,      ///< From now on, because of a fall of the price on this day.
    restricted_earlier = 2,  ///< Because of an earlier day.
};

struct Band {
    static constexpr EventKind kKind = EventKind::band;
    static constexpr std::string_view kMeaning = "Prices or orders that the venue accepts from now on.";

    InstrumentId instrument{kNoInstrument};
    std::uint16_t channel{0};
    BandKind band{BandKind::collar};
    ShortSale short_sale{ShortSale::allowed};
    std::uint16_t reserved{0};
    std::uint32_t extension{0};  ///< How many times the collar was extended.
    Price lower_price{kNoPrice};
    Price upper_price{kNoPrice};
    Price reference_price{kNoPrice};
    std::int64_t exchange_utc_ns{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
    std::uint64_t feed_sequence{0};
};

enum class InstrumentClass : std::uint16_t {
    unknown = 0,
    stock = 1,
    fund = 2,  ///< Exchange-traded.
    bond = 3,
    right = 4,
    warrant = 5,
    unit = 6,  ///< Of several instruments.
};

struct Definition {
    static constexpr EventKind kKind = EventKind::instrument;
    static constexpr std::string_view kMeaning = "What the venue's directory says of an instrument.";

    InstrumentId instrument{kNoInstrument};
    std::uint16_t channel{0};
    InstrumentClass instrument_class{InstrumentClass::unknown};
    std::uint16_t decimals{kDefaultDecimals};  ///< Of its prices.
    std::uint16_t reserved{0};
    core::FixedString<4> currency{};  ///< ISO 4217; empty: unknown.
    Price tick{kNoPrice};             ///< Smallest difference of prices.
    std::uint64_t lot{0};             ///< Shares or contracts of a round lot; 0: unknown.
    std::int64_t exchange_utc_ns{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
    std::uint64_t feed_sequence{0};
};

/// Channels from this number on cannot take part in a composite: BestVenues has 64 bits for each set of channels.
inline constexpr std::uint16_t kMaxCompositeChannels = 64;

/// Bit c stands for channel c. Published before the quote that it describes, if it differs from the one before. A
/// channel is in at most one of the last four sets, and then not in the first two.
struct BestVenues {
    static constexpr EventKind kKind = EventKind::best_venues;
    static constexpr std::string_view kMeaning =
        "Of a composite: the channels whose quotes make the best bid and offer, and those that are left out.";

    InstrumentId instrument{kNoInstrument};
    std::uint16_t channel{0};
    std::uint16_t reserved{0};
    std::uint64_t bid_channels{0};
    std::uint64_t ask_channels{0};
    std::uint64_t incomplete_channels{0};  ///< Left out: the quote is incomplete, or not known yet.
    std::uint64_t silent_channels{0};      ///< Left out: the feed has been silent for too long.
    std::uint64_t halted_channels{0};      ///< Left out: the instrument is halted there.
    std::uint64_t not_firm_channels{0};    ///< Left out: the quote is not firm.
    std::int64_t exchange_utc_ns{0};
    std::int64_t receive_utc_ns{0};
    std::uint64_t receive_ticks{0};
    std::uint64_t feed_sequence{0};

    /// Channels that are left out.
    [[nodiscard]] constexpr std::uint64_t left_out() const noexcept {
        return incomplete_channels | silent_channels | halted_channels | not_firm_channels;
    }
};

template <class Handler, class Event>
concept HandlerOf = requires(Handler& handler, const Event& event) { handler.on(event); };

template <class... Event>
struct EventList {
    /// Calls `visit.template operator()<Event>()` for each event type.
    template <class Visitor>
    static constexpr void for_each(Visitor&& visit) {
        (visit.template operator()<Event>(), ...);
    }
    /// Calls `visit.template operator()<Event>()` for the event type of that kind. Returns false if there is none.
    template <class Visitor>
    static constexpr bool visit(EventKind kind, Visitor&& visit) {
        return ((Event::kKind == kind && (visit.template operator()<Event>(), true)) || ...);
    }
    template <class Handler>
    static constexpr bool kHandled = (HandlerOf<Handler, Event> && ...);
};

/// All event types.
using Events =
    EventList<Quote, Trade, TradeBreak, Status, Gap, Clear, Order, Level, Imbalance, Band, Definition, BestVenues>;

/// Receives events on the decoder's thread; has an `on` function for each event type. The types from Order on are
/// optional: a handler without a function for them does not receive them.
template <class Handler>
concept EventHandler = EventList<Quote, Trade, TradeBreak, Status, Gap, Clear>::kHandled<Handler>;

}  // namespace millpond::feed
