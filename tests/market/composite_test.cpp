#include <millpond/market/composite.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <variant>
#include <vector>

namespace millpond::market {
namespace {

using feed::BestVenues;
using feed::Clear;
using feed::ClearReason;
using feed::Gap;
using feed::GapReason;
using feed::InstrumentId;
using feed::kNoInstrument;
using feed::Quote;

constexpr std::uint16_t kChannel = 9;  // of the composite

/// A ring: numbers of events, and what a reader keeps of those of the composite.
struct Ring {
    struct Seen {
        Quote quote{};
        std::uint64_t number{0};  // 0: none
        BestVenues venues{};
    };
    std::uint64_t newest{0};
    std::uint64_t gapped{0};
    std::uint64_t published{0};  // events of the composite
    std::map<InstrumentId, Seen> seen;

    std::uint64_t operator()(const Quote& quote) {
        seen[quote.instrument].quote = quote;
        ++published;
        return seen[quote.instrument].number = ++newest;
    }
    std::uint64_t operator()(const BestVenues& venues) {
        seen[venues.instrument].venues = venues;
        ++published;
        return ++newest;
    }
    std::uint64_t operator()(const Gap& gap) {
        EXPECT_EQ(gap.channel, kChannel);
        EXPECT_EQ(gap.reason, GapReason::venue);
        ++published;
        return gapped = ++newest;
    }
    /// The quote as readers see it: after a Gap it is incomplete.
    [[nodiscard]] Quote quote(InstrumentId id) {
        auto quote = seen[id].quote;
        if (seen[id].number < gapped) quote.flags |= feed::kIncomplete;
        return quote;
    }
};

/// Instruments 0, 1, 2, ... are the composite's; 10 x venue + i is that of symbol i at a venue, 1, 2, ...
constexpr InstrumentId kVenueStep = 10;

class CompositeTest : public testing::Test {
protected:
    static constexpr std::int64_t kNow = 5'000;

    /// Adds the symbol 0 with these venues, whose channel is their number.
    void add(std::initializer_list<std::uint16_t> venues, InstrumentId symbol = 0) {
        for (const auto venue : venues) ASSERT_TRUE(composite.add(symbol, venue * kVenueStep + symbol, venue, kNow));
    }
    static Quote quote_of(std::uint16_t venue, feed::Price bid, std::uint64_t bid_size, feed::Price ask,
                          std::uint64_t ask_size, std::uint16_t flags = 0, InstrumentId symbol = 0) {
        Quote quote;
        quote.instrument = venue * kVenueStep + symbol;
        quote.channel = venue;
        quote.flags = flags;
        quote.bid_price = bid;
        quote.bid_size = bid_size;
        quote.ask_price = ask;
        quote.ask_size = ask_size;
        return quote;
    }
    template <class Event>
    std::uint64_t apply(const Event& event) {
        const auto number = ++ring.newest;
        composite.on(event, number, ring);
        return number;
    }
    void renew() {
        while (composite.renew(3, ring) != 0) continue;
    }
    void expect(feed::Price bid, std::uint64_t bid_size, feed::Price ask, std::uint64_t ask_size, unsigned flags) {
        const auto quote = ring.quote(0);
        EXPECT_EQ(quote.bid_price, bid);
        EXPECT_EQ(quote.bid_size, bid_size);
        EXPECT_EQ(quote.ask_price, ask);
        EXPECT_EQ(quote.ask_size, ask_size);
        EXPECT_EQ(quote.flags, flags);
    }

