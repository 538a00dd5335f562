// What readers that begin at a checkpoint get.

#include <millpond/journal/checkpoint.hpp>

#include <cstdint>
#include <filesystem>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include <millpond/journal/catch_up_reader.hpp>

#include "tests/journal/checkpoint_fixture.hpp"

namespace millpond::journal {
namespace {

TEST_F(CheckpointTest, AReaderThatBeginsAtAnyRecordHasTheBooksOfOneThatReadEverything) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(seed);
        std::filesystem::remove_all(folder_);
        Recorder recorded{options(), seed};
        for (int part = 0; part < 8; ++part) {
            recorded.write(1'000);
            if (part % 3 == 2) recorded.begin_segment();
        }
        EXPECT_GT(recorded.writer().counters().checkpoints.read(), 15U);
        EXPECT_EQ(recorded.writer().counters().checkpoint_errors.read(), 0U);
        const auto records = recorded.writer().next_record() - 1;
        std::mt19937_64 random{seed};
        std::uint64_t late = 0;
        for (int i = 0; i < 60; ++i) {
            const auto record = 1 + random() % records;
            SCOPED_TRACE(record);
            const auto checker = checked(recorded, AtRecord{record}, true, 2'000);
            ASSERT_FALSE(HasFailure());
            EXPECT_EQ(checker.missed(), 0U);
            const auto origin = find_books_before(folder_, record);
            if (!origin || !origin->checkpoint) continue;
            ++late;
            EXPECT_LT(origin->checkpoint->last, record);
            EXPECT_GT(checker.snapshot(), OrderDay::kChannels);
        }
        EXPECT_GT(late, 50U);
    }
}

TEST_F(CheckpointTest, AReaderThatBeginsAtATimeHasTheBooksOfThatTime) {
    Recorder recorded{options(), 7};
    recorded.write(6'000);
    std::mt19937_64 random{7};
    int late = 0;
    for (int i = 0; i < 60; ++i) {
        const auto time = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(recorded.now()));
        SCOPED_TRACE(time);
        CatchUpReader plain{{.folder = folder_, .ring = with_books().ring}, AtTime{time}};
        Checker first{recorded, plain, false};
        while (first.events() == 0 && first.read(1) != 0) {
        }
        const auto checker = checked(recorded, AtTime{time}, true, 2'000);
        ASSERT_FALSE(HasFailure());
        EXPECT_EQ(checker.first(), first.first());
        const auto origin = find_books_until(folder_, time);
        if (origin && origin->checkpoint) ++late;
    }
    EXPECT_GT(late, 40);
}

/// Numbers of what a reader delivers first.
struct FirstEvent {
    void on(const auto& event) {
        if (reader.in_snapshot()) return;
        if constexpr (requires { event.receive_utc_ns; }) {
            if (ring == 0) {
                epoch = reader.epoch();
                ring = reader.current();
            }
            ++events;
        }
    }
    CatchUpReader& reader;
    std::uint64_t epoch{0};
    std::uint64_t ring{0};
    std::uint64_t events{0};
};

/// events of epoch kEpoch at 1, 2, ... and of the next one at `later`, `later` + 1, ...
TEST_F(CheckpointTest, AReaderThatBeginsAtATimeOfAnEarlierEpochGetsAllEventsFromThere) {
    constexpr std::uint64_t kEvents = 100;
    constexpr std::int64_t kLater = 1'000;
    for (const bool has_checkpoint : {false, true}) {
        for (const bool has_untimed : {false, true}) {
            SCOPED_TRACE(testing::Message() << has_checkpoint << has_untimed);
            std::filesystem::remove_all(folder_);
            JournalWriter writer{options(), 1};
            writer.set_epoch(kEpoch);
            writer.keep_books();
            const auto write = [&](std::int64_t from) {
                writer.set_depth(0, {.orders = true});
                for (std::uint64_t ring = 1; ring <= kEvents; ++ring) {
                    auto order = order_of(0, ring);
                    order.receive_utc_ns = from + static_cast<std::int64_t>(ring) - 1;
                    if (has_untimed && ring == 1) order.receive_utc_ns = 0;
                    while (!writer.append(order, ring)) ASSERT_TRUE(writer.service(1));
                }
                if (has_checkpoint) writer.end_books();
            };
            write(1);
            writer.set_epoch(kEpoch + 1);
            writer.service(1);
            write(kLater);
            const auto first_from = [&](std::int64_t utc_ns) {
                CatchUpReader reader{with_books(), AtTime{utc_ns}};
                FirstEvent first{reader};
                reader.poll(first, SIZE_MAX);
                return std::tuple{first.epoch, first.ring, first.events};
            };
            EXPECT_EQ(first_from(51), std::tuple(kEpoch, 51U, 2 * kEvents - 50));
            EXPECT_EQ(first_from(500), std::tuple(kEpoch + 1, has_untimed ? 2U : 1U, kEvents - (has_untimed ? 1 : 0)));
            EXPECT_EQ(first_from(kLater + 50), std::tuple(kEpoch + 1, 51U, kEvents - 50));
            // The books of a time between the epochs are those of the first one.
            const auto between = find_books_until(folder_, 500);
            ASSERT_TRUE(between);
            EXPECT_EQ(between->checkpoint.has_value(), has_checkpoint);
            EXPECT_LE(between->record, kEvents + 2);
        }
    }
}

TEST_F(CheckpointTest, AReaderThatContinuesAtAPositionHasTheBooksOfItsEntry) {
    Recorder recorded{options(), 8};
    recorded.write(6'000);
    std::mt19937_64 random{8};
    std::uint64_t continued = 0;
    for (int i = 0; i < 40; ++i) {
        CatchUpReader before{with_books(), AtRecord{1 + random() % recorded.writer().next_record()}};
        Checker until{recorded, before, true};
        until.read(1 + random() % 1'000);
        const auto position = before.position();
        if (!position) continue;
        const auto checker = checked(recorded, *position, true, 2'000);
        ASSERT_FALSE(HasFailure());
        if (checker.events() == 0) continue;
        EXPECT_EQ(checker.first(), position->ring + 1);
        ++continued;
    }
    EXPECT_GT(continued, 20U);
}

/// What a handler gets of one instrument's levels.
struct LevelsOf {
    void on(const auto&) {}
    void on(const feed::Level& level) {
        if (level.instrument == id) ++(reader.in_snapshot() ? snapshot : events);
    }
    CatchUpReader& reader;
    feed::InstrumentId id;
    std::uint64_t snapshot{0};
    std::uint64_t events{0};
};

TEST_F(CheckpointTest, ACheckpointHasTheBookOfALargeId) {
    constexpr feed::InstrumentId kLarge = 1U << 20U;
    JournalWriter writer{options(), 1};
    writer.set_epoch(kEpoch);
    writer.keep_books();
    writer.set_depth(0, {.depth = feed::kFullDepth});
    feed::Level level;
    level.instrument = kLarge;
    level.flags = feed::kLast;
    level.price = 1;
    level.size = 1;
    ASSERT_TRUE(writer.append(feed::Clear{}, 1));
    ASSERT_TRUE(writer.append(level, 2));
    writer.end_books();
    const auto record = writer.next_record();
    level.price = 2;
    ASSERT_TRUE(writer.append(level, 3));
    CatchUpReader reader{with_books(), AtRecord{record}};
    LevelsOf levels{reader, kLarge};
    reader.poll(levels, SIZE_MAX);
    EXPECT_EQ(levels.snapshot, 1U);
    EXPECT_EQ(levels.events, 1U);
}

TEST_F(CheckpointTest, AReaderOfEventsGetsNothingOfCheckpoints) {
    Recorder recorded{options(), 13};
    recorded.write(1'500);
    recorded.end_books();
    JournalReader reader{folder_};
    Delivered delivered{reader};
    delivered.drain();
    EXPECT_EQ(delivered.items.size(), recorded.newest());
    EXPECT_TRUE(delivered.all<LostRecord>().empty());
    EXPECT_EQ(reader.left_out(), 0U);
    EXPECT_EQ(reader.next_record(), recorded.writer().next_record());
}

TEST_F(CheckpointTest, AfterALossTheLevelsComeFromTheBoardAndOrdersAreIncompleteUntilASnapshot) {
    Recorder recorded{options(), 9};
    recorded.write(1'500);
    recorded.lose(40);
    recorded.end_books();
    const auto lost = recorded.writer().next_record();
    recorded.append(recorded.day().snapshot(0));
    {
        const auto checker = checked(recorded, AtRecord{lost}, false);
        ASSERT_FALSE(HasFailure());
        EXPECT_GT(checker.events(), 0U);
        EXPECT_EQ(checker.complete_orders() + checker.complete_levels(), 2U) << "those of the snapshot";
    }
    for (feed::InstrumentId id = 0; id < OrderDay::kInstruments; ++id) {
        for (const auto& level : recorded.day().board(id)) recorded.writer().apply_board(level);
    }
    recorded.append(recorded.day().snapshot(0));
    recorded.end_books();
    const auto returned = recorded.writer().next_record();
    recorded.write(300);
    for (const auto from : {lost, returned}) {
        const auto checker = checked(recorded, AtRecord{from}, from == returned);
        ASSERT_FALSE(HasFailure());
        EXPECT_GT(checker.complete_levels(), 150U);
    }
    for (feed::InstrumentId id = 0; id < OrderDay::kInstruments; ++id) recorded.append(recorded.day().snapshot(id));
    recorded.end_books();
    const auto rebuilt = recorded.writer().next_record();
    recorded.write(300);
    const auto checker = checked(recorded, AtRecord{rebuilt});
    ASSERT_FALSE(HasFailure());
    EXPECT_GT(checker.complete_orders(), 100U);
}

TEST_F(CheckpointTest, TheNextWriterOfTheEpochHasTheBooks) {
    for (const bool writes_last : {false, true}) {
        std::filesystem::remove_all(folder_);
        Recorder recorded{options(), 11};
        for (int run = 0; run < 4; ++run) {
            recorded.write(700);
            if (writes_last) recorded.end_books();
            recorded.open();
        }
        recorded.write(10);
        recorded.end_books();
        const auto record = recorded.writer().next_record();
        recorded.write(300);
        const auto checker = checked(recorded, AtRecord{record});
        ASSERT_FALSE(HasFailure());
        EXPECT_GT(checker.complete_orders(), 40U);
    }
}

}  // namespace
}  // namespace millpond::journal
