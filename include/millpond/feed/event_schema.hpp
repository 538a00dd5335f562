#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <millpond/feed/event.hpp>

/// Describes each event by one table of fields. JSON (event_json.hpp), the tables of the Python package, the types and
/// layouts of the Node.js package and the tables of docs/reference/layouts.md are made from it. To add an event, add a
/// struct to event.hpp and to Events there, and an EventSchema here; then regenerate the files
/// (tests/feed/event_files_test.cpp says how).
namespace millpond::feed {

/// Meaning of a field's number, which determines how outputs write it.
enum class Unit : std::uint8_t {
    none,           ///< Index of an instrument; text outputs have the symbol instead, and null for kNoInstrument.
    instrument,     ///< Index of an instrument; texts have the symbol instead, and null for kNoInstrument.
    receive_time,   ///< UTC nanoseconds; 0 is unknown.
    exchange_time,  ///< UTC nanoseconds; 0 is unknown.
    ticks,          ///< core::ticks().
    price,          ///< In 1/kPriceScale of the currency's unit; kNoPrice is none.
    size,           ///< Shares or contracts.
    id,             ///< A venue's number with 64 significant bits.
    flags,          ///< Bits of EventFlag.
};

/// A field of an event.
/// Member:   pointer to the member.
/// Quantity: for a price, pointer to the size; without a size there is no price. Otherwise nullptr.
template <auto Member, auto Quantity = nullptr>
struct Field {
    std::string_view name;  ///< Name in C++; camelCase in Node.js.
    std::string_view meaning;
    Unit unit{Unit::none};
    std::string_view json{};    ///< Key in JSON; empty: not in JSON.
    std::string_view column{};  ///< Column in Python; empty: none.

