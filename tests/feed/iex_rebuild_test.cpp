// IEX books that are rebuilt from a snapshot, and what their readers see of it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/feed/book_rebuilder.hpp>
#include <millpond/feed/iex_deep.hpp>
#include <millpond/feed/iex_deep_plus.hpp>
#include <millpond/feed/iex_encoder.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

using Bytes = std::vector<std::byte>;

/// Keeps all events, and the number of levels that a reader has of each instrument.
struct DepthRecorder : Recorder {
    using Recorder::on;
    void on(const Order&) {}
    void on(const Level& level) {
        if (level.side == Side::none) levels[level.instrument] = 0;
        if (level.side != Side::none && level.size != 0) ++levels[level.instrument];
        if (level.side != Side::none && level.size == 0) --levels[level.instrument];
        newest_flags[level.instrument] = level.flags;
    }
    void on(const Definition& definition) { definitions.push_back(definition); }
    void on(const Band& band) { bands.push_back(band); }
    std::vector<Definition> definitions;
    std::vector<Band> bands;
    std::map<InstrumentId, int> levels;
    std::map<InstrumentId, std::uint16_t> newest_flags;
};

template <class Decoder>
class IexRebuild : public testing::Test {
protected:
    static constexpr std::uint16_t kProtocol =
        std::is_same_v<Decoder, IexDeepDecoder> ? iex_layout::kDeep : iex_layout::kDeepPlus;
    static constexpr IexSession kSession{.number = 1, .channel = 1};

    static typename Decoder::Options options() {
        typename Decoder::Options options;
        options.order_books = {.books = 8, .orders = 64, .level_chunks = 64};
        options.depth = 5;
        return options;
    }
    static Bytes kept(IexMessageWriter::Bytes bytes) { return {bytes.begin(), bytes.end()}; }
    Bytes level(char side, std::string_view symbol, std::uint32_t size, std::int64_t price, bool complete = true) {
        return kept(writer_.level(side, symbol, size, price, complete));
    }
    Bytes halt(std::string_view symbol, char status) { return kept(writer_.trading_status(symbol, status, "T1")); }
    static Bytes datagram(std::uint64_t first, const std::vector<Bytes>& messages) {
        IexEncoder encoder{{.protocol = kProtocol, .session = kSession, .first_sequence = first}};
        std::array<std::byte, 1'472> buffer;
        encoder.begin(buffer);
        for (const auto& message : messages) EXPECT_TRUE(encoder.add(message));
        const auto bytes = encoder.finish(9);
        return {bytes.begin(), bytes.end()};
    }
    void send(std::uint64_t first, const std::vector<Bytes>& messages) {
        static_cast<void>(live_.decode(datagram(first, messages), now(), seen_));
    }
    /// Builds books from a snapshot that has the messages up to this number.
    void build(std::uint64_t number, const std::vector<Bytes>& snapshot) {
        rebuilt_.begin(kSession);
        for (const auto& message : snapshot) EXPECT_EQ(rebuilt_.add_snapshot(message), "");
        rebuilt_.end_snapshot(number + 1);
    }
    [[nodiscard]] bool hand_over() {
        rebuilt_.prepare();
        if (!rebuilt_.hand_over(live_, now(), seen_)) return false;
        while (live_.has_snapshots_due()) live_.publish_snapshots(32, now(), seen_);
        return true;
    }
    [[nodiscard]] Arrival now() const { return {.receive_utc_ns = now_, .receive_ticks = 6, .channel = 7}; }
    [[nodiscard]] InstrumentId id(std::string_view symbol) const {
        return instruments_.find(Venue{"IEXG"}, Symbol{symbol});
    }
    /// The newest quote of an instrument, as on the board.
    [[nodiscard]] std::optional<Quote> quote(std::string_view symbol) const {
        std::optional<Quote> newest;
        for (const auto& quote : seen_.quotes) {
            if (quote.instrument == id(symbol)) newest = quote;
        }
        return newest;
    }
    void expect_empty(std::string_view symbol, std::uint64_t number, std::uint16_t flags = 0) {
        SCOPED_TRACE(symbol);
        const auto newest = quote(symbol);
        ASSERT_TRUE(newest);
        EXPECT_EQ(newest->bid_size + newest->ask_size, 0U);
        EXPECT_EQ(newest->bid_price, 0);
        EXPECT_EQ(newest->ask_price, 0);
        EXPECT_EQ(newest->flags & ~kLast, flags);
        EXPECT_EQ(newest->feed_sequence, number);
        EXPECT_EQ(seen_.levels[id(symbol)], 0);
        EXPECT_EQ(seen_.newest_flags[id(symbol)] & kIncomplete, 0);
    }

