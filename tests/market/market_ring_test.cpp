#include <millpond/market/ring_error.hpp>
#include <millpond/market/ring_name.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/core/clock.hpp>
#include "tests/market/ring_fixture.hpp"

namespace millpond::market {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::optional<RingFault> fault_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const RingError& error) {
        return error.fault();
    }
    return std::nullopt;
}

feed::Status status_of(feed::InstrumentId id, std::uint16_t channel, feed::TradingState state) {
    feed::Status status;
    status.instrument = id;
    status.channel = channel;
    status.state = state;
    return status;
}

feed::Clear clear_of(feed::InstrumentId id, std::uint16_t channel) {
    feed::Clear clear;
    clear.instrument = id;
    clear.channel = channel;
    return clear;
}

feed::Trade trade_of(feed::InstrumentId id, std::uint64_t number) {
    feed::Trade trade;
    trade.instrument = id;
    trade.trade_id = number;
    return trade;
}

feed::Gap gap_of(std::uint16_t channel, std::uint64_t first) {
    feed::Gap gap;
    gap.channel = channel;
    gap.first = gap.last = first;
    return gap;
}

TEST(MarketRing, EveryKindOfEventGoesThroughInOrder) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    RingReader reader{{.name = name}};
    name_instruments(writer, 2);
    ASSERT_TRUE(writer.publish(quote_of(1, 3, 7)));
    ASSERT_TRUE(writer.publish(trade_of(0, 99)));
    ASSERT_TRUE(writer.publish(status_of(1, 3, feed::TradingState::halted)));
    ASSERT_TRUE(writer.publish(gap_of(2, 41)));
    Picture picture;
    EXPECT_EQ(reader.poll(picture, 100), 4U);
    EXPECT_THAT(picture.sequences(), ElementsAre(Pair(1U, 7U)));
    EXPECT_TRUE(picture.all_consistent());
    EXPECT_THAT(picture.trades, ElementsAre(99U));
    EXPECT_THAT(picture.states, ElementsAre(Pair(1U, feed::TradingState::halted)));
    EXPECT_THAT(picture.gaps, ElementsAre(41U));
    ASSERT_TRUE(writer.publish(clear_of(feed::kNoInstrument, 3)));
    EXPECT_EQ(reader.poll(picture, 100), 1U);
    EXPECT_EQ(picture.clears, 1U);
    EXPECT_THAT(picture.newest, IsEmpty());
    EXPECT_EQ(reader.current(), 5U);
    EXPECT_EQ(writer.newest(), 5U);
}

TEST(MarketRing, AnInstrumentsNameIsThereBeforeItsFirstEvent) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    RingReader reader{{.name = name}};
    EXPECT_EQ(reader.instrument(0), nullptr);
    ASSERT_TRUE(writer.name(0, feed::Venue{"XNAS"}, feed::Symbol{"AAPL"}, 5));
    ASSERT_TRUE(writer.name(0, feed::Venue{"XNAS"}, feed::Symbol{"AAPL"}, 7));
    const auto* instrument = reader.instrument(0);
    ASSERT_NE(instrument, nullptr);
    EXPECT_EQ(instrument->venue.view(), "XNAS");
    EXPECT_EQ(instrument->symbol.view(), "AAPL");
    EXPECT_EQ(instrument->decimals, 5U);
    EXPECT_EQ(reader.instruments(), 1U);
    EXPECT_EQ(reader.instrument(8), nullptr);
    EXPECT_EQ(reader.instrument(feed::kNoInstrument), nullptr);
}

