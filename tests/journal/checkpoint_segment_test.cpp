// Checkpoints and segments: ends, sizes and retention.

#include <millpond/journal/checkpoint.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/journal/segment_reader.hpp>
#include <millpond/memory/region.hpp>

#include "tests/journal/checkpoint_fixture.hpp"

namespace millpond::journal {
namespace {

TEST_F(CheckpointTest, OneThatASegmentEndsBeginsAgainInTheNext) {
    Recorder recorded{options(), 5};
    recorded.write(1'500);
    recorded.end_books();
    const auto before = find_books_before(folder_, UINT64_MAX);
    ASSERT_TRUE(before && before->checkpoint);
    const auto checkpoints = recorded.writer().counters().checkpoints.read();
    std::uint64_t begin_record = 0;
    while (begin_record == 0) {
        recorded.append(recorded.day().next());
        const auto record = recorded.writer().next_record();
        recorded.writer().step(recorded.now());
        if (recorded.writer().next_record() != record) begin_record = record;
    }
    ASSERT_EQ(recorded.writer().counters().checkpoints.read(), checkpoints);
    recorded.begin_segment();
    recorded.append(recorded.day().next());
    const auto files = list_segments(folder_);
    ASSERT_GE(files.size(), 2U);
    EXPECT_EQ(count_checkpoints(files[0].path).torn, 1U);
    SegmentReader second{files[1].path};
    EXPECT_EQ(second.needed_checkpoint(), before->record);
    // It is due at once: no events are needed.
    while (recorded.writer().counters().checkpoints.read() == checkpoints) recorded.step();
    const auto after = find_books_before(folder_, UINT64_MAX);
    ASSERT_TRUE(after && after->checkpoint);
    EXPECT_GE(after->record, second.identity().first_record);
    recorded.write(100);
    for (const auto record : {begin_record, after->checkpoint->last + 1}) {
        static_cast<void>(checked(recorded, AtRecord{record}));
        ASSERT_FALSE(HasFailure());
    }
}

TEST_F(CheckpointTest, OneThatSeveralSegmentsEndBeginsAgainInEach) {
    auto rare = options();
    rare.checkpoint_interval = std::chrono::hours{1};
    rare.roll_after = {};
    Recorder recorded{rare, 14};
    recorded.write(300);
    const auto late = recorded.now() + std::chrono::nanoseconds{std::chrono::hours{2}}.count();
    auto& writer = recorded.writer();
    for (int segment = 0; segment < 4; ++segment) {
        const auto record = writer.next_record();
        writer.step(late);
        ASSERT_GT(writer.next_record(), record) << "a slice";
        recorded.begin_segment();
        ASSERT_TRUE(writer.append(quote(1), recorded.newest() + static_cast<std::uint64_t>(segment) + 1));
    }
    EXPECT_EQ(writer.counters().checkpoints.read(), 0U);
    for (int i = 0; i < 50; ++i) writer.step(late);
    EXPECT_EQ(writer.counters().checkpoint_errors.read(), 0U);
    EXPECT_EQ(writer.counters().checkpoints.read(), 1U);
}

TEST_F(CheckpointTest, OneThatNeedsANewSegmentDoesNotWaitForItsAge) {
    constexpr auto kHour = std::chrono::nanoseconds{std::chrono::hours{1}}.count();
    auto rare = options();
    rare.checkpoint_interval = std::chrono::hours{1};
    rare.roll_after = {};
    JournalWriter writer{rare, 1};
    writer.set_epoch(kEpoch);
    writer.keep_books();
    writer.set_depth(0, {.orders = true});
    std::uint64_t ring = 0;
    ASSERT_TRUE(writer.append(feed::Clear{}, ++ring));
    for (std::uint64_t order = 0; order < 2'000; ++order)
        ASSERT_TRUE(writer.append(order_of(static_cast<feed::InstrumentId>(order % 50), order + 1), ++ring));
    writer.step(1);
    writer.service(1);
    while (writer.available() >= 1'800) ASSERT_TRUE(writer.append(quote(7), ++ring));
    ASSERT_EQ(writer.counters().segments.read(), 1U);
    const auto steps = [&](std::int64_t hours) {
        ASSERT_TRUE(writer.append(quote(7), ++ring));
        for (int i = 0; i < 100; ++i) writer.step(hours * kHour + 2);
        writer.service(1);
    };
    steps(1);
    EXPECT_EQ(writer.counters().segments.read(), 1U) << "the segment may end before long";
    steps(3);
    steps(3);
    EXPECT_EQ(writer.counters().segments.read(), 2U);
    EXPECT_EQ(writer.counters().checkpoints.read(), 1U);
}

TEST_F(CheckpointTest, ACheckpointThatDoesNotFitIntoASegmentIsCountedAndTheEventsGoOn) {
    const auto hours = [](int count) { return std::chrono::nanoseconds{std::chrono::hours{count}}.count(); };
    auto rare = options();
    rare.checkpoint_interval = std::chrono::hours{1};
    JournalWriter writer{rare, 1};
    writer.set_epoch(kEpoch);
    writer.keep_books();
    writer.set_depth(0, {.orders = true});
    constexpr std::uint64_t kOrders = 40'000;  // 32 bytes each
    std::uint64_t ring = 0;
    const auto append = [&](const auto& event) {
        ++ring;
        while (!writer.append(event, ring)) ASSERT_TRUE(writer.service(1));
    };
    append(feed::Clear{});
    for (std::uint64_t order = 1; order <= kOrders; ++order) {
        append(order_of(static_cast<feed::InstrumentId>(order % 100), order));
        writer.step(1);
    }
    for (int i = 0; i < 20'000 && writer.counters().checkpoint_errors.read() == 0; ++i) {
        append(quote(ring));
        writer.step(hours(2));
    }
    EXPECT_EQ(writer.counters().checkpoint_errors.read(), 1U);
    EXPECT_EQ(writer.counters().checkpoints.read(), 0U);
    EXPECT_GT(writer.counters().checkpoint_bytes.read(), kSegmentBytes);
    append(quote(ring));
    writer.step(hours(2));
    EXPECT_EQ(writer.counters().checkpoint_errors.read(), 1U) << "it is not tried again before the next interval";
    EXPECT_FALSE(find_books_before(folder_, UINT64_MAX)->checkpoint);
}

TEST_F(CheckpointTest, AnOrderTakesAtMost40Bytes) {
    JournalWriter writer{options(), 1};
    writer.set_epoch(kEpoch);
    writer.keep_books();
    writer.set_depth(0, {.orders = true});
    std::uint64_t ring = 0;
    ASSERT_TRUE(writer.append(feed::Clear{}, ++ring));
    constexpr std::uint64_t kOrders = 6'000;
    for (std::uint64_t order = 1; order <= kOrders; ++order) {
        const auto id = static_cast<feed::InstrumentId>(order % 300);
        ASSERT_TRUE(writer.append(order_of(id, order, static_cast<feed::Price>(order % 7)), ++ring));
    }
    writer.end_books();
    ASSERT_EQ(writer.counters().checkpoints.read(), 1U);
    const auto origin = find_books_before(folder_, UINT64_MAX);
    ASSERT_TRUE(origin && origin->checkpoint);
    EXPECT_EQ(origin->checkpoint->orders, kOrders);
    EXPECT_EQ(origin->checkpoint->books, 300U);
    EXPECT_LE(writer.counters().checkpoint_bytes.read(), 40 * kOrders);
}

TEST_F(CheckpointTest, RetentionKeepsTheCheckpointThatTheOldestKeptSegmentNeeds) {
    const auto at = [](std::int64_t seconds) {
        return std::chrono::nanoseconds{std::chrono::seconds{seconds}}.count();
    };
    for (const bool keeps_books : {true, false}) {
        std::filesystem::remove_all(folder_);
        auto kept = options();
        kept.keep_for = std::chrono::seconds{100};
        JournalWriter writer{kept, 0};
        writer.set_epoch(kEpoch);
        if (keeps_books) writer.keep_books();
        writer.set_depth(0, {.orders = true});
        std::uint64_t ring = 0;
        const auto append = [&](std::int64_t seconds) {
            auto order = order_of(0, ++ring);
            order.receive_utc_ns = at(seconds);
            ASSERT_TRUE(writer.append(order, ring));
        };
        const auto begin_segment = [&] {
            writer.service(at(0));
            ASSERT_TRUE(writer.begin_session());
            writer.service(at(0));
        };
        const auto existing = [&] {
            std::vector<std::uint64_t> found;
            for (std::uint64_t ordinal = 1; ordinal <= 5; ++ordinal) {
                if (std::filesystem::exists(segment_path(folder_, ordinal))) found.push_back(ordinal);
            }
            return found;
        };
        using Ordinals = std::vector<std::uint64_t>;
        append(1);
        writer.end_books();
        begin_segment();
        append(50);
        begin_segment();
        append(100);
        writer.end_books();
        begin_segment();
        append(150);
        begin_segment();
        append(200);
        writer.service(at(170));
        EXPECT_EQ(existing(), keeps_books ? (Ordinals{1, 2, 3, 4, 5}) : (Ordinals{3, 4, 5}));
        writer.service(at(201));
        EXPECT_EQ(existing(), keeps_books ? (Ordinals{3, 4, 5}) : (Ordinals{4, 5}));
        writer.service(at(251));
        EXPECT_EQ(existing(), keeps_books ? (Ordinals{3, 4, 5}) : (Ordinals{5}));
        const auto origin = find_books_before(folder_, UINT64_MAX);
        ASSERT_TRUE(origin);
        EXPECT_EQ(origin->checkpoint.has_value(), keeps_books);
    }
}

TEST_F(CheckpointTest, RetentionKeepsTheCheckpointOfASegmentWhoseHeaderIsDamaged) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    auto kept = options();
    kept.keep_for = std::chrono::seconds{100};
    JournalWriter writer{kept, 0};
    writer.set_epoch(kEpoch);
    writer.keep_books();
    writer.set_depth(0, {.orders = true});
    std::uint64_t ring = 0;
    for (const auto seconds : {1, 50, 100, 200}) {
        auto order = order_of(0, ++ring);
        order.receive_utc_ns = seconds * kSecond;
        ASSERT_TRUE(writer.append(order, ring));
        if (ring == 2) writer.end_books();
        writer.service(0);
        if (seconds != 200) {
            ASSERT_TRUE(writer.begin_session());
        }
        writer.service(0);
    }
    {
        auto region = memory::Region::open_file(segment_path(folder_, 4), memory::Access::writable);
        region.data()[offsetof(SegmentHeader, needed_checkpoint)] ^= std::byte{1};
    }
    writer.service(250 * kSecond);
    EXPECT_FALSE(std::filesystem::exists(segment_path(folder_, 1)));
    EXPECT_TRUE(std::filesystem::exists(segment_path(folder_, 2))) << "it has the checkpoint";
    EXPECT_TRUE(std::filesystem::exists(segment_path(folder_, 3)));
}

TEST_F(CheckpointTest, OneThatIsRequestedIsWrittenInSlicesBetweenTheEvents) {
    auto rare = options();
    rare.checkpoint_interval = std::chrono::hours{1};
    Recorder recorded{rare, 15};
    auto& writer = recorded.writer();
    recorded.write(300);
    writer.request_checkpoint();
    std::uint64_t slices = 0;
    while (writer.is_checkpoint_requested()) {
        writer.step(recorded.now());
        recorded.append(recorded.day().next());
        ++slices;
    }
    EXPECT_GT(slices, 1U);
    EXPECT_EQ(writer.counters().checkpoints.read(), 1U);
    const auto record = writer.next_record();
    recorded.write(100);
    static_cast<void>(checked(recorded, AtRecord{record}));
    // Without a feed that sends books there is none to wait for.
    std::filesystem::remove_all(folder_);
    JournalWriter quotes{rare, 0};
    quotes.set_epoch(kEpoch);
    quotes.keep_books();
    append(quotes, 1, 5);
    quotes.request_checkpoint();
    EXPECT_FALSE(quotes.is_checkpoint_requested());
}

TEST_F(CheckpointTest, OneThatIsDueAndNotWrittenIsOverdue) {
    JournalWriter writer{options(), 1};
    writer.set_epoch(kEpoch);
    writer.keep_books();
    writer.set_depth(0, {.orders = true});
    const auto interval = options().checkpoint_interval.count();
    const auto overdue = [&] { return writer.counters().checkpoint_overdue_seconds.read(); };
    constexpr std::int64_t kSecond = 1'000'000'000;
    std::uint64_t ring = 0;
    const auto append = [&] { return writer.append(order_of(0, ring + 1), ring + 1) && ++ring != 0; };
    ASSERT_TRUE(append());
    writer.step(1);
    writer.end_books();
    writer.step(1 + interval + 60 * kSecond);
    EXPECT_EQ(overdue(), 0U) << "there is no event for it";
    // The servicing thread allocates no other segment: that of a full disk.
    while (append()) {
    }
    writer.step(1 + interval + 65 * kSecond);
    EXPECT_EQ(overdue(), 65U);
    writer.service(1);
    ASSERT_TRUE(append());
    for (int i = 0; i < 50; ++i) writer.step(1 + interval + 65 * kSecond);
    EXPECT_EQ(overdue(), 0U);
}

TEST_F(CheckpointTest, RetentionGoesOnWhenThereAreNoMoreCheckpoints) {
    const auto at = [](std::int64_t seconds) {
        return std::chrono::nanoseconds{std::chrono::seconds{seconds}}.count();
    };
    enum class Why : std::uint8_t { reload, depth, too_large };
    for (const auto why : {Why::reload, Why::depth, Why::too_large}) {
        SCOPED_TRACE(static_cast<int>(why));
        std::filesystem::remove_all(folder_);
        auto kept = options();
        kept.keep_for = std::chrono::seconds{100};
        std::uint64_t ring = 0;
        std::optional<JournalWriter> writer;
        const auto open = [&] {
            writer.reset();
            writer.emplace(kept, 0);
            writer->set_epoch(kEpoch);
        };
        const auto append = [&](std::int64_t seconds) {
            auto order = order_of(0, ++ring);
            order.receive_utc_ns = at(seconds);
            while (!writer->append(order, ring)) ASSERT_TRUE(writer->service(at(0)));
        };
        open();
        writer->keep_books();
        writer->set_depth(0, {.orders = true});
        ASSERT_TRUE(writer->append(feed::Clear{.receive_utc_ns = at(1)}, ++ring));
        append(1);
        writer->end_books();
        switch (why) {
            case Why::reload: open(); break;
            case Why::depth: writer->set_depth(0, {}); break;
            case Why::too_large:
                for (int order = 0; order < 40'000; ++order) append(2);
                for (int i = 0; i < 20'000 && writer->counters().checkpoint_errors.read() == 0; ++i) {
                    append(2);
                    writer->step(at(3'600 + i));
                }
                ASSERT_EQ(writer->counters().checkpoint_errors.read(), 1U);
                break;
        }
        for (const auto second : {200, 400, 600}) {
            writer->service(at(0));
            ASSERT_TRUE(writer->begin_session());
            append(second);
        }
        writer->service(at(0));
        ASSERT_TRUE(std::filesystem::exists(segment_path(folder_, 1)));
        writer->service(at(601));
        EXPECT_FALSE(std::filesystem::exists(segment_path(folder_, 1)));
    }
}

}  // namespace
}  // namespace millpond::journal
