// A MoldUDP64 session changes, or only a stray datagram names another one: the decoder alone and behind two lines.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/feed/decoder_target.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/line_arbiter.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/feed/quotes_decoder.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

using Bytes = std::vector<std::byte>;
using Sessions = ConfirmedSession<moldudp64_layout::Session>;

constexpr std::int64_t kSecond = 1'000'000'000;

/// Orders first .. first + count - 1, each of one share at the price of its number. count 0: a heartbeat.
Bytes orders(std::string_view session, std::uint64_t first, std::uint64_t count, std::string_view stock = "AAPL") {
    std::vector<std::byte> buffer(64 + count * 64);
    MoldUdp64Encoder mold{session, first};
    ItchEncoder itch;
    itch.set_head(stock == "AAPL" ? 1 : 2, 5);
    mold.begin(buffer);
    for (auto number = first; number < first + count; ++number)
        EXPECT_TRUE(mold.add(itch.order_added(number, 'B', 1, stock, static_cast<std::uint32_t>(number))));
    const auto bytes = mold.finish();
    return {bytes.begin(), bytes.end()};
}
Bytes heartbeat(std::string_view session, std::uint64_t next) { return orders(session, next, 0); }
Bytes end_of(std::string_view session, std::uint64_t next) {
    std::array<std::byte, 64> buffer;
    MoldUdp64Encoder mold{session, next};
    mold.begin(buffer);
    const auto bytes = mold.finish_session();
    return {bytes.begin(), bytes.end()};
}

class SessionChange : public testing::Test {
protected:
    void receive(const Bytes& bytes) {
        now_ += kSecond / 10;
        messages_ += decoder_.decode(bytes, {.receive_utc_ns = now_, .receive_ticks = 1, .channel = 0}, seen_).messages;
        const auto& counters = decoder_.counters();
        ASSERT_EQ(counters.messages.read(), messages_);
        ASSERT_EQ(counters.messages.read(), counters.applied.read() + counters.ignored.read() +
                                                counters.unknown.read() + counters.stale.read() +
                                                counters.refused.read() + counters.rejected.read());
    }
    void expect_session(std::string_view name) const {
        const auto& session = decoder_.session();
        EXPECT_EQ((std::string_view{session.data(), session.size()}.substr(0, name.size())), name);
    }
    void expect_untouched(std::size_t live_orders) const {
        EXPECT_TRUE(seen_.clears.empty());
        EXPECT_TRUE(seen_.gaps.empty());
        EXPECT_EQ(decoder_.order_books().live_orders(), live_orders);
        EXPECT_EQ(seen_.quotes.back().flags, 0);
        expect_session("LIVE");
    }
    /// Checks that the new session is complete from its first message on, and nothing of the old one is left.
    void expect_changed(std::size_t live_orders) const {
        ASSERT_EQ(seen_.clears.size(), 1U);
        EXPECT_EQ(seen_.clears[0].reason, ClearReason::new_session);
        EXPECT_TRUE(seen_.gaps.empty());
        EXPECT_EQ(decoder_.order_books().live_orders(), live_orders);
        EXPECT_TRUE(decoder_.books().is_complete());
        expect_session("NEXT");
    }