TEST(MarketRing, RefusesAndCountsWhatDoesNotFit) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    name_instruments(writer, 2);
    EXPECT_FALSE(writer.name(8, feed::Venue{"TEST"}, feed::Symbol{"S8"}));
    EXPECT_FALSE(writer.name(0, feed::Venue{"TEST"}, feed::Symbol{"OTHER"}));
    EXPECT_EQ(writer.refused_names().read(), 2U);
    EXPECT_EQ(writer.instrument(0)->symbol.view(), "S0");

    EXPECT_FALSE(writer.publish(quote_of(2, 0, 1)));
    EXPECT_FALSE(writer.publish(quote_of(feed::kNoInstrument, 0, 1)));
    EXPECT_FALSE(writer.publish(quote_of(0, 4, 1)));
    EXPECT_FALSE(writer.publish(trade_of(2, 1)));
    EXPECT_FALSE(writer.publish(status_of(2, 0, feed::TradingState::halted)));
    EXPECT_FALSE(writer.publish(gap_of(4, 1)));
    EXPECT_FALSE(writer.publish(clear_of(feed::kNoInstrument, 4)));
    EXPECT_FALSE(writer.publish(clear_of(7, 0)));
    EXPECT_EQ(writer.refused_events().read(), 8U);
    EXPECT_EQ(writer.newest(), 0U);
    EXPECT_TRUE(writer.publish(quote_of(1, 3, 1)));
}

TEST(MarketRing, AJoinDeliversTheBoardFirst) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    name_instruments(writer, 4);
    for (std::uint64_t n = 1; n <= 100; ++n) writer.publish(quote_of(n % 2 == 0 ? 0 : 2, 1, n));
    writer.publish(status_of(2, 1, feed::TradingState::paused));
    writer.publish(status_of(feed::kNoInstrument, 1, feed::TradingState::start_of_market_hours));
    RingReader reader{{.name = name}};
    Picture picture;
    reader.join(picture);
    EXPECT_THAT(picture.sequences(), ElementsAre(Pair(0U, 100U), Pair(2U, 99U)));
    EXPECT_TRUE(picture.all_consistent());
    EXPECT_THAT(picture.states, ElementsAre(Pair(2U, feed::TradingState::paused)));
    EXPECT_THAT(picture.channel_states, ElementsAre(Pair(1U, feed::TradingState::start_of_market_hours)));
    EXPECT_EQ(reader.account().from_board, 4U);
    EXPECT_EQ(reader.poll(picture, 100), 0U);
    writer.publish(quote_of(0, 1, 101));
    EXPECT_EQ(reader.poll(picture, 100), 1U);
    EXPECT_THAT(picture.sequences(), ElementsAre(Pair(0U, 101U), Pair(2U, 99U)));
}

TEST(MarketRing, AHandlerCanGetTheRingNumberOfItsEvent) {
    struct Numbers : Picture {
        using Picture::on;
        void on(const feed::Quote& quote) { numbers.emplace_back(quote.feed_sequence, reader->current()); }
        RingReader* reader{nullptr};
        std::vector<std::pair<std::uint64_t, std::uint64_t>> numbers;
    };
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    name_instruments(writer, 2);
    for (std::uint64_t n = 1; n <= 3; ++n) writer.publish(quote_of(0, 0, 100 + n));
    RingReader reader{{.name = name}};
    Numbers numbers;
    numbers.reader = &reader;
    reader.join(numbers);
    writer.publish(quote_of(1, 0, 104));
    reader.poll(numbers, 10);
    EXPECT_THAT(numbers.numbers, ElementsAre(Pair(103U, 3U), Pair(104U, 4U)));
}

TEST(MarketRing, AClearEmptiesTheBoardOfItsChannelOnly) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    name_instruments(writer, 4);
    writer.publish(quote_of(0, 1, 1));
    writer.publish(quote_of(1, 2, 2));
    writer.publish(quote_of(2, 1, 3));
    writer.publish(quote_of(3, 2, 4));
    writer.publish(clear_of(feed::kNoInstrument, 1));
    writer.publish(quote_of(2, 1, 5));
    writer.publish(clear_of(3, 2));
    RingReader reader{{.name = name}};
    Picture picture;
    reader.join(picture);
    EXPECT_THAT(picture.sequences(), ElementsAre(Pair(1U, 2U), Pair(2U, 5U)));
}

