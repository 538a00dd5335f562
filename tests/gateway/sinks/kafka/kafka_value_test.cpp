// Bytes of the binary value of a Kafka message, as documented in gateway/sinks/kafka/value.hpp.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <millpond/feed/event.hpp>
#include <millpond/journal/layout.hpp>

#include "gateway/sinks/kafka/value.hpp"

namespace millpond::gateway::kafka {

using millpond::journal::LostReason;
using millpond::journal::LostRecord;
namespace {

/// Appends an integer in little-endian order.
template <class Integer>
std::string bytes_of(Integer value) {
    auto left = static_cast<std::uint64_t>(value);
    std::string bytes;
    for (std::size_t i = 0; i < sizeof(value); ++i, left >>= 8U) bytes += static_cast<char>(left & 0xFFU);
    return bytes;
}

std::string head(std::uint16_t kind, std::uint64_t sequence) {
    return bytes_of(std::uint16_t{2}) + bytes_of(kind) + bytes_of(std::uint32_t{0}) + bytes_of(sequence);
}

TEST(KafkaBinaryValue, OfALostRecordHoldsTheRangeTheReasonAndTheTime) {
    ValueBuffer buffer;
    const LostRecord lost{
        .first = 0x1122334455667788, .last = 0x1122334455667799, .reason = LostReason::removed, .utc_ns = -2};
    EXPECT_EQ(binary_value(buffer, lost, 7), head(17, 7) + bytes_of(lost.first) + bytes_of(lost.last) +
                                                 bytes_of(static_cast<std::uint32_t>(LostReason::removed)) +
                                                 bytes_of(std::uint32_t{0}) + bytes_of(lost.utc_ns));
}

TEST(KafkaBinaryValue, OfAQuoteHasItsFieldsAtTheOffsetsOfTheTable) {
    ValueBuffer buffer;
    const feed::Quote quote{.instrument = 0x01020304,
                            .channel = 0x0506,
                            .flags = feed::kIncomplete,
                            .bid_price = 1'000'000'000'001,
                            .ask_price = -5,
                            .bid_size = 300,
                            .ask_size = 70'000,
                            .exchange_utc_ns = 1'600'000'000'123'456'789,
                            .receive_utc_ns = 1'600'000'000'123'500'000,
                            .receive_ticks = 99,
                            .feed_sequence = 0x0102030405060708};
    EXPECT_EQ(binary_value(buffer, quote, 0x8000000000000001),
              head(1, 0x8000000000000001) + bytes_of(quote.instrument) + bytes_of(quote.channel) +
                  bytes_of(quote.flags) + bytes_of(quote.bid_price) + bytes_of(quote.ask_price) +
                  bytes_of(quote.bid_size) + bytes_of(quote.ask_size) + bytes_of(quote.exchange_utc_ns) +
                  bytes_of(quote.receive_utc_ns) + bytes_of(quote.receive_ticks) + bytes_of(quote.feed_sequence));
}

TEST(KafkaBinaryValue, OfATradeBreakHasItsFieldsAtTheOffsetsOfTheTable) {
    ValueBuffer buffer;
    const feed::TradeBreak broken{.instrument = 0x01020304,
                                  .channel = 0x0506,
                                  .trade_id = 4'711,
                                  .exchange_utc_ns = 7,
                                  .receive_utc_ns = 8,
                                  .receive_ticks = 9,
                                  .feed_sequence = 10};
    EXPECT_EQ(binary_value(buffer, broken, 6), head(static_cast<std::uint16_t>(feed::EventKind::trade_break), 6) +
                                                   bytes_of(broken.instrument) + bytes_of(broken.channel) +
                                                   bytes_of(std::uint16_t{0}) + bytes_of(broken.trade_id) +
                                                   bytes_of(broken.exchange_utc_ns) + bytes_of(broken.receive_utc_ns) +
                                                   bytes_of(broken.receive_ticks) + bytes_of(broken.feed_sequence));
}

TEST(KafkaBinaryValue, OfAnOrderAndALevelHasTheirFieldsAtTheOffsetsOfTheTable) {
    ValueBuffer buffer;
    const feed::Order order{.instrument = 1,
                            .channel = 2,
                            .flags = feed::kLast,
                            .action = feed::OrderAction::execute,
                            .side = feed::Side::ask,
                            .order_id = 3,
                            .price = -4,
                            .size = 5,
                            .size_left = 6,
                            .trade_id = 7,
                            .exchange_utc_ns = 8,
                            .receive_utc_ns = 9,
                            .receive_ticks = 10,
                            .feed_sequence = 11};
    EXPECT_EQ(binary_value(buffer, order, 12),
              head(7, 12) + bytes_of(order.instrument) + bytes_of(order.channel) + bytes_of(order.flags) +
                  bytes_of(std::uint16_t{4}) + bytes_of(std::uint16_t{2}) + bytes_of(std::uint32_t{0}) +
                  bytes_of(order.order_id) + bytes_of(order.price) + bytes_of(order.size) + bytes_of(order.size_left) +
                  bytes_of(order.trade_id) + bytes_of(order.exchange_utc_ns) + bytes_of(order.receive_utc_ns) +
                  bytes_of(order.receive_ticks) + bytes_of(order.feed_sequence));
    const feed::Level level{.instrument = 1,
                            .channel = 2,
                            .flags = feed::kSnapshot,
                            .side = feed::Side::bid,
                            .orders = 3,
                            .price = 4,
                            .size = 5,
                            .exchange_utc_ns = 6,
                            .receive_utc_ns = 7,
                            .receive_ticks = 8,
                            .feed_sequence = 9};
    EXPECT_EQ(binary_value(buffer, level, 13),
              head(8, 13) + bytes_of(level.instrument) + bytes_of(level.channel) + bytes_of(level.flags) +
                  bytes_of(std::uint16_t{1}) + bytes_of(std::uint16_t{0}) + bytes_of(level.orders) +
                  bytes_of(level.price) + bytes_of(level.size) + bytes_of(level.exchange_utc_ns) +
                  bytes_of(level.receive_utc_ns) + bytes_of(level.receive_ticks) + bytes_of(level.feed_sequence));
}

TEST(KafkaBinaryValue, TellsTheKindAndNothingOfTheValueBeforeIt) {
    ValueBuffer buffer;
    buffer.fill('x');
    EXPECT_EQ(binary_value(buffer, feed::Trade{}, 2).substr(0, kValueHeadBytes), head(2, 2));
    EXPECT_EQ(binary_value(buffer, feed::Status{}, 3).substr(0, kValueHeadBytes), head(3, 3));
    EXPECT_EQ(binary_value(buffer, feed::Gap{}, 4).substr(0, kValueHeadBytes), head(4, 4));
    buffer.fill('x');
    const auto clear = binary_value(buffer, feed::Clear{}, 5);
    EXPECT_EQ(clear.substr(0, kValueHeadBytes), head(5, 5));
    EXPECT_EQ(clear.size(), kValueHeadBytes + sizeof(feed::Clear));
}

}  // namespace
}  // namespace millpond::gateway::kafka
