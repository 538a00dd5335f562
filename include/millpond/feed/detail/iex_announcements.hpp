#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <millpond/core/endian.hpp>
#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/detail/instrument_state.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/iex_layout.hpp>
#include <millpond/feed/name_text.hpp>

namespace millpond::feed {

/// A message of an IEX feed, at least as long as its type requires.
struct IexMessage {
    const std::byte* bytes;
    std::uint64_t sequence;
    const Arrival& arrival;

    [[nodiscard]] std::int64_t exchange_utc_ns() const noexcept {
        return std::max<std::int64_t>(core::load_le<std::int64_t>(bytes + iex_layout::kTimeAt), 0);
    }
    [[nodiscard]] char code() const noexcept { return static_cast<char>(bytes[iex_layout::kCodeAt]); }
    [[nodiscard]] std::uint8_t flags() const noexcept { return static_cast<std::uint8_t>(bytes[iex_layout::kCodeAt]); }
    [[nodiscard]] std::uint32_t size(std::size_t at) const noexcept { return core::load_le<std::uint32_t>(bytes + at); }
    [[nodiscard]] std::int64_t number(std::size_t at) const noexcept { return core::load_le<std::int64_t>(bytes + at); }
};

/// True if the price of the wire is one of an event.
[[nodiscard]] constexpr bool is_iex_price(std::int64_t price) noexcept {
    constexpr auto kMost = kMaxPrice / (kPriceScale / iex_layout::kVenueScale);
    return price >= -kMost && price <= kMost;
}
/// The price must be one of an event.
[[nodiscard]] constexpr Price iex_price(std::int64_t price) noexcept {
    return price * (kPriceScale / iex_layout::kVenueScale);
}

/// Applies the messages that TOPS, DEEP and DEEP+ share: events of the system and of instruments, directory entries,
/// trading states, auctions, trades and broken trades. They change no book. Retail liquidity indicators and official
/// prices are counted only.
///
/// Derived has counters(), instruments(), which is an IexInstruments, current(book), the entry without what a loss has
/// voided, on_system_state(state), publish_halt(book, message, handler), which publishes the quote again if the state
/// has changed its flags, and kTradeFlags, the flags of every trade.
template <class Derived>
class IexAnnouncements {
public:
    /// Minimum bytes of the message; 0 for a type that is not shared.
    [[nodiscard]] static constexpr std::size_t shared_bytes(char type) noexcept {
        switch (type) {
            case 'S': return iex_layout::kSystemEventBytes;
            case 'D': return iex_layout::directory::kBytes;
            case 'H': return iex_layout::trading_status::kBytes;
            case 'I':
            case 'O':
            case 'E': return iex_layout::kWithSymbolBytes;
            case 'P': return iex_layout::short_sale::kBytes;
            case 'X': return iex_layout::official_price::kBytes;
            case 'A': return iex_layout::auction::kBytes;
            case 'T':
            case 'B': return iex_layout::trade::kBytes;
            default: return 0;
        }
    }

protected:
    /// Applies a message of a type for which shared_bytes is not 0, of at least that length. trade_flags: also of this
    /// trade.
    template <class Handler>
    void apply_shared(char type, const IexMessage& message, std::uint16_t trade_flags, Handler& handler);

private:
    friend Derived;
    template <class>
    friend class IexBooks;
    IexAnnouncements() = default;

    [[nodiscard]] Derived& self() noexcept { return static_cast<Derived&>(*this); }
    void reject_announcement() noexcept { self().counters().rejected.add(); }