TEST(MarketRing, AGapMakesTheOlderQuotesOfItsChannelIncompleteForALateReader) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    name_instruments(writer, 4);
    writer.publish(quote_of(0, 1, 1));
    writer.publish(quote_of(1, 2, 2));
    writer.publish(quote_of(2, 1, 3));
    writer.publish(gap_of(1, 4));
    writer.publish(quote_of(2, 1, 5));
    RingReader reader{{.name = name}};
    EXPECT_EQ(reader.board().gapped(1), 4U);
    EXPECT_EQ(reader.board().gapped(2), 0U);
    Picture picture;
    reader.join(picture);
    EXPECT_THAT(picture.sequences(), ElementsAre(Pair(0U, 1U), Pair(1U, 2U), Pair(2U, 5U)));
    EXPECT_THAT(picture.incomplete(), ElementsAre(0U)) << "channel 2 has lost nothing, and 2 was replaced";
    writer.publish(quote_of(0, 1, 6));
    poll_all(reader, picture);
    EXPECT_THAT(picture.incomplete(), IsEmpty());
    writer.publish(gap_of(2, 7));
    poll_all(reader, picture);
    EXPECT_THAT(picture.incomplete(), ElementsAre(1U));
}

/// Publishes random events of every kind, and keeps the resulting picture.
class RandomFeed {
public:
    RandomFeed(RingWriter& writer, std::uint64_t seed) : writer_(writer), random_(seed) {}

    void publish() {
        const auto id = static_cast<feed::InstrumentId>(random_() % 6);
        const auto channel = static_cast<std::uint16_t>(random_() % 2);
        ++value_;
        switch (random_() % 12) {
            case 0: send(clear_of(feed::kNoInstrument, channel)); break;
            case 1: send(clear_of(id, channel)); break;
            case 2:
                send(
                    status_of(id, channel, value_ % 2 == 0 ? feed::TradingState::halted : feed::TradingState::trading));
                break;
            case 3:
                send(status_of(feed::kNoInstrument, channel,
                               value_ % 2 == 0 ? feed::TradingState::end_of_messages : feed::TradingState::paused));
                break;
            case 4: send(trade_of(id, value_)); break;
            case 5: send(gap_of(channel, value_)); break;
            default: send(quote_of(id, channel, value_)); break;
        }
    }
    [[nodiscard]] std::uint64_t random() { return random_(); }
    [[nodiscard]] const Picture& picture() const { return picture_; }

private:
    template <class Event>
    void send(const Event& event) {
        ASSERT_TRUE(writer_.publish(event));
        picture_.on(event);
    }

    RingWriter& writer_;
    std::mt19937_64 random_;
    Picture picture_;
    std::uint64_t value_{0};
};

TEST(MarketRing, AJoinWhileEverythingChangesLeavesNoHole) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const auto name = fresh_name();
        RingWriter writer{small_ring(name)};
        name_instruments(writer, 6);
        RandomFeed feed{writer, seed};
        for (auto n = feed.random() % 40; n != 0; --n) feed.publish();
        RingReader reader{{.name = name}};
        Picture picture;
        std::uint64_t first_trade = feed.picture().trades.size();
        // One or two events between any two accesses to the board: up to 50, which the ring of 64 holds.
        reader.join(picture, [&] {
            if (feed.random() % 2 == 0) feed.publish();
        });
        for (int i = 0; i < 5; ++i) feed.publish();
        poll_all(reader, picture);
        ASSERT_THAT(picture.missed, IsEmpty());
        ASSERT_EQ(picture.sequences(), feed.picture().sequences()) << "seed " << seed;
        ASSERT_EQ(picture.incomplete(), feed.picture().incomplete()) << "seed " << seed;
        ASSERT_EQ(picture.states, feed.picture().states) << "seed " << seed;
        ASSERT_EQ(picture.channel_states, feed.picture().channel_states) << "seed " << seed;
        ASSERT_TRUE(picture.all_consistent());
        // Trades are not on the board: each one published since the join arrives once. The board has the newest gap of
        // each channel, and later gaps arrive.
        ASSERT_EQ(picture.trades, std::vector(feed.picture().trades.begin() + static_cast<std::ptrdiff_t>(first_trade),
                                              feed.picture().trades.end()));
        ASSERT_TRUE(std::includes(feed.picture().gaps.begin(), feed.picture().gaps.end(), picture.gaps.begin(),
                                  picture.gaps.end()));
        const auto account = reader.account();
        ASSERT_EQ(account.queued, 0U);
        ASSERT_EQ(account.published, account.delivered + account.filtered + account.missed);
        ASSERT_EQ(account.published, writer.newest() - account.since + 1);
    }
}

