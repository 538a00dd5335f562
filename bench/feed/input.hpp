#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <millpond/feed/bbo28_layout.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/miax_tom_encoder.hpp>
#include <millpond/feed/quotes_encoder.hpp>

/// Input of the benches and instruction counts of decoders: seeded, so that every contender gets the same
/// bytes.
namespace millpond::bench {

inline constexpr std::size_t kInstruments = 256;

/// "AA", "ABB", "ACCC", ...: 2 to 5 letters, all different.
inline feed::Symbol symbol_of(std::size_t instrument) {
    const auto letter = [](std::size_t i) { return static_cast<char>('A' + i); };
    return feed::Symbol{letter(instrument / 16) + std::string(1 + instrument % 4, letter(instrument % 16))};
}

/// Quotes that wander by a cent or so, of instruments in random order; instruments are numbered in order of first use.
inline std::vector<feed::Quote> wandering_quotes(std::size_t count) {
    std::mt19937_64 random(28);
    std::array<std::uint32_t, kInstruments> middle;
    for (auto& price : middle) price = static_cast<std::uint32_t>(500 + random() % 50'000) * 100;
    std::vector<feed::Quote> quotes(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto instrument = i < kInstruments ? i : random() % kInstruments;
        auto& price = middle[instrument];
        price += static_cast<std::uint32_t>(random() % 3) * 100;
        price -= 100;
        auto& quote = quotes[i];
        quote.instrument = static_cast<feed::InstrumentId>(instrument);
        quote.bid_price = feed::price_from<10'000>(price);
        quote.ask_price = feed::price_from<10'000>(price + 100 * (1 + static_cast<std::uint32_t>(random() % 4)));
        quote.bid_size = 100 * (1 + random() % 50);
        quote.ask_size = 100 * (1 + random() % 50);
        quote.exchange_utc_ns = 1'580'398'200'000'000'000 + static_cast<std::int64_t>(i) * 12'345;
        quote.receive_utc_ns = quote.exchange_utc_ns + 7'000;
        quote.feed_sequence = i + 1;
    }
    return quotes;
}

using Bbo28Bytes = std::array<std::byte, feed::kBbo28Bytes>;

inline std::vector<Bbo28Bytes> bbo28_datagrams(const std::vector<feed::Quote>& quotes) {
    std::vector<Bbo28Bytes> datagrams;
    for (const auto& quote : quotes) {
        const auto symbol = symbol_of(quote.instrument);
        const auto narrow = [](auto value) { return static_cast<std::uint32_t>(value); };
        const auto bid = narrow(feed::in_venue_scale<feed::kBbo28Scale>(quote.bid_price));
        const auto ask = narrow(feed::in_venue_scale<feed::kBbo28Scale>(quote.ask_price));
        feed::write_bbo28(datagrams.emplace_back().data(), {.spread = ask - bid,
                                                            .ask_size = narrow(quote.ask_size),
                                                            .ask_price = ask,
                                                            .bid_size = narrow(quote.bid_size),
                                                            .bid_price = bid,
                                                            .symbol = symbol.view()});
    }
    return datagrams;
}

/// `quotes` datagrams of eight quotes each.
inline std::vector<std::vector<std::byte>> quotes_datagrams(const std::vector<feed::Quote>& quotes) {
    constexpr std::size_t kQuotesEach = 8;
    std::vector<std::vector<std::byte>> datagrams;
    feed::QuotesEncoder encoder({.channel = 1, .session = 1});
    std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
    for (std::size_t i = 0; i < quotes.size(); i += kQuotesEach) {
        encoder.begin(buffer);
        for (std::size_t j = i; j < std::min(i + kQuotesEach, quotes.size()); ++j) {
            if (!encoder.add(quotes[j], feed::Venue{"XNAS"}, symbol_of(quotes[j].instrument))) break;
        }
        const auto bytes = encoder.finish(quotes[i].receive_utc_ns);
        datagrams.emplace_back(bytes.begin(), bytes.end());
    }
    return datagrams;
}

/// The number that MIAX has for an instrument: not dense, as in the real feed.
inline constexpr std::uint32_t product_of(std::size_t instrument) {
    return 100'000 + static_cast<std::uint32_t>(instrument) * 37;
}

/// MIAX datagrams of two or three one-sided messages, as in a capture of the real feed.
inline std::vector<std::vector<std::byte>> miax_datagrams(const std::vector<feed::Quote>& quotes) {
    std::vector<std::vector<std::byte>> datagrams;
    feed::MiaxTomEncoder encoder({});
    std::array<std::byte, 256> buffer;
    for (std::size_t i = 0; i < quotes.size();) {
        encoder.begin(buffer);
        for (const auto end = std::min(i + 2 + datagrams.size() % 2, quotes.size()); i < end; ++i) {
            const auto& quote = quotes[i];
            const auto product = product_of(quote.instrument);
            const auto nanos = static_cast<std::uint32_t>(i);
            const bool fits =
                i % 2 == 0 ? encoder.bid(product, nanos, quote.bid_price, static_cast<std::uint32_t>(quote.bid_size))
                           : encoder.offer(product, nanos, quote.ask_price, static_cast<std::uint32_t>(quote.ask_size));
            if (!fits) throw std::logic_error("a MIAX datagram is too small for its messages");
        }
        const auto bytes = encoder.finish();
        datagrams.emplace_back(bytes.begin(), bytes.end());
    }
    return datagrams;
}

/// Sums up events, so that contenders can be compared by the contents that they decoded.
struct Sum {
    std::uint64_t value{0};

    void on(const feed::Quote& quote) noexcept {
        value += static_cast<std::uint64_t>(quote.bid_price) * 3 + static_cast<std::uint64_t>(quote.ask_price) * 5 +
                 quote.bid_size * 7 + quote.ask_size * 11 + quote.instrument * 13;
    }
    void on(const feed::Trade& trade) noexcept { value += static_cast<std::uint64_t>(trade.price) * trade.size; }
    void on(const feed::TradeBreak& broken) noexcept { value += broken.trade_id; }
    void on(const feed::Status&) noexcept { value += 1; }
    void on(const feed::Gap& gap) noexcept { value += gap.last; }
    void on(const feed::Clear&) noexcept { value += 1; }
};

}  // namespace millpond::bench
