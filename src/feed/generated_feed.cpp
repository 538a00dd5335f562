#include <algorithm>
#include <stdexcept>
#include <string>

#include <millpond/core/endian.hpp>
#include <millpond/feed/bbo28_layout.hpp>
#include <millpond/feed/generated_feed.hpp>

namespace millpond::feed {
namespace {

constexpr std::int64_t kSecondNanos = 1'000'000'000;
constexpr std::int64_t kDayNanos = 86'400 * kSecondNanos;
constexpr std::size_t kMaxSteps = 1'000;
constexpr std::uint32_t kLot = 100;

constexpr std::uint16_t protocol_of(WireFormat format) {
    switch (format) {
        case WireFormat::iex_deep: return iex_layout::kDeep;
        case WireFormat::iex_deep_plus: return iex_layout::kDeepPlus;
        default: return iex_layout::kTops;
    }
}

std::string session_text(std::uint64_t session) {
    const auto digits = std::to_string(session % 10'000'000'000);
    return std::string(10 - digits.size(), '0') + digits;
}

GeneratedFeed::Options checked(const GeneratedFeed::Options& options) {
    if (options.steps_per_datagram == 0 || options.steps_per_datagram > kMaxSteps) {
        throw std::invalid_argument("generated feed: " + std::to_string(options.steps_per_datagram) +
                                    " steps a datagram is not in 1.." + std::to_string(kMaxSteps));
    }
    if (options.orders == 0 || options.orders > GeneratedFeed::kMaxOrders) {
        throw std::invalid_argument("generated feed: " + std::to_string(options.orders) +
                                    " orders a side is not in 1.." + std::to_string(GeneratedFeed::kMaxOrders));
    }
    return options;
}

Quote quote_of(const GeneratedMarket::Step& step) {
    Quote quote;
    quote.bid_price = step.bid_price;
    quote.ask_price = step.ask_price;
    quote.bid_size = step.bid_size;
    quote.ask_size = step.ask_size;
    return quote;
}

Trade trade_of(const GeneratedMarket::Step& step, std::uint64_t match) {
    Trade trade;
    trade.price = step.bid_changed ? step.bid_price : step.ask_price;
    trade.size = step.trade_size;
    trade.trade_id = match;
    return trade;
}

}  // namespace

std::optional<WireFormat> wire_format(std::string_view name) noexcept {
    for (const auto format : kWireFormats) {
        if (name == to_string(format)) return format;
    }
    return std::nullopt;
}

std::string_view to_string(WireFormat format) noexcept {
    switch (format) {
        case WireFormat::bbo28: return "bbo28";
        case WireFormat::quotes: return "quotes";
        case WireFormat::miax_tom: return "miax_tom";
        case WireFormat::itch: return "itch";
        case WireFormat::iex_tops: return "iex_tops";
        case WireFormat::iex_deep: return "iex_deep";
        case WireFormat::iex_deep_plus: return "iex_deep_plus";
    }
    return "unknown";
}

GeneratedFeed::GeneratedFeed(const Options& options)
    : options_(checked(options)),
      market_(options.market),
      quotes_({.channel = options.channel, .session = options.session}),
      miax_({.session = static_cast<std::uint8_t>(options.session), .first_sequence = 1}),
      mold_(session_text(options.session)),
      iex_({.protocol = protocol_of(options.format),
            .session = {.number = static_cast<std::uint32_t>(options.session), .channel = 1}}),
      orders_(market_.size()),
      behind_(market_.size() * 2 * (options.orders - 1)) {}

std::span<const std::byte> GeneratedFeed::next(Buffer buffer, std::int64_t utc_ns) noexcept {
    switch (options_.format) {
        case WireFormat::bbo28: return next_bbo28(buffer);
        case WireFormat::quotes: return next_quotes(buffer, utc_ns);
        case WireFormat::miax_tom: return next_miax_tom(buffer, utc_ns);
        case WireFormat::itch: return next_itch(buffer, utc_ns);
        case WireFormat::iex_tops: return next_iex_tops(buffer, utc_ns);
        case WireFormat::iex_deep: return next_iex_deep(buffer, utc_ns);
        case WireFormat::iex_deep_plus: return next_iex_deep_plus(buffer, utc_ns);
    }
    return {};
}

std::span<const std::byte> GeneratedFeed::heartbeat(Buffer buffer, std::int64_t utc_ns) noexcept {
    switch (options_.format) {
        case WireFormat::bbo28: return {};
        case WireFormat::quotes: quotes_.begin(buffer); return quotes_.finish(utc_ns);
        case WireFormat::miax_tom:
            miax_.begin(buffer);
            (void)miax_.heartbeat();  // always fits an empty datagram
            return miax_.finish();
        case WireFormat::itch: mold_.begin(buffer); return mold_.finish();
        case WireFormat::iex_tops:
        case WireFormat::iex_deep:
        case WireFormat::iex_deep_plus: iex_.begin(buffer); return iex_.finish(utc_ns);
    }
    return {};
}

std::span<const std::byte> GeneratedFeed::next_bbo28(Buffer buffer) noexcept {
    const auto& step = market_.next();
    ++steps_;
    const auto bid = static_cast<std::uint32_t>(in_venue_scale<kBbo28Scale>(step.bid_price));
    const auto ask = static_cast<std::uint32_t>(in_venue_scale<kBbo28Scale>(step.ask_price));
    write_bbo28(buffer.data(), {.spread = ask - bid,
                                .ask_size = step.ask_size,
                                .ask_price = ask,
                                .bid_size = step.bid_size,
                                .bid_price = bid,
                                .symbol = market_.symbol(step.instrument).view()});
    return buffer.first(kBbo28Bytes);
}

std::span<const std::byte> GeneratedFeed::next_quotes(Buffer buffer, std::int64_t utc_ns) noexcept {
    // A name has at most eight letters, so the longest quotes determine how many fit.
    constexpr auto kFit = (kMaxDatagramBytes - quotes_layout::kHeaderBytes) / (quotes_layout::kNamesAt + 4 + 8);
    const auto count = std::min({options_.steps_per_datagram, kFit, quotes_layout::kMaxEntries});
    quotes_.begin(buffer);
    for (std::size_t i = 0; i < count; ++i) {
        const auto& step = market_.next();
        ++steps_;
        auto quote = quote_of(step);
        quote.exchange_utc_ns = utc_ns;
        (void)quotes_.add(quote, Venue{"SIM"}, market_.symbol(step.instrument));  // fits, see above
    }
    return quotes_.finish(utc_ns);
}

std::span<const std::byte> GeneratedFeed::next_miax_tom(Buffer buffer, std::int64_t utc_ns) noexcept {
    // The longest step is a two-sided wide quote after a trade.
    namespace at = miax_tom_layout;
    constexpr auto kMaxStepBytes = 2 * at::kHeaderBytes + at::kTradeBytes + at::kSideAt + 2 * at::kWide.bytes;
    constexpr auto kFit = (kMaxDatagramBytes - at::kHeaderBytes - at::kSystemTimeBytes) / kMaxStepBytes;
    const auto nanos = static_cast<std::uint32_t>(utc_ns % kSecondNanos);
    miax_.begin(buffer);
    if (utc_ns / kSecondNanos != second_) {
        second_ = utc_ns / kSecondNanos;
        (void)miax_.system_time(static_cast<std::uint32_t>(second_));
    }
    for (std::size_t i = 0; i < std::min(options_.steps_per_datagram, kFit); ++i) {
        const auto& step = market_.next();
        ++steps_;
        const auto product = step.instrument + 1;
        if (step.traded) (void)miax_.trade(product, nanos, trade_of(step, next_match_++));
        if (step.bid_changed && step.ask_changed) {
            (void)miax_.quote(product, nanos, quote_of(step));
        } else if (step.bid_changed) {
            (void)miax_.bid(product, nanos, step.bid_price, step.bid_size);
        } else {
            (void)miax_.offer(product, nanos, step.ask_price, step.ask_size);
        }
    }
    return miax_.finish();
}

std::span<const std::byte> GeneratedFeed::next_itch(Buffer buffer, std::int64_t utc_ns) noexcept {
    // The longest step adds all orders of both sides.
    constexpr auto kOrderBytes = moldudp64_layout::kLengthBytes + itch_layout::order_added::kBytes;
    static_assert(2 * kMaxOrders * kOrderBytes <= kMaxDatagramBytes - moldudp64_layout::kHeaderBytes);
    const auto fit = (kMaxDatagramBytes - moldudp64_layout::kHeaderBytes) / (2 * options_.orders * kOrderBytes);
    mold_.begin(buffer);
    itch_.set_head(0, utc_ns % kDayNanos);
    if (add_prologue()) return mold_.finish();
    for (std::size_t i = 0; i < std::min(options_.steps_per_datagram, fit); ++i) add_step(utc_ns);
    return mold_.finish();
}

void GeneratedFeed::add_step(std::int64_t utc_ns) noexcept {
    const auto& step = market_.next();
    ++steps_;
    itch_.set_head(static_cast<std::uint16_t>(step.instrument + 1), utc_ns % kDayNanos);
    auto& orders = orders_[step.instrument];
    const auto stock = market_.symbol(step.instrument).view();
    const auto change_bid = [&] {
        if (!step.bid_changed && orders.bid != 0) return;
        add_side('B', orders.bid, step.traded && step.bid_changed, step.bid_size, step.bid_price, step.trade_size,
                 stock);
        add_behind('B', step.instrument, step.bid_price, stock);
    };
    // Prices that rise move the ask first, so that the book is never crossed or locked.
    const bool rises = step.ask_price > orders.ask_price;
    if (!rises) change_bid();
    if (step.ask_changed || orders.ask == 0) {
        add_side('S', orders.ask, step.traded && step.ask_changed, step.ask_size, step.ask_price, step.trade_size,
                 stock);
        add_behind('S', step.instrument, step.ask_price, stock);
        orders.ask_price = step.ask_price;
    }
    if (rises) change_bid();
}

std::span<const std::byte> GeneratedFeed::next_iex_tops(Buffer buffer, std::int64_t utc_ns) noexcept {
    namespace at = iex_layout;
    // The longest step is a quote after a trade.
    constexpr auto kMaxStepBytes = 2 * at::kLengthBytes + at::trade::kBytes + at::quote::kBytes;
    constexpr auto kFit = (kMaxDatagramBytes - at::kHeaderBytes) / kMaxStepBytes;
    const auto venue_price = [](Price price) { return in_venue_scale<at::kVenueScale>(price); };
    iex_.begin(buffer);
    iex_writer_.set_time(utc_ns);
    for (std::size_t i = 0; i < std::min(options_.steps_per_datagram, kFit); ++i) {
        const auto& step = market_.next();
        ++steps_;
        const auto symbol = market_.symbol(step.instrument).view();
        if (step.traded) {
            const auto trade = trade_of(step, next_match_++);
            (void)iex_.add(iex_writer_.trade(symbol, step.trade_size, venue_price(trade.price), trade.trade_id));
        }
        (void)iex_.add(iex_writer_.quote(symbol, step.bid_size, venue_price(step.bid_price),
                                         venue_price(step.ask_price), step.ask_size));
    }
    return iex_.finish(utc_ns);
}

std::span<const std::byte> GeneratedFeed::next_iex_deep(Buffer buffer, std::int64_t utc_ns) noexcept {
    namespace at = iex_layout;
    // The longest step is a trade, and on both sides a level that goes and one that comes.
    constexpr auto kMaxStepBytes = 5 * at::kLengthBytes + at::trade::kBytes + 4 * at::level::kBytes;
    constexpr auto kFit = (kMaxDatagramBytes - at::kHeaderBytes) / kMaxStepBytes;
    const auto venue_price = [](Price price) { return in_venue_scale<at::kVenueScale>(price); };
    iex_.begin(buffer);
    iex_writer_.set_time(utc_ns);
    if (add_prologue()) return iex_.finish(utc_ns);
    for (std::size_t i = 0; i < std::min(options_.steps_per_datagram, kFit); ++i) {
        const auto& step = market_.next();
        ++steps_;
        const auto symbol = market_.symbol(step.instrument).view();
        auto& before = orders_[step.instrument];
        const auto put = [&](char side, std::uint32_t size, Price price, bool is_complete) {
            (void)iex_.add(iex_writer_.level(side, symbol, size, venue_price(price), is_complete));
        };
        if (step.traded) {
            const auto trade = trade_of(step, next_match_++);
            (void)iex_.add(iex_writer_.trade(symbol, step.trade_size, venue_price(trade.price), trade.trade_id));
        }
        const bool changes_bid = step.bid_changed || before.bid_price == 0;
        const bool changes_ask = step.ask_changed || before.ask_price == 0;
        if (changes_bid && before.bid_price != 0 && before.bid_price != step.bid_price)
            put(at::order::kBuy, 0, before.bid_price, false);
        if (changes_ask && before.ask_price != 0 && before.ask_price != step.ask_price)
            put(at::order::kSell, 0, before.ask_price, false);
        if (changes_bid) put(at::order::kBuy, step.bid_size, step.bid_price, !changes_ask);
        if (changes_ask) put(at::order::kSell, step.ask_size, step.ask_price, true);
        before.bid_price = step.bid_price;
        before.ask_price = step.ask_price;
    }
    return iex_.finish(utc_ns);
}

std::span<const std::byte> GeneratedFeed::next_iex_deep_plus(Buffer buffer, std::int64_t utc_ns) noexcept {
    namespace at = iex_layout;
    // The longest step changes all orders of both sides, of which the best ones may be executed.
    constexpr auto kOrderBytes = at::kLengthBytes + at::order::kBytes;
    constexpr auto kMoreBytes = 2 * (at::order::kExecutedBytes - at::order::kBytes);
    static_assert(2 * kMaxOrders * kOrderBytes + kMoreBytes <= kMaxDatagramBytes - at::kHeaderBytes);
    const auto fit = (kMaxDatagramBytes - at::kHeaderBytes) / (2 * options_.orders * kOrderBytes + kMoreBytes);
    iex_.begin(buffer);
    iex_writer_.set_time(utc_ns);
    if (add_prologue()) return iex_.finish(utc_ns);
    for (std::size_t i = 0; i < std::min(options_.steps_per_datagram, fit); ++i) add_step(utc_ns);
    return iex_.finish(utc_ns);
}

bool GeneratedFeed::add_prologue() noexcept {
    constexpr std::size_t kMaxStepBytes = moldudp64_layout::kLengthBytes + itch_layout::directory::kBytes;
    static_assert(iex_layout::kLengthBytes + iex_layout::directory::kBytes <= kMaxStepBytes);
    const bool is_itch = options_.format == WireFormat::itch;
    const auto header = is_itch ? moldudp64_layout::kHeaderBytes : iex_layout::kHeaderBytes;
    const auto fit = (kMaxDatagramBytes - header) / kMaxStepBytes;
    const auto all = market_.size() + 3;  // start of messages, the directory, start of system and market hours
    const auto until = std::min(all, prologue_ + fit);
    if (prologue_ == all) return false;
    const auto put_event = [&](char itch, char iex) {
        itch_.set_locate(0);
        (void)(is_itch ? mold_.add(itch_.system_event(itch)) : iex_.add(iex_writer_.system_event(iex)));
    };
    for (; prologue_ < until; ++prologue_) {
        if (prologue_ == 0) {
            put_event('O', 'O');
        } else if (prologue_ <= market_.size()) {
            const auto instrument = static_cast<std::uint32_t>(prologue_ - 1);
            const auto symbol = market_.symbol(instrument).view();
            itch_.set_locate(static_cast<std::uint16_t>(instrument + 1));
            (void)(is_itch ? mold_.add(itch_.directory(symbol)) : iex_.add(iex_writer_.directory(symbol, 0, kLot)));
        } else if (prologue_ + 1 == all) {
            put_event('Q', 'R');
        } else {
            put_event('S', 'S');
        }
    }
    return true;
}

void GeneratedFeed::put_added(std::uint64_t order, char side, std::uint32_t size, std::string_view stock,
                              std::uint32_t price) noexcept {
    if (options_.format == WireFormat::itch) {
        (void)mold_.add(itch_.order_added(order, side, size, stock, price));
    } else {
        const auto iex_side = side == 'B' ? iex_layout::order::kBuy : iex_layout::order::kSell;
        (void)iex_.add(iex_writer_.order_added(stock, order, iex_side, size, price));
    }
}

void GeneratedFeed::put_executed(std::uint64_t order, std::uint32_t size, std::string_view stock,
                                 std::uint32_t price) noexcept {
    const auto match = next_match_++;
    if (options_.format == WireFormat::itch) {
        (void)mold_.add(itch_.order_executed(order, size, match));
    } else {
        (void)iex_.add(iex_writer_.order_executed(stock, order, size, price, match));
    }
}

void GeneratedFeed::put_changed(std::uint64_t& order, std::uint32_t size, std::string_view stock,
                                std::uint32_t price) noexcept {
    const auto next = next_order_++;
    if (options_.format == WireFormat::itch) {
        (void)mold_.add(itch_.order_replaced(order, next, size, price));
        order = next;
    } else {
        (void)iex_.add(iex_writer_.order_modified(stock, order, size, price, next % 2 == 0));
    }
}

void GeneratedFeed::add_side(char side, std::uint64_t& order, bool traded, std::uint32_t size, Price price,
                             std::uint32_t trade_size, std::string_view stock) noexcept {
    const auto wire_price = static_cast<std::uint32_t>(in_venue_scale<itch_layout::kVenueScale>(price));
    if (order == 0) {
        order = next_order_++;
        put_added(order, side, size, stock, wire_price);
    } else if (traded) {
        put_executed(order, trade_size, stock, wire_price);
    } else {
        put_changed(order, size, stock, wire_price);
    }
}

void GeneratedFeed::add_behind(char side, std::uint32_t instrument, Price best, std::string_view stock) noexcept {
    constexpr std::uint32_t kTick = itch_layout::kVenueScale / 100;
    constexpr std::uint32_t kLots = 20;
    const bool is_bid = side == 'B';
    const auto orders = options_.orders - 1;
    const auto best_price = static_cast<std::uint32_t>(in_venue_scale<itch_layout::kVenueScale>(best));
    auto* const behind = behind_.data() + (2 * std::size_t{instrument} + (is_bid ? 0 : 1)) * orders;
    for (std::size_t i = 0; i < orders; ++i) {
        auto& [order, price] = behind[i];
        const bool is_better = is_bid ? price > best_price : price < best_price;
        if (order != 0 && !is_better && i != steps_ % orders) continue;
        const auto drawn = static_cast<std::uint32_t>((next_order_ * 0x9E37'79B9'7F4A'7C15) >> 32);
        const auto away = kTick * static_cast<std::uint32_t>(1 + drawn % options_.orders);
        const auto shares = 100 * (1 + drawn / 64 % kLots);
        const auto down = best_price > kTick ? std::min(away, best_price - kTick) : 0;
        price = is_bid ? best_price - down : best_price + away;
        if (order != 0) {
            put_changed(order, shares, stock, price);
            continue;
        }
        order = next_order_++;
        put_added(order, side, shares, stock, price);
    }
}

}  // namespace millpond::feed