TEST(MarketRing, AJoinThatIsLappedBeginsAgain) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    name_instruments(writer, 2);
    RingReader reader{{.name = name}};
    Picture picture;
    int lap = 100;  // events during the first read only: they lap the ring of 64
    std::uint64_t value = 0;
    reader.join(picture, [&] {
        for (; lap > 0; --lap) writer.publish(quote_of(0, 0, ++value));
    });
    EXPECT_EQ(reader.account().since, 101U);
    poll_all(reader, picture);
    EXPECT_THAT(picture.missed, IsEmpty());
    EXPECT_THAT(picture.sequences(), ElementsAre(Pair(0U, 100U)));
}

TEST(MarketRing, AJoinThatIsAlwaysLappedReportsTheMissedRange) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    name_instruments(writer, 2);
    RingReader reader{{.name = name}};
    Picture picture;
    std::uint64_t value = 0;
    reader.join(picture, [&] {
        for (int i = 0; i < 100; ++i) writer.publish(quote_of(0, 0, ++value));
    });
    poll_all(reader, picture);
    ASSERT_EQ(picture.missed.size(), 1U);
    EXPECT_EQ(picture.missed[0].first, reader.account().since);
    EXPECT_EQ(reader.account().published, reader.account().delivered + reader.account().missed);
    EXPECT_THAT(picture.sequences(), ElementsAre(Pair(0U, value)));
}

TEST(MarketRing, AStoppedReaderDoesNotAffectTheOthers) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    name_instruments(writer, 1);
    RingReader stopped{{.name = name}};
    RingReader first{{.name = name}};
    RingReader second{{.name = name}};
    Picture seen_first;
    Picture seen_second;
    for (std::uint64_t n = 1; n <= 1'000; ++n) {
        writer.publish(quote_of(0, 0, n));
        first.poll(seen_first, 1);
        if (n % 50 == 0) poll_all(second, seen_second);
    }
    EXPECT_EQ(seen_first.quotes, 1'000U);
    EXPECT_EQ(seen_second.quotes, 1'000U);
    EXPECT_THAT(seen_first.missed, IsEmpty());
    EXPECT_THAT(seen_second.missed, IsEmpty());
    Picture seen_stopped;
    poll_all(stopped, seen_stopped);
    ASSERT_EQ(seen_stopped.missed.size(), 1U);
    EXPECT_EQ(seen_stopped.missed[0].count() + seen_stopped.quotes, 1'000U);
}

TEST(MarketRing, TwoReadersEachCloseTheirAccount) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    name_instruments(writer, 1);
    RingReader prompt{{.name = name}};
    RingReader slow{{.name = name}};
    Picture by_prompt;
    Picture by_slow;
    std::uint64_t published = 0;
    for (std::uint64_t round = 0; round < 300; ++round) {
        for (std::uint64_t i = 0; i < round % 37; ++i) writer.publish(quote_of(0, 0, ++published));
        prompt.poll(by_prompt, 64);
        slow.poll(by_slow, round % 11);
        for (const auto& [reader, picture] : {std::pair{&prompt, &by_prompt}, std::pair{&slow, &by_slow}}) {
            std::uint64_t missed = 0;
            for (const auto& range : picture->missed) missed += range.count();
            const auto account = reader->account();
            ASSERT_EQ(account.published, published);
            ASSERT_EQ(account.delivered, picture->quotes);
            // Overwritten entries of the ring of 64 count as missed at once, before the reader finds them.
            const auto waiting = published - picture->quotes - missed;
            const auto overwritten = waiting > 64 ? waiting - 64 : 0;
            ASSERT_EQ(account.missed, missed + overwritten);
            ASSERT_EQ(account.queued, waiting - overwritten);
        }
    }
    EXPECT_EQ(by_prompt.quotes, published);
    EXPECT_FALSE(by_slow.missed.empty());
}

TEST(MarketRing, ASecondWriterIsRefusedWithTheOwnerOfTheRing) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    try {
        const RingWriter second{small_ring(name)};
        FAIL() << "two writers on one ring";
    } catch (const RingError& error) {
        EXPECT_EQ(error.fault(), RingFault::held);
        EXPECT_THAT(error.what(), HasSubstr("/millpond." + name));
        EXPECT_THAT(error.what(), HasSubstr("process " + std::to_string(getpid())));
    }
    auto larger = small_ring(name);
    larger.capacity = 128;
    EXPECT_EQ(fault_of([&] { const RingWriter third{larger}; }), RingFault::held);
    RingReader reader{{.name = name}};
    EXPECT_EQ(reader.writer_state(), WriterState::alive);
    EXPECT_TRUE(reader.has_writer());
}

