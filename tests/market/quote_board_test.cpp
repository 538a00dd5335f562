#include <millpond/market/quote_board.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/market/ring_fixture.hpp"

namespace millpond::market {
namespace {

constexpr std::uint32_t kSlots = 4;
constexpr std::uint32_t kChannels = 2;

/// Plain memory for a board.
class BoardMemory {
public:
    [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span{lines_}); }
    [[nodiscard]] BoardHeader& header() { return *reinterpret_cast<BoardHeader*>(lines_.data()); }
    [[nodiscard]] BoardSlot& slot(std::size_t id) {
        return reinterpret_cast<BoardSlot*>(bytes().data() + sizeof(BoardHeader) +
                                            kChannels * sizeof(ChannelRecord))[id];
    }

private:
    struct alignas(64) Line {
        std::array<std::byte, 64> bytes;
    };
    std::vector<Line> lines_ = std::vector<Line>(board_bytes(kSlots, kChannels) / sizeof(Line));
};

TEST(QuoteBoard, IsEmptyAtFirst) {
    BoardMemory memory;
    EXPECT_FALSE(QuoteBoard::open(memory.bytes()));
    (void)QuoteBoardWriter::create(memory.bytes(), kSlots, kChannels);
    const auto board = QuoteBoard::open(memory.bytes());
    ASSERT_TRUE(board);
    EXPECT_EQ(board->max_instruments(), kSlots);
    EXPECT_EQ(board->max_channels(), kChannels);
    EXPECT_EQ(board->instruments(), 0U);
    EXPECT_FALSE(board->instrument(0));
    EXPECT_EQ(board->quote(0).state, RecordState::none);
    EXPECT_EQ(board->status(0).state, RecordState::none);
    EXPECT_EQ(board->channel_status(1).state, RecordState::none);
    EXPECT_EQ(board->cleared(1), 0U);
    EXPECT_EQ(board->gapped(1), 0U);
}

// The bytes on which readers in other languages rely; board_layout.hpp has the same offsets.
TEST(QuoteBoard, AGapIsOneWordOfItsChannelRecordAndRewritesNoSlot) {
    BoardMemory memory;
    auto writer = QuoteBoardWriter::create(memory.bytes(), kSlots, kChannels);
    writer.store(quote_of(2, 1, 50), 7);
    auto expected = std::vector<std::byte>(memory.bytes().begin(), memory.bytes().end());
    writer.store(feed::Gap{.channel = 1, .first = 3, .last = 9}, 0x0102'0304);
    const auto gapped_at = 128 + 1 * 128 + 64;
    const std::array<std::uint8_t, 8> gapped{4, 3, 2, 1, 0, 0, 0, 0};
    for (std::size_t i = 0; i < gapped.size(); ++i) expected[gapped_at + i] = std::byte{gapped[i]};
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.bytes().begin()));
    const auto board = *QuoteBoard::open(memory.bytes());
    EXPECT_EQ(board.gapped(1), 0x0102'0304U);
    EXPECT_EQ(board.gapped(0), 0U);
    EXPECT_EQ(board.quote(2).number, 7U);
}

TEST(QuoteBoard, ReportsTheLayoutVersionOfTheMemory) {
    BoardMemory memory;
    EXPECT_EQ(QuoteBoard::version_in(memory.bytes()), 0U);
    (void)QuoteBoardWriter::create(memory.bytes(), kSlots, kChannels);
    EXPECT_EQ(QuoteBoard::version_in(memory.bytes()), kBoardLayoutVersion);
    memory.header().layout_version = 1;
    EXPECT_EQ(QuoteBoard::version_in(memory.bytes()), 1U);
    EXPECT_EQ(QuoteBoard::version_in(memory.bytes().first(100)), 0U);
}

TEST(QuoteBoard, RefusesMemoryThatIsNotABoardOfThisLayout) {
    BoardMemory memory;
    (void)QuoteBoardWriter::create(memory.bytes(), kSlots, kChannels);
    EXPECT_TRUE(QuoteBoard::open(memory.bytes()));
    EXPECT_FALSE(QuoteBoard::open(memory.bytes().first(memory.bytes().size() - 1)));
    EXPECT_FALSE(QuoteBoard::open(memory.bytes().first(100)));
    const auto refused_with = [&](auto&& change) {
        auto changed = memory;
        change(changed.header());
        return !QuoteBoard::open(changed.bytes());
    };
    EXPECT_TRUE(refused_with([](BoardHeader& header) { header.magic.store(1); }));
    EXPECT_TRUE(refused_with([](BoardHeader& header) { header.layout_version = 1; }));
    EXPECT_TRUE(refused_with([](BoardHeader& header) { header.slot_bytes = 256; }));
    EXPECT_TRUE(refused_with([](BoardHeader& header) { header.slots = 0; }));
    EXPECT_TRUE(refused_with([](BoardHeader& header) { header.slots = 1'000'000; }));
    EXPECT_TRUE(refused_with([](BoardHeader& header) { header.channels = 0; }));
    EXPECT_TRUE(refused_with([](BoardHeader& header) { header.channels = 65'537; }));
}

TEST(QuoteBoard, HoldsTheNewestQuoteWithItsRingNumber) {
    BoardMemory memory;
    auto writer = QuoteBoardWriter::create(memory.bytes(), kSlots, kChannels);
    const auto board = *QuoteBoard::open(memory.bytes());
    writer.store(quote_of(2, 1, 50), 7);
    writer.store(quote_of(2, 1, 51), 9);
    const auto record = board.quote(2);
    ASSERT_EQ(record.state, RecordState::whole);
    EXPECT_EQ(record.number, 9U);
    EXPECT_EQ(record.event.feed_sequence, 51U);
    EXPECT_TRUE(consistent(record.event));
}

TEST(QuoteBoard, ARecordThatIsBeingWrittenIsNotWaitedFor) {
    BoardMemory memory;
    auto writer = QuoteBoardWriter::create(memory.bytes(), kSlots, kChannels);
    const auto board = *QuoteBoard::open(memory.bytes());
    writer.store(quote_of(2, 1, 50), 7);
    memory.slot(2).quote_number.store(queue::writing_mark(9));  // its writer died here
    const auto record = board.quote(2);
    EXPECT_EQ(record.state, RecordState::being_written);
    EXPECT_EQ(record.number, 9U);
    auto next = QuoteBoardWriter::resume(memory.bytes());
    next.store(quote_of(2, 1, 60), 11);
    EXPECT_EQ(board.quote(2).state, RecordState::whole);
    EXPECT_EQ(board.quote(2).event.feed_sequence, 60U);
}

TEST(QuoteBoard, NamesKeepTheirPlaceAcrossWriters) {
    BoardMemory memory;
    auto writer = QuoteBoardWriter::create(memory.bytes(), kSlots, kChannels);
    writer.name(2, {feed::Venue{"XNAS"}, feed::Symbol{"MSFT"}});
    const auto next = QuoteBoardWriter::resume(memory.bytes());
    EXPECT_EQ(next.instruments(), 3U);
    const auto board = *QuoteBoard::open(memory.bytes());
    EXPECT_EQ(board.instruments(), 3U);
    EXPECT_FALSE(board.instrument(1));
    EXPECT_EQ(board.instrument(2)->symbol.view(), "MSFT");
    EXPECT_EQ(board.instrument(2)->decimals, 4U);
}

TEST(QuoteBoard, DecimalsThatNoPriceHasAreCut) {
    BoardMemory memory;
    auto writer = QuoteBoardWriter::create(memory.bytes(), kSlots, kChannels);
    writer.name(0, {feed::Venue{"XCME"}, feed::Symbol{"6E"}, 0xFFFF'FFFF});
    EXPECT_EQ(QuoteBoard::open(memory.bytes())->instrument(0)->decimals, feed::kPriceDecimals);
}

TEST(QuoteBoard, ABrokenCountOfNamesIsCutToTheBoard) {
    BoardMemory memory;
    (void)QuoteBoardWriter::create(memory.bytes(), kSlots, kChannels);
    memory.header().named.store(1'000);
    EXPECT_EQ(QuoteBoard::open(memory.bytes())->instruments(), kSlots);
}

TEST(QuoteBoard, ThreadsCopyWholeQuotesThatNeverGoBackWhileTheyChange) {
    constexpr std::uint64_t kQuotes = 30'000;
    BoardMemory memory;
    auto writer = QuoteBoardWriter::create(memory.bytes(), kSlots, kChannels);
    const auto board = *QuoteBoard::open(memory.bytes());
    std::atomic<int> ready{0};
    std::array<std::uint64_t, 2> wrong{};
    std::array<std::uint64_t, 2> copied{};
    std::vector<std::thread> readers;
    readers.reserve(2);
    for (std::size_t who = 0; who < 2; ++who) {
        readers.emplace_back([&, who] {
            std::uint64_t last = 0;
            ++ready;
            while (last < kQuotes) {
                const auto record = board.quote(1);
                if (record.state != RecordState::whole) {
                    std::this_thread::yield();
                    continue;
                }
                const bool good =
                    consistent(record.event) && record.event.feed_sequence == record.number && record.number >= last;
                wrong[who] += good ? 0U : 1U;
                last = record.number;
                ++copied[who];
            }
        });
    }
    while (ready < 2) std::this_thread::yield();
    for (std::uint64_t n = 1; n <= kQuotes; ++n) {
        writer.store(quote_of(1, 0, n), n);
        if (n % 256 == 0) std::this_thread::yield();
    }
    for (auto& reader : readers) reader.join();
    for (std::size_t who = 0; who < 2; ++who) {
        EXPECT_EQ(wrong[who], 0U);
        EXPECT_GT(copied[who], 0U);
    }
}

}  // namespace
}  // namespace millpond::market
