// The recorded ring of tests/golden, as every later build must read it.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <millpond/market/board_layout.hpp>
#include <millpond/market/ring_name.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/queue/broadcast_layout.hpp>

#include "tests/market/ring_fixture.hpp"

namespace millpond::market {
namespace {

struct Seen {
    template <class Event>
    void on(const Event& /*event*/) {
        ++others;
    }
    void on(const feed::Quote& quote) {
        ++quotes;
        latest[quote.instrument] = quote;
    }
    void on(const queue::MissedRange& range) { missed += range.last - range.first + 1; }

    std::uint64_t quotes{0};
    std::uint64_t others{0};
    std::uint64_t missed{0};
    std::map<feed::InstrumentId, feed::Quote> latest;
};

struct Expected {
    const char* symbol;
    std::int64_t bid;
    std::uint64_t bid_size;
    std::int64_t ask;
    std::uint64_t ask_size;
    std::int64_t received;
};
constexpr std::array kExpected{Expected{"AAPL", 1'892'200, 1'500, 1'892'600, 600, 1'795'404'483'541'638'187},
                               Expected{"NVDA", 8'753'600, 1'600, 8'754'100, 1'200, 1'795'404'483'541'432'311},
                               Expected{"AMZN", 1'788'800, 200, 1'789'300, 1'400, 1'795'404'483'540'440'038},
                               Expected{"GOOG", 1'411'900, 1'700, 1'412'600, 300, 1'795'404'483'541'837'864},
                               Expected{"MSFT", 4'150'800, 1'900, 4'151'100, 1'500, 1'795'404'483'542'032'773}};

class GoldenRing : public ::testing::Test {
protected:
    void SetUp() override { std::filesystem::copy_file(MILLPOND_GOLDEN_RING, "/dev/shm" + ring_object_name(name_)); }
    static void expect_latest(RingReader& reader, const Seen& seen) {
        std::map<std::string, feed::Quote> by_symbol;
        for (const auto& [id, quote] : seen.latest) {
            ASSERT_NE(reader.instrument(id), nullptr);
            by_symbol.emplace(reader.instrument(id)->symbol.view(), quote);
        }
        ASSERT_EQ(by_symbol.size(), kExpected.size());
        for (const auto& expected : kExpected) {
            const auto& quote = by_symbol.at(expected.symbol);
            EXPECT_EQ(quote.bid_price, expected.bid) << expected.symbol;
            EXPECT_EQ(quote.bid_size, expected.bid_size);
            EXPECT_EQ(quote.ask_price, expected.ask);
            EXPECT_EQ(quote.ask_size, expected.ask_size);
            EXPECT_EQ(quote.receive_utc_ns, expected.received);
        }
    }

    std::string name_{fresh_name()};
    NameGuard guard_{name_};
};

TEST_F(GoldenRing, TheBoardIsReadAsItWasRecorded) {
    RingReader reader{{.name = name_}};
    Seen seen;
    reader.join(seen);
    EXPECT_EQ(seen.quotes, kExpected.size());
    expect_latest(reader, seen);
}

TEST_F(GoldenRing, TheRingsEntriesLeadToTheSameQuotes) {
    RingReader reader{{.name = name_}};
    reader.seek(reader.oldest());
    EXPECT_GE(reader.newest(), 200U);
    const auto published = reader.newest();
    Seen seen;
    while (reader.poll(seen, 16) != 0) {
    }
    EXPECT_EQ(seen.missed, 0U);
    EXPECT_EQ(seen.others, 0U);
    EXPECT_EQ(seen.quotes, 63U);  // of 64 entries: the oldest may be written at any time
    EXPECT_EQ(reader.account().delivered, 63U);
    EXPECT_EQ(reader.newest(), published);
    expect_latest(reader, seen);
}

TEST_F(GoldenRing, TheFieldsOfItsHeadersAreInTheirPlaces) {
    alignas(64) std::array<char, 12'288> bytes{};
    ASSERT_TRUE(std::ifstream(MILLPOND_GOLDEN_RING).read(bytes.data(), bytes.size()));
    const auto& ring = *reinterpret_cast<const queue::BroadcastHeader*>(bytes.data());
    EXPECT_EQ(ring.magic, queue::kBroadcastMagic);
    EXPECT_EQ(ring.layout_version, 1U);
    EXPECT_EQ(ring.content, 1U);
    EXPECT_EQ(ring.capacity, 64U);
    EXPECT_EQ(ring.entry_bytes, 128U);
    EXPECT_EQ(ring.entries_offset, 256U);
    EXPECT_EQ(ring.epoch, 1'795'404'483'359'069'344U);
    EXPECT_EQ(ring.state, static_cast<std::uint64_t>(queue::BroadcastState::open));
    EXPECT_EQ(ring.heartbeat_utc_ns, 1'795'404'484'572'671'437U);
    EXPECT_EQ(ring.writer_pid, 16'688U);
    EXPECT_EQ(ring.writer_starts, 1U);
    EXPECT_EQ(ring.cursor, 200U);
    const auto& board = *reinterpret_cast<const BoardHeader*>(bytes.data() + board_offset(64));
    EXPECT_EQ(board.magic, kBoardMagic);
    EXPECT_EQ(board.layout_version, 2U);
    EXPECT_EQ(board.slot_bytes, 192U);
    EXPECT_EQ(board.slots, 16U);
    EXPECT_EQ(board.channels, 1U);
    EXPECT_EQ(board.named, 5U);
}

}  // namespace
}  // namespace millpond::market
