// ConfirmedSession with each format that has sequence numbers: in the decoder itself and behind two lines.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/feed/decoder_target.hpp>
#include <millpond/feed/iex_encoder.hpp>
#include <millpond/feed/iex_tops.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/line_arbiter.hpp>
#include <millpond/feed/miax_tom_decoder.hpp>
#include <millpond/feed/miax_tom_encoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/feed/quotes_decoder.hpp>
#include <millpond/feed/quotes_encoder.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::uint8_t kLive = 7;
constexpr std::uint8_t kNext = 8;
constexpr std::uint8_t kEarlier = 3;

/// Datagrams of one quote each, at the price of its number. count 0: a heartbeat.
template <class Decoder>
Bytes datagram(std::uint8_t session, std::uint64_t first, std::uint64_t count) {
    std::array<std::byte, 1'472> buffer;
    std::span<const std::byte> bytes;
    if constexpr (std::is_same_v<Decoder, ItchDecoder>) {
        MoldUdp64Encoder mold{std::string(1, static_cast<char>('A' + session)), first};
        ItchEncoder itch;
        itch.set_head(1, 5);
        mold.begin(buffer);
        for (auto n = first; n < first + count; ++n)
            EXPECT_TRUE(mold.add(itch.order_added(n, 'B', 1, "AAPL", static_cast<std::uint32_t>(n))));
        bytes = mold.finish();
    } else if constexpr (std::is_same_v<Decoder, MiaxTomDecoder>) {
        MiaxTomEncoder miax{{.session = session, .first_sequence = first}};
        miax.begin(buffer);
        if (count == 0) {
            EXPECT_TRUE(miax.heartbeat());
        }
        for (auto n = first; n < first + count; ++n)
            EXPECT_TRUE(miax.bid(1, 7, price_from<100>(static_cast<std::uint32_t>(n)), 1));
        bytes = miax.finish();
    } else if constexpr (std::is_same_v<Decoder, IexTopsDecoder>) {
        IexEncoder iex{{.session = {.number = session, .channel = 1}, .first_sequence = first}};
        IexMessageWriter writer;
        iex.begin(buffer);
        for (auto n = first; n < first + count; ++n)
            EXPECT_TRUE(iex.add(writer.quote("AAPL", 1, static_cast<std::int64_t>(n), 0, 0)));
        bytes = iex.finish(0);
    } else {
        QuotesEncoder quotes{{.channel = 0, .session = session}};
        // The encoder begins at 1.
        for (std::uint64_t n = 1; n < first; ++n) {
            quotes.begin(buffer);
            EXPECT_TRUE(quotes.add({}, Venue{"XNAS"}, Symbol{"AAPL"}));
            static_cast<void>(quotes.finish(0));
        }
        quotes.begin(buffer);
        for (auto n = first; n < first + count; ++n) {
            Quote quote;
            quote.bid_price = static_cast<Price>(n);
            quote.bid_size = 1;
            EXPECT_TRUE(quotes.add(quote, Venue{"XNAS"}, Symbol{"AAPL"}));
        }
        bytes = quotes.finish(0);
    }
    return {bytes.begin(), bytes.end()};
}

template <class Decoder>
class SessionOf : public testing::Test {
protected:
    SessionOf() { start_again(); }
    static Bytes quotes(std::uint8_t session, std::uint64_t first, std::uint64_t count = 1) {
        return datagram<Decoder>(session, first, count);
    }
    static Bytes heartbeat(std::uint8_t session, std::uint64_t next) { return datagram<Decoder>(session, next, 0); }

