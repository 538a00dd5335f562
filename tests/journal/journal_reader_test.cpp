#include <millpond/journal/journal_reader.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/journal/segment_writer.hpp>

#include "tests/journal/journal_fixture.hpp"

namespace millpond::journal {
namespace {

class JournalReaderTest : public JournalTest {
protected:
    /// A segment for each of these numbers of quotes, without names: record and quote have the same number. Returns the
    /// last one.
    std::uint64_t write_segments(const std::vector<std::uint64_t>& quotes) const {
        std::filesystem::create_directories(folder_);
        std::uint64_t next = 1;
        for (std::size_t i = 0; i < quotes.size(); ++i) {
            SegmentWriter segment{{i + 1, segment_path(folder_, i + 1)}, kSegmentBytes};
            segment.begin({.ring = RingName{"main"}, .epoch = kEpoch, .first_record = next});
            for (const auto behind = next + quotes[i]; next != behind; ++next) {
                const auto one = quote(next);
                EXPECT_TRUE(segment.append(RecordKind::quote, next, one, one.receive_utc_ns));
            }
            segment.end();
        }
        return next - 1;
    }
    /// Numbers of the quotes that a reader delivers after `seek(reader)`.
    template <class Seek>
    [[nodiscard]] std::vector<std::uint64_t> sequences(Seek seek) const {
        JournalReader reader{folder_};
        seek(reader);
        Delivered delivered{reader};
        delivered.drain();
        std::vector<std::uint64_t> found;
        for (const auto& each : delivered.all<feed::Quote>()) found.push_back(each.feed_sequence);
        return found;
    }
};

TEST_F(JournalReaderTest, AFolderWithoutSegmentsIsEmptyAndNoFolderIsAnError) {
    EXPECT_THROW((JournalReader{folder_}), std::filesystem::filesystem_error);
    std::filesystem::create_directories(folder_);
    JournalReader reader{folder_};
    Delivered delivered{reader};
    EXPECT_EQ(delivered.drain(), 0U);
    EXPECT_TRUE(reader.ring().empty());
}

TEST_F(JournalReaderTest, TheRecordedSegmentIsReadAsItWasWritten) {
    std::filesystem::create_directories(folder_);
    const auto unpack = "gzip -dc '" MILLPOND_SEGMENT_V3 "' > '" + (folder_ / "0000000001.mpj").string() + "'";
    ASSERT_EQ(std::system(unpack.c_str()), 0);  // NOLINT(concurrency-mt-unsafe): one thread
    JournalReader reader{folder_};
    Delivered delivered{reader};
    delivered.drain();
    EXPECT_TRUE(reader.take_faults().empty());
    const auto quotes = delivered.all<feed::Quote>();
    EXPECT_EQ(quotes.size(), 131U);
    std::uint64_t lost = 0;
    for (const auto& each : delivered.all<LostRecord>()) lost += each.count();
    EXPECT_EQ(lost, 69U);
    struct Last {
        feed::Price bid;
        std::uint64_t ask_size;
        std::int64_t received;
        bool operator==(const Last&) const = default;
    };
    std::map<std::string, Last> last;
    for (const auto& each : quotes) {
        ASSERT_NE(reader.instrument(each.instrument), nullptr);
        last[std::string{reader.instrument(each.instrument)->symbol.view()}] = {each.bid_price, each.ask_size,
                                                                                each.receive_utc_ns};
    }
    const std::map<std::string, Last> expected{{"AAPL", {1'892'200, 600, 1'795'404'483'541'638'187}},
                                               {"NVDA", {8'753'600, 1'200, 1'795'404'483'541'432'311}},
                                               {"AMZN", {1'788'800, 1'400, 1'795'404'483'540'440'038}},
                                               {"GOOG", {1'411'900, 300, 1'795'404'483'541'837'864}},
                                               {"MSFT", {4'150'800, 1'500, 1'795'404'483'542'032'773}}};
    EXPECT_EQ(last.size(), expected.size());
    for (const auto& [symbol, found] : last) EXPECT_TRUE(found == expected.at(symbol)) << symbol;
}

/// Reading does without many of them, so that one at another place would not be noticed.
TEST_F(JournalReaderTest, TheFieldsOfTheRecordedSegmentsHeaderAreInTheirPlaces) {
    std::filesystem::create_directories(folder_);
    const auto file = (folder_ / "0000000001.mpj").string();
    ASSERT_EQ(std::system(("gzip -dc '" MILLPOND_SEGMENT_V3 "' > '" + file + "'").c_str()),
              0);  // NOLINT(concurrency-mt-unsafe)
    alignas(64) std::array<char, kHeaderBytes + sizeof(IndexEntry)> bytes{};
    ASSERT_TRUE(std::ifstream(file).read(bytes.data(), bytes.size()));
    const auto& header = *reinterpret_cast<const SegmentHeader*>(bytes.data());
    EXPECT_EQ(header.magic, kMagic);
    EXPECT_EQ(header.layout_version, 3U);
    EXPECT_EQ(header.header_bytes, kHeaderBytes);
    EXPECT_EQ(header.segment_bytes, 1'048'576U);
    EXPECT_EQ(header.first_record, 1U);
    EXPECT_EQ(header.begun_utc_ns, 1'795'404'483'501'700'252);
    EXPECT_EQ(header.epoch, 1'795'404'483'359'069'344U);
    EXPECT_EQ(header.ring.view(), "py20gold");
    EXPECT_EQ(header.session, 1U);
    EXPECT_EQ(header.identity_crc, 3'875'511'457U);
    EXPECT_EQ(header.last_name, 15'845'890'365'207'872'702U);
    EXPECT_EQ(header.next_record, 138U);
    EXPECT_EQ(header.last_ring, 200U);
    EXPECT_EQ(header.newest_utc_ns, 1'795'404'483'542'032'773U);
    EXPECT_EQ(header.end, 20'128U);
    EXPECT_EQ(header.end_crc, 1'456'167'978U);
    const auto& index = *reinterpret_cast<const IndexEntry*>(bytes.data() + kHeaderBytes);
    EXPECT_EQ(index.record, 1U);
    EXPECT_EQ(index.place, 4'486'536'095'965'650'944U);
    EXPECT_EQ(index.ring, 0U);
    EXPECT_EQ(index.newest_utc_ns, 0U);
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

TEST_F(JournalReaderTest, ASeekOpensFewOfTheSegments) {
    constexpr std::uint64_t kSegments = 40;
    const auto last_record = write_segments(std::vector<std::uint64_t>(kSegments, 10));
    const auto files = list_segments(folder_);
    // Whatever opens these finds that they cannot be read. A bisection looks at none of them.
    for (std::size_t i = 0; i < kSegments / 4; ++i) std::filesystem::resize_file(files[i].path, 2 * kHeaderBytes);
    JournalReader reader{folder_};
    reader.seek(last_record - 35);
    EXPECT_EQ(reader.next_record(), last_record - 35);
    reader.seek_time(static_cast<std::int64_t>((last_record - 25) * 1'000));
    EXPECT_EQ(reader.next_record(), last_record - 25);
    EXPECT_TRUE(reader.take_faults().empty());
    Delivered delivered{reader};
    delivered.drain();
    expect_quotes(delivered, last_record - 25, last_record);
}

/// Segments that are empty, unreadable or wait to be used lie anywhere.
TEST_F(JournalReaderTest, ASeekFindsWhatAReaderOfAllFinds) {
    std::mt19937_64 random{5};
    for (int round = 0; round < 20; ++round) {
        SCOPED_TRACE(round);
        TearDown();
        std::vector<std::uint64_t> quotes(1 + random() % 12);
        for (auto& count : quotes) count = random() % 3 == 0 ? 0 : random() % 6;
        const auto last_record = write_segments(quotes);
        for (const auto& file : list_segments(folder_)) {
            if (random() % 4 == 0) std::filesystem::resize_file(file.path, 2 * kHeaderBytes);
        }
        if (random() % 2 == 0) {
            const auto waiting = folder_ / "0000000099.mpj";
            std::ofstream{waiting}.close();
            std::filesystem::resize_file(waiting, kSegmentBytes);
        }
        const auto all = sequences([](JournalReader&) {});
        for (std::uint64_t wanted = 1; wanted <= last_record + 2; ++wanted) {
            const std::vector<std::uint64_t> rest{std::ranges::lower_bound(all, wanted), all.end()};
            EXPECT_EQ(sequences([&](JournalReader& reader) { reader.seek(wanted); }), rest) << wanted;
            const auto time = static_cast<std::int64_t>(wanted * 1'000);
            EXPECT_EQ(sequences([&](JournalReader& reader) { reader.seek_time(time - 1); }), rest) << wanted;
            EXPECT_EQ(sequences([&](JournalReader& reader) { reader.seek_time(time); }), rest) << wanted;
        }
    }
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
