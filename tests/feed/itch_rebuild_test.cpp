#include <millpond/feed/itch_rebuild.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/feed/generated_feed.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>

#include "tests/feed/recorder.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::feed {
namespace {

using Bytes = std::vector<std::byte>;

constexpr ItchDecoder::Options kBooks{.order_books = {.books = 64, .orders = 10'000, .level_chunks = 1'024}};
constexpr std::int64_t kMidnight = 1'699'920'000'000'000'000;
constexpr std::size_t kInstruments = 32;

std::vector<Bytes> session_of(std::size_t datagrams, std::uint64_t number = 1) {
    GeneratedFeed feed{{.format = WireFormat::itch,
                        .market = {.seed = 7, .instruments = 20},
                        .steps_per_datagram = 3,
                        .session = number}};
    std::vector<Bytes> session;
    std::array<std::byte, GeneratedFeed::kMaxDatagramBytes> buffer;
    while (session.size() < datagrams) {
        const auto bytes = feed.next(buffer, kMidnight + static_cast<std::int64_t>(session.size()) * 1'000'000);
        session.emplace_back(bytes.begin(), bytes.end());
    }
    return session;
}

/// A decoder with its table and events; instruments may be known in advance, so that numbers differ.
struct Feed {
    explicit Feed(std::size_t known_before = 0, std::size_t instruments = kInstruments + 8) : table{instruments} {
        for (std::size_t i = 0; i < known_before; ++i)
            static_cast<void>(table.find_or_add(Venue{"X"}, Symbol{std::string(i + 1, 'K')}));
        decoder.set_midnight(kMidnight);
    }
    void decode(std::span<const std::byte> bytes) {
        static_cast<void>(decoder.decode(bytes, {.receive_utc_ns = 5, .receive_ticks = 6, .channel = 7}, seen));
    }
    void decode(const std::vector<Bytes>& session, std::size_t first, std::size_t last) {
        for (auto i = first; i < last; ++i) decode(session[i]);
    }
    /// A quote without the fields that depend on its reception, and with the instrument's name instead of the number.
    [[nodiscard]] std::pair<Symbol, std::array<std::byte, sizeof(Quote)>> bytes_of(Quote quote) const {
        const auto symbol = table.symbol(quote.instrument);
        quote.instrument = 0;
        quote.receive_utc_ns = 0;
        quote.receive_ticks = 0;
        return {symbol, std::bit_cast<std::array<std::byte, sizeof(Quote)>>(quote)};
    }

    InstrumentTable table;
    ItchDecoder decoder{table, kBooks};
    Recorder seen;
};

/// The board: the newest quote of each instrument.
auto board_of(const Feed& feed) {
    std::map<std::string, std::array<std::byte, sizeof(Quote)>> board;
    for (const auto& quote : feed.seen.quotes) {
        const auto [symbol, bytes] = feed.bytes_of(quote);
        board[std::string{symbol.view()}] = bytes;
    }
    return board;
}

class RebuiltBooks : public ::testing::Test {
protected:
    static constexpr Arrival kNow{.receive_utc_ns = 5, .receive_ticks = 6, .channel = 7};

    void build(std::size_t last) {
        rebuild_.begin(live_.decoder.session(), kMidnight);
        for (std::size_t i = 0; i < last; ++i) rebuild_.add(session_[i]);
    }