    Ring ring;
    Composite composite{{.channel = kChannel, .channels = 0b1111'1110, .max_members = 4, .max_instruments = 100}};
};

TEST_F(CompositeTest, SumsTheSizesOfTheBestPricesAndNamesTheirVenues) {
    add({1, 2, 3});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 99, 50, 102, 3));
    apply(quote_of(3, 100, 6, 102, 4));
    expect(100, 11, 102, 7, 0);
    EXPECT_EQ(ring.seen[0].venues.bid_channels, 0b1010U);
    EXPECT_EQ(ring.seen[0].venues.ask_channels, 0b1100U);
    EXPECT_EQ(ring.seen[0].venues.left_out(), 0U);
    apply(quote_of(3, 0, 0, 0, 0));
    expect(100, 5, 102, 3, 0);
}

TEST_F(CompositeTest, HasTheTimesAndTheNumberOfTheQuoteThatCausedIt) {
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    auto quote = quote_of(2, 101, 5, 103, 7);
    quote.exchange_utc_ns = 11;
    quote.receive_utc_ns = 12;
    quote.receive_ticks = 13;
    quote.feed_sequence = 14;
    const auto number = apply(quote);
    const auto& seen = ring.seen[0];
    EXPECT_EQ(seen.quote.channel, kChannel);
    EXPECT_EQ(seen.quote.exchange_utc_ns, 11);
    EXPECT_EQ(seen.quote.receive_utc_ns, 12);
    EXPECT_EQ(seen.quote.receive_ticks, 13U);
    EXPECT_EQ(seen.quote.feed_sequence, number);
    EXPECT_EQ(seen.venues.receive_utc_ns, 12);
    EXPECT_EQ(seen.venues.feed_sequence, number);
    EXPECT_GT(seen.number, number);
}

TEST_F(CompositeTest, PublishesNothingIfTheBestDoesNotChange) {
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 99, 5, 104, 7));
    const auto published = ring.published;
    apply(quote_of(2, 98, 5, 105, 8));
    apply(quote_of(1, 100, 5, 103, 7));
    EXPECT_EQ(ring.published, published);
    apply(quote_of(1, 100, 6, 103, 7));  // the same venues: only a quote
    EXPECT_EQ(ring.published, published + 1);
}

TEST_F(CompositeTest, LeavesOutWhatCannotBeTradedAndSaysWhy) {
    add({1, 2, 3, 4});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 101, 5, 102, 7, feed::kHalted));
    apply(quote_of(3, 101, 5, 102, 7, feed::kNotFirm));
    apply(quote_of(4, 101, 5, 102, 7, feed::kIncomplete));
    expect(100, 5, 103, 7, feed::kIncomplete);
    const auto& venues = ring.seen[0].venues;
    EXPECT_EQ(venues.bid_channels, 0b10U);
    EXPECT_EQ(venues.halted_channels, 0b100U);
    EXPECT_EQ(venues.not_firm_channels, 0b1000U);
    EXPECT_EQ(venues.incomplete_channels, 0b1'0000U);
    EXPECT_EQ(composite.left_out(4, Composite::LeftOut::incomplete).read(), 1U);
    apply(quote_of(4, 99, 5, 104, 7));
    expect(100, 5, 103, 7, 0);  // a halted venue has no better price
    EXPECT_EQ(composite.left_out(4, Composite::LeftOut::incomplete).read(), 0U);
    apply(quote_of(2, 101, 5, 102, 7));
    expect(101, 5, 102, 7, 0);
}

TEST_F(CompositeTest, IsHaltedIfAllVenuesAre) {
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 100, 5, 103, 7, feed::kHalted));
    expect(100, 5, 103, 7, 0);
    apply(quote_of(1, 100, 5, 103, 7, feed::kHalted));
    expect(0, 0, 0, 0, feed::kHalted);
}

TEST_F(CompositeTest, FlagsLockedAndCrossedPrices) {
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 99, 5, 100, 7));
    expect(100, 5, 100, 7, feed::kLocked);
    EXPECT_EQ(composite.locked().read(), 1U);
    apply(quote_of(2, -2, 5, -1, 7));
    expect(100, 5, -1, 7, feed::kCrossed);
    EXPECT_EQ(composite.locked().read(), 0U);
    EXPECT_EQ(composite.crossed().read(), 1U);
    apply(quote_of(1, -2, 5, 3, 7));
    expect(-2, 10, -1, 7, 0);
    EXPECT_EQ(composite.crossed().read(), 0U);
}