    InstrumentTable instruments_{8};
    Decoder live_{instruments_, options()};
    DepthRecorder seen_;
    BookRebuilder<Decoder> rebuilt_{{.decoder = options(), .instruments = 8}};
    IexMessageWriter writer_;
    std::int64_t now_{1'700'000'000'000'000'000};
};

using IexDeepRebuild = IexRebuild<IexDeepDecoder>;
using IexDeepPlusRebuild = IexRebuild<IexDeepPlusDecoder>;

TEST_F(IexDeepRebuild, InstrumentsThatAreEmptyInTheSnapshotOrNotInItAreEmptyAtOnce) {
    send(1, {kept(writer_.system_event('O')), level('8', "NAMED", 100, 10), level('8', "UNNAMED", 100, 10),
             level('8', "HALTED", 100, 10), halt("HALTED", 'H'), level('8', "FULL", 100, 10)});
    send(10, {level('8', "NAMED", 100, 9), level('8', "UNNAMED", 100, 9), level('8', "HALTED", 100, 9)});
    ASSERT_EQ(quote("NAMED")->flags & ~kLast, kIncomplete);
    build(12, {kept(writer_.system_event('O')), halt("NAMED", 'T'), level('8', "FULL", 50, 11)});
    ASSERT_TRUE(hand_over());
    expect_empty("NAMED", 12);
    expect_empty("UNNAMED", 12);
    expect_empty("HALTED", 12, kHalted);
    EXPECT_EQ(quote("FULL")->bid_size, 50U);
    EXPECT_EQ(seen_.levels[id("FULL")], 1);
    send(13, {level('5', "UNNAMED", 30, 12), level('5', "HALTED", 40, 12)});
    EXPECT_EQ(quote("UNNAMED")->ask_size, 30U);
    EXPECT_EQ(quote("UNNAMED")->flags & ~kLast, 0);
    EXPECT_EQ(quote("HALTED")->flags & ~kLast, kHalted);
    EXPECT_EQ(seen_.levels[id("UNNAMED")], 1);
}

TEST_F(IexDeepRebuild, InstrumentsOfTheSnapshotAndOthersThatDoNotFitTogetherAreRefused) {
    for (std::uint64_t i = 0; i < 8; ++i) send(2 + i, {level('8', "LIVE" + std::to_string(i), 100, 10)});
    build(9, {level('8', "OTHER", 50, 11)});
    const auto quotes = seen_.quotes.size();
    EXPECT_FALSE(hand_over());
    EXPECT_EQ(seen_.quotes.size(), quotes);
}

TEST_F(IexDeepRebuild, TheDirectoryAndShortSaleRestrictionsOfTheSnapshotAreEventsOfTheFeedsInstruments) {
    send(5, {level('8', "MSFT", 100, 10), level('8', "AAPL", 100, 10)});
    build(6, {kept(writer_.directory("AAPL", 0, 40)), kept(writer_.directory("FUND", 0x20, 100)),
              kept(writer_.short_sale("AAPL", 1, 'A')), level('8', "AAPL", 100, 10)});
    EXPECT_TRUE(seen_.definitions.empty());
    ASSERT_TRUE(hand_over());
    EXPECT_TRUE(seen_.definitions.empty());
    EXPECT_EQ(rebuilt_.publish_announcements(1, seen_), 1U);
    EXPECT_TRUE(rebuilt_.has_announcements());
    while (rebuilt_.publish_announcements(1, seen_) != 0) continue;
    ASSERT_EQ(seen_.definitions.size(), 2U);
    EXPECT_EQ(seen_.definitions[0].instrument, id("AAPL"));
    EXPECT_EQ(seen_.definitions[0].lot, 40U);
    EXPECT_EQ(seen_.definitions[0].channel, 7);
    EXPECT_EQ(seen_.definitions[0].feed_sequence, 6U);
    EXPECT_EQ(seen_.definitions[0].receive_utc_ns, now_);
    EXPECT_EQ(seen_.definitions[1].instrument, id("FUND"));
    ASSERT_EQ(seen_.bands.size(), 1U);
    EXPECT_EQ(seen_.bands[0].instrument, id("AAPL"));
    EXPECT_EQ(seen_.bands[0].short_sale, ShortSale::restricted_now);
}

