#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include <millpond/market/books.hpp>
#include <millpond/market/composite.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

namespace millpond::market {
namespace {

constexpr std::uint16_t kVenues = 3;  // channels 0, 1, 2
constexpr std::uint16_t kChannel = 3;
constexpr feed::InstrumentId kBest = 0;  // the instrument of venue v is 1 + v
constexpr std::uint32_t kVenueDepth = 4;
constexpr std::uint32_t kDepth = 3;

using Prices = std::map<feed::Price, std::uint64_t>;  // sizes, by price

/// The best levels of a side, the best one first.
std::vector<std::pair<feed::Price, std::uint64_t>> best(const Prices& prices, feed::Side side, std::size_t depth) {
    std::vector<std::pair<feed::Price, std::uint64_t>> levels(prices.begin(), prices.end());
    if (side == feed::Side::bid) std::ranges::reverse(levels);
    levels.resize(std::min(depth, levels.size()));
    return levels;
}

/// The books of a ring, as a reader has them.
struct Reader {
    explicit Reader(const std::string& ring)
        : reader({.name = ring}),
          books({.max_instruments = 8}, [this](auto channel) { return reader.depth(channel); }) {
        reader.join(*this);
    }
    template <class Event>
    void on(const Event& event) {
        books.on(event);
    }
    void read() {
        while (reader.poll(*this, 64) != 0) continue;
    }
    [[nodiscard]] auto levels(feed::Side side) const {
        std::vector<std::pair<feed::Price, std::uint64_t>> levels;
        if (const auto* const book = books.find(kBest)) {
            for (const auto& level : side == feed::Side::bid ? book->bids() : book->asks())
                levels.emplace_back(level.price, level.size);
        }
        return levels;
    }
    [[nodiscard]] bool is_complete() const {
        const auto* const book = books.find(kBest);
        return book != nullptr && book->complete();
    }

    RingReader reader;
    Books books;
};

/// Venues with one symbol on a ring, and the composite of their levels.
class Market {
public:
    explicit Market(std::uint64_t seed) : random_(seed) {
        for (feed::InstrumentId id = 0; id <= kVenues; ++id)
            writer_.name(id, feed::Venue{std::to_string(id)}, feed::Symbol{"AAPL"});
        for (std::uint16_t venue = 0; venue < kVenues; ++venue) {
            EXPECT_TRUE(writer_.set_depth(venue, {.depth = kVenueDepth}));
            EXPECT_TRUE(composite_.add(kBest, 1U + venue, venue, 1));
        }
        EXPECT_TRUE(writer_.set_depth(kChannel, {.depth = kDepth}));
        begin_reader();
    }
    void begin_reader() { readers_.push_back(std::make_unique<Reader>(name_)); }

