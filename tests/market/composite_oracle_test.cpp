#include <millpond/market/composite.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <variant>
#include <vector>

#include "tests/market/composite_fixture.hpp"

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
using feed::Status;
using test::CompositeRing;
using test::kCompositeChannel;
using test::kVenueStep;

/// What the composite must say, by looking through all events that there were. Venue 1 has the channels 1 and 5, each
/// other one its number.
class Model {
public:
    struct Known {
        std::uint16_t channel;
        bool repaired;
    };
    using Event = std::variant<Quote, Clear, Gap, Status, Known>;
    static constexpr std::uint16_t kVenues = 4;

    void add(const Event& event) { events_.push_back(event); }

    struct Result {
        Quote quote{};
        BestVenues venues{};
    };
    /// instruments: of the symbol, by venue.
    [[nodiscard]] Result best(const std::map<std::uint16_t, InstrumentId>& instruments) const {
        Result result;
        std::vector<std::pair<Quote, std::uint64_t>> good;
        bool some_halted = false;
        bool all_halted = true;
        for (std::uint16_t venue = 1; venue <= kVenues; ++venue) {
            const auto found = instruments.find(venue);
            const auto state = state_of(venue, found == instruments.end() ? kNoInstrument : found->second);
            const auto bit = std::uint64_t{1} << state.channel;
            switch (state.why) {
                case Composite::LeftOut::none: good.emplace_back(state.quote, bit); break;
                case Composite::LeftOut::incomplete: result.venues.incomplete_channels |= bit; break;
                case Composite::LeftOut::silent: result.venues.silent_channels |= bit; break;
                case Composite::LeftOut::halted: result.venues.halted_channels |= bit; break;
                case Composite::LeftOut::not_firm: result.venues.not_firm_channels |= bit; break;
            }
            some_halted = some_halted || state.why == Composite::LeftOut::halted;
            const bool trades = state.why == Composite::LeftOut::none || state.why == Composite::LeftOut::not_firm;
            if (found != instruments.end() && trades) all_halted = false;
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
        if ((result.venues.incomplete_channels | result.venues.silent_channels) != 0)
            result.quote.flags |= feed::kIncomplete;
        if (some_halted && all_halted) result.quote.flags |= feed::kHalted;
        return result;
    }

private:
    struct State {
        Composite::LeftOut why{Composite::LeftOut::none};
        std::uint16_t channel{0};
        Quote quote{};
    };
    struct Channel {
        bool known{false};
        bool lost{false};
        bool silent{false};
        bool ended{false};
    };
    /// What the events say of the channels and of an instrument's quote.
    struct Replay {
        InstrumentId instrument;
        std::map<std::uint16_t, Channel> channels{};
        std::optional<Quote> quote{};
        bool lost{false};  // since the quote

        void operator()(const Quote& event) {
            if (event.instrument != instrument) return;
            quote = event;
            lost = false;
            if (channels[event.channel].ended) *quote = Quote{.channel = event.channel};
        }
        void operator()(const Clear& event) {
            if (event.instrument == kNoInstrument) {
                if (quote && quote->channel == event.channel) quote.reset();
                channels[event.channel] = {.known = event.reason == ClearReason::end_of_session};
            } else if (event.instrument == instrument) {
                quote = Quote{.channel = event.channel, .flags = event.flags};
                lost = false;
            }
        }
        void operator()(const Gap& event) {
            auto& channel = channels[event.channel];
            channel.known = false;
            channel.silent = event.reason == GapReason::silence;
            channel.lost = channel.lost || !channel.silent;
            if (quote && quote->channel == event.channel) lost = true;
        }
        void operator()(const Status& event) {
            auto& channel = channels[event.channel];
            const bool ends = event.state == feed::TradingState::end_of_messages;
            if (channel.ended == ends) return;
            channel.ended = channel.known = ends;
            channel.silent = false;
            if (quote && quote->channel == event.channel) quote.reset();
        }
        void operator()(const Known& event) {
            auto& channel = channels[event.channel];
            if (channel.known || (channel.lost && !event.repaired)) return;
            channel.known = true;
            channel.lost = false;
        }
    };
    [[nodiscard]] State state_of(std::uint16_t venue, InstrumentId instrument) const {
        Replay replay{instrument};
        for (const auto& event : events_) std::visit(replay, event);
        const auto loss = [&](std::uint16_t channel) {
            return replay.channels[channel].silent ? Composite::LeftOut::silent : Composite::LeftOut::incomplete;
        };
        if (!replay.quote) {
            for (const auto channel : {venue, std::uint16_t{5}}) {
                if (channel != venue && venue != 1) continue;
                if (!replay.channels[channel].known) return {.why = loss(channel), .channel = channel};
            }
            return {.channel = venue};
        }
        const auto& quote = *replay.quote;
        if (replay.lost) return {.why = loss(quote.channel), .channel = quote.channel};
        if ((quote.flags & feed::kIncomplete) != 0)
            return {.why = Composite::LeftOut::incomplete, .channel = quote.channel};
        if ((quote.flags & feed::kHalted) != 0) return {.why = Composite::LeftOut::halted, .channel = quote.channel};
        if ((quote.flags & feed::kNotFirm) != 0) return {.why = Composite::LeftOut::not_firm, .channel = quote.channel};
        return {.channel = quote.channel, .quote = quote};
    }

    std::vector<Event> events_;
};

/// A random sequence of all events of several venues.
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
    static constexpr std::uint16_t kVenues = Model::kVenues;
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
        const auto id = venue * kVenueStep + symbol;
        if (!members_[symbol].emplace(venue, id).second) return;
        ASSERT_TRUE(composite_.add(symbol, id, venue - 1U, 1));
        renewed_ = false;
    }
    /// The instrument of a symbol at a venue; kNoInstrument if it is no member.
    InstrumentId member(std::uint16_t venue) {
        const auto& members = members_[static_cast<InstrumentId>(below(kSymbols))];
        const auto found = members.find(venue);
        return found == members.end() ? kNoInstrument : found->second;
    }
    void quote() {
        const auto venue = static_cast<std::uint16_t>(1 + below(kVenues));
        Quote quote;
        quote.instrument = member(venue);
        if (quote.instrument == kNoInstrument) return;
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
            const auto id = member(venue);
            if (id == kNoInstrument) return;
            apply(Clear{.instrument = id,
                        .channel = channel,
                        .flags = static_cast<std::uint16_t>(below(2)),
                        .reason = ClearReason::sender_request});
        } else if (kind < 10) {
            const bool repaired = below(2) == 0;
            model_.add(Model::Known{channel, repaired});
            composite_.set_known(channel, repaired, 1);
            renewed_ = false;
        } else if (kind < 11) {
            apply(Status{
                .channel = channel,
                .state = below(2) == 0 ? feed::TradingState::end_of_messages : feed::TradingState::start_of_messages});
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
    CompositeRing ring_;
    Model model_;
    Composite composite_{
        {.channel = kCompositeChannel, .venues = {0b10'0010, 0b100, 0b1000, 0b1'0000}, .max_instruments = 100}};
    std::map<InstrumentId, std::map<std::uint16_t, InstrumentId>> members_;
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
