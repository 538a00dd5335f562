#include <millpond/journal/segment_index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/journal/catch_up_reader.hpp>
#include <millpond/memory/region.hpp>

#include "tests/journal/journal_fixture.hpp"

namespace millpond::journal {
namespace {

struct Numbers {
    void on(const auto&) {}
    void on(const feed::Quote& quote) { quotes.push_back(quote.feed_sequence); }
    void on(const queue::MissedRange& range) { missed += range.count(); }
    void on(const NewEpoch& change) { epochs.push_back(change.epoch); }
    std::vector<std::uint64_t> quotes;
    std::vector<std::uint64_t> epochs;
    std::uint64_t missed{0};
};

class SegmentIndexTest : public JournalTest {
protected:
    /// Writes quotes first..last of a ring to a segment of their own, received from `utc_ns` on.
    void write(const std::string& ring, std::uint64_t epoch, std::uint64_t first, std::uint64_t last,
               std::int64_t utc_ns) {
        auto of_ring = options();
        of_ring.ring = ring;
        JournalWriter writer{of_ring, utc_ns};
        writer.set_epoch(epoch);
        for (auto number = first; number <= last; ++number) {
            auto event = quote(number);
            event.receive_utc_ns = utc_ns++;
            ASSERT_TRUE(writer.append(event, number));
        }
    }
    static void destroy(const std::filesystem::path& path) {
        auto region = memory::Region::open_file(path, memory::Access::writable);
        std::fill_n(region.data(), 2 * kHeaderBytes, std::byte{0xFF});
    }
};

TEST_F(SegmentIndexTest, OnlySegmentsOfTheRingCount) {
    write("other", 1, 1, 10, 1'000);
    SegmentIndex index{folder_, "main"};
    EXPECT_TRUE(index.update());
    EXPECT_FALSE(index.has_records());
    write("main", 2, 1, 10, 2'000);
    write("main", 2, 11, 20, 3'000);
    write("other", 3, 1, 10, 4'000);
    EXPECT_TRUE(index.update());
    EXPECT_TRUE(index.has_records());
    EXPECT_EQ(index.first_record(), 11U);
    EXPECT_EQ(index.begun_utc_ns(), 2'000);
    EXPECT_EQ(index.next_record(), 31U);
    EXPECT_EQ(index.first_record_at(0), 11U);
    EXPECT_EQ(index.first_record_at(2'009), 11U);
    EXPECT_EQ(index.first_record_at(2'010), 21U);
    EXPECT_EQ(index.first_record_at(9'999), 21U) << "the newest segment";
}

TEST_F(SegmentIndexTest, ATimeIsInTheFirstSegmentThatReachesItAlsoIfTimesGoBack) {
    write("main", 1, 1, 10, 5'000);
    write("main", 1, 11, 20, 1'000);
    write("main", 1, 21, 30, 9'000);
    SegmentIndex index{folder_, "main"};
    EXPECT_TRUE(index.update());
    EXPECT_EQ(index.first_record_at(1'005), 1U);
    EXPECT_EQ(index.first_record_at(5'010), 21U);
}

TEST_F(SegmentIndexTest, AnEndedSegmentIsReadOnceAndAtMostSoManyAtATime) {
    for (std::uint64_t segment = 0; segment < 5; ++segment)
        write("main", 1, segment * 10 + 1, segment * 10 + 10, static_cast<std::int64_t>(1'000 * segment));
    SegmentIndex index{folder_, "main"};
    EXPECT_FALSE(index.update(2));
    EXPECT_FALSE(index.has_records());
    EXPECT_FALSE(index.update(2));
    EXPECT_TRUE(index.update(2));
    EXPECT_EQ(index.next_record(), 51U);
    for (std::uint64_t ordinal = 1; ordinal <= 4; ++ordinal) destroy(segment_path(folder_, ordinal));
    {
        JournalWriter writer{options(), 0};
        EXPECT_EQ(writer.set_aside_segments().size(), 4U);
    }
    EXPECT_TRUE(index.update());
    EXPECT_EQ(index.first_record(), 41U) << "what is not there any more is forgotten";
}

TEST_F(SegmentIndexTest, WhatAWriterAppendsCountsFromTheNextUpdateOn) {
    JournalWriter writer{options(), 0};
    writer.set_epoch(1);
    append(writer, 1, 5);
    SegmentIndex index{folder_, "main"};
    EXPECT_TRUE(index.update());
    EXPECT_EQ(index.next_record(), 6U);
    append(writer, 6, 9);
    EXPECT_TRUE(index.update());
    EXPECT_EQ(index.next_record(), 10U);
}

TEST_F(SegmentIndexTest, AReaderThatKnowsWhereATimeIsOpensNoSegmentBeforeIt) {
    for (std::uint64_t segment = 0; segment < 4; ++segment)
        write("main", 1, segment * 10 + 1, segment * 10 + 10, static_cast<std::int64_t>(1'000 * segment));
    SegmentIndex index{folder_, "main"};
    EXPECT_TRUE(index.update());
    destroy(segment_path(folder_, 1));
    destroy(segment_path(folder_, 2));
    EXPECT_TRUE(index.update()) << "ended segments are not read again";
    EXPECT_EQ(index.first_record(), 1U);
    CatchUpReader reader{{.folder = folder_, .ring = "main", .only_ring = true},
                         AtTime{.utc_ns = 3'004, .not_before = index.first_record_at(3'004)}};
    Numbers numbers;
    reader.poll(numbers, SIZE_MAX);
    EXPECT_EQ(numbers.quotes, (std::vector<std::uint64_t>{35, 36, 37, 38, 39, 40}));
    EXPECT_TRUE(reader.journal().drain_faults().empty());
}

TEST_F(SegmentIndexTest, AReaderOfOneRingGetsNothingOfAnother) {
    write("main", 1, 1, 10, 1'000);
    write("other", 2, 1, 10, 2'000);
    write("main", 3, 1, 10, 3'000);
    write("other", 4, 1, 10, 4'000);
    for (const StartAt& from : {StartAt{AtRecord{5}}, StartAt{AtTime{.utc_ns = 1'004}}, StartAt{AtRecord{15}}}) {
        CatchUpReader reader{{.folder = folder_, .ring = "main", .only_ring = true}, from};
        Numbers numbers;
        reader.poll(numbers, SIZE_MAX);
        const bool is_in_other = std::holds_alternative<AtRecord>(from) && std::get<AtRecord>(from).record == 15;
        EXPECT_EQ(numbers.quotes.size(), is_in_other ? 10U : 16U);
        EXPECT_EQ(numbers.epochs, is_in_other ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{3});
        EXPECT_EQ(numbers.missed, 0U);
        EXPECT_EQ(reader.epoch(), 3U);
        EXPECT_EQ(reader.current(), 10U);
    }
}

}  // namespace
}  // namespace millpond::journal
