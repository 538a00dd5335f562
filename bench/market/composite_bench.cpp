// Measured:     publishing a venue's quote on the ring and the board, and what the composite adds: its check and, where
//               that changes the best, its own quote and venues; processor time of the thread.
// Not measured: receiving and decoding, the first quote of each member, losses, readers.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <millpond/feed/price.hpp>
#include <millpond/market/composite.hpp>
#include <millpond/market/ring_writer.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

constexpr std::uint16_t kMaxVenues = 64;
constexpr std::uint32_t kSymbols = 2'000;
constexpr feed::Price kTick = feed::price_from<100>(1);

/// Which share of the quotes changes the best prices.
enum class Mix : std::uint8_t {
    none,  ///< Venue 0 keeps the best prices, and the others quote behind them.
    some,  ///< Each price is 0 to 7 ticks behind the best one.
    most,  ///< Each price is 0 to 2 ticks behind the best one.
};

/// Quotes of the venues 0, 1, ... for all symbols, whose prices wander. Instrument: symbol + kSymbols x (venue + 1).
std::vector<feed::Quote> wandering(std::uint16_t venues, std::size_t count, Mix mix) {
    const auto behind = [mix](std::uint64_t bits) {
        if (mix == Mix::none) return static_cast<feed::Price>(200 + bits % 8);
        return static_cast<feed::Price>(bits % (mix == Mix::some ? 8 : 3));
    };
    std::mt19937_64 random{venues};
    std::vector<feed::Price> middle(kSymbols, 10'000);
    std::vector<feed::Quote> quotes(count);
    for (auto& quote : quotes) {
        const auto bits = random();
        const auto symbol = static_cast<std::uint32_t>(bits % kSymbols);
        quote.channel = static_cast<std::uint16_t>((bits >> 20U) % venues);
        if (mix == Mix::none && quote.channel == 0) quote.channel = 1;
        quote.instrument = symbol + kSymbols * (quote.channel + 1U);
        if (mix != Mix::none && (bits >> 30U) % 32 == 0) middle[symbol] += (bits >> 40U) % 2 == 0 ? 1 : -1;
        quote.bid_price = (middle[symbol] - 1 - behind(bits >> 42U)) * kTick;
        quote.ask_price = (middle[symbol] + 1 + behind(bits >> 46U)) * kTick;
        quote.bid_size = 100 * (1 + (bits >> 48U) % 16);
        quote.ask_size = 100 * (1 + (bits >> 52U) % 16);
        quote.receive_utc_ns = static_cast<std::int64_t>(bits >> 8U);
    }
    return quotes;
}

/// A ring with the instruments of all venues, and a composite of them.
class Venues {
public:
    Venues(std::uint16_t venues, std::size_t count, Mix mix)
        : quotes_(wandering(venues, count, mix)),
          writer_({.name = "bench." + std::to_string(getpid()) + ".composite." + std::to_string(venues) + "." +
                           std::to_string(static_cast<int>(mix)),
                   .max_instruments = kSymbols * (venues + 1U),
                   .max_channels = venues + 1U,
                   .best_venues = true}),
          composite_({.channel = venues, .venues = channels_of(venues), .max_instruments = kSymbols * (venues + 1U)}) {
        for (std::uint32_t id = 0; id < kSymbols * (venues + 1U); ++id)
            writer_.name(id, feed::Venue{"V"}, feed::Symbol{std::to_string(id)});
        for (std::uint16_t venue = 0; venue < venues; ++venue) {
            for (std::uint32_t symbol = 0; symbol < kSymbols; ++symbol) {
                const auto member = symbol + kSymbols * (venue + 1U);
                if (!composite_.add(symbol, member, venue, 1)) throw std::logic_error("a member is refused");
                feed::Quote quote;
                quote.instrument = member;
                quote.channel = venue;
                quote.bid_price = 9'990 * kTick;
                quote.ask_price = 10'010 * kTick;
                quote.bid_size = quote.ask_size = 100;
                follow(quote);
            }
        }
        const auto before = composite_.quotes().read();
        publish_both();
        changed_ = composite_.quotes().read() - before;
    }

    [[nodiscard]] std::size_t size() const noexcept { return quotes_.size(); }
    [[nodiscard]] double share_that_changes() const noexcept {
        return static_cast<double>(changed_) / static_cast<double>(quotes_.size());
    }
    void publish_alone() {
        for (const auto& quote : quotes_) writer_.publish(quote);
    }
    void publish_both() {
        for (const auto& quote : quotes_) follow(quote);
    }

private:
    static std::vector<std::uint64_t> channels_of(std::uint16_t venues) {
        std::vector<std::uint64_t> channels(venues);
        for (std::size_t venue = 0; venue < venues; ++venue) channels[venue] = std::uint64_t{1} << venue;
        return channels;
    }
    void follow(const feed::Quote& quote) {
        writer_.publish(quote);
        composite_.on(quote, writer_.newest(), [this](const auto& event) {
            if (!writer_.publish(event)) throw std::logic_error("an event is refused");
            return writer_.newest();
        });
    }

    std::vector<feed::Quote> quotes_;
    market::RingWriter writer_;
    market::Composite composite_;
    std::uint64_t changed_{0};
};

}  // namespace

int main() {
    const auto count = bench::scaled(1'000'000);
    std::vector<bench::Contender> contenders;
    const auto alone = [](Venues& venues) {
        return bench::own_nanos_each(venues.size(), [&] { venues.publish_alone(); });
    };
    const auto both = [](Venues& venues) {
        return bench::own_nanos_each(venues.size(), [&] { venues.publish_both(); });
    };
    const auto market_of = [count](std::uint16_t venues, Mix mix) {
        return std::make_shared<Venues>(venues, count, mix);
    };
    const auto none = market_of(4, Mix::none);
    const auto some = market_of(4, Mix::some);
    const auto most = market_of(4, Mix::most);
    const auto many = market_of(kMaxVenues, Mix::some);
    contenders.push_back(
        {.name = "quotes alone", .run = [=] { return bench::Finding{.value = alone(*some), .answer = some->size()}; }});
    std::string shares;
    const auto add = [&](std::string name, const std::shared_ptr<Venues>& market) {
        shares += (shares.empty() ? "" : ", ") + std::to_string(static_cast<int>(100 * market->share_that_changes()));
        contenders.push_back({.name = std::move(name), .run = [=] {
                                  const auto before = alone(*market);
                                  return bench::Finding{.value = both(*market) - before, .answer = market->size()};
                              }});
    };
    add("more for 4 venues, the best stays", none);
    add("more for 4 venues, some change it", some);
    add("more for 4 venues, most change it", most);
    add("more for 64 venues, some change it", many);
    bench::compare(
        {.question = "What does a composite cost more for a quote of one of its venues?",
         .unit = "ns/quote",
         .goals = {{.contender = "more for 4 venues, the best stays", .at_most = 15.0},
                   {.contender = "more for 4 venues, some change it", .at_most = 15.0}},
         .measured = "publishing on ring and board, " + std::to_string(kSymbols) +
                     " symbols; of the quotes of the last four rows, " + shares + " % change the composite's",
         .not_measured = "receiving, decoding, the first quote of each member, losses, readers"},
        contenders);
}