TEST_F(CompositeTest, AGapMakesAllQuotesIncompleteAtOnceAndLeavesTheVenueOutUntilItQuotesAgain) {
    add({1, 2});
    add({1, 2}, 1);
    for (const InstrumentId symbol : {0U, 1U}) {
        apply(quote_of(1, 100, 5, 103, 7, 0, symbol));
        apply(quote_of(2, 101, 5, 104, 7, 0, symbol));
    }
    apply(Gap{.channel = 2, .reason = GapReason::silence, .receive_utc_ns = 77});
    expect(101, 5, 103, 7, feed::kIncomplete);
    EXPECT_NE(ring.quote(1).flags & feed::kIncomplete, 0);
    renew();
    expect(100, 5, 103, 7, feed::kIncomplete);
    EXPECT_EQ(ring.seen[0].venues.silent_channels, 0b100U);
    EXPECT_EQ(ring.seen[0].quote.receive_utc_ns, 77);
    apply(quote_of(2, 101, 5, 104, 7));
    expect(101, 5, 103, 7, 0);
    EXPECT_EQ(ring.quote(1).bid_price, 100);  // not of this symbol
    EXPECT_NE(ring.quote(1).flags & feed::kIncomplete, 0);
}

TEST_F(CompositeTest, QuotesOfAnEndedSessionAreGoneAndThoseOfANewOneAreUnknown) {
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 101, 5, 102, 7));
    apply(Clear{.channel = 2, .reason = ClearReason::end_of_session});
    EXPECT_NE(ring.quote(0).flags & feed::kIncomplete, 0);  // until it is renewed
    renew();
    expect(100, 5, 103, 7, 0);
    EXPECT_EQ(ring.seen[0].venues.left_out(), 0U);
    apply(Clear{.channel = 2, .reason = ClearReason::new_session});
    renew();
    expect(100, 5, 103, 7, feed::kIncomplete);
    EXPECT_EQ(ring.seen[0].venues.incomplete_channels, 0b100U);
    composite.set_known(2, kNow);
    renew();
    expect(100, 5, 103, 7, 0);
}

TEST_F(CompositeTest, AVenueWithoutAQuoteIsIncompleteUntilItsBooksAreKnown) {
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    expect(100, 5, 103, 7, feed::kIncomplete);
    composite.set_known(2, kNow);
    renew();
    expect(100, 5, 103, 7, 0);
    EXPECT_EQ(ring.seen[0].quote.receive_utc_ns, kNow);
    // A venue that the file of names lists, and which has sent nothing of the symbol.
    ASSERT_TRUE(composite.add(0, kNoInstrument, 3, kNow));
    renew();
    expect(100, 5, 103, 7, feed::kIncomplete);
    EXPECT_EQ(ring.seen[0].venues.incomplete_channels, 0b1000U);
    ASSERT_TRUE(composite.add(0, 30, 3, kNow));
    apply(quote_of(3, 102, 1, 104, 1));
    expect(102, 1, 103, 7, 0);
}

TEST_F(CompositeTest, AnInstrumentThatWasClearedHasNoQuote) {
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 101, 5, 102, 7));
    apply(Clear{.instrument = 20, .channel = 2, .reason = ClearReason::sender_request});
    expect(100, 5, 103, 7, 0);
    apply(Clear{.instrument = 10, .channel = 1, .flags = feed::kIncomplete, .reason = ClearReason::sender_request});
    expect(0, 0, 0, 0, feed::kIncomplete);
}

TEST_F(CompositeTest, RefusesASecondInstrumentOfAVenueAndAnInstrumentOfTwoSymbols) {
    add({1, 2});
    EXPECT_FALSE(composite.add(0, 55, 1, kNow));   // another symbol of venue 1
    EXPECT_FALSE(composite.add(1, 10, 1, kNow));   // a member of symbol 0
    EXPECT_FALSE(composite.add(10, 56, 1, kNow));  // a member is not a symbol
    EXPECT_FALSE(composite.add(0, 56, 8, kNow));   // a channel that does not take part
    EXPECT_FALSE(composite.add(0, 100, 3, kNow));  // beyond the table
    EXPECT_EQ(composite.refused().read(), 5U);
    EXPECT_THROW(Composite({.channels = 1, .max_members = 65}), std::invalid_argument);
    EXPECT_THROW(Composite({.channel = 1, .channels = 2}), std::invalid_argument);
}