    void receive(const Bytes& bytes) {
        now_ += kSecondNs / 10;
        messages_ += decoder_->decode(bytes, arrival(), seen_).messages;
        const auto& counters = decoder_->counters();
        ASSERT_EQ(counters.messages.read(), messages_);
        ASSERT_EQ(messages_, counters.applied.read() + counters.ignored.read() + counters.unknown.read() +
                                 counters.stale.read() + counters.refused.read() + counters.rejected.read());
    }
    void receive(std::size_t line, const Bytes& bytes) {
        now_ += kSecondNs / 10;
        auto to = target();
        arbiter_->receive(line, bytes, arrival(), to);
        std::uint64_t came = 0;
        std::uint64_t became = arbiter_->held();
        for (std::size_t i = 0; i <= LineArbiter<Decoder>::kAnswers; ++i) {
            const auto& counters = arbiter_->counters(i);
            came += counters.datagrams.read();
            became += counters.used.read() + counters.duplicates.read() + counters.late.read() + counters.others.read();
        }
        ASSERT_EQ(came, became);
    }
    void give_up() {
        auto to = target();
        arbiter_->give_up(to);
    }
    auto target() {
        return DecoderTarget{*decoder_, seen_, [](std::span<const std::byte>, const DecodeResult&) {}};
    }
    /// Restores the initial state.
    void start_again() {
        decoder_.emplace(table_, typename Decoder::Options{});
        arbiter_.emplace(typename LineArbiter<Decoder>::Options{.held = kHeld});
        seen_ = Recorder{};
        messages_ = 0;
    }
    [[nodiscard]] Arrival arrival() const { return {.receive_utc_ns = now_, .receive_ticks = 1, .channel = 0}; }
    /// The numbers of all decoded quotes.
    [[nodiscard]] std::vector<std::uint64_t> numbers() const {
        std::vector<std::uint64_t> numbers;
        for (const auto& quote : seen_.quotes) numbers.push_back(quote.feed_sequence);
        return numbers;
    }
    [[nodiscard]] std::uint64_t strays() const {
        std::uint64_t strays = arbiter_->strays().read();
        decoder_->visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
            if (name == "session_strays") strays += tally.read();
        });
        return strays;
    }

    std::int64_t now_{1'700'000'000 * kSecondNs};
    std::uint64_t messages_{0};
    static constexpr std::size_t kHeld = 16;
    InstrumentTable table_{16};
    std::optional<Decoder> decoder_;
    std::optional<LineArbiter<Decoder>> arbiter_;
    Recorder seen_;
};
using Formats = testing::Types<ItchDecoder, MiaxTomDecoder, QuotesDecoder, IexTopsDecoder>;
TYPED_TEST_SUITE(SessionOf, Formats);

using Numbers = std::vector<std::uint64_t>;

TYPED_TEST(SessionOf, AStrayDatagramVoidsNothing) {
    this->receive(this->quotes(kLive, 1));
    std::uint64_t number = 2;
    for (const auto session : {kNext, kEarlier}) {
        this->receive(this->heartbeat(session, 1));
        this->receive(this->quotes(kLive, number++));
        this->receive(this->quotes(session, 1));
        this->receive(this->quotes(kLive, number++));
    }
    EXPECT_TRUE(this->seen_.clears.empty());
    EXPECT_TRUE(this->seen_.gaps.empty());
    EXPECT_EQ(this->numbers(), (Numbers{1, 2, 3, 4, 5}));
    EXPECT_EQ(this->strays(), 4U);
}

TYPED_TEST(SessionOf, AStrayDatagramOnEachOfTwoLinesVoidsNothing) {
    for (std::size_t line = 0; line < 2; ++line) this->receive(line, this->quotes(kLive, 1));
    for (std::size_t line = 0; line < 2; ++line) this->receive(line, this->heartbeat(kNext, 1));
    for (std::size_t line = 0; line < 2; ++line) this->receive(line, this->quotes(kLive, 2));
    EXPECT_TRUE(this->seen_.clears.empty());
    EXPECT_EQ(this->numbers(), (Numbers{1, 2}));
    EXPECT_EQ(this->strays(), 2U);
}

