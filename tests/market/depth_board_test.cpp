// Levels on the board: depth slots, and readers that join from them.

#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/feed/event.hpp>
#include "tests/market/depth_fixture.hpp"
#include "tests/market/ring_fixture.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::market {
namespace {

using feed::Side;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t kDepth = 3;

RingWriterOptions deep_ring(const std::string& name, std::uint32_t depth) {
    auto options = small_ring(name);
    options.depth = depth;
    return options;
}

feed::Level level_of(feed::InstrumentId id, Side side, feed::Price price, std::uint64_t size, std::uint16_t flags = 0) {
    feed::Level level;
    level.instrument = id;
    level.side = side;
    level.price = price;
    level.size = size;
    level.flags = flags;
    return level;
}

feed::Clear channel_clear(std::uint16_t flags = 0) {
    feed::Clear clear;
    clear.flags = flags;
    return clear;
}

/// What a depth slot holds.
struct Slot {
    RecordState state;
    std::uint64_t number;
    bool incomplete;
    std::vector<feed::Price> bids;
    std::vector<feed::Price> asks;
};

Slot slot_of(const QuoteBoard& board, feed::InstrumentId id) {
    std::vector<BoardLevel> levels(std::size_t{2} * board.max_depth());
    const auto record = board.levels(id, levels);
    Slot slot{record.state, record.number, (record.event.flags & feed::kIncomplete) != 0, {}, {}};
    for (std::size_t i = 0; i < record.event.bids; ++i) slot.bids.push_back(levels[i].price);
    for (std::size_t i = 0; i < record.event.asks; ++i) slot.asks.push_back(levels[board.max_depth() + i].price);
    return slot;
}

/// Work on a thread of its own that runs only from one step to the next.
class Stepper {
public:
    explicit Stepper(std::function<void(const std::function<void()>& step)> work)
        : thread_([this, work = std::move(work)] {
              go_.acquire();
              work([this] {
                  if (--steps_ != 0) return;
                  stopped_.release();
                  go_.acquire();
              });
              done_ = true;
              stopped_.release();
          }) {}
    Stepper(const Stepper&) = delete;
    Stepper& operator=(const Stepper&) = delete;
    ~Stepper() {
        while (advance()) {
        }
        thread_.join();
    }
    /// Runs `steps` steps, at least 1. False once the work is done.
    bool advance(std::uint64_t steps = 1'000'000) {
        if (done_) return false;
        steps_ = steps;
        go_.release();
        stopped_.acquire();
        return !done_;
    }

private:
    bool done_{false};
    std::uint64_t steps_{0};
    std::binary_semaphore go_{0};
    std::binary_semaphore stopped_{0};
    std::thread thread_;
};

TEST(DepthBoard, ReadersKnowWhatEachChannelSends) {
    const auto name = fresh_name();
    RingWriter writer{deep_ring(name, 10)};
    EXPECT_TRUE(writer.set_depth(1, {.depth = 10}));
    EXPECT_TRUE(writer.set_depth(2, {.depth = feed::kFullDepth, .orders = true}));
    EXPECT_TRUE(writer.set_depth(3, {.orders = true}));
    const RingReader reader{{.name = name}};
    EXPECT_EQ(reader.board().max_depth(), 10U);
    EXPECT_EQ(reader.depth(0), ChannelDepth{});
    EXPECT_EQ(reader.depth(1), (ChannelDepth{.depth = 10}));
    EXPECT_EQ(reader.depth(2), (ChannelDepth{.depth = feed::kFullDepth, .orders = true}));
    EXPECT_EQ(reader.depth(3), (ChannelDepth{.orders = true}));
    EXPECT_EQ(reader.depth(4), ChannelDepth{});
}

TEST(DepthBoard, RefusesDepthsThatNoFeedHas) {
    const auto name = fresh_name();
    EXPECT_THROW(RingWriter{deep_ring(name, 51)}, std::invalid_argument);
    RingWriter writer{deep_ring(name, 50)};
    EXPECT_FALSE(writer.set_depth(1, {.depth = 51}));
    EXPECT_FALSE(writer.set_depth(4, {.depth = 10})) << "the board has channels 0 to 3";
    EXPECT_EQ(writer.board().channel_depth(1), ChannelDepth{});
}

TEST(DepthBoard, ASlotOfTenLevelsASideFitsTheMemoryGoal) {
    EXPECT_LE(sizeof(BoardSlot) + depth_slot_bytes(10), 1'228U);
    EXPECT_EQ(board_bytes(1'000, 4, 10) - board_bytes(0, 4, 10), 1'000 * (192U + 576U));
}

class DepthSlots : public testing::Test {
protected:
    DepthSlots() { name_instruments(*writer_, DepthFeed::kInstruments); }
    void send(const feed::Level& level) { ASSERT_TRUE(writer_->publish(level)); }
    [[nodiscard]] Slot slot(feed::InstrumentId id = 0) const { return slot_of(writer_->board(), id); }

    const std::string name_{fresh_name()};
    std::unique_ptr<RingWriter> writer_{deep_writer(name_, kDepth)};
};

TEST_F(DepthSlots, HoldTheLevelsOfTheNewestGroupUnderTheNumberOfItsLastEntry) {
    writer_->publish(channel_clear());
    EXPECT_EQ(slot().state, RecordState::none);
    send(level_of(0, Side::bid, 100, 5));
    send(level_of(0, Side::ask, 102, 5));
    send(level_of(0, Side::bid, 101, 5));
    EXPECT_EQ(slot().state, RecordState::none) << "the group is not complete";
    EXPECT_EQ(writer_->newest(), 1U) << "its entries are held back";
    auto quote = quote_of(0, 0, 7);
    quote.flags = feed::kLast;
    EXPECT_TRUE(writer_->publish(quote));
    EXPECT_EQ(writer_->newest(), 5U);
    EXPECT_EQ(slot().number, 5U);
    EXPECT_FALSE(slot().incomplete);
    EXPECT_THAT(slot().bids, ElementsAre(101, 100));
    EXPECT_THAT(slot().asks, ElementsAre(102));
    std::vector<BoardLevel> levels(2UZ * kDepth);
    EXPECT_EQ(writer_->board().levels(0, levels).event.feed_sequence, 7U);
    EXPECT_EQ(slot(1).state, RecordState::none);
    send(level_of(0, Side::bid, 101, 0, feed::kLast));
    EXPECT_EQ(slot().number, 6U);
    EXPECT_THAT(slot().bids, ElementsAre(100));
}

TEST_F(DepthSlots, KeepTheBestLevelsAfterAGroupWhateverTheOrderOfItsEvents) {
    writer_->publish(channel_clear());
    for (const feed::Price price : {98, 99, 100}) send(level_of(0, Side::bid, price, 1, feed::kLast));
    send(level_of(0, Side::bid, 101, 1));
    send(level_of(0, Side::bid, 102, 1));
    send(level_of(0, Side::bid, 101, 0));
    send(level_of(0, Side::bid, 99, 0, feed::kLast));
    EXPECT_THAT(slot().bids, ElementsAre(102, 100, 98));
    EXPECT_FALSE(slot().incomplete);
    send(level_of(0, Side::bid, 101, 1, feed::kLast));
    EXPECT_THAT(slot().bids, ElementsAre(102, 101, 100));
    send(level_of(0, Side::bid, 97, 1, feed::kLast));
    EXPECT_THAT(slot().bids, ElementsAre(102, 101, 100));
    EXPECT_FALSE(slot().incomplete);
}

TEST_F(DepthSlots, OfAFeedWithMoreLevelsAreIncompleteOnceTheyDropOne) {
    ASSERT_TRUE(writer_->set_depth(0, {.depth = feed::kFullDepth}));
    writer_->publish(channel_clear());
    for (const feed::Price price : {98, 99, 100}) send(level_of(0, Side::bid, price, 1, feed::kLast));
    EXPECT_FALSE(slot().incomplete);
    send(level_of(0, Side::bid, 97, 1, feed::kLast));
    EXPECT_TRUE(slot().incomplete);
    EXPECT_THAT(slot().bids, ElementsAre(100, 99, 98));
}

TEST_F(DepthSlots, AnInstrumentOfTwoFeedsIsCountedWhenItsLevelsChangeTheFeed) {
    auto clear = channel_clear();
    writer_->publish(clear);
    clear.channel = 1;
    writer_->publish(clear);
    auto other = level_of(0, Side::bid, 99, 1, feed::kLast);
    other.channel = 1;
    send(level_of(0, Side::bid, 100, 1, feed::kLast));
    send(level_of(0, Side::bid, 101, 1, feed::kLast));
    EXPECT_EQ(writer_->moved_instruments().read(), 0U);
    send(other);
    EXPECT_EQ(writer_->moved_instruments().read(), 1U);
    EXPECT_TRUE(slot().incomplete);
    send(level_of(0, Side::bid, 102, 1));
    send(level_of(0, Side::bid, 101, 0, feed::kLast));
    EXPECT_EQ(writer_->moved_instruments().read(), 2U);
    // After a restart an instrument's channel may have another number.
    writer_->publish(clear);
    send(other);
    EXPECT_EQ(writer_->moved_instruments().read(), 2U);
}

TEST_F(DepthSlots, AreIncompleteFromAGapOnUntilASnapshot) {
    writer_->publish(channel_clear());
    send(level_of(0, Side::bid, 100, 1, feed::kLast));
    writer_->publish(feed::Gap{});
    EXPECT_FALSE(slot().incomplete) << "a gap is one word of the channel";
    EXPECT_LT(slot().number, writer_->board().gapped(0));
    send(level_of(0, Side::bid, 101, 1, feed::kLast));
    EXPECT_TRUE(slot().incomplete);
    EXPECT_THAT(slot().bids, ElementsAre(101, 100));
    send(level_of(0, Side::none, 0, 0));
    send(level_of(0, Side::bid, 99, 1, feed::kLast));
    EXPECT_FALSE(slot().incomplete);
    EXPECT_THAT(slot().bids, ElementsAre(99));
}

TEST_F(DepthSlots, AreIncompleteWithoutAClearAndAfterOneThatIs) {
    send(level_of(0, Side::bid, 100, 1, feed::kLast));
    EXPECT_TRUE(slot().incomplete);
    writer_->publish(channel_clear(feed::kIncomplete));
    send(level_of(0, Side::bid, 101, 1, feed::kLast));
    EXPECT_TRUE(slot().incomplete);
    EXPECT_THAT(slot().bids, ElementsAre(101));
    writer_->publish(channel_clear());
    send(level_of(0, Side::bid, 102, 1, feed::kLast));
    EXPECT_FALSE(slot().incomplete);
    EXPECT_THAT(slot().bids, ElementsAre(102));
    auto quote = quote_of(0, 0, 7);
    quote.flags = feed::kIncomplete | feed::kLast;
    writer_->publish(quote);
    EXPECT_TRUE(slot().incomplete);
    EXPECT_THAT(slot().bids, ElementsAre(102));
    feed::Clear clear = channel_clear();
    clear.instrument = 0;
    writer_->publish(clear);
    EXPECT_FALSE(slot().incomplete);
    EXPECT_THAT(slot().bids, IsEmpty());
    EXPECT_EQ(slot().number, writer_->newest());
}

TEST_F(DepthSlots, AGroupThatIsInterruptedIsPublishedInPartsAndItsSlotIsWrittenAtItsEnd) {
    writer_->publish(channel_clear());
    send(level_of(0, Side::bid, 100, 1, feed::kLast));
    const std::function<void()> interruptions[]{
        [&] { send(level_of(2, Side::bid, 50, 1, feed::kLast)); },
        [&] { writer_->heartbeat(1); },
        [&] { EXPECT_TRUE(writer_->publish(feed::Status{})); },
    };
    feed::Price price = 100;
    for (const auto& interrupt : interruptions) {
        const auto before = writer_->newest();
        send(level_of(0, Side::bid, ++price, 1));
        interrupt();
        EXPECT_EQ(slot().state, RecordState::being_written);
        EXPECT_GT(writer_->newest(), before);
        Subscriber joined{name_};
        joined.join();
        joined.poll();
        EXPECT_FALSE(joined.complete(0));
        send(level_of(0, Side::bid, price - 1, 0));
        auto quote = quote_of(0, 0, 7);
        quote.flags = feed::kLast;
        EXPECT_TRUE(writer_->publish(quote));
        EXPECT_EQ(slot().number, writer_->newest());
        EXPECT_FALSE(slot().incomplete);
        EXPECT_THAT(slot().bids, ElementsAre(price));
        joined.poll();
        EXPECT_FALSE(joined.complete(0));
    }
    EXPECT_FALSE(slot(2).incomplete);
    EXPECT_THAT(slot(2).bids, ElementsAre(50));
}

TEST_F(DepthSlots, AGroupThatDoesNotFitInTheBufferIsPublishedInParts) {
    Subscriber first{name_};
    writer_->publish(channel_clear());
    send(level_of(0, Side::none, 0, 0));
    std::uint64_t most = 0;
    for (feed::Price price = 1; price <= 300; ++price) {
        send(level_of(0, Side::bid, price, 1));
        send(level_of(0, Side::bid, price, price > 297 ? 2 : 0));
        most = std::max(most, 2 + 2 * static_cast<std::uint64_t>(price) - writer_->newest());
    }
    EXPECT_EQ(most, OpenGroup::kCapacity - 1) << "looked at after every second entry";
    EXPECT_EQ(slot().state, RecordState::being_written);
    send(level_of(0, Side::ask, 400, 1, feed::kLast));
    EXPECT_EQ(slot().number, writer_->newest());
    EXPECT_FALSE(slot().incomplete);
    EXPECT_THAT(slot().bids, ElementsAre(300, 299, 298));
    first.poll();
    Subscriber joined{name_};
    joined.join();
    EXPECT_EQ(joined.bids(0), first.bids(0));
    EXPECT_TRUE(joined.complete(0));
}

TEST_F(DepthSlots, ALevelThatAGroupInPartsMayNeedAgainMakesTheSlotIncomplete) {
    writer_->publish(channel_clear());
    for (const feed::Price price : {98, 99, 100}) send(level_of(0, Side::bid, price, 1, feed::kLast));
    send(level_of(0, Side::bid, 101, 1));
    writer_->heartbeat(1);
    send(level_of(0, Side::bid, 99, 0, feed::kLast));  // 98 is one of the best three again
    EXPECT_TRUE(slot().incomplete);
}

TEST_F(DepthSlots, AClearOrGapEndsAnOpenGroup) {
    writer_->publish(channel_clear());
    send(level_of(0, Side::bid, 100, 1));
    writer_->publish(channel_clear());
    send(level_of(0, Side::bid, 90, 1, feed::kLast));
    EXPECT_FALSE(slot().incomplete);
    EXPECT_THAT(slot().bids, ElementsAre(90));
    send(level_of(0, Side::bid, 91, 1));
    writer_->publish(feed::Gap{});
    EXPECT_EQ(slot().state, RecordState::being_written);
    send(level_of(0, Side::bid, 92, 1, feed::kLast));
    EXPECT_TRUE(slot().incomplete);
    send(level_of(0, Side::none, 0, 0));
    writer_->heartbeat(1);
    send(level_of(0, Side::bid, 93, 1, feed::kLast));
    EXPECT_FALSE(slot().incomplete);
    EXPECT_THAT(slot().bids, ElementsAre(93));
}

TEST_F(DepthSlots, AWriterThatClosesPublishesTheOpenGroup) {
    Subscriber first{name_};
    writer_->publish(channel_clear());
    send(level_of(0, Side::bid, 100, 1));
    EXPECT_TRUE(writer_->close());
    first.poll();
    EXPECT_EQ(first.reader().account().delivered, 2U);
    EXPECT_FALSE(first.complete(0));
}

TEST_F(DepthSlots, AJoinDeliversThemAsSnapshotsAfterTheQuote) {
    struct Recorder : Picture {
        using Picture::on;
        void on(const feed::Quote& quote) { EXPECT_NE(quote.flags & feed::kLast, 0); }
        void on(const feed::Level& level) {
            levels.push_back(level);
            number = reader->current();
        }
        RingReader* reader{nullptr};
        std::vector<feed::Level> levels;
        std::uint64_t number{0};
    };
    writer_->publish(channel_clear());
    send(level_of(0, Side::bid, 100, 5));
    send(level_of(0, Side::bid, 101, 5));
    auto last = level_of(0, Side::ask, 102, 7, feed::kLast);
    last.orders = 3;
    last.exchange_utc_ns = 11;
    send(last);
    writer_->publish(quote_of(0, 0, 3));
    writer_->heartbeat(1);
    RingReader reader{{.name = name_}};
    Recorder seen;
    seen.reader = &reader;
    reader.join(seen);
    ASSERT_EQ(seen.levels.size(), 4U);
    EXPECT_EQ(seen.number, 4U);
    EXPECT_EQ(reader.account().from_board, 5U);
    EXPECT_EQ(seen.levels[0].side, Side::none);
    EXPECT_EQ(seen.levels[1].price, 100);
    EXPECT_EQ(seen.levels[2].price, 101);
    EXPECT_EQ(seen.levels[3].price, 102);
    EXPECT_EQ(seen.levels[3].size, 7U);
    EXPECT_EQ(seen.levels[3].orders, 3U);
    for (const auto& level : seen.levels) {
        EXPECT_EQ(level.instrument, 0U);
        EXPECT_EQ(level.exchange_utc_ns, 11);
        EXPECT_EQ(level.flags, feed::kSnapshot | (&level == &seen.levels[3] ? feed::kLast : 0));
    }
}

/// The slots equal the books of a reader that has read the channel from its start.
class DepthFlows : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Depths, DepthFlows, testing::Values(1U, 3U, 10U, 50U));

TEST_P(DepthFlows, ReadersThatJoinAfterAnyGroupHaveTheSameBooks) {
    const auto depth = GetParam();
    const auto name = fresh_name();
    const auto writer = deep_writer(name, depth);
    name_instruments(*writer, DepthFeed::kInstruments);
    DepthFeed feed{*writer, depth, depth};
    Subscriber first{name};
    Subscriber reading{name};
    reading.join();
    feed.open();
    int complete = 0;
    for (int n = 0; n < 1'500; ++n) {
        feed.publish();
        first.poll();
        Subscriber joined{name};
        joined.join();
        complete += expect_same_or_incomplete(joined, first);
        for (feed::InstrumentId id = 0; id < DepthFeed::kInstruments; ++id) {
            if (!first.complete(id)) continue;
            ASSERT_EQ(first.bids(id), feed.best(id, Side::bid)) << "group " << n;
            ASSERT_EQ(first.asks(id), feed.best(id, Side::ask)) << "group " << n;
        }
        if (testing::Test::HasFailure()) FAIL() << "group " << n;
    }
    EXPECT_GT(complete, 2'000);
    reading.poll();
    expect_same_or_incomplete(reading, first);
    const auto account = reading.reader().account();
    EXPECT_EQ(account.published, account.delivered + account.filtered);
}

/// A reader that takes levels of the board after each missed range.
struct RejoiningReader {
    explicit RejoiningReader(const std::string& name)
        : reader({.name = name}),
          books({.max_instruments = 8}, [this](std::uint16_t channel) { return reader.depth(channel); }) {}

    template <class Event>
    void on(const Event& event) {
        books.on(event);
    }
    void on(const queue::MissedRange& missed) {
        books.on(missed);
        for (feed::InstrumentId id = 0; id < DepthFeed::kInstruments; ++id) rejoining.insert(id);
    }
    void rejoin() {
        std::erase_if(rejoining,
                      [this](feed::InstrumentId id) { return reader.rejoin(*this, id) == RejoinOutcome::delivered; });
    }
    /// Number of the newest entry that was read.
    [[nodiscard]] std::uint64_t position() const {
        const auto account = reader.account();
        return account.since + account.published - account.queued - 1;
    }

    RingReader reader;
    Books books;
    std::set<feed::InstrumentId> rejoining;
};

TEST_P(DepthFlows, ALappedReaderThatRejoinsHasTheBooksOfItsPlaceInTheRing) {
    const auto depth = GetParam();
    const auto name = fresh_name();
    const auto writer = deep_writer(name, depth, 256);
    name_instruments(*writer, DepthFeed::kInstruments);
    DepthFeed feed{*writer, depth, depth};
    RejoiningReader lapped{name};
    std::map<std::uint64_t, std::array<std::array<std::vector<Rung>, 2>, DepthFeed::kInstruments>> history;
    int complete = 0;
    int behind = 0;
    feed.open();
    for (int n = 0; n < 1'500; ++n) {
        feed.publish();
        auto& books = history[lapped.reader.newest()];
        for (feed::InstrumentId id = 0; id < DepthFeed::kInstruments; ++id)
            books[id] = {feed.best(id, Side::bid), feed.best(id, Side::ask)};
        if (feed.pick(20) != 0) continue;
        for (auto polls = feed.pick(8); polls != 0 && lapped.position() != lapped.reader.newest(); --polls) {
            do lapped.reader.poll(lapped, 1);
            while (!history.contains(lapped.position()));
            lapped.rejoin();
            for (feed::InstrumentId id = 0; id < DepthFeed::kInstruments; ++id) {
                const auto* const book = lapped.books.find(id);
                if (book == nullptr || !book->complete()) continue;
                const auto& wanted = history[lapped.position()][id];
                ASSERT_EQ(rungs_of(book->bids()), wanted[0]) << "group " << n << ", instrument " << id;
                ASSERT_EQ(rungs_of(book->asks()), wanted[1]) << "group " << n << ", instrument " << id;
                ++complete;
                if (lapped.position() != lapped.reader.newest()) ++behind;
            }
        }
    }
    EXPECT_NE(lapped.reader.account().missed, 0U);
    EXPECT_GT(complete, 50);
    EXPECT_GT(behind, 10);
}

TEST_F(DepthSlots, ARejoinSaysWhetherItWaitsForThePollOrForLevels) {
    writer_->publish(channel_clear());
    RejoiningReader lapped{name_};
    EXPECT_EQ(lapped.reader.rejoin(lapped, 0), RejoinOutcome::none);
    send(level_of(0, Side::bid, 100, 1, feed::kLast));
    EXPECT_EQ(lapped.reader.rejoin(lapped, 0), RejoinOutcome::behind);
    lapped.reader.poll(lapped, 8);
    EXPECT_EQ(lapped.reader.rejoin(lapped, 0), RejoinOutcome::delivered);
    writer_->publish(feed::Gap{});
    EXPECT_EQ(lapped.reader.rejoin(lapped, 0), RejoinOutcome::none);
}

TEST(DepthJoins, WhileTheWriterIsStoppedAtAnyStepTheBooksAreThoseOfAReaderFromTheStart) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const auto name = fresh_name();
        const auto writer = deep_writer(name, kDepth, 1'024);
        name_instruments(*writer, DepthFeed::kInstruments);
        DepthFeed feed{*writer, kDepth, seed};
        Subscriber first{name};
        feed.open();
        for (int n = 0; n < 20; ++n) feed.publish();
        std::vector<std::unique_ptr<Subscriber>> joined;
        feed.step = [&] {
            joined.push_back(std::make_unique<Subscriber>(name));
            joined.back()->join();
        };
        for (int n = 0; n < 8; ++n) feed.publish();
        feed.step = [] {};
        const auto compare = [&] {
            first.poll();
            int complete = 0;
            for (auto& one : joined) {
                one->poll();
                complete += expect_same_or_incomplete(*one, first);
                EXPECT_THAT(one->picture().missed, IsEmpty());
            }
            return complete;
        };
        EXPECT_GT(compare(), 0) << "seed " << seed;
        for (int n = 0; n < 20; ++n) {
            feed.publish();
            compare();
            if (testing::Test::HasFailure()) FAIL() << "seed " << seed << ", group " << n;
        }
        // After a snapshot all are complete.
        for (feed::InstrumentId id = 0; id < DepthFeed::kInstruments; ++id) feed.send_snapshot(id);
        EXPECT_EQ(compare(), static_cast<int>(joined.size() * DepthFeed::kInstruments));
    }
}

TEST(DepthJoins, AtAnyStepOfTheJoinAndOfTheWriterTheBooksAreThoseOfAReaderFromTheStart) {
    int complete = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const auto name = fresh_name();
        const auto writer = deep_writer(name, kDepth, 2'048);
        name_instruments(*writer, DepthFeed::kInstruments);
        DepthFeed feed{*writer, kDepth, seed};
        Subscriber first{name};
        Subscriber joined{name};
        feed.open();
        for (auto n = seed % 30; n != 0; --n) feed.publish();
        {
            std::mt19937_64 random{seed};
            Stepper writing{[&](const std::function<void()>& step) {
                feed.step = step;
                for (int n = 0; n < 15; ++n) feed.publish();
            }};
            Stepper joining{[&](const std::function<void()>& step) { joined.join(step); }};
            // Runs of both, so that slots change within a copy and between copies.
            for (bool goes_on = true; goes_on;) {
                const bool writes = writing.advance(1 + random() % 30);
                goes_on = joining.advance(1 + random() % 12) || writes;
            }
        }
        feed.step = [] {};
        for (int n = 0; n < 10; ++n) {
            joined.poll();
            first.poll();
            complete += expect_same_or_incomplete(joined, first);
            if (testing::Test::HasFailure()) FAIL() << "seed " << seed << ", group " << n;
            feed.publish();
        }
        joined.poll();
        const auto account = joined.reader().account();
        ASSERT_EQ(account.published, account.delivered + account.filtered + account.missed);
        ASSERT_EQ(account.missed, 0U);
    }
    EXPECT_GT(complete, 1'000);
}

TEST(DepthJoins, ABookIsCompleteIfTheJoinCopiedItBetweenTwoGroups) {
    const auto name = fresh_name();
    const auto writer = deep_writer(name, kDepth);
    name_instruments(*writer, DepthFeed::kInstruments);
    DepthFeed feed{*writer, kDepth, 1};
    feed.open();
    for (feed::InstrumentId id = 0; id < DepthFeed::kInstruments; ++id) feed.send_snapshot(id);
    for (int stop = 0; stop < 60; ++stop) {
        Subscriber first{name};
        first.join();
        Subscriber joined{name};
        int steps = 0;
        joined.join([&] {
            if (++steps == stop) feed.send_change(static_cast<feed::InstrumentId>(feed.pick(DepthFeed::kInstruments)));
        });
        joined.poll();
        first.poll();
        ASSERT_EQ(expect_same_or_incomplete(joined, first), static_cast<int>(DepthFeed::kInstruments)) << stop;
    }
}

TEST(DepthJoins, ALossBetweenTwoCopiesOfTheJoinReachesItsBooks) {
    constexpr feed::InstrumentId kId = 2;
    const auto name = fresh_name();
    const auto writer = deep_writer(name, kDepth);
    name_instruments(*writer, DepthFeed::kInstruments);
    DepthFeed feed{*writer, kDepth, 1};
    const std::function<void()> events[]{
        [&] { feed.send_gap(0); },
        [&] { feed.clear(0, feed::kNoInstrument, 0); },
        [&] { feed.clear(0, feed::kNoInstrument, feed::kIncomplete); },
        [&] { feed.clear(0, kId, 0); },
        [&] { feed.send_change(kId); },
        [&] { feed.send_snapshot(kId); },
    };
    Subscriber first{name};
    feed.open();
    for (const auto& before : events) {
        for (const auto& after : events) {
            for (int stop = 1; stop < 100; stop += 3) {
                for (feed::InstrumentId id = 0; id < DepthFeed::kInstruments; ++id) feed.send_snapshot(id);
                Subscriber joined{name};
                int steps = 0;
                joined.join([&] {
                    ++steps;
                    if (steps == stop) before();
                    if (steps == stop + stop % 4) after();
                });
                joined.poll();
                first.poll();
                expect_same_or_incomplete(joined, first);
                feed.send_change(kId);
                joined.poll();
                first.poll();
                expect_same_or_incomplete(joined, first);
                if (testing::Test::HasFailure()) {
                    FAIL() << &before - events << ", " << &after - events << " at step " << stop;
                }
            }
        }
    }
}

TEST(DepthJoins, AReaderThatBeginsInAnOpenGroupHasNoCompleteBook) {
    const auto name = fresh_name();
    const auto writer = deep_writer(name, kDepth);
    name_instruments(*writer, 1);
    writer->publish(channel_clear());
    std::vector<std::unique_ptr<Subscriber>> readers;
    const auto open_reader = [&] { readers.push_back(std::make_unique<Subscriber>(name)); };
    writer->publish(level_of(0, Side::none, 0, 0), open_reader);
    writer->publish(level_of(0, Side::bid, 100, 1), open_reader);
    writer->publish(level_of(0, Side::bid, 101, 1, feed::kLast), open_reader);
    writer->publish(level_of(0, Side::bid, 102, 1, feed::kLast));
    ASSERT_GT(readers.size(), 5U);
    int complete = 0;
    for (auto& reader : readers) {
        reader->poll();
        complete += reader->complete(0) ? 1 : 0;
        if (reader->complete(0)) {
            EXPECT_EQ(reader->bids(0).size(), 3U);
        }
    }
    EXPECT_GT(complete, 0) << "those that began before the group's first entry";
    EXPECT_LT(complete, static_cast<int>(readers.size()));
}

TEST(DepthJoins, AJoinThatIsOvertakenBeginsAgainAndOneThatAlwaysIsHasIncompleteBooks) {
    const auto name = fresh_name();
    const auto writer = deep_writer(name, kDepth, 64);
    name_instruments(*writer, 1);
    writer->publish(channel_clear());
    feed::Price price = 1'000;
    const auto lap = [&] {
        for (int n = 0; n < 70; ++n) writer->publish(level_of(0, Side::bid, ++price, 1, feed::kLast));
    };
    lap();
    Subscriber once{name};
    bool first_copy = true;
    once.join([&] {
        if (std::exchange(first_copy, false)) lap();
    });
    once.poll();
    EXPECT_TRUE(once.complete(0));
    EXPECT_THAT(once.picture().missed, IsEmpty());
    EXPECT_THAT(once.bids(0), ElementsAre(Rung{price, 1, 0}, Rung{price - 1, 1, 0}, Rung{price - 2, 1, 0}));
    Subscriber always{name};
    int steps = 0;
    always.join([&] {
        if (++steps % 8 == 0) lap();
    });
    always.poll();
    EXPECT_EQ(always.picture().missed.size(), 1U);
    EXPECT_FALSE(always.complete(0));
}

TEST(DepthJoins, ThreadsThatJoinWhileTheWriterRunsHaveItsBooks) {
    const auto name = fresh_name();
    const auto writer = deep_writer(name, kDepth, 1U << 17U);
    name_instruments(*writer, DepthFeed::kInstruments);
    DepthFeed feed{*writer, kDepth, 5};
    Subscriber first{name};
    feed.open();
    std::atomic<bool> done{false};
    std::array<std::vector<std::unique_ptr<Subscriber>>, 2> joined;
    std::vector<std::thread> readers;
    for (auto& of_thread : joined) {
        readers.emplace_back([&] {
            while (!done.load(std::memory_order_acquire)) {
                if (of_thread.size() == 20) of_thread.clear();
                of_thread.push_back(std::make_unique<Subscriber>(name));
                of_thread.back()->join();
                std::this_thread::yield();
            }
            for (auto& one : of_thread) one->poll();
        });
    }
    for (int n = 0; n < 6'000; ++n) {
        feed.publish();
        if (n % 32 == 0) std::this_thread::yield();
    }
    done.store(true, std::memory_order_release);
    for (auto& reader : readers) reader.join();
    first.poll();
    EXPECT_THAT(first.picture().missed, IsEmpty());
    for (auto& of_thread : joined) {
        for (auto& one : of_thread) expect_same_or_incomplete(*one, first);
    }
}

TEST(DepthJoins, AWriterThatDiesAtAnyStepLeavesNoBookThatLooksComplete) {
    for (int death = 1; death < 40; ++death) {
        const auto name = fresh_name();
        const NameGuard guard{name};
        const auto options = [&] {
            auto deep = deep_ring(name, kDepth);
            deep.capacity = 256;
            return deep;
        }();
        test::ChildProcess dying{[&]() -> int {
            auto writer = std::make_unique<RingWriter>(options);
            name_instruments(*writer, 2);
            writer->set_depth(0, {.depth = kDepth});
            writer->publish(channel_clear());
            for (const feed::Price price : {98, 99, 100})
                writer->publish(level_of(0, Side::bid, price, 1, feed::kLast));
            int left = death;
            const auto step = [&] {
                if (--left == 0) _exit(0);
            };
            for (feed::Price price = 101;; ++price) {
                writer->publish(level_of(0, Side::bid, price, 1), step);
                writer->publish(level_of(0, Side::bid, price - 1, 0), step);
                writer->publish(level_of(0, Side::ask, price + 10, 1, feed::kLast), step);
            }
        }};
        ASSERT_EQ(dying.wait_for_end(), 0);
        Subscriber before{name};
        before.join();
        const auto taken = slot_of(before.reader().board(), 0).number;
        RingWriter writer{options};
        ASSERT_TRUE(writer.resumed()) << death;
        EXPECT_GE(writer.newest(), taken) << "no number of a slot is used again";
        EXPECT_TRUE(writer.set_depth(0, {.depth = kDepth}));
        before.poll();
        EXPECT_FALSE(before.complete(0)) << death;
        Subscriber after{name};
        after.join();
        EXPECT_FALSE(after.complete(0)) << death;
        writer.publish(level_of(0, Side::bid, 50, 1, feed::kLast));
        writer.publish(level_of(1, Side::bid, 50, 1, feed::kLast));
        for (auto* const reader : {&before, &after}) {
            reader->poll();
            EXPECT_FALSE(reader->complete(0) || reader->complete(1)) << death;
        }
        EXPECT_TRUE(slot_of(writer.board(), 0).incomplete);
        writer.publish(level_of(0, Side::none, 0, 0));
        writer.publish(level_of(0, Side::bid, 60, 1, feed::kLast));
        EXPECT_FALSE(slot_of(writer.board(), 0).incomplete);
        for (auto* const reader : {&before, &after}) {
            reader->poll();
            EXPECT_TRUE(reader->complete(0)) << death;
            EXPECT_THAT(reader->bids(0), ElementsAre(Rung{60, 1, 0})) << death;
        }
    }
}

TEST(DepthJoins, AWriterThatContinuesWithAnotherDepthStartsAllBooksAgain) {
    const auto name = fresh_name();
    const NameGuard guard{name};
    test::ChildProcess dying{[&]() -> int {
        auto writer = std::make_unique<RingWriter>(deep_ring(name, kDepth));
        name_instruments(*writer, 2);
        writer->set_depth(0, {.depth = kDepth});
        writer->publish(channel_clear());
        for (const feed::Price price : {98, 99, 100}) writer->publish(level_of(0, Side::bid, price, 1, feed::kLast));
        _exit(0);
    }};
    ASSERT_EQ(dying.wait_for_end(), 0);
    Subscriber before{name};
    before.join();
    EXPECT_TRUE(before.complete(0));
    RingWriter writer{deep_ring(name, kDepth)};
    ASSERT_TRUE(writer.resumed());
    EXPECT_EQ(writer.board().channel_depth(0), ChannelDepth{});
    before.poll();
    EXPECT_TRUE(writer.set_depth(0, {.depth = 1}));
    writer.publish(channel_clear());
    for (const feed::Price price : {98, 99}) writer.publish(level_of(0, Side::bid, price, 1, feed::kLast));
    before.poll();
    EXPECT_TRUE(before.complete(0));
    EXPECT_THAT(before.bids(0), ElementsAre(Rung{99, 1, 0}));
    EXPECT_THAT(slot_of(writer.board(), 0).bids, ElementsAre(99));
}

TEST(DepthJoins, EntriesOfADeadWriterMakeNoBookOfTheDepthOfTheNextOne) {
    for (const std::uint32_t next_depth : {0U, 1U, 2U, 5U}) {
        const auto name = fresh_name();
        const NameGuard guard{name};
        test::ChildProcess dying{[&]() -> int {
            auto writer = std::make_unique<RingWriter>(deep_ring(name, kDepth));
            name_instruments(*writer, 2);
            writer->set_depth(0, {.depth = 2});
            writer->publish(channel_clear());
            for (const feed::Price price : {98, 99, 100})
                writer->publish(level_of(0, Side::bid, price, 1, feed::kLast));
            _exit(0);
        }};
        ASSERT_EQ(dying.wait_for_end(), 0);
        RingReader reader{{.name = name}};
        const auto newest = reader.newest();
        Books books{{.max_instruments = 8}, [&](std::uint16_t channel) { return reader.depth(channel); }};
        reader.seek(1);
        RingWriter writer{deep_ring(name, kDepth)};
        ASSERT_TRUE(writer.resumed());
        if (next_depth != 0) {
            EXPECT_TRUE(writer.set_depth(0, {.depth = next_depth}));
        }
        reader.poll(books, newest);
        const auto* const book = books.find(0);
        EXPECT_TRUE(book == nullptr || !book->complete()) << next_depth;
        if (next_depth == 0) {
            EXPECT_TRUE(writer.set_depth(0, {.depth = 2}));
        }
        writer.publish(channel_clear());
        for (const feed::Price price : {98, 99}) writer.publish(level_of(0, Side::bid, price, 1, feed::kLast));
        while (reader.poll(books, 64) != 0) {
        }
        ASSERT_NE(books.find(0), nullptr);
        EXPECT_TRUE(books.find(0)->complete()) << next_depth;
        EXPECT_EQ(books.find(0)->bids().front().price, 99);
    }
}

}  // namespace
}  // namespace millpond::market