TEST(MarketRing, ANameIsFreeWhileNoWriterHasItAndNothingElseDoes) {
    const auto name = fresh_name();
    const NameGuard guard{name};
    EXPECT_TRUE(RingWriter::is_free(name));
    EXPECT_EQ(access(("/dev/shm" + lock_object_name(name)).c_str(), F_OK), -1) << "asking leaves nothing behind";
    {
        const RingWriter writer{small_ring(name)};
        EXPECT_FALSE(RingWriter::is_free(name));
        EXPECT_EQ(fault_of([&] { const RingWriter second{small_ring(name)}; }), RingFault::held);
    }
    EXPECT_TRUE(RingWriter::is_free(name));
    auto other = memory::Region::shared(ring_object_name(name), 4'096);
    std::ranges::fill(other.bytes(), std::byte{1});
    EXPECT_FALSE(RingWriter::is_free(name));
    EXPECT_EQ(fault_of([&] { const RingWriter refused{small_ring(name)}; }), RingFault::foreign);
    EXPECT_THROW((void)RingWriter::is_free("a/b"), std::invalid_argument);
}

TEST(MarketRing, ACleanEndClosesTheRingAndRemovesItsNames) {
    const auto name = fresh_name();
    std::optional<RingWriter> writer{std::in_place, small_ring(name)};
    name_instruments(*writer, 1);
    RingReader reader{{.name = name}};
    writer->publish(quote_of(0, 0, 5));
    writer.reset();
    EXPECT_EQ(reader.writer_state(), WriterState::closed);
    EXPECT_FALSE(reader.has_writer());
    Picture picture;
    poll_all(reader, picture);  // published events are still read
    EXPECT_THAT(picture.sequences(), ElementsAre(Pair(0U, 5U)));
    EXPECT_EQ(fault_of([&] { const RingReader late{{.name = name}}; }), RingFault::not_found);
    EXPECT_FALSE(memory::Region::unlink_shared(ring_object_name(name)));
    EXPECT_FALSE(std::filesystem::exists("/dev/shm" + lock_object_name(name)));
}

TEST(MarketRing, AWriterWithoutHeartbeatIsSilent) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    RingReader reader{{.name = name, .silent_after = std::chrono::milliseconds{100}}};
    const core::Moment start{.utc_ns = 1'000'000'000, .monotonic_ns = 5};
    writer.heartbeat(start.utc_ns);
    EXPECT_EQ(reader.writer_state(start.after(100'000'000)), WriterState::alive);
    EXPECT_EQ(reader.writer_state(start.after(100'000'001)), WriterState::silent);
    writer.heartbeat(1'100'000'000);
    EXPECT_EQ(reader.writer_state(start.after(100'000'001)), WriterState::alive);
    // The heartbeat of a writer that died before the reader's next check has its true age.
    writer.heartbeat(1'200'000'000);
    EXPECT_EQ(reader.writer_state(start.after(900'000'000)), WriterState::silent);
}

TEST(MarketRing, SettingTheClockByAnHourNeitherSilencesAWriterNorRevivesIt) {
    constexpr std::int64_t kHour = 3'600'000'000'000;
    constexpr std::int64_t kMilli = 1'000'000;
    for (const auto step : {kHour, -kHour}) {
        const auto name = fresh_name();
        RingWriter writer{small_ring(name)};
        RingReader reader{{.name = name, .silent_after = std::chrono::milliseconds{100}}};
        core::Moment now{.utc_ns = 10 * kHour, .monotonic_ns = 5};
        writer.heartbeat(now.utc_ns);
        EXPECT_EQ(reader.writer_state(now), WriterState::alive);
        now.utc_ns += step;
        EXPECT_EQ(reader.writer_state(now), WriterState::alive) << step;
        EXPECT_EQ(reader.writer_state(now.after(100 * kMilli)), WriterState::alive) << step;
        EXPECT_EQ(reader.writer_state(now.after(101 * kMilli)), WriterState::silent) << step;
        now = now.after(150 * kMilli);
        writer.heartbeat(now.utc_ns);  // with the current clock
        EXPECT_EQ(reader.writer_state(now), WriterState::alive) << step;
        // The writer gives a heartbeat, then the clock is set.
        now = now.after(50 * kMilli);
        writer.heartbeat(now.utc_ns);
        now.utc_ns -= step;
        EXPECT_EQ(reader.writer_state(now), WriterState::alive) << step;
        EXPECT_EQ(reader.writer_state(now.after(101 * kMilli)), WriterState::silent) << step;
    }
}

TEST(MarketRing, OpeningFailsWithTheReason) {
    const auto name = fresh_name();
    EXPECT_EQ(fault_of([&] { const RingReader reader{{.name = name}}; }), RingFault::not_found);
    EXPECT_THROW(RingReader{{.name = "with/slash"}}, std::invalid_argument);
    EXPECT_THROW(RingReader{{.name = ""}}, std::invalid_argument);
    EXPECT_THROW(RingReader{{.name = "x.reader.1"}}, std::invalid_argument);
    EXPECT_THROW(RingReader{{.name = "x.lock"}}, std::invalid_argument);
    auto options = small_ring(name);
    options.capacity = 63;
    EXPECT_THROW(RingWriter{options}, std::invalid_argument);
    options = small_ring(name);
    options.max_channels = 65'537;
    EXPECT_THROW(RingWriter{options}, std::invalid_argument);

    auto region = memory::Region::shared(ring_object_name(name), 8192);
    EXPECT_EQ(fault_of([&] { const RingReader reader{{.name = name}}; }), RingFault::not_ready);
    region.data()[0] = std::byte{1};
    EXPECT_EQ(fault_of([&] { const RingReader reader{{.name = name}}; }), RingFault::foreign);
    EXPECT_EQ(fault_of([&] { const RingWriter writer{small_ring(name)}; }), RingFault::foreign);
    memory::Region::unlink_shared(ring_object_name(name));
}

TEST(MarketRing, ARingWithABoardOfTheFormerLayoutIsRefusedWithBothVersions) {
    const auto name = fresh_name();
    const RingWriter writer{small_ring(name)};
    {
        auto region = memory::Region::open_shared(ring_object_name(name), memory::Access::writable);
        reinterpret_cast<BoardHeader*>(region.data() + board_offset(64))->layout_version = 2;
    }
    try {
        const RingReader reader{{.name = name}};
        FAIL() << "read a board of another layout";
    } catch (const RingError& error) {
        EXPECT_EQ(error.fault(), RingFault::other_layout);
        EXPECT_THAT(
            error.what(),
            HasSubstr("its board has layout version 2; this build reads 3: run its writer and its readers with"));
    }
}

TEST(MarketRing, AnObjectThatItsWriterDidNotFinishIsReplaced) {
    for (const std::size_t bytes : {std::size_t{8192}, board_offset(64) + board_bytes(8, 4)}) {
        const auto name = fresh_name();
        const auto unfinished = memory::Region::shared(ring_object_name(name), bytes);
        RingWriter writer{small_ring(name)};
        EXPECT_FALSE(writer.resumed());
        EXPECT_NO_THROW(RingReader{{.name = name}});
    }
}

TEST(MarketRing, ReadersThatWantToBeSeenAreSeenUntilTheyLeave) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    name_instruments(writer, 1);
    EXPECT_THAT(writer.readers().readers, IsEmpty());
    const RingReader unseen{{.name = name}};
    EXPECT_FALSE(unseen.registered());
    {
        RingReader reader{{.name = name, .visible_as = "csv"}};
        EXPECT_TRUE(reader.registered());
        for (std::uint64_t n = 1; n <= 100; ++n) writer.publish(quote_of(0, 0, n));
        Picture picture;
        poll_all(reader, picture);
        const auto readers = writer.readers().readers;
        ASSERT_EQ(readers.size(), 1U);
        EXPECT_EQ(readers[0].name.view(), "csv");
        EXPECT_EQ(readers[0].pid, static_cast<std::uint64_t>(getpid()));
        EXPECT_EQ(readers[0].epoch, writer.epoch());
        EXPECT_EQ(readers[0].next, 101U);
        EXPECT_EQ(readers[0].missed, picture.missed[0].count());
        EXPECT_TRUE(readers[0].alive);
    }
    EXPECT_THAT(writer.readers().readers, IsEmpty());
}

TEST(MarketRing, AReaderThatJoinsIsSeenOnceItHasItsPlace) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    name_instruments(writer, 1);
    RingReader reader{{.name = name, .visible_as = "joins", .joins = true}};
    writer.publish(quote_of(0, 0, 1));
    Picture picture;
    reader.join(picture, [&] { EXPECT_THAT(writer.readers().readers, IsEmpty()); });
    const auto readers = writer.readers().readers;
    ASSERT_EQ(readers.size(), 1U);
    EXPECT_EQ(readers[0].next, 2U);
}

TEST(MarketRing, AnIncompleteListIsMarked) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    std::vector<RingReader> readers;
    readers.reserve(5);
    for (int i = 0; i < 5; ++i) readers.emplace_back(RingReaderOptions{.name = name, .visible_as = "many"});
    EXPECT_TRUE(readers[4].registered());
    EXPECT_EQ(writer.readers().readers.size(), 4U);
    EXPECT_FALSE(writer.readers().complete);
    readers.pop_back();
    EXPECT_EQ(writer.readers().readers.size(), 4U);
    EXPECT_TRUE(writer.readers().complete);
}