TEST_F(CompositeTest, IgnoresQuotesOfOtherChannelsAndInstruments) {
    add({1, 2});
    const auto published = ring.published;
    auto quote = quote_of(1, 100, 5, 103, 7);
    quote.channel = 70;
    apply(quote);
    quote.channel = 8;
    apply(quote);
    quote.channel = 1;
    quote.instrument = 77;
    apply(quote);
    quote.instrument = kNoInstrument;
    apply(quote);
    apply(Gap{.channel = 8});
    EXPECT_EQ(ring.published, published);
}

/// What the composite must say, by looking through all events that there were.
class Model {
public:
    struct Known {
        std::uint16_t channel;
    };
    struct Member {
        InstrumentId instrument;
        std::uint16_t home;
        bool is_expected_only;
    };
    using Event = std::variant<Quote, Clear, Gap, Known>;

    void add(const Event& event) { events_.push_back(event); }

    struct Result {
        Quote quote{};
        BestVenues venues{};
    };
    [[nodiscard]] Result best(const std::vector<Member>& members) const {
        Result result;
        std::vector<std::pair<Quote, std::uint64_t>> good;
        std::size_t halted = 0;
        std::size_t unknown = 0;
        for (const auto& member : members) {
            const auto state = state_of(member);
            const auto bit = std::uint64_t{1} << state.channel;
            switch (state.why) {
                case Composite::LeftOut::none: good.emplace_back(state.quote, bit); break;
                case Composite::LeftOut::incomplete: result.venues.incomplete_channels |= bit; break;
                case Composite::LeftOut::silent: result.venues.silent_channels |= bit; break;
                case Composite::LeftOut::halted: result.venues.halted_channels |= bit; break;
                case Composite::LeftOut::not_firm: result.venues.not_firm_channels |= bit; break;
            }
            if (state.why == Composite::LeftOut::halted) ++halted;
            if (state.why == Composite::LeftOut::incomplete || state.why == Composite::LeftOut::silent) ++unknown;
        }
        std::optional<feed::Price> bid;
        std::optional<feed::Price> ask;
        for (const auto& [quote, bit] : good) {
            if (quote.bid_size != 0) bid = std::max(bid.value_or(quote.bid_price), quote.bid_price);
            if (quote.ask_size != 0) ask = std::min(ask.value_or(quote.ask_price), quote.ask_price);
        }
        for (const auto& [quote, bit] : good) {
            if (quote.bid_size != 0 && quote.bid_price == bid) {
                result.quote.bid_size += quote.bid_size;
                result.venues.bid_channels |= bit;
            }
            if (quote.ask_size != 0 && quote.ask_price == ask) {
                result.quote.ask_size += quote.ask_size;
                result.venues.ask_channels |= bit;
            }
        }
        result.quote.bid_price = bid.value_or(0);
        result.quote.ask_price = ask.value_or(0);
        if (bid && ask && *bid == *ask) result.quote.flags |= feed::kLocked;
        if (bid && ask && *bid > *ask) result.quote.flags |= feed::kCrossed;
        if (unknown != 0) result.quote.flags |= feed::kIncomplete;
        if (halted != 0 && halted + unknown == members.size()) result.quote.flags |= feed::kHalted;
        return result;
    }

private:
    struct State {
        Composite::LeftOut why{Composite::LeftOut::none};
        std::uint16_t channel{0};
        Quote quote{};
    };
    [[nodiscard]] State state_of(const Member& member) const {
        // The channel is that of the newest event of the instrument.
        State state{.channel = member.home};
        for (const auto& event : events_) {
            if (member.is_expected_only) break;
            if (const auto* quote = std::get_if<Quote>(&event); quote && quote->instrument == member.instrument)
                state.channel = quote->channel;
            if (const auto* clear = std::get_if<Clear>(&event); clear && clear->instrument == member.instrument)
                state.channel = clear->channel;
        }
        std::optional<Quote> quote;  // empty: none
        bool lost = false;           // since then
        bool silent = false;
        bool known = false;
        for (const auto& event : events_) {
            if (const auto* one = std::get_if<Quote>(&event)) {
                if (member.is_expected_only || one->instrument != member.instrument) continue;
                quote = *one;
                lost = false;
            } else if (const auto* clear = std::get_if<Clear>(&event)) {
                if (clear->instrument != kNoInstrument) {
                    if (member.is_expected_only || clear->instrument != member.instrument) continue;
                    quote = Quote{.flags = clear->flags};
                    lost = false;
                } else if (clear->channel == state.channel) {
                    quote.reset();
                    lost = silent = false;
                    known = clear->reason == ClearReason::end_of_session;
                }
            } else if (const auto* gap = std::get_if<Gap>(&event)) {
                if (gap->channel != state.channel) continue;
                lost = true;
                known = false;
                silent = gap->reason == GapReason::silence;
            } else if (const auto* books = std::get_if<Known>(&event)) {
                if (books->channel == state.channel) known = true;
            }
        }
        if (!quote) {
            if (!known) state.why = silent ? Composite::LeftOut::silent : Composite::LeftOut::incomplete;
        } else if (lost) {
            state.why = silent ? Composite::LeftOut::silent : Composite::LeftOut::incomplete;
        } else if ((quote->flags & feed::kIncomplete) != 0) {
            state.why = Composite::LeftOut::incomplete;
        } else if ((quote->flags & feed::kHalted) != 0) {
            state.why = Composite::LeftOut::halted;
        } else if ((quote->flags & feed::kNotFirm) != 0) {
            state.why = Composite::LeftOut::not_firm;
        } else {
            state.quote = *quote;
        }
        return state;
    }

