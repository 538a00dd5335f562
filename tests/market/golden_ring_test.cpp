// The recorded ring of tests/golden, which every later build must read.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
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
constexpr std::array kExpected{
    Expected{"AAPL", 189'220'000'000, 1'500, 189'260'000'000, 600, 1'795'404'483'541'638'187},
    Expected{"NVDA", 875'360'000'000, 1'600, 875'410'000'000, 1'200, 1'795'404'483'541'432'311},
    Expected{"AMZN", 178'880'000'000, 200, 178'930'000'000, 1'400, 1'795'404'483'540'440'038},
    Expected{"GOOG", 141'190'000'000, 1'700, 141'260'000'000, 300, 1'795'404'483'541'837'864},
    Expected{"MSFT", 415'080'000'000, 1'900, 415'110'000'000, 1'500, 1'795'404'483'542'032'773}};

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
            EXPECT_EQ(reader.instrument(quote.instrument)->decimals, 4U);
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
    EXPECT_EQ(seen.quotes, 63U);  // of 64 entries: the oldest may be overwritten at any time
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
    EXPECT_EQ(ring.content, 2U);
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
    EXPECT_EQ(board.layout_version, 3U);
    EXPECT_EQ(board.slot_bytes, 192U);
    EXPECT_EQ(board.slots, 16U);
    EXPECT_EQ(board.channels, 1U);
    EXPECT_EQ(board.named, 5U);
}

/// Removes and returns the first event of the bytes.
template <class Event>
Event popped(std::span<const char>& bytes) {
    Event event;
    std::memcpy(&event, bytes.data(), sizeof event);
    bytes = bytes.subspan(sizeof event);
    return event;
}

TEST(GoldenEvents, EachFieldIsInItsPlace) {
    constexpr std::int64_t kTime = 1'700'000'000'000'000'000;
    std::array<char, 72 + 64 + 48 + 40 + 32 + 48> recorded{};
    const auto file = std::filesystem::path{MILLPOND_GOLDEN_RING}.parent_path() / "events";
    ASSERT_TRUE(std::ifstream(file).read(recorded.data(), recorded.size()));
    std::span<const char> bytes{recorded};
    const auto quote = popped<feed::Quote>(bytes);
    EXPECT_EQ(quote.instrument, 7U);
    EXPECT_EQ(quote.channel, 3U);
    EXPECT_EQ(quote.flags, feed::kIncomplete | feed::kNotFirm);
    EXPECT_EQ(quote.bid_price, -1'000'100);
    EXPECT_EQ(quote.ask_price, 2'000'300);
    EXPECT_EQ(quote.bid_size, 400U);
    EXPECT_EQ(quote.ask_size, 500U);
    EXPECT_EQ(quote.exchange_utc_ns, kTime + 6);
    EXPECT_EQ(quote.receive_utc_ns, kTime + 7);
    EXPECT_EQ(quote.receive_ticks, 8U);
    EXPECT_EQ(quote.feed_sequence, 9U);
    const auto trade = popped<feed::Trade>(bytes);
    EXPECT_EQ(trade.instrument, 17U);
    EXPECT_EQ(trade.channel, 13U);
    EXPECT_EQ(trade.flags, feed::kIncomplete);
    EXPECT_EQ(trade.price, 1'000'100);
    EXPECT_EQ(trade.size, 200U);
    EXPECT_EQ(trade.trade_id, 300U);
    EXPECT_EQ(trade.exchange_utc_ns, kTime + 14);
    EXPECT_EQ(trade.receive_utc_ns, kTime + 15);
    EXPECT_EQ(trade.receive_ticks, 16U);
    EXPECT_EQ(trade.feed_sequence, 18U);
    const auto status = popped<feed::Status>(bytes);
    EXPECT_EQ(status.instrument, 27U);
    EXPECT_EQ(status.channel, 23U);
    EXPECT_EQ(status.state, feed::TradingState::halted);
    EXPECT_EQ(status.reason.view(), "T1");
    EXPECT_EQ(status.exchange_utc_ns, kTime + 24);
    EXPECT_EQ(status.receive_utc_ns, kTime + 25);
    EXPECT_EQ(status.receive_ticks, 26U);
    EXPECT_EQ(status.feed_sequence, 28U);
    const auto gap = popped<feed::Gap>(bytes);
    EXPECT_EQ(gap.channel, 33U);
    EXPECT_EQ(gap.reason, feed::GapReason::silence);
    EXPECT_EQ(gap.first, 100U);
    EXPECT_EQ(gap.last, 200U);
    EXPECT_EQ(gap.receive_utc_ns, kTime + 35);
    EXPECT_EQ(gap.receive_ticks, 36U);
    const auto clear = popped<feed::Clear>(bytes);
    EXPECT_EQ(clear.instrument, 47U);
    EXPECT_EQ(clear.channel, 43U);
    EXPECT_EQ(clear.reason, feed::ClearReason::sender_request);
    EXPECT_EQ(clear.receive_utc_ns, kTime + 45);
    EXPECT_EQ(clear.receive_ticks, 46U);
    const auto broken = popped<feed::TradeBreak>(bytes);
    EXPECT_EQ(broken.instrument, 57U);
    EXPECT_EQ(broken.channel, 53U);
    EXPECT_EQ(broken.trade_id, 300U);
    EXPECT_EQ(broken.exchange_utc_ns, kTime + 54);
    EXPECT_EQ(broken.receive_utc_ns, kTime + 55);
    EXPECT_EQ(broken.receive_ticks, 56U);
    EXPECT_EQ(broken.feed_sequence, 58U);
    EXPECT_TRUE(bytes.empty());
}

}  // namespace
}  // namespace millpond::market