TEST_F(IexDeepRebuild, WhatWasAnnouncedIsForgottenWithTheNextAttempt) {
    send(5, {level('8', "AAPL", 100, 10)});
    build(5, {kept(writer_.directory("AAPL", 0, 40)), level('8', "AAPL", 100, 10)});
    ASSERT_TRUE(hand_over());
    while (rebuilt_.publish_announcements(8, seen_) != 0) continue;
    send(7, {level('8', "AAPL", 100, 11)});
    build(7, {level('8', "AAPL", 100, 11)});
    ASSERT_TRUE(hand_over());
    while (rebuilt_.publish_announcements(8, seen_) != 0) continue;
    EXPECT_EQ(seen_.definitions.size(), 1U);
}

TEST_F(IexDeepPlusRebuild, AnInstrumentThatIsNotInTheSnapshotIsEmptyAtOnce) {
    send(5, {kept(writer_.order_added("AAPL", 1, '8', 100, 10)), kept(writer_.order_added("MSFT", 2, '8', 100, 10))});
    build(6, {kept(writer_.order_added("MSFT", 2, '8', 100, 10))});
    ASSERT_TRUE(hand_over());
    expect_empty("AAPL", 6);
    EXPECT_EQ(quote("MSFT")->bid_size, 100U);
}