    template <class Event>
    [[nodiscard]] static constexpr decltype(auto) of(const Event& event) noexcept {
        return (event.*Member);
    }
    template <class Event>
    [[nodiscard]] static constexpr bool exists_in(const Event& event) noexcept {
        if constexpr (std::same_as<std::remove_cv_t<decltype(Quantity)>, std::nullptr_t>) {
            return true;
        } else {
            return event.*Quantity != 0;
        }
    }
};

template <class Event>
inline constexpr Field<&Event::instrument> kInstrumentField{"instrument", "index of the instrument", Unit::instrument,
                                                            "symbol", "instrument_id"};
template <class Event>
inline constexpr Field<&Event::channel> kChannelField{"channel", "of the feed", Unit::none, "channel", "channel"};
/// A channel that JSON omits, because the symbol identifies it.
template <class Event>
inline constexpr Field<&Event::channel> kImpliedChannelField{"channel", "of the feed", Unit::none, {}, "channel"};
inline constexpr std::string_view kFlagsMeaning =
    "1 incomplete, 2 halted, 4 not firm, 8 hidden, 16 cross, 32 snapshot, 64 not printable, 128 last of its group, "
    "256 priority lost, 512 locked, 1024 crossed";
template <class Event>
inline constexpr Field<&Event::flags> kFlagsField{"flags", kFlagsMeaning, Unit::flags, {}, "flags"};
/// Flags that are in JSON, unless all are 0.
template <class Event>
inline constexpr Field<&Event::flags, &Event::flags> kNamedFlagsField{"flags", kFlagsMeaning, Unit::flags, "flags",
                                                                      "flags"};
template <class Event>
inline constexpr Field<&Event::side> kSideField{"side", "0 none, 1 bid, 2 ask", Unit::none, "side", "side"};
template <class Event>
inline constexpr Field<&Event::receive_utc_ns> kReceiveTimeField{"receive_utc_ns", "UTC nanoseconds",
                                                                 Unit::receive_time, "timestamp", "ts_recv"};
template <class Event>
inline constexpr Field<&Event::exchange_utc_ns> kExchangeTimeField{
    "exchange_utc_ns", "UTC nanoseconds, 0 if unknown", Unit::exchange_time, "exchange_timestamp", "ts_event"};
template <class Event>
inline constexpr Field<&Event::receive_ticks> kReceiveTicksField{"receive_ticks", "core::ticks(), 0 without a datagram",
                                                                 Unit::ticks};
template <class Event>
inline constexpr Field<&Event::feed_sequence> kFeedSequenceField{
    "feed_sequence", "number on the wire, 0 if it has none", Unit::none, {}, "sequence"};
template <class Event>
inline constexpr Field<&Event::trade_id> kTradeIdField{"trade_id", "the venue's number of the trade, or 0", Unit::id,
                                                       "trade_id", "trade_id"};

/// The table of an event: kName (`type` in JSON), kTable (in Python) and kFields, a tuple of Field in JSON's order;
/// kConcernsChannels if it may concern a whole channel.
/// JSON's `sequence` and Python's `number` follow the last time.
template <class Event>
struct EventSchema;

template <>
struct EventSchema<Quote> {
    static constexpr std::string_view kName = "quote";
    static constexpr std::string_view kTable = "quotes";
    static constexpr std::tuple kFields{
        kInstrumentField<Quote>,
        kImpliedChannelField<Quote>,
        kReceiveTimeField<Quote>,
        kExchangeTimeField<Quote>,
        kFeedSequenceField<Quote>,
        Field<&Quote::bid_price, &Quote::bid_size>{"bid_price", "in 1/1000000000", Unit::price, "bid.price",
                                                   "bid_px_00"},
        Field<&Quote::ask_price, &Quote::ask_size>{"ask_price", "in 1/1000000000", Unit::price, "ask.price",
                                                   "ask_px_00"},
        Field<&Quote::bid_size>{"bid_size", "shares or contracts", Unit::size, "bid.shares", "bid_sz_00"},
        Field<&Quote::ask_size>{"ask_size", "shares or contracts", Unit::size, "ask.shares", "ask_sz_00"},
        kFlagsField<Quote>,
        kReceiveTicksField<Quote>};
};

template <>
struct EventSchema<Trade> {
    static constexpr std::string_view kName = "trade";
    static constexpr std::string_view kTable = "trades";
    static constexpr std::tuple kFields{
        kInstrumentField<Trade>,
        kImpliedChannelField<Trade>,
        kReceiveTimeField<Trade>,
        kExchangeTimeField<Trade>,
        kFeedSequenceField<Trade>,
        Field<&Trade::price>{"price", "in 1/1000000000", Unit::price, "price", "price"},
        Field<&Trade::size>{"size", "shares or contracts", Unit::size, "shares", "size"},
        kTradeIdField<Trade>,
        kNamedFlagsField<Trade>,
        kReceiveTicksField<Trade>};
};

template <>
struct EventSchema<TradeBreak> {
    static constexpr std::string_view kName = "trade_break";
    static constexpr std::string_view kTable = "breaks";
    static constexpr std::tuple kFields{kInstrumentField<TradeBreak>,   kImpliedChannelField<TradeBreak>,
                                        kReceiveTimeField<TradeBreak>,  kExchangeTimeField<TradeBreak>,
                                        kFeedSequenceField<TradeBreak>, kTradeIdField<TradeBreak>,
                                        kReceiveTicksField<TradeBreak>};
};

template <>
struct EventSchema<Status> {
    static constexpr std::string_view kName = "status";
    static constexpr std::string_view kTable = "statuses";
    static constexpr bool kConcernsChannels = true;
    static constexpr std::tuple kFields{
        kInstrumentField<Status>,
        kChannelField<Status>,
        kReceiveTimeField<Status>,
        kExchangeTimeField<Status>,
        kFeedSequenceField<Status>,
        Field<&Status::state>{"state", "a TradingState", Unit::none, "state", "state"},
        Field<&Status::reason>{"reason", "the venue's code, up to four characters", Unit::none, "reason", "reason"},
        kReceiveTicksField<Status>};
};

template <>
struct EventSchema<Gap> {
    static constexpr std::string_view kName = "gap";
    static constexpr std::string_view kTable = "gaps";
    static constexpr bool kConcernsChannels = true;
    static constexpr std::tuple kFields{
        kChannelField<Gap>,
        kReceiveTimeField<Gap>,
        Field<&Gap::first>{"first", "first missing number on the wire, or 0", Unit::none, "first", "first"},
        Field<&Gap::last>{"last", "last missing number on the wire, or 0", Unit::none, "last", "last"},
        Field<&Gap::reason>{"reason", "0 sequence, 1 rejected, 2 dropped, 3 silence, 4 venue", Unit::none, "reason",
                            "reason"},
        kReceiveTicksField<Gap>};
};

template <>
struct EventSchema<Clear> {
    static constexpr std::string_view kName = "clear";
    static constexpr std::string_view kTable = "clears";
    static constexpr bool kConcernsChannels = true;
    static constexpr std::tuple kFields{
        kInstrumentField<Clear>,
        kChannelField<Clear>,
        kReceiveTimeField<Clear>,
        Field<&Clear::reason>{"reason", "1 new session, 2 end of session, 3 request of the sender", Unit::none,
                              "reason", "reason"},
        kNamedFlagsField<Clear>,
        kReceiveTicksField<Clear>};
};

template <>
struct EventSchema<Order> {
    static constexpr std::string_view kName = "order";
    static constexpr std::string_view kTable = "orders";
    static constexpr std::tuple kFields{
        kInstrumentField<Order>,
        kChannelField<Order>,
        kReceiveTimeField<Order>,
        kExchangeTimeField<Order>,
        kFeedSequenceField<Order>,
        Field<&Order::action>{"action", "1 add, 2 modify, 3 cancel, 4 execute, 5 remove, 6 clear", Unit::none, "action",
                              "action"},
        kSideField<Order>,
        Field<&Order::order_id>{"order_id", "the venue's number of the order", Unit::id, "order_id", "order_id"},
        Field<&Order::price>{"price", "in 1/1000000000; of the order, also where it was executed at another",
                             Unit::price, "price", "price"},
        Field<&Order::size>{"size", "shares or contracts that were added, cancelled, executed or removed", Unit::size,
                            "size", "size"},
        Field<&Order::size_left>{"size_left", "shares or contracts of the order after the change", Unit::size,
                                 "size_left", "size_left"},
        Field<&Order::trade_id>{"trade_id", "the venue's number of the trade of an execution, or 0", Unit::id,
                                "trade_id", "trade_id"},
        kNamedFlagsField<Order>,
        kReceiveTicksField<Order>};
};

template <>
struct EventSchema<Level> {
    static constexpr std::string_view kName = "level";
    static constexpr std::string_view kTable = "levels";
    static constexpr std::tuple kFields{
        kInstrumentField<Level>,
        kChannelField<Level>,
        kReceiveTimeField<Level>,
        kExchangeTimeField<Level>,
        kFeedSequenceField<Level>,
        kSideField<Level>,
        Field<&Level::price>{"price", "in 1/1000000000", Unit::price, "price", "price"},
        Field<&Level::size>{"size", "shares or contracts, 0 if the level is gone", Unit::size, "size", "size"},
        Field<&Level::orders>{"orders", "number of orders, 0 if unknown", Unit::none, "count", "count"},
        kNamedFlagsField<Level>,
        kReceiveTicksField<Level>};
};

template <>
struct EventSchema<Imbalance> {
    static constexpr std::string_view kName = "imbalance";
    static constexpr std::string_view kTable = "imbalances";
    static constexpr std::tuple kFields{
        kInstrumentField<Imbalance>,
        kImpliedChannelField<Imbalance>,
        kReceiveTimeField<Imbalance>,
        kExchangeTimeField<Imbalance>,
        kFeedSequenceField<Imbalance>,
        Field<&Imbalance::auction>{"auction", "1 opening, 2 closing, 3 resumption, 4 extended", Unit::none, "auction",
                                   "auction_type"},
        Field<&Imbalance::state>{"state", "1 indicative, 2 insufficient orders, 3 paused", Unit::none, "state",
                                 "state"},
        kSideField<Imbalance>,
        Field<&Imbalance::paired_size>{"paired_size", "shares or contracts that would trade", Unit::size, "paired_size",
                                       "paired_qty"},
        Field<&Imbalance::imbalance_size>{"imbalance_size", "shares or contracts that would be left over", Unit::size,
                                          "imbalance_size", "total_imbalance_qty"},
        Field<&Imbalance::reference_price>{"reference_price", "in 1/1000000000; at which the sizes were calculated",
                                           Unit::price, "reference_price", "ref_price"},
        Field<&Imbalance::near_price>{"near_price", "in 1/1000000000; with the orders of continuous trading",
                                      Unit::price, "near_price", "cont_book_clr_price"},
        Field<&Imbalance::far_price>{"far_price", "in 1/1000000000; of the auction's orders alone", Unit::price,
                                     "far_price", "auct_interest_clr_price"},
        kReceiveTicksField<Imbalance>};
};

template <>
struct EventSchema<Band> {
    static constexpr std::string_view kName = "band";
    static constexpr std::string_view kTable = "bands";
    static constexpr std::tuple kFields{
        kInstrumentField<Band>,
        kImpliedChannelField<Band>,
        kReceiveTimeField<Band>,
        kExchangeTimeField<Band>,
        kFeedSequenceField<Band>,
        Field<&Band::band>{"band", "1 collar, 2 short_sale", Unit::none, "band", "band"},
        Field<&Band::short_sale>{"short_sale", "0 allowed, 1 restricted from now on, 2 since an earlier day",
                                 Unit::none, "short_sale", "short_sale"},
        Field<&Band::extension>{"extension", "how many times the collar was extended", Unit::none, "extension",
                                "extension"},
        Field<&Band::lower_price>{"lower_price", "in 1/1000000000", Unit::price, "lower_price", "low_limit_price"},
        Field<&Band::upper_price>{"upper_price", "in 1/1000000000", Unit::price, "upper_price", "high_limit_price"},
        Field<&Band::reference_price>{"reference_price", "in 1/1000000000", Unit::price, "reference_price",
                                      "ref_price"},
        kReceiveTicksField<Band>};
};

template <>
struct EventSchema<Definition> {
    static constexpr std::string_view kName = "instrument";
    static constexpr std::string_view kTable = "definitions";
    static constexpr std::tuple kFields{
        kInstrumentField<Definition>,
        kImpliedChannelField<Definition>,
        kReceiveTimeField<Definition>,
        kExchangeTimeField<Definition>,
        kFeedSequenceField<Definition>,
        Field<&Definition::instrument_class>{"instrument_class",
                                             "0 unknown, 1 stock, 2 fund, 3 bond, 4 right, 5 warrant, 6 unit",
                                             Unit::none, "class", "instrument_class"},
        Field<&Definition::decimals>{"decimals", "of its prices", Unit::none, "decimals", "decimals"},
        Field<&Definition::currency>{"currency", "ISO 4217, empty if unknown", Unit::none, "currency", "currency"},
        Field<&Definition::tick>{"tick", "in 1/1000000000; smallest difference of prices", Unit::price, "tick",
                                 "min_price_increment"},
        Field<&Definition::lot>{"lot", "shares or contracts of a round lot, 0 if unknown", Unit::size, "lot",
                                "min_lot_size_round_lot"},
        kReceiveTicksField<Definition>};
};

template <>
struct EventSchema<BestVenues> {
    static constexpr std::string_view kName = "best_venues";
    static constexpr std::string_view kTable = "best_venues";
    static constexpr std::tuple kFields{
        kInstrumentField<BestVenues>,
        kChannelField<BestVenues>,
        kReceiveTimeField<BestVenues>,
        kExchangeTimeField<BestVenues>,
        kFeedSequenceField<BestVenues>,
        Field<&BestVenues::bid_channels>{"bid_channels", "bit c: channel c has the best bid", Unit::id, "bid_channels",
                                         "bid_channels"},
        Field<&BestVenues::ask_channels>{"ask_channels", "bit c: channel c has the best offer", Unit::id,
                                         "ask_channels", "ask_channels"},
        Field<&BestVenues::incomplete_channels>{"incomplete_channels",
                                                "bit c: c is left out, because its quote is incomplete or not known",
                                                Unit::id, "incomplete_channels", "incomplete_channels"},
        Field<&BestVenues::silent_channels>{"silent_channels", "bit c: c is left out, because its feed is silent",
                                            Unit::id, "silent_channels", "silent_channels"},
        Field<&BestVenues::halted_channels>{"halted_channels",
                                            "bit c: c is left out, because the instrument is halted there", Unit::id,
                                            "halted_channels", "halted_channels"},
        Field<&BestVenues::not_firm_channels>{"not_firm_channels",
                                              "bit c: c is left out, because its quote is not firm", Unit::id,
                                              "not_firm_channels", "not_firm_channels"},
        kReceiveTicksField<BestVenues>};
};

/// Calls `visit.template operator()<I>()` for each index of the event's fields.
template <class Event, class Visitor>
constexpr void for_each_field(Visitor&& visit) {
    constexpr auto kCount = std::tuple_size_v<decltype(EventSchema<Event>::kFields)>;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (visit.template operator()<I>(), ...);
    }(std::make_index_sequence<kCount>{});
}

/// True if events of the type may concern a whole channel; the symbol in JSON may then be null.
template <class Event>
inline constexpr bool kConcernsChannels = requires { EventSchema<Event>::kConcernsChannels; };

/// Index of the last time field.
template <class Event>
inline constexpr std::size_t kLastTime = [] {
    std::size_t last = 0;
    for_each_field<Event>([&]<std::size_t I>() {
        const auto unit = std::get<I>(EventSchema<Event>::kFields).unit;
        if (unit == Unit::receive_time || unit == Unit::exchange_time) last = I;
    });
    return last;
}();

}  // namespace millpond::feed
