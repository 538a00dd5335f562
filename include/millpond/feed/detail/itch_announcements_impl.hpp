#pragma once

#include <cstddef>
#include <cstdint>

#include <millpond/feed/itch_book_builder.hpp>

/// What the exchange announces of an instrument: its directory entry, auctions, collars and short sale restrictions.
/// They change no book.
namespace millpond::feed {

namespace detail {

/// A price of an announcement. The specification's largest price and 0 mean that there is none.
[[nodiscard]] inline Price announced_price(const std::byte* price) noexcept {
    const auto value = core::load_be<std::uint32_t>(price);
    return value == 0 || value == itch_layout::kMaxPrice ? kNoPrice : price_from<itch_layout::kVenueScale>(value);
}

[[nodiscard]] constexpr InstrumentClass class_of(char classification, char traded_fund) noexcept {
    if (traded_fund == 'Y') return InstrumentClass::fund;
    switch (classification) {
        case 'A':  // depositary shares, ordinary and preferred shares, partnerships, beneficial interest
        case 'C':
        case 'F':
        case 'L':
        case 'O':
        case 'P':
        case 'S': return InstrumentClass::stock;
        case 'B':  // bonds, notes, convertible debentures, those of rule 144A
        case 'I':
        case 'N':
        case 'T': return InstrumentClass::bond;
        case 'R': return InstrumentClass::right;
        case 'W': return InstrumentClass::warrant;
        case 'U':
        case 'V': return InstrumentClass::unit;
        default: return InstrumentClass::unknown;
    }
}

}  // namespace detail

/// Publishes an announcement of a book's instrument to handlers that have a function for it. One without a valid stock
/// or with an unknown code is rejected, and no book is incomplete because of it.
template <class Event, class Handler, class Fill>
void ItchBookBuilder::announce(std::uint16_t book, const Context& context, Handler& handler, Fill&& fill) {
    if (book >= ItchBooks::kMaxBooks) {
        const bool has_stock = book != ItchBooks::kOtherName && book != ItchBooks::kNoName;
        return (has_stock ? counters_.refused : counters_.rejected).add();
    }
    auto event = start_event<Event>(context);
    event.instrument = books_[book].instrument;
    if (!fill(event)) return counters_.rejected.add();
    counters_.applied.add();
    if constexpr (HandlerOf<Handler, Event>) emit(counters_, handler, event);
}

template <class Handler>
void ItchBookBuilder::on_directory(const Context& context, Handler& handler) {
    const auto* const message = context.message;
    namespace at = itch_layout::directory;
    const auto book = books_.find_or_name(locate_of(message), message + at::kStockAt);
    if (book >= ItchBooks::kMaxBooks) return refuse(book, context, handler);
    announce<Definition>(book, context, handler, [&](Definition& event) {
        event.instrument_class = detail::class_of(static_cast<char>(message[at::kClassificationAt]),
                                                  static_cast<char>(message[at::kTradedFundAt]));
        event.currency = core::FixedString<4>{"USD"};
        event.lot = core::load_be<std::uint32_t>(message + at::kRoundLotAt);
        return true;
    });
}

template <class Handler>
void ItchBookBuilder::on_imbalance(const Context& context, Handler& handler) {
    const auto* const message = context.message;
    namespace at = itch_layout::imbalance;
    const auto book = books_.find_or_name(locate_of(message), message + at::kStockAt);
    announce<Imbalance>(book, context, handler, [&](Imbalance& event) {
        switch (static_cast<char>(message[at::kCrossAt])) {
            case 'O': event.auction = AuctionKind::opening; break;
            case 'C': event.auction = AuctionKind::closing; break;
            case 'H': event.auction = AuctionKind::resumption; break;
            case 'A': event.auction = AuctionKind::extended; break;
            default: return false;
        }
        switch (static_cast<char>(message[at::kDirectionAt])) {
            case 'B': event.side = Side::bid; break;
            case 'S': event.side = Side::ask; break;
            case 'N': break;
            case 'O': event.state = ImbalanceState::insufficient; break;
            case 'P': event.state = ImbalanceState::paused; break;
            default: return false;
        }
        event.paired_size = core::load_be<std::uint64_t>(message + at::kPairedAt);
        event.imbalance_size = core::load_be<std::uint64_t>(message + at::kImbalanceAt);
        event.reference_price = detail::announced_price(message + at::kReferenceAt);
        event.near_price = detail::announced_price(message + at::kNearPriceAt);
        event.far_price = detail::announced_price(message + at::kFarPriceAt);
        return true;
    });
}

template <class Handler>
void ItchBookBuilder::on_collar(const Context& context, Handler& handler) {
    const auto* const message = context.message;
    namespace at = itch_layout::auction_collar;
    const auto book = books_.find_or_name(locate_of(message), message + at::kStockAt);
    announce<Band>(book, context, handler, [&](Band& event) {
        event.extension = core::load_be<std::uint32_t>(message + at::kExtensionAt);
        event.lower_price = detail::announced_price(message + at::kLowerAt);
        event.upper_price = detail::announced_price(message + at::kUpperAt);
        event.reference_price = detail::announced_price(message + at::kReferenceAt);
        return true;
    });
}

template <class Handler>
void ItchBookBuilder::on_short_sale(const Context& context, Handler& handler) {
    const auto* const message = context.message;
    namespace at = itch_layout::short_sale;
    const auto book = books_.find_or_name(locate_of(message), message + at::kStockAt);
    announce<Band>(book, context, handler, [&](Band& event) {
        event.band = BandKind::short_sale;
        switch (static_cast<char>(message[at::kActionAt])) {
            case '0': return true;
            case '1': event.short_sale = ShortSale::restricted_now; return true;
            case '2': event.short_sale = ShortSale::restricted_earlier; return true;
            default: return false;
        }
    });
}

}  // namespace millpond::feed