/// DEEP SNAP 1.6, page 11: the levels of a snapshot are complete whatever the feed's flags were.
TEST_F(IexDeepRebuild, AnInstrumentInTransitionAtTheSnapshotIsIncompleteUntilTheGroupIsComplete) {
    send(5, {level('8', "MOVING", 100, 10), level('5', "MOVING", 100, 12), level('8', "CALM", 100, 10)});
    send(8, {level('8', "MOVING", 0, 10, false)});
    build(8, {level('5', "MOVING", 100, 12), level('8', "CALM", 100, 10)});
    ASSERT_TRUE(hand_over());
    EXPECT_EQ(quote("CALM")->flags & ~kLast, 0);
    EXPECT_EQ(quote("MOVING")->flags & ~kLast, kIncomplete);
    EXPECT_EQ(live_.order_books().incomplete(), 1U);
    now_ += 2 * IexDeep::kOpenNs;
    send(9, {level('5', "CALM", 100, 12)});
    EXPECT_EQ(quote("MOVING")->flags & ~kLast, kIncomplete);
    send(10, {level('8', "MOVING", 70, 9, false)});
    EXPECT_EQ(quote("MOVING")->flags & ~kLast, kIncomplete);
    send(11, {level('8', "MOVING", 80, 8)});
    EXPECT_EQ(quote("MOVING")->flags & ~kLast, 0);
    EXPECT_EQ(quote("MOVING")->bid_price, 900'000);
    EXPECT_EQ(quote("MOVING")->bid_size, 70U);
    EXPECT_EQ(seen_.levels[id("MOVING")], 3);
    EXPECT_EQ(seen_.newest_flags[id("MOVING")] & kIncomplete, 0);
    EXPECT_EQ(live_.order_books().incomplete(), 0U);
}

TEST_F(IexDeepRebuild, AGroupThatEndsWithoutAChangeCompletesItsInstrumentToo) {
    send(5, {level('8', "MOVING", 100, 10)});
    send(6, {level('8', "MOVING", 0, 10, false)});
    build(6, {halt("MOVING", 'T')});
    ASSERT_TRUE(hand_over());
    EXPECT_EQ(quote("MOVING")->flags & ~kLast, kIncomplete);
    send(7, {level('8', "MOVING", 0, 10)});
    expect_empty("MOVING", 7);
}

TEST_F(IexDeepRebuild, AGroupThatBeginsAfterTheSnapshotIsNoTransition) {
    send(5, {level('8', "AAPL", 100, 10)});
    send(6, {level('8', "AAPL", 70, 11, false)});
    build(5, {level('8', "AAPL", 100, 10)});
    rebuilt_.add(datagram(6, {level('8', "AAPL", 70, 11, false)}));
    ASSERT_TRUE(hand_over());
    EXPECT_EQ(quote("AAPL")->flags & ~kLast, 0);
    EXPECT_EQ(quote("AAPL")->bid_price, 1'000'000);
    send(7, {level('5', "AAPL", 100, 12)});
    EXPECT_EQ(quote("AAPL")->bid_price, 1'100'000);
}

TEST_F(IexDeepRebuild, AGroupThatTheSnapshotHasAPartOfIsIncompleteUntilItsEnd) {
    send(5, {level('8', "AAPL", 100, 10)});
    send(6, {level('8', "AAPL", 0, 10, false), level('8', "AAPL", 70, 9, false)});
    build(6, {halt("AAPL", 'T')});
    rebuilt_.add(datagram(7, {level('8', "AAPL", 70, 9, false)}));
    ASSERT_TRUE(hand_over());
    EXPECT_EQ(quote("AAPL")->flags & ~kLast, kIncomplete);
    send(8, {level('5', "AAPL", 100, 12)});
    EXPECT_EQ(quote("AAPL")->flags & ~kLast, 0);
    EXPECT_EQ(quote("AAPL")->bid_price, 900'000);
    EXPECT_EQ(seen_.levels[id("AAPL")], 2);
}

TEST_F(IexDeepRebuild, AGroupThatTheFeedDroppedAfterASecondIsStillATransition) {
    send(5, {level('8', "AAPL", 100, 10)});
    send(6, {level('8', "AAPL", 0, 10, false)});
    now_ += 2 * IexDeep::kOpenNs;
    send(7, {level('8', "MSFT", 1, 1)});
    build(7, {halt("AAPL", 'T'), level('8', "MSFT", 1, 1)});
    ASSERT_TRUE(hand_over());
    EXPECT_EQ(quote("AAPL")->flags & ~kLast, kIncomplete);
    EXPECT_EQ(quote("MSFT")->flags & ~kLast, 0);
    send(8, {level('8', "AAPL", 5, 3)});
    EXPECT_EQ(quote("AAPL")->flags & ~kLast, 0);
    EXPECT_EQ(quote("AAPL")->bid_price, 300'000);
}

TEST_F(IexDeepRebuild, ALossAfterTheHandOverForgetsTheTransition) {
    send(5, {level('8', "AAPL", 100, 10)});
    send(6, {level('8', "AAPL", 0, 10, false)});
    build(6, {halt("AAPL", 'T')});
    ASSERT_TRUE(hand_over());
    send(10, {level('8', "AAPL", 5, 3)});
    EXPECT_EQ(quote("AAPL")->flags & ~kLast, kIncomplete);
    build(10, {level('8', "AAPL", 5, 3)});
    ASSERT_TRUE(hand_over());
    EXPECT_EQ(quote("AAPL")->flags & ~kLast, 0);
}

TEST_F(IexDeepRebuild, AHeartbeatFarAheadHoldsNothingBack) {
    send(5, {level('8', "AAPL", 100, 10)});
    build(5, {level('8', "AAPL", 100, 10)});
    rebuilt_.add(datagram(1'000'000, {}));
    EXPECT_FALSE(rebuilt_.missing_until());
    EXPECT_TRUE(hand_over());
}

TEST_F(IexDeepRebuild, ASnapshotWithTheEndOfTheSessionEndsIt) {
    send(5, {level('8', "AAPL", 100, 10)});
    build(5, {kept(writer_.system_event('C'))});
    EXPECT_TRUE(rebuilt_.has_ended());
    EXPECT_TRUE(rebuilt_.is_sound());
    ASSERT_TRUE(hand_over());
    ASSERT_EQ(seen_.clears.size(), 1U);
    EXPECT_EQ(seen_.clears[0].reason, ClearReason::end_of_session);
    EXPECT_FALSE(live_.wants_rebuild());
    send(6, {level('8', "AAPL", 100, 10)});
    EXPECT_TRUE(live_.wants_rebuild()) << "it was not the end";
    EXPECT_EQ(quote("AAPL")->flags & ~kLast, kIncomplete);
}

TEST_F(IexDeepRebuild, ASessionThatTheFeedContinuesIsNotEnded) {
    send(5, {level('8', "AAPL", 100, 10)});
    send(6, {level('8', "AAPL", 100, 11)});
    build(5, {kept(writer_.system_event('C'))});
    rebuilt_.add(datagram(6, {level('8', "AAPL", 100, 11)}));
    EXPECT_FALSE(rebuilt_.is_sound());
    EXPECT_FALSE(hand_over());
    EXPECT_TRUE(seen_.clears.empty());
    EXPECT_TRUE(live_.wants_rebuild());
}

TEST_F(IexDeepRebuild, WhatADeepSnapshotNeverHasIsNamedAndNotApplied) {
    auto short_halt = halt("AAPL", 'H');
    short_halt.pop_back();
    auto short_level = level('8', "AAPL", 1, 1);
    short_level.pop_back();
    const std::pair<Bytes, std::string_view> faults[] = {
        {level('8', "AAPL", 0, 10), "a level of size 0 of 'AAPL'"},
        {level('8', "AAPL", 5, 10, false), "a level of a group in progress of 'AAPL'"},
        {level('8', "MSFT", 6, 20), "the same level twice of 'MSFT'"},
        {kept(writer_.trade("AAPL", 1, 1, 1)), "a message of type T of 'AAPL'"},
        {kept(writer_.trade("AAPL", 1, 1, 1, 0, 'B')), "a message of type B of 'AAPL'"},
        {short_halt, "a damaged message of type H of 'AAPL'"},
        {halt("AAPL", 'Z'), "a damaged message of type H of 'AAPL'"},
        {short_level, "a damaged message of type 8 of 'AAPL'"},
        {level('8', "\x01", 5, 10), "a damaged message of type 8 of '?'"},
        {kept(writer_.short_sale("AAPL", 9, ' ')), "a damaged message of type P of 'AAPL'"},
    };
    for (const auto& [message, fault] : faults) {
        rebuilt_.begin(kSession);
        EXPECT_EQ(rebuilt_.add_snapshot(level('8', "MSFT", 5, 20)), "");
        EXPECT_EQ(rebuilt_.add_snapshot(level('5', "MSFT", 5, 20)), "") << "the other side";
        EXPECT_EQ(rebuilt_.add_snapshot(message), fault);
    }
    rebuilt_.begin(kSession);
    const Bytes listed[] = {kept(writer_.system_event('R')),
                            kept(writer_.directory("AAPL", 0, 100)),
                            halt("AAPL", 'T'),
                            kept(writer_.coded('E', 'O', "AAPL")),
                            kept(writer_.coded('O', 'N', "AAPL")),
                            kept(writer_.short_sale("AAPL", 1, 'A')),
                            kept(writer_.official_price("AAPL", 'Q', 5)),
                            level('8', "AAPL", 5, 10),
                            kept(writer_.coded('I', 'A', "AAPL")),
                            kept(writer_.coded('z', 'A', "AAPL"))};
    for (const auto& message : listed) EXPECT_EQ(rebuilt_.add_snapshot(message), "");
}

TEST_F(IexDeepPlusRebuild, WhatADeepPlusSnapshotNeverHasIsNamedAndNotApplied) {
    const std::pair<Bytes, std::string_view> faults[] = {
        {kept(writer_.order_added("MSFT", 1, '8', 6, 20)), "the same order twice of 'MSFT'"},
        {kept(writer_.order_added("AAPL", 2, '8', 0, 20)), "a damaged message of type a of 'AAPL'"},
        {kept(writer_.order_added("AAPL", 2, 'x', 5, 20)), "a damaged message of type a of 'AAPL'"},
        {kept(writer_.order_modified("MSFT", 1, 6, 20, true)), "a message of type M of 'MSFT'"},
        {kept(writer_.order_removed("MSFT", 1)), "a message of type R of 'MSFT'"},
        {kept(writer_.order_executed("MSFT", 1, 6, 20, 1)), "a message of type L of 'MSFT'"},
        {kept(writer_.coded('C', ' ', "MSFT")), "a message of type C of 'MSFT'"},
    };
    for (const auto& [message, fault] : faults) {
        rebuilt_.begin(kSession);
        EXPECT_EQ(rebuilt_.add_snapshot(kept(writer_.order_added("MSFT", 1, '8', 5, 20))), "");
        EXPECT_EQ(rebuilt_.add_snapshot(message), fault);
    }
}

}  // namespace
}  // namespace millpond::feed
