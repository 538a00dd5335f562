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
constexpr std::size_t kMostSteps = 1'000;

std::string session_text(std::uint64_t session) {
    const auto digits = std::to_string(session % 10'000'000'000);
    return std::string(10 - digits.size(), '0') + digits;
}

GeneratedFeed::Options checked(const GeneratedFeed::Options& options) {
    if (options.steps_per_datagram == 0 || options.steps_per_datagram > kMostSteps) {
        throw std::invalid_argument("generated feed: " + std::to_string(options.steps_per_datagram) +
                                    " steps a datagram is not in 1.." + std::to_string(kMostSteps));
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
    for (const auto format : {WireFormat::bbo28, WireFormat::quotes, WireFormat::miax_tom, WireFormat::itch}) {
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
    }
    return "unknown";
}

GeneratedFeed::GeneratedFeed(const Options& options)
    : options_(checked(options)),
      market_(options.market),
      quotes_({.channel = options.channel, .session = options.session}),
      miax_({.session = static_cast<std::uint8_t>(options.session), .first_sequence = 1}),
      mold_(session_text(options.session)),
      orders_(market_.size()) {}

std::span<const std::byte> GeneratedFeed::next(Buffer buffer, std::int64_t utc_ns) noexcept {
    switch (options_.format) {
        case WireFormat::bbo28: return next_bbo28(buffer);
        case WireFormat::quotes: return next_quotes(buffer, utc_ns);
        case WireFormat::miax_tom: return next_miax_tom(buffer, utc_ns);
        case WireFormat::itch: return next_itch(buffer, utc_ns);
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
    }
    return {};
}

std::span<const std::byte> GeneratedFeed::next_bbo28(Buffer buffer) noexcept {
    const auto& step = market_.next();
    ++steps_;
    write_bbo28(buffer.data(), {.spread = static_cast<std::uint32_t>(step.ask_price - step.bid_price),
                                .ask_size = step.ask_size,
                                .ask_price = static_cast<std::uint32_t>(step.ask_price),
                                .bid_size = step.bid_size,
                                .bid_price = static_cast<std::uint32_t>(step.bid_price),
                                .symbol = market_.symbol(step.instrument).view()});
    return buffer.first(kBbo28Bytes);
}

std::span<const std::byte> GeneratedFeed::next_quotes(Buffer buffer, std::int64_t utc_ns) noexcept {
    // A name has at most eight letters, so a datagram holds a whole number of the longest quotes.
    constexpr auto kFit = (kMaxDatagramBytes - quotes_layout::kHeaderBytes) / (quotes_layout::kNamesAt + 4 + 8);
    const auto count = std::min({options_.steps_per_datagram, kFit, quotes_layout::kMaxQuotes});
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
    constexpr auto kLongest = 2 * at::kHeaderBytes + at::kTradeBytes + at::kSideAt + 2 * at::kWide.bytes;
    constexpr auto kFit = (kMaxDatagramBytes - at::kHeaderBytes - at::kSystemTimeBytes) / kLongest;
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
    // The longest step adds an order to each side.
    constexpr auto kLongest = 2 * (moldudp64_layout::kLengthBytes + itch_layout::order_added::kBytes);
    constexpr auto kFit = (kMaxDatagramBytes - moldudp64_layout::kHeaderBytes) / kLongest;
    mold_.begin(buffer);
    itch_.set_head(0, utc_ns % kDayNanos);
    if (add_prologue()) return mold_.finish();
    for (std::size_t i = 0; i < std::min(options_.steps_per_datagram, kFit); ++i) {
        const auto& step = market_.next();
        ++steps_;
        itch_.set_head(static_cast<std::uint16_t>(step.instrument + 1), utc_ns % kDayNanos);
        auto& orders = orders_[step.instrument];
        const auto stock = market_.symbol(step.instrument).view();
        if (step.bid_changed || orders.bid == 0) {
            add_side('B', orders.bid, step.traded && step.bid_changed, step.bid_size, step.bid_price, step.trade_size,
                     stock);
        }
        if (step.ask_changed || orders.ask == 0) {
            add_side('S', orders.ask, step.traded && step.ask_changed, step.ask_size, step.ask_price, step.trade_size,
                     stock);
        }
    }
    return mold_.finish();
}

bool GeneratedFeed::add_prologue() noexcept {
    constexpr std::size_t kLongest = moldudp64_layout::kLengthBytes + itch_layout::directory::kBytes;
    constexpr auto kFit = (kMaxDatagramBytes - moldudp64_layout::kHeaderBytes) / kLongest;
    const auto all = market_.size() + 3;  // start of messages, the directory, start of system and market hours
    const auto until = std::min(all, prologue_ + kFit);
    if (prologue_ == all) return false;
    for (; prologue_ < until; ++prologue_) {
        if (prologue_ == 0) {
            (void)mold_.add(itch_.system_event('O'));
        } else if (prologue_ <= market_.size()) {
            const auto instrument = static_cast<std::uint32_t>(prologue_ - 1);
            itch_.set_locate(static_cast<std::uint16_t>(instrument + 1));
            (void)mold_.add(itch_.directory(market_.symbol(instrument).view()));
        } else {
            itch_.set_locate(0);
            (void)mold_.add(itch_.system_event(prologue_ + 1 == all ? 'Q' : 'S'));
        }
    }
    return true;
}

void GeneratedFeed::add_side(char side, std::uint64_t& order, bool traded, std::uint32_t size, Price price,
                             std::uint32_t trade_size, std::string_view stock) noexcept {
    const auto wire_price = static_cast<std::uint32_t>(price);
    if (order == 0) {
        order = next_order_++;
        (void)mold_.add(itch_.order_added(order, side, size, stock, wire_price));
    } else if (traded) {
        (void)mold_.add(itch_.order_executed(order, trade_size, next_match_++));
    } else {
        (void)mold_.add(itch_.order_replaced(order, next_order_, size, wire_price));
        order = next_order_++;
    }
}

}  // namespace millpond::feed
