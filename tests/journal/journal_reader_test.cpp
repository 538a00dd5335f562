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
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/journal/catch_up_reader.hpp>
#include <millpond/journal/checkpoint.hpp>
#include <millpond/journal/segment_writer.hpp>

#include "tests/journal/journal_fixture.hpp"

namespace millpond::journal {
namespace {

class JournalReaderTest : public JournalTest {
protected:
    /// Writes a segment for each of these numbers of quotes, without names: record and quote have the same number.
    /// Returns the last number.
    std::uint64_t write_segments(const std::vector<std::uint64_t>& quotes) const {
        std::filesystem::create_directories(folder_);
        std::uint64_t next = 1;
        for (std::size_t i = 0; i < quotes.size(); ++i) {
            SegmentWriter segment{{i + 1, segment_path(folder_, i + 1)}, kSegmentBytes};
            segment.begin({.ring = RingName{"main"}, .epoch = kEpoch, .first_record = next});
            for (const auto end = next + quotes[i]; next != end; ++next) {
                const auto one = quote(next);
                EXPECT_TRUE(segment.append(kRecordKind<feed::Quote>, next, one, one.receive_utc_ns));
            }
            segment.end();
        }
        return next - 1;
    }
    /// Damages the checksum of each segment's oldest time.
    void damage_oldest_times() const {
        for (const auto& file : list_segments(folder_)) {
            auto region = memory::Region::open_file(file.path, memory::Access::writable);
            reinterpret_cast<SegmentHeader*>(region.data())->oldest_crc.store(0);
        }
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
    const auto unpack = "gzip -dc '" MILLPOND_SEGMENT_V5 "' > '" + (folder_ / "0000000001.mpj").string() + "'";
    ASSERT_EQ(std::system(unpack.c_str()), 0);  // NOLINT(concurrency-mt-unsafe): one thread
    JournalReader reader{folder_};
    Delivered delivered{reader};
    delivered.drain();
    EXPECT_TRUE(reader.drain_faults().empty());
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
    const std::map<std::string, Last> expected{{"AAPL", {189'220'000'000, 600, 1'795'404'483'541'638'187}},
                                               {"NVDA", {875'360'000'000, 1'200, 1'795'404'483'541'432'311}},
                                               {"AMZN", {178'880'000'000, 1'400, 1'795'404'483'540'440'038}},
                                               {"GOOG", {141'190'000'000, 300, 1'795'404'483'541'837'864}},
                                               {"MSFT", {415'080'000'000, 1'500, 1'795'404'483'542'032'773}}};
    EXPECT_EQ(last.size(), expected.size());
    for (const auto& [symbol, found] : last) EXPECT_TRUE(found == expected.at(symbol)) << symbol;
    EXPECT_EQ(reader.instrument(quotes.front().instrument)->decimals, 4U);
}

/// The orders and levels that a reader with books gets.
struct GoldenBooks {
    using Orders = std::vector<std::tuple<std::uint64_t, feed::Side, feed::Price, std::uint64_t>>;
    using Levels = std::vector<std::tuple<feed::Side, feed::Price, std::uint64_t, std::uint32_t>>;
    void on(const auto&) {}
    void on(const feed::Order& order) {
        if (order.action != feed::OrderAction::add) return;
        EXPECT_EQ(order.flags & feed::kIncomplete, 0);
        auto& to = reader.in_snapshot() ? snapshot : events;
        to.emplace_back(order.order_id, order.side, order.price, order.size_left);
    }
    void on(const feed::Level& level) {
        EXPECT_EQ(level.flags & feed::kIncomplete, 0);
        if (level.size != 0) levels.emplace_back(level.side, level.price, level.size, level.orders);
    }
    CatchUpReader& reader;
    Orders snapshot{};
    Orders events{};
    Levels levels{};
};

TEST_F(JournalReaderTest, TheRecordedCheckpointIsReadAsItWasWritten) {
    constexpr auto kBid = feed::Side::bid;
    constexpr auto kAsk = feed::Side::ask;
    std::filesystem::create_directories(folder_);
    const auto path = folder_ / "0000000001.mpj";
    const auto unpack = "gzip -dc '" MILLPOND_BOOKS_V5 "' > '" + path.string() + "'";
    ASSERT_EQ(std::system(unpack.c_str()), 0);  // NOLINT(concurrency-mt-unsafe): one thread
    EXPECT_EQ(count_checkpoints(path).complete, 1U);
    const auto origin = find_books_before(folder_, 10);
    ASSERT_TRUE(origin && origin->checkpoint);
    EXPECT_EQ(origin->checkpoint->first, 4U);
    EXPECT_EQ(origin->checkpoint->last, 9U);
    EXPECT_EQ(origin->checkpoint->newest_utc_ns, 1'795'500'000'000'000'001);
    EXPECT_EQ(origin->checkpoint->books, 2U);
    EXPECT_EQ(origin->checkpoint->orders, 5U);
    EXPECT_EQ(origin->checkpoint->levels, 4U);
    CatchUpReader reader{{.folder = folder_, .ring = "millpond-test-none", .books = true}, AtRecord{10}};
    GoldenBooks books{.reader = reader};
    reader.poll(books, SIZE_MAX);
    EXPECT_TRUE(reader.journal().drain_faults().empty());
    EXPECT_EQ(books.snapshot, (GoldenBooks::Orders{{11, kBid, 189'000'000'000, 100},
                                                   {12, kBid, 189'100'000'000, 300},
                                                   {14, kAsk, 189'400'000'000, 70},
                                                   {13, kAsk, 189'300'000'000, 50}}));
    EXPECT_EQ(books.levels, (GoldenBooks::Levels{{kBid, 189'000'000'000, 100, 1},
                                                 {kBid, 189'100'000'000, 300, 1},
                                                 {kAsk, 189'400'000'000, 70, 1},
                                                 {kAsk, 189'300'000'000, 50, 1}}));
    EXPECT_EQ(books.events, (GoldenBooks::Orders{{16, kBid, 189'100'000'000, 20}}));
    ASSERT_NE(reader.instrument(0), nullptr);
    EXPECT_EQ(reader.instrument(0)->symbol.view(), "AAPL");
}

/// Readers do not need many of these fields, so their values are tested separately.
TEST_F(JournalReaderTest, TheFieldsOfTheRecordedSegmentsHeaderAreInTheirPlaces) {
    std::filesystem::create_directories(folder_);
    const auto file = (folder_ / "0000000001.mpj").string();
    ASSERT_EQ(std::system(("gzip -dc '" MILLPOND_SEGMENT_V5 "' > '" + file + "'").c_str()),
              0);  // NOLINT(concurrency-mt-unsafe)
    alignas(64) std::array<char, kHeaderBytes + sizeof(IndexEntry)> bytes{};
    ASSERT_TRUE(std::ifstream(file).read(bytes.data(), bytes.size()));
    const auto& header = *reinterpret_cast<const SegmentHeader*>(bytes.data());
    EXPECT_EQ(header.magic, kMagic);
    EXPECT_EQ(header.layout_version, 5U);
    EXPECT_EQ(header.header_bytes, kHeaderBytes);
    EXPECT_EQ(header.segment_bytes, 1'048'576U);
    EXPECT_EQ(header.first_record, 1U);
    EXPECT_EQ(header.begun_utc_ns, 1'795'404'483'501'700'252);
    EXPECT_EQ(header.epoch, 1'795'404'483'359'069'344U);
    EXPECT_EQ(header.ring.view(), "py20gold");
    EXPECT_EQ(header.session, 1U);
    EXPECT_EQ(header.identity_crc, 405'394'433U);
    EXPECT_EQ(header.last_description, 15'845'890'365'207'872'702U);
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

TEST_F(JournalReaderTest, OrdersAndLevelsComeBackToReadersThatHaveFunctionsForThem) {
    std::filesystem::create_directories(folder_);
    SegmentWriter segment{{1, segment_path(folder_, 1)}, kSegmentBytes};
    segment.begin({.ring = RingName{"main"}, .epoch = kEpoch, .first_record = 1});
    feed::Order order;
    order.order_id = 17;
    order.size_left = 40;
    feed::Level level;
    level.size = 300;
    level.orders = 2;
    EXPECT_TRUE(segment.append(kRecordKind<feed::Order>, 1, order, 1));
    EXPECT_TRUE(segment.append(kRecordKind<feed::Level>, 2, level, 2));
    segment.end();
    JournalReader reader{folder_};
    Delivered delivered{reader};
    EXPECT_EQ(delivered.drain(), 2U);
    ASSERT_EQ(delivered.all<feed::Order>().size(), 1U);
    EXPECT_EQ(delivered.all<feed::Order>()[0].size_left, 40U);
    ASSERT_EQ(delivered.all<feed::Level>().size(), 1U);
    EXPECT_EQ(delivered.all<feed::Level>()[0].orders, 2U);
    struct Quotes {
        void on(const feed::Quote&) {}
        void on(const feed::Trade&) {}
        void on(const feed::TradeBreak&) {}
        void on(const feed::Status&) {}
        void on(const feed::Gap&) {}
        void on(const feed::Clear&) {}
        void on(const LostRecord&) { ++lost; }
        int lost{0};
    };
    JournalReader without{folder_};
    Quotes quotes;
    EXPECT_EQ(without.poll(quotes, 10), 2U);
    EXPECT_EQ(quotes.lost, 0);
    EXPECT_EQ(without.left_out(), 2U);
}

/// Depths of channel 3 by the number of the quote.
struct Depths {
    void on(const feed::Quote& quote) { of_quote[quote.feed_sequence] = reader.depth(3); }
    void on(const feed::Trade&) {}
    void on(const feed::TradeBreak&) {}
    void on(const feed::Status&) {}
    void on(const feed::Gap&) {}
    void on(const feed::Clear&) {}
    void on(const LostRecord&) {}
    JournalReader& reader;
    std::map<std::uint64_t, market::ChannelDepth> of_quote{};
};

TEST_F(JournalReaderTest, EachEventHasTheDepthOfItsChannelWhereverTheReaderStarts) {
    constexpr market::ChannelDepth kDeep{.depth = 10, .orders = true};
    constexpr market::ChannelDepth kFlat{.depth = 5, .orders = false};
    const auto more = kQuotesInSegment + kQuotesInSegment / 2;
    std::uint64_t last_record = 0;
    {
        JournalWriter writer{options(), 0};
        writer.set_epoch(kEpoch);
        writer.set_depth(3, kDeep);
        append(writer, 1, more);
        writer.set_depth(3, kFlat);
        append(writer, more + 1, more + 10);
        writer.set_depth(3, {});
        append(writer, more + 11, more + 20);
        writer.set_depth(3, kDeep);
        append(writer, more + 21, more + 30);
        last_record = writer.next_record() - 1;
    }
    {
        // The next writer of the same ring knows it still, that of another ring does not.
        JournalWriter writer{options(), 0};
        writer.set_epoch(kEpoch);
        EXPECT_EQ(writer.depth(3), kDeep);
        append(writer, more + 31, more + 40);
        writer.set_epoch(kEpoch + 1);
        EXPECT_EQ(writer.depth(3), market::ChannelDepth{});
        append(writer, more + 41, more + 50);
    }
    const auto expected = [&](std::uint64_t number) {
        if (number > more + 40) return market::ChannelDepth{};
        if (number <= more || number > more + 20) return kDeep;
        return number <= more + 10 ? kFlat : market::ChannelDepth{};
    };
    const auto compare = [&](JournalReader& reader) {
        Depths depths{reader};
        reader.poll(depths, SIZE_MAX);
        for (const auto& [number, depth] : depths.of_quote) EXPECT_EQ(depth, expected(number)) << number;
        return depths.of_quote.size();
    };
    JournalReader all{folder_};
    EXPECT_EQ(compare(all), more + 50);
    EXPECT_TRUE(all.drain_faults().empty());
    for (std::uint64_t record = 1; record <= last_record; record += 97) {
        JournalReader reader{folder_};
        reader.seek(record);
        EXPECT_GE(compare(reader), 10U);
    }
    std::size_t in_segments = 0;
    for (const auto& file : list_segments(folder_)) {
        JournalReader reader{file.path};
        in_segments += compare(reader);
    }
    EXPECT_EQ(in_segments, more + 50);
}

TEST_F(JournalReaderTest, ADamagedChainOfNamesDoesNotHideTheDepths) {
    {
        JournalWriter writer{options(), 0};
        writer.name(0, {feed::Venue{"X"}, feed::Symbol{"AAPL"}});
        writer.set_depth(3, {.depth = 7});
        append(writer, 1, 5);
    }
    std::fstream file{segment_path(folder_, 1), std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(offsetof(SegmentHeader, last_description)).write("xxxx", 4);
    file.close();
    JournalReader reader{folder_};
    Delivered delivered{reader};
    EXPECT_EQ(delivered.drain(), 5U);
    EXPECT_EQ(reader.depth(3).depth, 7U);
    ASSERT_NE(reader.instrument(0), nullptr);
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
        reader.select(static_cast<std::int64_t>(wanted * 1'000 - random() % 1'000), std::nullopt);
        Delivered delivered{reader};
        while (delivered.items.empty()) ASSERT_NE(reader.poll(delivered, 1), 0U);
        ASSERT_EQ(delivered.all<feed::Quote>()[0].feed_sequence, wanted);
        ASSERT_LT(reader.left_out(), 1'000U);
    }
    JournalReader reader{folder_};
    reader.select(static_cast<std::int64_t>((last + 1) * 1'000), std::nullopt);
    Delivered delivered{reader};
    delivered.drain();
    EXPECT_TRUE(delivered.items.empty());
    append(writer, last + 1, last + 1);
    EXPECT_EQ(delivered.drain(), 1U);
    EXPECT_EQ(delivered.items.size(), 1U);
}

/// Times go back by up to several segments, like those of two feeds, or of messages after a re-request.
TEST_F(JournalReaderTest, EachEventOfATimeIsDeliveredWhereverItLies) {
    std::mt19937_64 random{6};
    for (int round = 0; round < 6; ++round) {
        SCOPED_TRACE(round);
        TearDown();
        const auto last = 30'000 + random() % 5'000;  // several segments
        const auto back = std::array<std::uint64_t, 3>{1, 500, 20'000}[static_cast<std::size_t>(round) % 3];
        std::vector<std::int64_t> times;
        {
            JournalWriter writer{options(), 0};
            for (std::uint64_t number = 1; number <= last; ++number) {
                auto one = quote(number);
                one.receive_utc_ns = static_cast<std::int64_t>((20'000 + number - random() % back) * 1'000);
                times.push_back(one.receive_utc_ns);
                if (!writer.append(one, number)) {
                    ASSERT_TRUE(writer.service(0));
                    ASSERT_TRUE(writer.append(one, number));
                }
            }
            if (round >= 3) writer.service(0);
        }
        if (round == 5) damage_oldest_times();
        const auto any = [&] { return times[random() % times.size()]; };
        for (int i = 0; i < 12; ++i) {
            const auto since = i % 3 == 0 ? std::nullopt : std::optional{any()};
            const auto until = i % 3 == 1 ? std::nullopt : std::optional{any() + 1};
            std::vector<std::uint64_t> expected;
            for (std::uint64_t number = 1; number <= last; ++number) {
                const auto time = times[number - 1];
                if ((!since || time >= *since) && (!until || time < *until)) expected.push_back(number);
            }
            ASSERT_EQ(sequences([&](JournalReader& reader) { reader.select(since, until); }), expected);
        }
    }
}

TEST_F(JournalReaderTest, OnlyTheHeaderIsReadOfSegmentsWithoutEventsOfATime) {
    static_cast<void>(write_segments(std::vector<std::uint64_t>(9, 10)));
    for (const auto ordinal : {1U, 2U, 8U, 9U}) {
        std::fstream segment{segment_path(folder_, ordinal), std::ios::in | std::ios::out | std::ios::binary};
        segment.seekp(static_cast<std::streamoff>(data_offset(kSegmentBytes) + 40)).put('x');
    }
    const auto read = [&](std::optional<std::int64_t> since, std::optional<std::int64_t> until) {
        JournalReader reader{folder_};
        reader.select(since, until);
        Delivered delivered{reader};
        delivered.drain();
        return std::pair{delivered.all<feed::Quote>().size(), delivered.all<LostRecord>().size()};
    };
    EXPECT_EQ(read(std::nullopt, std::nullopt), (std::pair<std::size_t, std::size_t>{86, 4}));
    EXPECT_EQ(read(45'000, 66'000), (std::pair<std::size_t, std::size_t>{21, 0}));
    EXPECT_EQ(read(45'000, std::nullopt), (std::pair<std::size_t, std::size_t>{44, 2}));
    EXPECT_EQ(read(std::nullopt, 45'000), (std::pair<std::size_t, std::size_t>{42, 2}));
    damage_oldest_times();
    EXPECT_EQ(read(std::nullopt, 45'000), (std::pair<std::size_t, std::size_t>{42, 4}));
}

TEST_F(JournalReaderTest, ALossThatMayBeOfTheTimeIsReported) {
    {
        JournalWriter writer{options(), 0};
        for (std::uint64_t number = 1; number <= 30; ++number) {
            ASSERT_TRUE(writer.append(quote(number), number));
            if (number % 10 == 5) {
                ASSERT_TRUE(writer.append_lost({.first = 100 + number,
                                                .last = 100 + number,
                                                .utc_ns = static_cast<std::int64_t>(number) * 1'000 + 500}));
            }
        }
    }
    const auto lost = [&](std::int64_t since, std::int64_t until) {
        JournalReader reader{folder_};
        reader.select(since, until);
        Delivered delivered{reader};
        delivered.drain();
        std::vector<std::uint64_t> found;
        for (const auto& each : delivered.all<LostRecord>()) found.push_back(each.first - 100);
        return found;
    };
    EXPECT_EQ(lost(1'000, 31'000), (std::vector<std::uint64_t>{5, 15, 25}));
    EXPECT_EQ(lost(6'000, 15'000), (std::vector<std::uint64_t>{}));
    EXPECT_EQ(lost(6'000, 15'200), (std::vector<std::uint64_t>{15}));  // the lost record may be before 15.2
    EXPECT_EQ(lost(15'501, 25'000), (std::vector<std::uint64_t>{}));
}

TEST_F(JournalReaderTest, ASeekOpensFewOfTheSegments) {
    constexpr std::uint64_t kSegments = 40;
    const auto last_record = write_segments(std::vector<std::uint64_t>(kSegments, 10));
    const auto files = list_segments(folder_);
    // Opening these fails. A bisection does not open them.
    for (std::size_t i = 0; i < kSegments / 4; ++i) std::filesystem::resize_file(files[i].path, 2 * kHeaderBytes);
    JournalReader reader{folder_};
    reader.seek(last_record - 35);
    EXPECT_EQ(reader.next_record(), last_record - 35);
    reader.seek(last_record - 25);
    EXPECT_EQ(reader.next_record(), last_record - 25);
    EXPECT_TRUE(reader.drain_faults().empty());
    Delivered delivered{reader};
    delivered.drain();
    expect_quotes(delivered, last_record - 25, last_record);
}

/// Segments that are empty, unreadable or unused may be anywhere.
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
            EXPECT_EQ(sequences([&](JournalReader& reader) { reader.select(time - 1, std::nullopt); }), rest) << wanted;
            EXPECT_EQ(sequences([&](JournalReader& reader) { reader.select(time, std::nullopt); }), rest) << wanted;
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

TEST_F(JournalReaderTest, RemovedSegmentsAreReportedAsALoss) {
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