TYPED_TEST(SessionOf, ARealChangeLosesNothing) {
    for (const auto session : {kNext, kEarlier, kLive}) {
        this->seen_ = Recorder{};
        if (session == kNext) this->receive(this->quotes(kLive, 1, 2));
        this->seen_ = Recorder{};
        this->receive(this->quotes(session, 1, 2));
        EXPECT_TRUE(this->seen_.order.empty()) << "not confirmed";
        this->now_ += kSecondNs / 10;
        this->receive(this->quotes(session, 3, 2));
        EXPECT_EQ(this->seen_.clears.at(0).receive_utc_ns, this->seen_.quotes.at(0).receive_utc_ns);
        EXPECT_EQ(this->numbers(), (Numbers{1, 2, 3, 4}));
        ASSERT_EQ(this->seen_.clears.size(), 1U);
        EXPECT_EQ(this->seen_.order[0], EventKind::clear);
        EXPECT_EQ(this->seen_.clears[0].reason, ClearReason::new_session);
        EXPECT_TRUE(this->seen_.gaps.empty());
    }
}

TYPED_TEST(SessionOf, AHeartbeatConfirmsOnTheLineThatBroughtIt) {
    for (std::size_t line = 0; line < 2; ++line) this->receive(line, this->quotes(kLive, 1));
    this->receive(0, this->quotes(kNext, 1, 2));
    this->receive(1, this->heartbeat(kLive, 2));
    this->receive(0, this->heartbeat(kNext, 3));
    EXPECT_EQ(this->seen_.clears.size(), 1U);
    EXPECT_EQ(this->numbers(), (Numbers{1, 1, 2}));
    this->receive(1, this->quotes(kNext, 1, 2));
    this->receive(1, this->quotes(kNext, 3));
    EXPECT_EQ(this->numbers(), (Numbers{1, 1, 2, 3}));
    EXPECT_TRUE(this->seen_.gaps.empty());
}

TYPED_TEST(SessionOf, DatagramsHeldByTheOtherLineFillTheGap) {
    for (std::size_t line = 0; line < 2; ++line) this->receive(line, this->quotes(kLive, 1));
    this->receive(0, this->quotes(kNext, 1, 2));  // line 1 loses this datagram, line 0 the next one
    this->receive(1, this->quotes(kNext, 3));
    this->receive(1, this->quotes(kNext, 4));
    EXPECT_EQ(this->numbers(), (Numbers{1, 1, 2, 3, 4}));
    EXPECT_TRUE(this->seen_.gaps.empty());
}

TYPED_TEST(SessionOf, AfterSilenceTheFirstDatagramIsBelievedAndTheOldSessionHeardAgainAtItsSecondDatagram) {
    this->receive(this->quotes(kLive, 1, 3));
    this->now_ += ConfirmedSession<int>::kSilentNs;
    this->receive(this->quotes(kNext, 1));
    EXPECT_EQ(this->seen_.clears.size(), 1U);
    this->receive(this->quotes(kLive, 4));
    EXPECT_EQ(this->seen_.quotes.size(), 4U);
    this->receive(this->heartbeat(kLive, 5));
    EXPECT_EQ(this->numbers(), (Numbers{1, 2, 3, 1, 4}));
    EXPECT_EQ(this->seen_.clears.size(), 2U);
    this->receive(this->quotes(kLive, 5));
    EXPECT_EQ(this->numbers(), (Numbers{1, 2, 3, 1, 4, 5}));
}

TYPED_TEST(SessionOf, HeartbeatsAloneEndNoSessionNotEvenASilentOne) {
    this->receive(this->quotes(kLive, 1));
    for (int i = 0; i < 3; ++i) this->receive(this->heartbeat(kNext, 90));
    this->now_ += ConfirmedSession<int>::kSilentNs;
    const auto foreign = this->decoder_->foreign();
    for (std::uint64_t next = 90; next < 93; ++next) this->receive(this->heartbeat(kNext, next));
    EXPECT_EQ(this->decoder_->foreign(), foreign + 3);
    this->receive(this->quotes(kLive, 2));
    EXPECT_TRUE(this->seen_.clears.empty());
    EXPECT_EQ(this->numbers(), (Numbers{1, 2}));
    this->receive(this->heartbeat(kNext, 1));
    this->receive(this->quotes(kNext, 1));
    EXPECT_EQ(this->numbers(), (Numbers{1, 2, 1}));
}