    std::int64_t now_{1'700'000'000 * kSecond};
    std::uint64_t messages_{0};
    InstrumentTable table_{16};
    ItchDecoder decoder_{table_, {.order_books = {.books = 16, .orders = 1'000, .level_chunks = 64}}};
    Recorder seen_;
};

TEST_F(SessionChange, AStrayDatagramChangesNothing) {
    receive(orders("LIVE", 1, 3));
    receive(heartbeat("STRAY", 1));
    expect_untouched(3);
    receive(orders("LIVE", 4, 2));
    expect_untouched(5);
    EXPECT_EQ(seen_.quotes.size(), 5U);
}

TEST_F(SessionChange, StrayDatagramsBetweenThoseOfTheSessionNeverChangeIt) {
    receive(orders("LIVE", 1, 1));
    for (std::uint64_t i = 0; i < 100; ++i) {
        receive(i % 2 == 0 ? orders("STRAY", 1 + i, 1, "MSFT") : heartbeat("STRAY", 1 + i));
        receive(orders("LIVE", 2 + i, 1));
    }
    expect_untouched(101);
    std::uint64_t strays = 0;
    decoder_.visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
        if (name == "session_strays") strays = tally.read();
    });
    EXPECT_EQ(strays, 100U);
    EXPECT_EQ(table_.size(), 1U) << "nothing of a stray datagram was read";
}

TEST_F(SessionChange, StrayDatagramsOfDifferentSessionsDoNotConfirmEachOther) {
    receive(orders("LIVE", 1, 1));
    for (const char* stray : {"A", "B", "A", "C", "B"}) receive(orders(stray, 1, 1, "MSFT"));
    expect_untouched(1);
}

TEST_F(SessionChange, CopiesOfAStrayDatagramDoNotConfirmIt) {
    receive(orders("LIVE", 1, 1));
    for (int i = 0; i < 10; ++i) receive(orders("STRAY", 1, 2, "MSFT"));
    expect_untouched(1);
}

TEST_F(SessionChange, ASecondDatagramConfirmsAndNothingIsLost) {
    receive(orders("LIVE", 1, 3));
    receive(orders("NEXT", 1, 2));
    expect_untouched(3);
    receive(orders("NEXT", 3, 2));
    expect_changed(4);
    const auto& first = seen_.quotes.at(3);
    EXPECT_EQ(first.feed_sequence, 1U);
    EXPECT_EQ(first.receive_utc_ns, now_ - kSecond / 10) << "as it was received";
    receive(orders("NEXT", 5, 1));
    expect_changed(5);
}

TEST_F(SessionChange, AHeartbeatConfirms) {
    receive(orders("LIVE", 1, 3));
    receive(orders("NEXT", 1, 2));
    receive(heartbeat("NEXT", 3));
    expect_changed(2);
}

TEST_F(SessionChange, TwoEqualHeartbeatsConfirmANewSessionOnlyAfterTheEndOfTheOldOne) {
    receive(orders("LIVE", 1, 3));
    for (int i = 0; i < 3; ++i) receive(heartbeat("NEXT", 1));
    expect_untouched(3);
    receive(end_of("LIVE", 4));
    ASSERT_EQ(seen_.clears.size(), 1U);
    seen_.clears.clear();
    for (int i = 0; i < 2; ++i) receive(heartbeat("NEXT", 1));
    expect_changed(0);
    receive(orders("NEXT", 1, 2));
    expect_changed(2);
}

TEST_F(SessionChange, TheFirstTwoDatagramsMayComeInTheOtherOrder) {
    receive(orders("LIVE", 1, 3));
    receive(orders("NEXT", 3, 2));
    receive(orders("NEXT", 1, 2));
    ASSERT_EQ(seen_.gaps.size(), 0U);
    expect_changed(4);
}

TEST_F(SessionChange, MessagesLostAtTheStartOfTheNewSessionAreAGap) {
    receive(orders("LIVE", 1, 3));
    receive(orders("NEXT", 2, 2));
    receive(orders("NEXT", 6, 1));
    ASSERT_EQ(seen_.gaps.size(), 2U);
    EXPECT_EQ(seen_.gaps[0].first, 1U);
    EXPECT_EQ(seen_.gaps[0].last, 1U);
    EXPECT_EQ(seen_.gaps[1].first, 4U);
    EXPECT_EQ(seen_.gaps[1].last, 5U);
    EXPECT_FALSE(decoder_.books().is_complete());
}

TEST_F(SessionChange, AGapOfTheOldSessionDoesNotReachTheNewOne) {
    receive(orders("LIVE", 1, 3));
    receive(orders("LIVE", 5, 1));
    ASSERT_EQ(seen_.gaps.size(), 1U);
    seen_.gaps.clear();
    receive(orders("NEXT", 1, 1));
    receive(orders("NEXT", 2, 1));
    expect_changed(2);
    EXPECT_EQ(seen_.quotes.back().flags, 0);
    receive(orders("LIVE", 6, 1));
    expect_changed(2);
}

TEST_F(SessionChange, AfterSilenceTheFirstDatagramIsBelieved) {
    receive(orders("LIVE", 1, 3));
    now_ += Sessions::kSilentNs;
    receive(orders("NEXT", 1, 2));
    expect_changed(2);
}

TEST_F(SessionChange, WithoutReceiveTimesNoSilenceIsSeen) {
    (void)decoder_.decode(orders("LIVE", 1, 1), {}, seen_);
    (void)decoder_.decode(orders("STRAY", 1, 1), {.receive_utc_ns = 1'700'000'000 * kSecond}, seen_);
    expect_untouched(1);
}

TEST_F(SessionChange, TheEndOfASessionNeedsNoConfirmationButThatOfAnotherOneDoes) {
    receive(orders("LIVE", 1, 3));
    receive(end_of("STRAY", 1));
    expect_untouched(3);
    receive(end_of("LIVE", 4));
    ASSERT_EQ(seen_.clears.size(), 1U);
    EXPECT_EQ(seen_.clears[0].reason, ClearReason::end_of_session);
    receive(end_of("LIVE", 4));
    receive(orders("NEXT", 1, 2));
    EXPECT_EQ(seen_.clears.size(), 1U);
    receive(orders("NEXT", 3, 2));
    ASSERT_EQ(seen_.clears.size(), 2U);
    EXPECT_EQ(decoder_.order_books().live_orders(), 4U);
    EXPECT_TRUE(decoder_.books().is_complete());
    EXPECT_TRUE(seen_.gaps.empty());
    receive(end_of("LIVE", 4));
    EXPECT_EQ(decoder_.order_books().live_orders(), 4U) << "the old session ends again";
}

TEST_F(SessionChange, ALongFirstDatagramIsComplete) {
    receive(orders("LIVE", 1, 1));
    const auto long_one = orders("NEXT", 1, 900);
    ASSERT_GT(long_one.size(), 32'768U);
    receive(long_one);
    expect_untouched(1);
    receive(orders("NEXT", 901, 1));
    expect_changed(901);
}

TEST_F(SessionChange, AfterAStraySessionWasAcceptedTheRealOneIsFollowedFromItsSecondDatagram) {
    receive(orders("LIVE", 1, 3));
    now_ += Sessions::kSilentNs;
    receive(orders("STRAY", 1, 1));
    ASSERT_EQ(seen_.clears.size(), 1U);
    receive(orders("LIVE", 4, 1));
    receive(heartbeat("LIVE", 5));
    expect_session("LIVE");
    ASSERT_EQ(seen_.gaps.size(), 1U) << "what the stray datagram has voided is missing";
    EXPECT_EQ(seen_.gaps[0].last, 3U);
    EXPECT_EQ(seen_.quotes.back().feed_sequence, 4U);
    EXPECT_EQ(seen_.quotes.back().flags, kIncomplete);
}

TEST_F(SessionChange, TheRepeatedEndOfASessionThatWasLeftIsIgnored) {
    receive(orders("LIVE", 1, 1));
    receive(orders("NEXT", 1, 1));
    receive(orders("NEXT", 2, 1));
    for (int i = 0; i < 40; ++i) receive(end_of("LIVE", 2));
    expect_changed(2);
}

TEST_F(SessionChange, ASessionThatIsNotPrintableIsMalformed) {
    receive(orders("LIVE", 1, 1));
    for (const char bad : {'\0', '\x1F', '\x7F', '\xFF'}) {
        for (std::size_t at = 0; at < 10; ++at) {
            auto bytes = orders("NEXT", 1, 1);
            bytes[at] = std::byte(bad);
            const auto result = decoder_.decode(bytes, {.receive_utc_ns = now_}, seen_);
            ASSERT_FALSE(result.ok());
            EXPECT_EQ(result.error->kind, DecodeErrorKind::bad_session);
            EXPECT_EQ(result.error->offset, at);
            EXPECT_EQ(result.error->found, static_cast<std::uint8_t>(bad));
            EXPECT_FALSE(Sequencing<ItchDecoder>::read(bytes).has_value());
        }
    }
    expect_untouched(1);
    EXPECT_EQ(decoder_.counters().malformed.read(), 40U);
    EXPECT_EQ(Sequencing<ItchDecoder>::read(orders(" ~", 1, 1))->first, 1U);
}

class SessionChangeOfLines : public SessionChange {
protected:
    using Arbiter = LineArbiter<ItchDecoder>;

    void receive(std::size_t line, const Bytes& bytes) {
        now_ += kSecond / 10;
        DecoderTarget target{decoder_, seen_, [](std::span<const std::byte>, const DecodeResult&) {}};
        arbiter_.receive(line, bytes, {.receive_utc_ns = now_, .receive_ticks = 1, .channel = 0}, target);
        std::uint64_t came = 0;
        std::uint64_t became = arbiter_.held();
        for (std::size_t i = 0; i <= Arbiter::kAnswers; ++i) {
            const auto& counters = arbiter_.counters(i);
            came += counters.datagrams.read();
            became += counters.used.read() + counters.duplicates.read() + counters.late.read() + counters.others.read();
        }
        ASSERT_EQ(came, became);
    }
    void both(const Bytes& bytes) {
        receive(0, bytes);
        receive(1, bytes);
    }
    void give_up() {
        DecoderTarget target{decoder_, seen_, [](std::span<const std::byte>, const DecodeResult&) {}};
        arbiter_.give_up(target);
    }
    Arbiter arbiter_{{.held = 16}};
};

TEST_F(SessionChangeOfLines, StrayDatagramsOnEitherLineChangeNothing) {
    both(orders("LIVE", 1, 1));
    for (std::uint64_t i = 0; i < 50; ++i) {
        receive(i % 2, orders("STRAY", 1 + i, 1, "MSFT"));
        both(orders("LIVE", 2 + i, 1));
    }
    both(orders("STRAY", 1, 1, "MSFT"));
    both(orders("LIVE", 52, 1));
    expect_untouched(52);
    EXPECT_EQ(table_.size(), 1U);
}

TEST_F(SessionChangeOfLines, EachLineConfirmsItsOwn) {
    both(orders("LIVE", 1, 1));
    receive(0, orders("STRAY", 1, 1, "MSFT"));
    receive(1, orders("STRAY", 2, 1, "MSFT"));
    both(orders("LIVE", 2, 1));
    expect_untouched(2);
}

TEST_F(SessionChangeOfLines, AStrayDatagramThatALineHoldsIsCountedWhenTheOtherLineChangesTheSession) {
    both(orders("LIVE", 1, 1));
    receive(1, orders("STRAY", 1, 1, "MSFT"));  // held
    receive(0, orders("NEXT", 1, 1));
    receive(0, orders("NEXT", 2, 1));
    expect_changed(2);
    receive(1, orders("STRAY", 1, 1, "MSFT"));  // receive() checks the account
    receive(1, orders("NEXT", 1, 1));
    expect_changed(2);
    EXPECT_EQ(table_.size(), 1U);
}

TEST_F(SessionChangeOfLines, LinesMayChangeAtDifferentMoments) {
    both(orders("LIVE", 1, 3));
    receive(0, orders("NEXT", 1, 1));
    receive(1, orders("LIVE", 4, 1));
    expect_untouched(4);
    receive(0, orders("NEXT", 2, 1));
    expect_changed(2);
    for (std::uint64_t i = 0; i < 40; ++i) receive(1, orders("LIVE", 5 + i, 1));
    receive(0, orders("NEXT", 3, 1));
    expect_changed(3);
    for (std::uint64_t first = 1; first <= 4; ++first) receive(1, orders("NEXT", first, 1));
    expect_changed(4);
}

TEST_F(SessionChangeOfLines, ALineThatStaysInAnotherSessionIsKnown) {
    both(orders("LIVE", 1, 1));
    receive(0, orders("NEXT", 1, 1));
    receive(0, orders("NEXT", 2, 1));
    for (std::uint64_t i = 0; i < 40; ++i) receive(1, orders("LIVE", 2 + i, 1));
    EXPECT_EQ(arbiter_.apart(0), 0U);
    EXPECT_EQ(arbiter_.apart(1), 40U);
    EXPECT_EQ(Sequencing<ItchDecoder>::name_of(arbiter_.session_apart(1)).view(), "LIVE");
    receive(1, orders("NEXT", 1, 1));
    EXPECT_EQ(arbiter_.apart(1), 0U);
    receive(0, orders("STRAY", 1, 1));
    EXPECT_EQ(arbiter_.apart(0), 1U);
    EXPECT_EQ(Sequencing<QuotesDecoder>::name_of({.number = ~0ULL, .channel = 1}).view(), "18446744073709551615");
}

TEST_F(SessionChangeOfLines, DatagramsHeldByTheOtherLineFillTheGap) {
    both(orders("LIVE", 1, 3));
    receive(0, orders("NEXT", 1, 2));  // line B loses this datagram, line A the next one
    receive(1, orders("NEXT", 3, 1));
    receive(1, orders("NEXT", 4, 1));
    expect_changed(4);
    EXPECT_FALSE(arbiter_.holding());
    EXPECT_EQ(seen_.quotes.at(3).feed_sequence, 1U);
}

TEST_F(SessionChangeOfLines, ANewSessionWhoseStartNoLineReceivedBeginsWithAGap) {
    both(orders("LIVE", 1, 3));
    receive(0, orders("NEXT", 2, 1));
    receive(0, heartbeat("NEXT", 3));
    expect_changed(0);
    ASSERT_TRUE(arbiter_.holding());
    receive(1, orders("NEXT", 1, 1));
    expect_changed(2);
    EXPECT_FALSE(arbiter_.holding());
}

TEST_F(SessionChangeOfLines, ASessionChangeEndsTheWaitForAnOpenGap) {
    both(orders("LIVE", 1, 3));
    receive(0, orders("LIVE", 5, 1));
    ASSERT_TRUE(arbiter_.holding());
    receive(0, orders("NEXT", 1, 1));
    EXPECT_TRUE(arbiter_.holding());
    EXPECT_TRUE(seen_.gaps.empty()) << "line B may still close it";
    receive(0, orders("NEXT", 2, 1));
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.gaps[0].first, 4U);
    seen_.gaps.clear();
    expect_changed(2);
}

TEST_F(SessionChangeOfLines, AStrayDatagramDoesNotEndTheWaitForAnOpenGap) {
    both(orders("LIVE", 1, 3));
    receive(0, orders("LIVE", 5, 1));
    receive(0, orders("STRAY", 1, 1, "MSFT"));
    receive(1, orders("LIVE", 4, 1));
    expect_untouched(5);
}

TEST_F(SessionChangeOfLines, SilenceOfBothLinesLetsTheFirstDatagramIn) {
    both(orders("LIVE", 1, 3));
    now_ += Sessions::kSilentNs - kSecond;
    receive(1, heartbeat("LIVE", 4));
    now_ += kSecond;
    receive(0, orders("NEXT", 1, 1));
    expect_untouched(3);
    now_ += Sessions::kSilentNs;
    receive(1, orders("NEXT", 2, 1));
    expect_changed(2);
}

TEST_F(SessionChangeOfLines, AfterAStraySessionWasAcceptedTheRealOneIsFollowedOnEitherLine) {
    for (const std::size_t line : {std::size_t{0}, std::size_t{1}}) {
        both(orders("LIVE", 1 + 5 * line, 3));
        now_ += Sessions::kSilentNs;
        receive(0, orders("STRAY", 1, 1));
        expect_session("STRAY");
        // Line 1 may be the slower one of a real change, until the new session has been silent.
        if (line == 1) now_ += Sessions::kSilentNs;
        receive(line, orders("LIVE", 4 + 5 * line, 1));
        receive(line, orders("LIVE", 5 + 5 * line, 1));
        expect_session("LIVE");
        ASSERT_TRUE(arbiter_.holding()) << "the other line, or a server, may bring what the stray datagram has voided";
        give_up();
        EXPECT_EQ(seen_.quotes.back().feed_sequence, 5 + 5 * line);
    }
}

TEST_F(SessionChangeOfLines, TheEndOfASessionAndTheNextOne) {
    both(orders("LIVE", 1, 3));
    both(end_of("STRAY", 9));
    both(end_of("LIVE", 4));
    ASSERT_EQ(seen_.clears.size(), 1U);
    seen_.clears.clear();
    both(orders("NEXT", 1, 1));
    both(orders("NEXT", 2, 1));
    both(end_of("LIVE", 4));
    expect_changed(2);
}

TEST_F(SessionChangeOfLines, AnswersOfTheServerChangeNoSession) {
    both(orders("LIVE", 1, 3));
    receive(Arbiter::kAnswers, orders("NEXT", 1, 1));
    receive(Arbiter::kAnswers, orders("NEXT", 2, 1));
    expect_untouched(3);
}

}  // namespace
}  // namespace millpond::feed