    std::vector<Bytes> session_{session_of(600)};
    Feed whole_;
    Feed live_{5};
    ItchRebuild rebuild_{{.decoder = kBooks, .instruments = kInstruments}};
};

TEST_F(RebuiltBooks, AfterTheHandOverEveryQuoteIsByteForByteThatOfAnUninterruptedDecode) {
    whole_.decode(session_, 0, 400);
    live_.decode(session_, 0, 100);
    live_.decode(session_, 103, 400);
    EXPECT_TRUE(live_.decoder.wants_rebuild());
    EXPECT_NE(live_.seen.quotes.back().flags & kIncomplete, 0);
    build(400);
    ASSERT_TRUE(rebuild_.hand_over(live_.decoder, kNow, live_.seen));
    EXPECT_FALSE(rebuild_.hand_over(live_.decoder, kNow, live_.seen)) << "once is all";
    EXPECT_FALSE(live_.decoder.wants_rebuild());
    EXPECT_EQ(board_of(live_), board_of(whole_));
    EXPECT_EQ(live_.decoder.order_books().live_orders(), whole_.decoder.order_books().live_orders());
    const auto before = live_.seen.quotes.size();
    const auto before_whole = whole_.seen.quotes.size();
    whole_.decode(session_, 400, 600);
    live_.decode(session_, 400, 600);
    ASSERT_EQ(live_.seen.quotes.size() - before, whole_.seen.quotes.size() - before_whole);
    ASSERT_GT(whole_.seen.quotes.size() - before_whole, 100U);
    for (std::size_t i = 0; before + i < live_.seen.quotes.size(); ++i)
        ASSERT_EQ(live_.bytes_of(live_.seen.quotes[before + i]), whole_.bytes_of(whole_.seen.quotes[before_whole + i]));
}

TEST_F(RebuiltBooks, TimesAreOfTheDayThatTheLiveFeedGaveThem) {
    constexpr auto kHour = ExchangeDay::kDayNs / 24;
    // The clock's midnight is that after the messages, or that before them.
    for (const auto now : {kMidnight - 13 * kHour, kMidnight + 1 * kHour, kMidnight + 23 * kHour}) {
        Feed live;
        live.decoder.set_midnight(kMidnight, true);
        const Arrival sent{.receive_utc_ns = std::min(now, kMidnight + kHour), .channel = 7};
        for (const auto& datagram : std::span{session_}.first(300))
            static_cast<void>(live.decoder.decode(datagram, sent, live.seen));
        Feed late{5};
        late.decoder.set_midnight(kMidnight, true);
        for (const auto& datagram : std::span{session_}.subspan(200, 100))
            static_cast<void>(late.decoder.decode(datagram, sent, late.seen));
        rebuild_.begin(late.decoder.session(), kMidnight, now);
        for (const auto& datagram : std::span{session_}.first(300)) rebuild_.add(datagram);
        ASSERT_TRUE(rebuild_.hand_over(late.decoder, kNow, late.seen));
        EXPECT_EQ(board_of(late), board_of(live));
    }
}

TEST_F(RebuiltBooks, ALateJoinerGetsTheBooksOfTheWholeSession) {
    whole_.decode(session_, 0, 300);
    live_.decode(session_, 200, 300);
    EXPECT_TRUE(live_.decoder.wants_rebuild());
    build(300);
    ASSERT_TRUE(rebuild_.hand_over(live_.decoder, kNow, live_.seen));
    EXPECT_EQ(board_of(live_), board_of(whole_));
}

TEST_F(RebuiltBooks, DatagramsMayComeTwiceAndOutOfOrder) {
    whole_.decode(session_, 0, 300);
    live_.decode(session_, 1, 300);
    std::vector<std::size_t> order(600);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i / 2;
    std::mt19937_64 random{3};
    for (auto from = order.begin(); from < order.end(); from += 40) std::shuffle(from, from + 40, random);
    rebuild_.begin(live_.decoder.session(), kMidnight);
    for (const auto i : order) rebuild_.add(session_[i]);
    ASSERT_TRUE(rebuild_.hand_over(live_.decoder, kNow, live_.seen));
    EXPECT_EQ(board_of(live_), board_of(whole_));
}

TEST_F(RebuiltBooks, ItReportsTheMissingNumbersAndIsRefusedByOtherDecoders) {
    live_.decode(session_, 0, 100);
    live_.decode(session_, 101, 200);
    build(150);
    EXPECT_FALSE(rebuild_.missing_until());
    const auto quotes = live_.seen.quotes.size();
    EXPECT_FALSE(rebuild_.hand_over(live_.decoder, kNow, live_.seen)) << "not there yet";
    rebuild_.add(session_[151]);
    const auto next = rebuild_.next();
    ASSERT_TRUE(rebuild_.missing_until());
    EXPECT_GE(*rebuild_.missing_until(), next);
    EXPECT_TRUE(rebuild_.is_sound()) << "the gap may still be filled";
    rebuild_.add(session_[150]);
    EXPECT_FALSE(rebuild_.missing_until());
    for (std::size_t i = 152; i < 200; ++i) rebuild_.add(session_[i]);
    const auto others = session_of(1, 2);
    Feed another;
    another.decode(others[0]);
    EXPECT_FALSE(rebuild_.hand_over(another.decoder, kNow, another.seen)) << "another session";
    Feed small{0, 3};
    small.decode(session_, 0, 200);
    EXPECT_FALSE(rebuild_.hand_over(small.decoder, kNow, small.seen)) << "no room for its instruments";
    EXPECT_EQ(live_.seen.quotes.size(), quotes);
    EXPECT_TRUE(rebuild_.hand_over(live_.decoder, kNow, live_.seen)) << "refusals have changed nothing";
}

TEST_F(RebuiltBooks, AGapWithTooManyMessagesBehindItMakesTheBooksUnsoundUntilTheNextAttempt) {
    ItchRebuild few{{.decoder = kBooks, .instruments = kInstruments, .held = 8}};
    live_.decode(session_, 1, 50);
    few.begin(live_.decoder.session(), kMidnight);
    for (std::size_t i = 2; i < 20; ++i) few.add(session_[i]);
    EXPECT_FALSE(few.is_sound());
    few.begin(live_.decoder.session(), kMidnight);
    EXPECT_TRUE(few.is_sound());
    for (std::size_t i = 0; i < 50; ++i) few.add(session_[i]);
    EXPECT_TRUE(few.hand_over(live_.decoder, kNow, live_.seen));
}

TEST_F(RebuiltBooks, MessagesOfAnotherDayContradictThemselves) {
    live_.decode(session_, 1, 100);
    rebuild_.begin(live_.decoder.session(), kMidnight);
    rebuild_.add(session_[0]);
    EXPECT_EQ(rebuild_.contradictions(), 0U);
    MoldUdp64Encoder mold{{live_.decoder.session().data(), 10}, rebuild_.next()};
    ItchEncoder itch;
    std::array<std::byte, 200> buffer;
    mold.begin(buffer);
    itch.set_head(1, 5);
    ASSERT_TRUE(mold.add(itch.order_deleted(999'999)));
    rebuild_.add(mold.finish());
    EXPECT_EQ(rebuild_.contradictions(), 1U);
    rebuild_.begin(live_.decoder.session(), kMidnight);
    EXPECT_EQ(rebuild_.contradictions(), 0U);
}

TEST_F(RebuiltBooks, AMissedHaltIsReported) {
    MoldUdp64Encoder mold{"S1"};
    ItchEncoder itch;
    std::vector<Bytes> sent;
    const auto send = [&](const ItchEncoder::Message& message) {
        std::array<std::byte, 200> buffer;
        mold.begin(buffer);
        EXPECT_TRUE(mold.add(message));
        const auto bytes = mold.finish();
        sent.emplace_back(bytes.begin(), bytes.end());
    };
    itch.set_head(1, 5);
    send(itch.order_added(1, 'B', 100, "AAPL", 1'000));
    send(itch.trading_action("AAPL", 'H', "T1"));
    send(itch.order_added(2, 'B', 100, "AAPL", 1'001));
    live_.decode(sent[0]);
    live_.decode(sent[2]);
    ASSERT_TRUE(live_.seen.statuses.empty());
    rebuild_.begin(live_.decoder.session(), kMidnight);
    for (const auto& bytes : sent) rebuild_.add(bytes);
    ASSERT_TRUE(rebuild_.hand_over(live_.decoder, kNow, live_.seen));
    ASSERT_EQ(live_.seen.statuses.size(), 1U);
    EXPECT_EQ(live_.seen.statuses[0].state, TradingState::halted);
    EXPECT_EQ(live_.seen.statuses[0].instrument, live_.seen.quotes.back().instrument);
    EXPECT_EQ(live_.seen.quotes.back().flags, kHalted);
    // Trading resumes after the recovery begins, and that message is lost too.
    send(itch.trading_action("AAPL", 'T', ""));
    send(itch.operational_halt("AAPL", 'Q', 'H'));
    send(itch.operational_halt("AAPL", 'Q', 'T'));
    send(itch.order_added(3, 'B', 100, "AAPL", 1'002));
    live_.decode(sent[6]);
    EXPECT_EQ(live_.seen.quotes.back().flags, kHalted | kIncomplete);
    rebuild_.begin(live_.decoder.session(), kMidnight);
    for (const auto& bytes : sent) rebuild_.add(bytes);
    ASSERT_TRUE(rebuild_.hand_over(live_.decoder, kNow, live_.seen));
    ASSERT_EQ(live_.seen.statuses.size(), 2U);
    EXPECT_EQ(live_.seen.statuses[1].state, TradingState::trading);
    EXPECT_EQ(live_.seen.quotes.back().flags, 0);
}

TEST_F(RebuiltBooks, InstrumentsWithoutOrdersInASnapshotAndThoseItDoesNotNameAreEmptyAtOnce) {
    MoldUdp64Encoder mold{"S1", 10};
    ItchEncoder itch;
    const auto order = [&](std::uint16_t locate, std::uint64_t number, std::string_view stock) {
        itch.set_head(locate, 5);
        return itch.order_added(number, 'B', 100, stock, 1'000);
    };
    for (const auto& [locate, stock] : {std::pair{1, "AAPL"}, {2, "MSFT"}, {3, "IBM"}}) {
        std::array<std::byte, 200> buffer;
        mold.begin(buffer);
        ASSERT_TRUE(mold.add(order(static_cast<std::uint16_t>(locate), static_cast<std::uint64_t>(locate), stock)));
        live_.decode(mold.finish());
        EXPECT_EQ(live_.seen.quotes.back().flags, kIncomplete);
    }
    rebuild_.begin(live_.decoder.session(), kMidnight);
    itch.set_head(1, 5);
    EXPECT_EQ(rebuild_.add_snapshot(itch.trading_action("AAPL", 'T', "")), "");
    EXPECT_EQ(rebuild_.add_snapshot(order(2, 2, "MSFT")), "");
    rebuild_.end_snapshot(13);
    ASSERT_TRUE(rebuild_.hand_over(live_.decoder, kNow, live_.seen));
    for (const std::string_view stock : {"AAPL", "MSFT", "IBM"}) {
        const auto id = live_.table.find(Venue{"XNAS"}, Symbol{stock});
        const auto quote =
            std::ranges::find(live_.seen.quotes.rbegin(), live_.seen.quotes.rend(), id, &Quote::instrument);
        ASSERT_NE(quote, live_.seen.quotes.rend());
        EXPECT_EQ(quote->bid_size, stock == "MSFT" ? 100U : 0U) << stock;
        EXPECT_EQ(quote->flags, 0) << stock;
    }
}

TEST_F(RebuiltBooks, BooksOfASenderThatRestartedItsNumbersWithinASessionAreNotRebuilt) {
    live_.decode(session_, 0, 100);
    live_.decode(session_, 0, 60);
    ASSERT_EQ(live_.decoder.sequence().counters().restarts.read(), 1U);
    EXPECT_FALSE(live_.decoder.books().is_complete());
    EXPECT_FALSE(live_.decoder.wants_rebuild());
    const auto next = session_of(10, 2);
    live_.decode(next, 0, 5);
    live_.decode(next, 6, 10);
    EXPECT_TRUE(live_.decoder.wants_rebuild()) << "another session";
}

TEST_F(RebuiltBooks, BooksFromBeforeARestartAreNotHandedOverWhenTheNumbersAreEqualAgain) {
    live_.decode(session_, 0, 100);
    live_.decode(session_, 101, 110);
    ASSERT_TRUE(live_.decoder.wants_rebuild());
    build(110);
    ASSERT_EQ(rebuild_.next(), live_.decoder.sequence().next());
    live_.decode(session_, 0, 110);
    ASSERT_EQ(live_.decoder.sequence().counters().restarts.read(), 1U);
    ASSERT_EQ(rebuild_.next(), live_.decoder.sequence().next());
    EXPECT_FALSE(rebuild_.hand_over(live_.decoder, kNow, live_.seen));
    EXPECT_FALSE(live_.decoder.books().is_complete());
}

/// Counts events.
struct Count {
    void on(const Quote&) { ++events; }
    void on(const Trade&) {}
    void on(const TradeBreak&) {}
    void on(const Status&) { ++events; }
    void on(const Gap&) {}
    void on(const Clear&) {}
    std::uint64_t events{0};
};
struct CountAll : Count {
    using Count::on;
    void on(const Order&) { ++orders; }
    void on(const Level&) { ++levels; }
    std::uint64_t orders{0};
    std::uint64_t levels{0};
};

template <class Handler>
void expect_free_hand_over(const std::vector<Bytes>& session, const ItchDecoder::Options& options, Handler& count) {
    constexpr Arrival kNow{.receive_utc_ns = 5, .receive_ticks = 6, .channel = 7};
    // One input for each run of the work.
    struct Attempt {
        explicit Attempt(const ItchDecoder::Options& decoder)
            : live{table, decoder}, rebuild{{.decoder = decoder, .instruments = kInstruments}} {}
        InstrumentTable table{kInstruments + 8};
        ItchDecoder live;
        ItchRebuild rebuild;
    };
    std::array<Attempt, 3> attempts{Attempt{options}, Attempt{options}, Attempt{options}};
    for (auto& attempt : attempts) {
        for (std::size_t i = 1; i < 400; ++i) static_cast<void>(attempt.live.decode(session[i], kNow, count));
        attempt.rebuild.begin(attempt.live.session(), kMidnight);
        for (std::size_t i = 0; i < 400; ++i) attempt.rebuild.add(session[i]);
        attempt.rebuild.prepare();
    }
    std::size_t done = 0;
    const auto work = [&] {
        auto& live = attempts[done].live;
        auto& rebuild = attempts[done++].rebuild;
        const auto before = count.events;
        if (!rebuild.hand_over(live, kNow, count) || count.events < before + 20) return false;
        while (live.has_snapshots_due()) live.publish_snapshots(32, kNow, count);
        return true;
    };
#if defined(__SANITIZE_THREAD__)
    EXPECT_TRUE(work());  // the race detector allocates
#else
    test::expect_free_of_cost(work);
#endif
}

TEST_F(RebuiltBooks, TheHandOverNeedsNoHeapNoFaultNoSystemCall) {
    Count count;
    expect_free_hand_over(session_, kBooks, count);
}

TEST_F(RebuiltBooks, TheHandOverOfOrdersAndLevelsNeedsNoHeapNoFaultNoSystemCall) {
    auto options = kBooks;
    options.depth = 10;
    options.orders = true;
    CountAll count;
    expect_free_hand_over(session_, options, count);
    EXPECT_GT(count.orders, 0U);
    EXPECT_GT(count.levels, 0U);
}

}  // namespace
}  // namespace millpond::feed