TYPED_TEST(SessionOf, HeartbeatsOfAnEarlierSessionOnOneLineNeverSilenceTheOther) {
    const auto beat = this->heartbeat(kEarlier, 9'001);
    for (const bool heartbeat_first : {false, true}) {
        if (heartbeat_first) this->start_again();
        if (heartbeat_first) {
            this->receive(1, beat);
            this->give_up();  // no other message arrived for long
        }
        for (std::uint64_t number = 1; number <= 5; ++number) {
            this->receive(0, this->quotes(kLive, number));
            for (int i = 0; i < 3; ++i) this->receive(1, beat);
        }
        this->now_ += ConfirmedSession<int>::kSilentNs;  // line 0 is out for long
        for (int i = 0; i < 5; ++i) this->receive(1, beat);
        for (std::uint64_t number = 6; number <= 8; ++number) {
            this->receive(0, this->quotes(kLive, number));
            this->receive(1, beat);
        }
        EXPECT_EQ(this->numbers(), (Numbers{1, 2, 3, 4, 5, 6, 7, 8}));
        EXPECT_TRUE(this->seen_.gaps.empty());
        EXPECT_EQ(this->arbiter_->apart(1), 3U * 5 + 5 + 3 - (heartbeat_first ? 3 : 0));
        EXPECT_FALSE(this->arbiter_->brings_data_apart(1));
    }
}

TYPED_TEST(SessionOf, TheFirstSessionOfALineIsNotNewerThanOneThatBringsData) {
    this->receive(0, this->quotes(kLive, 1));
    const auto before = this->arbiter_->foreign();
    for (std::uint64_t number = 1; number <= 9; ++number) {
        this->receive(1, this->quotes(kEarlier, number));
        this->receive(0, this->quotes(kLive, 1 + number));
    }
    EXPECT_TRUE(this->seen_.clears.empty());
    EXPECT_EQ(this->numbers().size(), 10U);
    EXPECT_EQ(this->arbiter_->apart(1), 9U);
    EXPECT_TRUE(this->arbiter_->brings_data_apart(1));
    EXPECT_EQ(this->arbiter_->foreign(), before + 8) << "all but the one that is held";
    EXPECT_EQ(this->arbiter_->counters(1).duplicates.read(), 0U) << "it was all new";
    // Line 0 is down: line 1 alone is the feed.
    this->now_ += ConfirmedSession<int>::kSilentNs;
    this->receive(1, this->quotes(kEarlier, 10));
    while (this->arbiter_->holding()) this->give_up();
    EXPECT_EQ(this->seen_.clears.size(), 1U);
    EXPECT_EQ(this->numbers().size(), 12U);
    EXPECT_EQ(this->numbers().back(), 10U);
}

TYPED_TEST(SessionOf, ALineThatWasInTheSessionBeforeTheLastDoesNotEndThisOne) {
    constexpr std::uint8_t kLater = 9;
    for (std::size_t line = 0; line < 2; ++line) this->receive(line, this->quotes(kLive, 1));
    for (const auto session : {kNext, kLater}) {
        for (std::uint64_t number = 1; number <= 2; ++number) this->receive(0, this->quotes(session, number));
    }
    for (std::uint64_t number = 2; number <= 5; ++number) {
        this->receive(1, this->quotes(kLive, number));
        this->receive(0, this->quotes(kLater, 1 + number));
    }
    EXPECT_EQ(this->seen_.clears.size(), 2U);
    EXPECT_EQ(this->numbers(), (Numbers{1, 1, 2, 1, 2, 3, 4, 5, 6}));
}

TYPED_TEST(SessionOf, TheFirstDatagramsOfTheFirstSessionMayComeInAnyOrderAndByEitherLine) {
    for (const std::size_t line_of_first : {0U, 1U}) {
        this->start_again();
        this->receive(0, this->quotes(kLive, 2));
        this->receive(0, this->quotes(kLive, 4));
        EXPECT_TRUE(this->seen_.order.empty());
        this->receive(line_of_first, this->quotes(kLive, 1));
        this->receive(0, this->quotes(kLive, 3));
        EXPECT_EQ(this->numbers(), (Numbers{1, 2, 3, 4}));
        EXPECT_TRUE(this->seen_.gaps.empty());
        for (const auto& quote : this->seen_.quotes) {
            if constexpr (std::is_same_v<TypeParam, ItchDecoder>) {
                EXPECT_EQ(quote.flags & kIncomplete, 0);
            }
        }
    }
}

TYPED_TEST(SessionOf, AFeedThatIsJoinedInMidStreamBeginsWithItsLowestNumber) {
    this->receive(0, this->quotes(kLive, 102));
    this->receive(1, this->quotes(kLive, 101));
    this->receive(0, this->quotes(kLive, 104));
    EXPECT_TRUE(this->seen_.order.empty());
    this->give_up();
    EXPECT_EQ(this->numbers(), (Numbers{101, 102}));
    EXPECT_EQ(this->arbiter_->given_up().read(), 0U);
    this->receive(1, this->quotes(kLive, 103));
    EXPECT_EQ(this->numbers(), (Numbers{101, 102, 103, 104}));
    EXPECT_TRUE(this->seen_.gaps.empty());
}

TYPED_TEST(SessionOf, AFeedIsJoinedWhenItsFirstDatagramsNoLongerFit) {
    for (std::uint64_t number = 101; number < 101 + TestFixture::kHeld; ++number)
        this->receive(0, this->quotes(kLive, number));
    EXPECT_TRUE(this->seen_.order.empty());
    this->receive(0, this->quotes(kLive, 101 + TestFixture::kHeld));
    EXPECT_EQ(this->seen_.quotes.size(), TestFixture::kHeld + 1);
    EXPECT_TRUE(this->seen_.gaps.empty());
}

/// Both lines follow the sessions of one sender, each with its own losses; on each, a second sender of older sessions
/// sends heartbeats. The model is the sender's list of messages.
TYPED_TEST(SessionOf, RandomLinesAndHeartbeatsOfOldSessionsLoseNothingThatALineHasBrought) {
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        this->start_again();
        std::mt19937 random{seed};
        Numbers expected;
        std::uint64_t clears = 0;
        const auto noise = [&] {
            if (random() % 3 != 0) return;
            const auto line = random() % 2;
            const auto beat = this->heartbeat(kEarlier, 500 + random() % 100);
            for (auto beats = random() % 4; beats > 0; --beats) this->receive(line, beat);
        };
        if (seed % 3 == 0) {
            this->receive(1, this->heartbeat(kEarlier, 500));
            if (seed % 2 == 0) this->give_up();
        }
        for (const auto session : {kLive, kNext, std::uint8_t{9}}) {
            // The first two messages of a session arrive on both lines, which confirms the session.
            const auto last = 3 + random() % 8;
            for (std::uint64_t number = 1; number <= last; ++number) {
                const auto lost = number <= 2 ? 2 : random() % 3;  // lost on that line
                const auto first_line = random() % 2;
                for (const auto line : {first_line, 1 - first_line}) {
                    if (line != lost) this->receive(line, this->quotes(session, number));
                    if (number > 2) noise();
                }
                expected.push_back(number);
            }
            clears += session == kLive ? 0 : 1;
        }
        while (this->arbiter_->holding()) this->give_up();
        ASSERT_EQ(this->numbers(), expected) << "seed " << seed;
        ASSERT_GE(this->seen_.clears.size(), clears) << "seed " << seed;
    }
}

TYPED_TEST(SessionOf, RubbishOfAnotherSessionIsNeverHeld) {
    this->receive(this->quotes(kLive, 1));
    for (int i = 0; i < 3; ++i) {
        auto cut = this->quotes(kNext, 1, 2);
        cut.pop_back();
        EXPECT_FALSE(this->decoder_->decode(cut, this->arrival(), this->seen_).ok());
        auto target = this->target();
        this->arbiter_->receive(0, cut, this->arrival(), target);
    }
    EXPECT_TRUE(this->seen_.clears.empty());
    EXPECT_EQ(this->arbiter_->held(), 0U);
    EXPECT_EQ(this->numbers(), (Numbers{1}));
}

}  // namespace
}  // namespace millpond::feed