    std::vector<Event> events_;
};

/// A random sequence of all events of several venues. Venue 1 has the channels 1 and 5, each other one its number.
class RandomDay {
public:
    explicit RandomDay(std::uint64_t seed) : random_(seed) {}

    void run(std::size_t events) {
        for (std::size_t i = 0; i < events && !testing::Test::HasFailure(); ++i) {
            step();
            check();
        }
        while (composite_.renew(2, ring_) != 0) continue;
        renewed_ = true;
        check();
    }
    [[nodiscard]] std::uint64_t checked() const noexcept { return checked_; }

private:
    static constexpr std::uint16_t kVenues = 4;
    static constexpr InstrumentId kSymbols = 5;

    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    std::uint16_t channel_of(std::uint16_t venue) {
        return static_cast<std::uint16_t>(venue == 1 && below(8) == 0 ? 5 : venue);
    }
    template <class Event>
    void apply(const Event& event) {
        model_.add(event);
        composite_.on(event, ++ring_.newest, ring_);
    }
    void add_member() {
        const auto symbol = static_cast<InstrumentId>(below(kSymbols));
        const auto venue = static_cast<std::uint16_t>(1 + below(kVenues));
        auto& members = members_[symbol];
        const auto found = std::ranges::find(members, venue, &Model::Member::home);
        const bool expects = found == members.end() && below(4) == 0;
        if (found != members.end() && !found->is_expected_only) return;
        const auto id = venue * kVenueStep + symbol;
        ASSERT_TRUE(composite_.add(symbol, expects ? kNoInstrument : id, venue, 1));
        if (found != members.end()) {
            found->is_expected_only = false;
        } else {
            members.push_back({id, venue, expects});
        }
        renewed_ = false;
    }
    void quote() {
        const auto venue = static_cast<std::uint16_t>(1 + below(kVenues));
        Quote quote;
        const auto symbol = static_cast<InstrumentId>(below(kSymbols));
        const auto& members = members_[symbol];
        const auto found = std::ranges::find(members, venue, &Model::Member::home);
        if (found == members.end() || found->is_expected_only) return;
        quote.instrument = found->instrument;
        quote.channel = channel_of(venue);
        quote.bid_price = static_cast<feed::Price>(below(5)) - 2;
        quote.ask_price = static_cast<feed::Price>(below(5)) - 1;
        quote.bid_size = below(3);
        quote.ask_size = below(3);
        for (const auto flag : {feed::kIncomplete, feed::kHalted, feed::kNotFirm}) {
            if (below(10) == 0) quote.flags |= flag;
        }
        if (below(2) == 0) quote.flags |= feed::kLast;
        apply(quote);
    }
    void step() {
        const auto venue = static_cast<std::uint16_t>(1 + below(kVenues));
        const auto channel = channel_of(venue);
        const auto kind = below(100);
        if (kind < 3) {
            apply(Gap{.channel = channel, .reason = below(2) == 0 ? GapReason::silence : GapReason::sequence});
        } else if (kind < 5) {
            apply(Clear{.channel = channel,
                        .flags = static_cast<std::uint16_t>(below(2)),
                        .reason = below(2) == 0 ? ClearReason::end_of_session : ClearReason::new_session});
        } else if (kind < 7) {
            const auto symbol = static_cast<InstrumentId>(below(kSymbols));
            const auto found = std::ranges::find(members_[symbol], venue, &Model::Member::home);
            if (found == members_[symbol].end() || found->is_expected_only) return;
            apply(Clear{.instrument = found->instrument,
                        .channel = channel,
                        .flags = static_cast<std::uint16_t>(below(2)),
                        .reason = ClearReason::sender_request});
        } else if (kind < 9) {
            model_.add(Model::Known{channel});
            composite_.set_known(channel, 1);
            renewed_ = false;
        } else if (kind < 13) {
            add_member();
        } else if (kind < 40) {
            if (composite_.renew(1 + below(3), ring_) == 0) renewed_ = true;
        } else {
            quote();
        }
    }
    /// A quote that readers take as good is the best one, and names its venues; so are all once they are renewed.
    void check() {
        for (InstrumentId symbol = 0; symbol < kSymbols; ++symbol) {
            const auto& seen = ring_.seen[symbol];
            const bool is_marked = seen.number < ring_.gapped;
            if (seen.number == 0 || is_marked || !renewed_) continue;
            const auto expected = model_.best(members_[symbol]);
            ++checked_;
            EXPECT_EQ(seen.quote.bid_price, expected.quote.bid_price);
            EXPECT_EQ(seen.quote.ask_price, expected.quote.ask_price);
            EXPECT_EQ(seen.quote.bid_size, expected.quote.bid_size);
            EXPECT_EQ(seen.quote.ask_size, expected.quote.ask_size);
            EXPECT_EQ(seen.quote.flags, expected.quote.flags);
            EXPECT_EQ(seen.venues.bid_channels, expected.venues.bid_channels);
            EXPECT_EQ(seen.venues.ask_channels, expected.venues.ask_channels);
            EXPECT_EQ(seen.venues.incomplete_channels, expected.venues.incomplete_channels);
            EXPECT_EQ(seen.venues.silent_channels, expected.venues.silent_channels);
            EXPECT_EQ(seen.venues.halted_channels, expected.venues.halted_channels);
            EXPECT_EQ(seen.venues.not_firm_channels, expected.venues.not_firm_channels);
        }
    }

    std::mt19937_64 random_;
    Ring ring_;
    Model model_;
    Composite composite_{{.channel = kChannel, .channels = 0b11'1110, .max_members = 4, .max_instruments = 100}};
    std::map<InstrumentId, std::vector<Model::Member>> members_;
    bool renewed_{true};  // since the last new member and set_known
    std::uint64_t checked_{0};
};

TEST(CompositeOracle, AGoodQuoteIsAlwaysTheBestOfAllVenuesThatMayTakePart) {
    std::uint64_t checked = 0;
    for (std::uint64_t seed = 1; seed <= 100 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        RandomDay day{seed};
        day.run(400);
        checked += day.checked();
    }
    EXPECT_GT(checked, 10'000U);  // most are compared
}

}  // namespace
}  // namespace millpond::market