TEST(MarketRing, AReaderWithoutAFreeNameReadsUnseen) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    name_instruments(writer, 1);
    std::vector<RingReader> readers;
    for (int i = 0; i < 65; ++i) readers.emplace_back(RingReaderOptions{.name = name, .visible_as = "many"});
    EXPECT_TRUE(readers[63].registered());
    EXPECT_FALSE(readers[64].registered());
    writer.publish(quote_of(0, 0, 1));
    Picture picture;
    EXPECT_EQ(readers[64].poll(picture, 10), 1U);
}

TEST(MarketRing, ThreadsJoinAndReadWhileTheWriterRunsAndSeeTheSamePicture) {
    constexpr std::uint64_t kEvents = 40'000;
    const auto name = fresh_name();
    auto options = small_ring(name);
    options.capacity = 1U << 16U;  // capacity for all: nothing may be missed
    RingWriter writer{options};
    name_instruments(writer, 6);
    RandomFeed feed{writer, 11};
    std::atomic<bool> done{false};
    std::array<Picture, 3> pictures;
    std::vector<std::thread> readers;
    readers.reserve(pictures.size());
    for (auto& picture : pictures) {
        readers.emplace_back([&] {
            RingReader reader{{.name = name, .visible_as = "thread"}};
            reader.join(picture);
            for (;;) {
                const bool last = done.load(std::memory_order_acquire);
                if (reader.poll(picture, 256) == 0) {
                    if (last) break;
                    std::this_thread::yield();
                }
            }
        });
    }
    for (std::uint64_t i = 0; i < kEvents; ++i) {
        feed.publish();
        if (i % 64 == 0) std::this_thread::yield();
    }
    done.store(true, std::memory_order_release);
    for (auto& reader : readers) reader.join();
    for (const auto& picture : pictures) {
        EXPECT_THAT(picture.missed, IsEmpty());
        EXPECT_EQ(picture.sequences(), feed.picture().sequences());
        EXPECT_EQ(picture.states, feed.picture().states);
        EXPECT_EQ(picture.channel_states, feed.picture().channel_states);
    }
    EXPECT_THAT(writer.readers().readers, IsEmpty());
}