    /// Something happens at a venue.
    void step() {
        const auto venue = static_cast<std::uint16_t>(below(kVenues));
        auto& state = venues_[venue];
        const auto kind = below(100);
        if (kind < 4) {
            state.is_complete = false;
            apply(feed::Gap{.channel = venue, .reason = feed::GapReason::sequence});
        } else if (kind < 7) {
            state = {};
            apply(feed::Clear{.channel = venue, .reason = feed::ClearReason::new_session});
        } else if (kind < 12) {
            change(venue, [&] { state.is_halted = !state.is_halted; });
        } else if (kind < 30 && !(state.is_complete && state.has_quote)) {
            rebuild(venue);
        } else {
            change(venue, [&] {
                for (auto left = 1 + below(3); left != 0; --left) {
                    auto& prices = below(2) == 0 ? state.bids : state.asks;
                    const auto price = static_cast<feed::Price>(below(9)) - 4;
                    if (const auto size = below(4); size != 0)
                        prices[price] = size;
                    else
                        prices.erase(price);
                }
            });
        }
        while (composite_.renew(1, publish_) != 0) continue;
    }
    /// Every reader has the sums of the levels of the venues that take part, or an incomplete book.
    void check() {
        Prices bids;
        Prices asks;
        bool is_complete = true;
        for (const auto& venue : venues_) {
            const bool counts = venue.is_complete && venue.has_quote;
            is_complete = is_complete && counts;
            if (!counts || venue.is_halted) continue;
            for (const auto& [price, size] : best(venue.bids, feed::Side::bid, kVenueDepth)) bids[price] += size;
            for (const auto& [price, size] : best(venue.asks, feed::Side::ask, kVenueDepth)) asks[price] += size;
        }
        for (const auto& reader : readers_) {
            reader->read();
            const bool has_all = is_complete && is_published_;
            EXPECT_EQ(reader->is_complete(), has_all);
            if (!has_all) continue;
            EXPECT_EQ(reader->levels(feed::Side::bid), best(bids, feed::Side::bid, kDepth));
            EXPECT_EQ(reader->levels(feed::Side::ask), best(asks, feed::Side::ask, kDepth));
            ++checked_;
        }
    }
    [[nodiscard]] std::uint64_t checked() const noexcept { return checked_; }

private:
    struct Venue {
        Prices bids;
        Prices asks;
        bool is_complete{true};
        bool is_halted{false};
        bool has_quote{false};
    };
    struct Publish {
        Market& market;
        template <class Event>
        std::uint64_t operator()(const Event& event) const {
            EXPECT_TRUE(market.writer_.publish(event));
            if constexpr (std::is_same_v<Event, feed::Quote>) market.is_published_ = true;
            return market.writer_.newest();
        }
    };

    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    template <class Event>
    void apply(const Event& event) {
        ASSERT_TRUE(writer_.publish(event));
        composite_.on(event, writer_.newest(), publish_);
    }
    [[nodiscard]] feed::Quote quote_of(std::uint16_t venue) const {
        const auto& state = venues_[venue];
        feed::Quote quote;
        quote.instrument = 1U + venue;
        quote.channel = venue;
        if (!state.is_complete) quote.flags |= feed::kIncomplete;
        if (state.is_halted) quote.flags |= feed::kHalted;
        if (!state.bids.empty()) std::tie(quote.bid_price, quote.bid_size) = *state.bids.rbegin();
        if (!state.asks.empty()) std::tie(quote.ask_price, quote.ask_size) = *state.asks.begin();
        return quote;
    }
    /// Publishes the levels in one group, with the quote if it differs from `before` or the venue had none.
    void publish_group(std::uint16_t venue, std::vector<feed::Level> levels, const feed::Quote& before) {
        auto& state = venues_[venue];
        auto quote = quote_of(venue);
        const bool has_quote = !state.has_quote || quote.flags != before.flags || quote.bid_price != before.bid_price ||
                               quote.ask_price != before.ask_price || quote.bid_size != before.bid_size ||
                               quote.ask_size != before.ask_size;
        state.has_quote = true;
        for (auto& level : levels) {
            level.instrument = 1U + venue;
            level.channel = venue;
            if (!state.is_complete) level.flags |= feed::kIncomplete;
            if (!has_quote && &level == &levels.back()) level.flags |= feed::kLast;
            apply(level);
        }
        if (!has_quote) return;
        quote.flags |= feed::kLast;
        apply(quote);
    }
    static void add_levels(const Prices& prices, feed::Side side, std::vector<feed::Level>& levels) {
        for (const auto& [price, size] : best(prices, side, kVenueDepth)) {
            auto& level = levels.emplace_back();
            level.side = side;
            level.price = price;
            level.size = size;
        }
    }
    void rebuild(std::uint16_t venue) {
        auto& state = venues_[venue];
        const auto before = quote_of(venue);
        state.is_complete = true;
        std::vector<feed::Level> levels(1);
        add_levels(state.bids, feed::Side::bid, levels);
        add_levels(state.asks, feed::Side::ask, levels);
        publish_group(venue, std::move(levels), before);
    }
    template <class Change>
    void change(std::uint16_t venue, Change&& change) {
        auto& state = venues_[venue];
        if (!state.has_quote) return;
        const auto before = state;
        const auto quote = quote_of(venue);
        change();
        std::vector<feed::Level> levels;
        add_changes(before.bids, state.bids, feed::Side::bid, levels);
        add_changes(before.asks, state.asks, feed::Side::ask, levels);
        publish_group(venue, std::move(levels), quote);
    }
    static void add_changes(const Prices& before, const Prices& now, feed::Side side,
                            std::vector<feed::Level>& levels) {
        const auto old_levels = best(before, side, kVenueDepth);
        const auto new_levels = best(now, side, kVenueDepth);
        const auto add = [&](feed::Price price, std::uint64_t size) {
            auto& level = levels.emplace_back();
            level.side = side;
            level.price = price;
            level.size = size;
        };
        for (const auto& [price, size] : old_levels) {
            if (!now.contains(price)) add(price, 0);
        }
        for (const auto& level : new_levels) {
            if (std::ranges::find(old_levels, level) == old_levels.end()) add(level.first, level.second);
        }
    }

    std::string name_{"test." + std::to_string(getpid()) + ".composite-levels"};
    RingWriter writer_{
        {.name = name_, .max_instruments = 8, .max_channels = 4, .depth = kVenueDepth, .best_venues = true}};
    Composite composite_{{.channel = kChannel,
                          .venues = {0b1, 0b10, 0b100},
                          .max_instruments = 8,
                          .depth = kDepth,
                          .board = &writer_.board()}};
    Publish publish_{*this};
    std::mt19937_64 random_;
    std::array<Venue, kVenues> venues_{};
    bool is_published_{false};
    std::vector<std::unique_ptr<Reader>> readers_;
    std::uint64_t checked_{0};
};

TEST(CompositeLevels, EveryReaderHasTheSumsOfTheVenuesThatTakePartOrAnIncompleteBook) {
    std::uint64_t checked = 0;
    for (std::uint64_t seed = 1; seed <= 20 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        Market market{seed};
        for (int i = 0; i < 400 && !testing::Test::HasFailure(); ++i) {
            SCOPED_TRACE(i);
            market.step();
            market.check();
            if (i % 100 == 50) {
                market.begin_reader();
                market.check();
            }
        }
        checked += market.checked();
    }
    EXPECT_GT(checked, 5'000U);
}

TEST(CompositeLevels, AreRefusedWithoutABoardAndBeyondTen) {
    EXPECT_THROW(Composite({.channel = 2, .venues = {1, 2}, .depth = 1}), std::invalid_argument);
    const RingWriter writer{{.name = "test." + std::to_string(getpid()) + ".composite-depth", .max_instruments = 1}};
    EXPECT_THROW(Composite({.channel = 2, .venues = {1, 2}, .depth = 11, .board = &writer.board()}),
                 std::invalid_argument);
}

}  // namespace
}  // namespace millpond::market