    template <class Event, class Handler>
    void publish(const Event& event, Handler& handler) {
        if constexpr (HandlerOf<Handler, Event>) emit(self().counters(), handler, event);
    }
    template <class Handler>
    void on_system_event(const IexMessage& message, Handler& handler);
    template <class Handler>
    void on_trading_status(std::uint16_t book, const IexMessage& message, Handler& handler);
    template <class Handler>
    void on_operational_halt(std::uint16_t book, const IexMessage& message, Handler& handler);
    template <class Handler>
    void on_security_event(std::uint16_t book, const IexMessage& message, Handler& handler);
    template <class Handler>
    void on_directory(std::uint16_t book, const IexMessage& message, Handler& handler);
    template <class Handler>
    void on_short_sale(std::uint16_t book, const IexMessage& message, Handler& handler);
    template <class Handler>
    void on_auction(std::uint16_t book, const IexMessage& message, Handler& handler);
    template <class Handler>
    void on_trade(std::uint16_t book, const IexMessage& message, std::uint16_t flags, Handler& handler);
    template <class Handler>
    void on_broken_trade(std::uint16_t book, const IexMessage& message, Handler& handler);
    template <class Handler>
    void publish_state(std::uint16_t book, const IexMessage& message, Handler& handler);
    /// Makes an event of an instrument.
    template <class Event>
    [[nodiscard]] Event start(std::uint16_t book, const IexMessage& message) noexcept {
        auto event = start_event<Event>(message);
        event.instrument = self().instruments()[book].instrument;
        return event;
    }
};

template <class Derived>
template <class Handler>
void IexAnnouncements<Derived>::apply_shared(char type, const IexMessage& message, std::uint16_t trade_flags,
                                             Handler& handler) {
    if (type == 'S') return on_system_event(message, handler);
    using Instruments = std::remove_reference_t<decltype(self().instruments())>;
    const auto book = self().instruments().find_or_name(message.bytes + iex_layout::kSymbolAt);
    if (book >= Instruments::kMaxBooks) [[unlikely]]
        return (book == Instruments::kNone ? self().counters().refused : self().counters().rejected).add();
    switch (type) {
        case 'D': return on_directory(book, message, handler);
        case 'H': return on_trading_status(book, message, handler);
        case 'O': return on_operational_halt(book, message, handler);
        case 'E': return on_security_event(book, message, handler);
        case 'P': return on_short_sale(book, message, handler);
        case 'A': return on_auction(book, message, handler);
        case 'T': return on_trade(book, message, trade_flags, handler);
        case 'B': return on_broken_trade(book, message, handler);
        default: return self().counters().ignored.add();
    }
}

template <class Derived>
template <class Handler>
void IexAnnouncements<Derived>::on_system_event(const IexMessage& message, Handler& handler) {
    auto status = start_event<Status>(message);
    const char code = message.code();
    switch (code) {
        case 'O': status.state = TradingState::start_of_messages; break;
        case 'S': status.state = TradingState::start_of_system_hours; break;
        case 'R': status.state = TradingState::start_of_market_hours; break;
        case 'M': status.state = TradingState::end_of_market_hours; break;
        case 'E': status.state = TradingState::end_of_system_hours; break;
        case 'C': status.state = TradingState::end_of_messages; break;
        default: return self().counters().ignored.add();  // a code of a later version
    }
    status.reason = core::FixedString<4>{{&code, 1}};
    self().counters().applied.add();
    self().on_system_state(status.state);
    publish(status, handler);
}

/// Publishes the instrument's state, and its quote if the state changes the quote's flags.
template <class Derived>
template <class Handler>
void IexAnnouncements<Derived>::publish_state(std::uint16_t book, const IexMessage& message, Handler& handler) {
    const auto& trading = self().instruments()[book].trading;
    auto status = start<Status>(book, message);
    status.state = trading.state();
    status.reason = trading.reason;
    self().counters().applied.add();
    publish(status, handler);
    self().publish_halt(book, message, handler);
}

template <class Derived>
template <class Handler>
void IexAnnouncements<Derived>::on_trading_status(std::uint16_t book, const IexMessage& message, Handler& handler) {
    const char code = message.code();
    if (code != 'H' && code != 'O' && code != 'P' && code != 'T') return reject_announcement();
    auto& trading = self().current(book).trading;
    trading.action = code == 'O' ? 'Q' : code;  // accepts orders, but does not trade
    trading.reason =
        padded_name<4>({message.bytes + iex_layout::trading_status::kReasonAt, 4}).value_or(core::FixedString<4>{});
    publish_state(book, message, handler);
}

template <class Derived>
template <class Handler>
void IexAnnouncements<Derived>::on_operational_halt(std::uint16_t book, const IexMessage& message, Handler& handler) {
    const char code = message.code();
    if (code != 'O' && code != 'N') return reject_announcement();
    self().current(book).trading.halted_here = code == 'O';
    publish_state(book, message, handler);
}

/// The instrument's state stays, or is unknown if no message has said it; the reason names the event.
template <class Derived>
template <class Handler>
void IexAnnouncements<Derived>::on_security_event(std::uint16_t book, const IexMessage& message, Handler& handler) {
    const char code = message.code();
    if (code != 'O' && code != 'C') return self().counters().ignored.add();
    auto status = start<Status>(book, message);
    const auto& trading = self().current(book).trading;
    status.state = trading.is_known() ? trading.state() : TradingState::unknown;
    status.reason = core::FixedString<4>{{&code, 1}};
    self().counters().applied.add();
    publish(status, handler);
}

template <class Derived>
template <class Handler>
void IexAnnouncements<Derived>::on_directory(std::uint16_t book, const IexMessage& message, Handler& handler) {
    namespace at = iex_layout::directory;
    auto event = start<Definition>(book, message);
    if ((message.flags() & at::kFund) != 0) event.instrument_class = InstrumentClass::fund;
    event.currency = core::FixedString<4>{"USD"};
    event.lot = message.size(at::kLotAt);
    self().counters().applied.add();
    publish(event, handler);
}

template <class Derived>
template <class Handler>
void IexAnnouncements<Derived>::on_short_sale(std::uint16_t book, const IexMessage& message, Handler& handler) {
    auto event = start<Band>(book, message);
    event.band = BandKind::short_sale;
    if (message.flags() > 1) return reject_announcement();
    if (message.flags() == 1) {
        const bool is_earlier = static_cast<char>(message.bytes[iex_layout::short_sale::kDetailAt]) == 'C';
        event.short_sale = is_earlier ? ShortSale::restricted_earlier : ShortSale::restricted_now;
    }
    self().counters().applied.add();
    publish(event, handler);
}

/// Publishes an Imbalance, and a Band if the auction has a collar.
template <class Derived>
template <class Handler>
void IexAnnouncements<Derived>::on_auction(std::uint16_t book, const IexMessage& message, Handler& handler) {
    namespace at = iex_layout::auction;
    const auto price = [&](std::size_t field) {
        const auto value = message.number(field);
        return value == 0 || !is_iex_price(value) ? kNoPrice : iex_price(value);
    };
    auto event = start<Imbalance>(book, message);
    switch (message.code()) {
        case 'O': event.auction = AuctionKind::opening; break;
        case 'C': event.auction = AuctionKind::closing; break;
        case 'I':
        case 'H':
        case 'V': event.auction = AuctionKind::resumption; break;
        default: return reject_announcement();
    }
    switch (static_cast<char>(message.bytes[at::kSideAt])) {
        case 'B': event.side = Side::bid; break;
        case 'S': event.side = Side::ask; break;
        case 'N': break;
        default: return reject_announcement();
    }
    event.paired_size = message.size(at::kPairedAt);
    event.imbalance_size = message.size(at::kImbalanceAt);
    event.reference_price = price(at::kReferenceAt);
    event.near_price = price(at::kIndicativeAt);
    event.far_price = price(at::kAuctionOrdersAt);
    self().counters().applied.add();
    publish(event, handler);
    auto band = start<Band>(book, message);
    band.extension = static_cast<std::uint8_t>(message.bytes[at::kExtensionAt]);
    band.lower_price = price(at::kLowerAt);
    band.upper_price = price(at::kUpperAt);
    band.reference_price = price(at::kCollarReferenceAt);
    if (band.lower_price != kNoPrice || band.upper_price != kNoPrice) publish(band, handler);
}

template <class Derived>
template <class Handler>
void IexAnnouncements<Derived>::on_trade(std::uint16_t book, const IexMessage& message, std::uint16_t flags,
                                         Handler& handler) {
    namespace at = iex_layout::trade;
    const auto price = message.number(at::kPriceAt);
    if (!is_iex_price(price)) return reject_announcement();
    auto trade = start<Trade>(book, message);
    trade.flags = static_cast<std::uint16_t>(flags | Derived::kTradeFlags |
                                             ((message.flags() & at::kSinglePriceCross) != 0 ? kCross : 0));
    trade.price = iex_price(price);
    trade.size = message.size(at::kSizeAt);
    trade.trade_id = static_cast<std::uint64_t>(message.number(at::kTradeIdAt));
    self().counters().applied.add();
    publish(trade, handler);
}

template <class Derived>
template <class Handler>
void IexAnnouncements<Derived>::on_broken_trade(std::uint16_t book, const IexMessage& message, Handler& handler) {
    auto event = start<TradeBreak>(book, message);
    event.trade_id = static_cast<std::uint64_t>(message.number(iex_layout::trade::kTradeIdAt));
    self().counters().applied.add();
    publish(event, handler);
}

}  // namespace millpond::feed