TEST(MarketRing, ThreadsThatShowThemselvesAtOnceAreAllSeen) {
    const auto name = fresh_name();
    auto options = small_ring(name);
    options.max_readers = 8;
    RingWriter writer{options};
    std::atomic<int> seated{0};
    std::atomic<int> tried{0};
    std::atomic<std::size_t> listed{0};
    std::vector<std::thread> threads;
    threads.reserve(5);
    for (int i = 0; i < 5; ++i) {
        threads.emplace_back([&] {
            const RingReader reader{{.name = name, .visible_as = "thread"}};
            if (reader.registered()) ++seated;
            if (++tried == 5) listed = writer.readers().readers.size();
            while (listed == 0) std::this_thread::yield();  // all stay until they are listed
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(seated, 5);
    EXPECT_EQ(listed, 5U);
    EXPECT_THAT(writer.readers().readers, IsEmpty());
}

TEST(MarketRing, CarriesOrdersAndLevelsToReadersThatHaveFunctionsForThem) {
    struct Books : Picture {
        using Picture::on;
        void on(const feed::Order& order) { orders.push_back(order.order_id); }
        void on(const feed::Level& level) { levels.push_back(level.size); }
        std::vector<std::uint64_t> orders;
        std::vector<std::uint64_t> levels;
    };
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    RingReader reader{{.name = name}};
    RingReader without{{.name = name}};
    name_instruments(writer, 1);
    feed::Order order;
    order.instrument = 0;
    order.order_id = 17;
    feed::Level level;
    level.instrument = 0;
    level.size = 300;
    EXPECT_TRUE(writer.publish(order));
    EXPECT_TRUE(writer.publish(level));
    level.instrument = 1;
    EXPECT_FALSE(writer.publish(level));  // it has no name
    Books books;
    while (reader.poll(books, 8) != 0) {
    }
    EXPECT_THAT(books.orders, ElementsAre(17U));
    EXPECT_THAT(books.levels, ElementsAre(300U));
    EXPECT_EQ(reader.account().delivered, 2U);
    Picture picture;
    poll_all(without, picture);
    EXPECT_EQ(without.account().delivered, 0U);
    EXPECT_EQ(without.account().filtered, 2U);
}

}  // namespace
}  // namespace millpond::market
