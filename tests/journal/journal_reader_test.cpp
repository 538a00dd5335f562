#include <millpond/journal/journal_reader.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "tests/journal/journal_fixture.hpp"

namespace millpond::journal {
namespace {

using JournalReaderTest = JournalTest;

TEST_F(JournalReaderTest, AFolderWithoutSegmentsIsEmptyAndNoFolderIsAnError) {
    EXPECT_THROW((JournalReader{folder_}), std::filesystem::filesystem_error);
    std::filesystem::create_directories(folder_);
    JournalReader reader{folder_};
    Delivered delivered{reader};
    EXPECT_EQ(delivered.drain(), 0U);
    EXPECT_TRUE(reader.ring().empty());
}

TEST_F(JournalReaderTest, RecordsComeAsSoonAsTheyAreAppended) {
    JournalWriter writer{options(), 0};
    JournalReader reader{folder_};
    Delivered delivered{reader};
    for (std::uint64_t number = 1; number <= 3 * kQuotesInSegment; ++number) {
        append(writer, number, number);
        ASSERT_EQ(delivered.drain(), 1U) << number;
        ASSERT_EQ(reader.current().ring, number);
    }
    expect_quotes(delivered, 1, 3 * kQuotesInSegment);
}

TEST_F(JournalReaderTest, AnyRecordIsFoundByItsNumber) {
    JournalWriter writer{options(), 0};
    const auto last = 3 * kQuotesInSegment;
    append(writer, 1, last);
    std::mt19937_64 random{3};
    for (int i = 0; i < 300; ++i) {
        const auto wanted = 1 + random() % last;
        JournalReader reader{folder_};
        reader.seek(wanted);
        Delivered delivered{reader};
        ASSERT_EQ(reader.poll(delivered, 2), wanted == last ? 1U : 2U);
        ASSERT_EQ(delivered.all<feed::Quote>()[0].feed_sequence, wanted);
        ASSERT_EQ(delivered.items[0].at.record, wanted);
    }
}

TEST_F(JournalReaderTest, AnyTimeIsFound) {
    JournalWriter writer{options(), 0};
    const auto last = 3 * kQuotesInSegment;
    append(writer, 1, last);
    writer.service(0);
    std::mt19937_64 random{4};
    for (int i = 0; i < 300; ++i) {
        const auto wanted = 1 + random() % last;
        JournalReader reader{folder_};
        reader.seek_time(static_cast<std::int64_t>(wanted * 1'000 - random() % 1'000));
        Delivered delivered{reader};
        ASSERT_EQ(reader.poll(delivered, 1), 1U);
        ASSERT_EQ(delivered.all<feed::Quote>()[0].feed_sequence, wanted);
    }
    JournalReader reader{folder_};
    reader.seek_time(static_cast<std::int64_t>((last + 1) * 1'000));
    Delivered delivered{reader};
    EXPECT_EQ(delivered.drain(), 0U);
    append(writer, last + 1, last + 1);
    EXPECT_EQ(delivered.drain(), 1U);
}

TEST_F(JournalReaderTest, ANumberToComeIsWaitedFor) {
    JournalWriter writer{options(), 0};
    append(writer, 1, 5);
    JournalReader reader{folder_};
    reader.seek(8);
    Delivered delivered{reader};
    EXPECT_EQ(delivered.drain(), 0U);
    append(writer, 6, 9);
    delivered.drain();
    expect_quotes(delivered, 8, 9);
}

TEST_F(JournalReaderTest, RemovedSegmentsAreALossThatIsTold) {
    JournalWriter writer{options(), 0};
    append(writer, 1, 10);
    JournalReader reader{folder_};
    Delivered delivered{reader};
    EXPECT_EQ(delivered.drain(), 10U);
    append(writer, 11, 4 * kQuotesInSegment);
    writer.service(0);
    const auto files = list_segments(folder_);
    const auto first_kept = SegmentReader{files[2].path}.identity().first_record;
    std::filesystem::remove(files[1].path);
    delivered.drain();
    const auto lost = delivered.all<LostRecord>();
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].reason, LostReason::removed);
    EXPECT_EQ(lost[0].first, SegmentReader{files[0].path}.tail()->next_record);
    EXPECT_EQ(lost[0].last, first_kept - 1);
    EXPECT_EQ(delivered.all<feed::Quote>().size() + lost[0].count(), 4 * kQuotesInSegment);
}

TEST_F(JournalReaderTest, AReaderBesideAWriterSeesEveryRecordOnce) {
    constexpr std::uint64_t kLast = 40'000;
    JournalWriter writer{options(), 0};
    std::atomic<bool> done{false};
    std::jthread servicing{[&] {
        while (!done.load()) {
            if (!writer.service(0)) std::this_thread::yield();
        }
    }};
    std::jthread appending{[&] {
        for (std::uint64_t number = 1; number <= kLast;) {
            if (writer.append(quote(number), number)) {
                ++number;
            } else {
                std::this_thread::yield();
            }
        }
    }};
    JournalReader reader{folder_};
    Delivered delivered{reader};
    while (delivered.items.size() < kLast) {
        if (delivered.drain() == 0) std::this_thread::yield();
    }
    done = true;
    expect_quotes(delivered, 1, kLast);
    EXPECT_TRUE(delivered.all<LostRecord>().empty());
}

}  // namespace
}  // namespace millpond::journal
