// Messages one at a time, in batches and in datagrams give the same events, whatever their bytes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

constexpr ItchDecoder::Options kFewOrders{.order_books = {.books = 16, .orders = 1'000, .level_chunks = 64}};

/// Messages of three stocks and a few hundred orders, some of them damaged.
std::vector<std::vector<std::byte>> random_messages(std::mt19937_64& random) {
    ItchEncoder encoder;
    std::vector<std::vector<std::byte>> messages;
    constexpr std::array<std::string_view, 3> kStocks{"AAPL", "MSFT", "NVDA"};
    for (std::uint64_t i = 1; i <= 6'000; ++i) {
        const auto stock = random() % kStocks.size();
        const auto order = random() % 600;
        const auto shares = static_cast<std::uint32_t>(random() % 4 * 100);  // sometimes 0, which no valid order has
        const auto price = static_cast<std::uint32_t>(1'000'000 + random() % (i < 3'000 ? 6 : 300) * 100);
        encoder.set_head(static_cast<std::uint16_t>(stock + 1), static_cast<std::int64_t>(i));
        const auto message = [&]() -> ItchEncoder::Message {
            switch (random() % 8) {
                case 0: return encoder.order_deleted(order);
                case 1: return encoder.order_executed(order, shares, i);
                case 2: return encoder.order_reduced(order, shares);
                case 3: return encoder.order_replaced(order, order + random() % 3, shares, price);
                default:
                    return encoder.order_added(order, random() % 2 == 0 ? 'B' : 'S', shares, kStocks[stock], price);
            }
        }();
        auto& bytes = messages.emplace_back(message.begin(), message.end());
        if (random() % 50 == 0) bytes.resize(random() % bytes.size());
        if (random() % 50 == 0 && !bytes.empty()) bytes[random() % bytes.size()] = std::byte(random() % 256);
    }
    return messages;
}

void expect_same(const Recorder& seen, const Recorder& expected) {
    EXPECT_EQ(seen.order, expected.order);
    ASSERT_EQ(seen.quotes.size(), expected.quotes.size());
    for (std::size_t i = 0; i < seen.quotes.size(); ++i) {
        ASSERT_EQ(seen.quotes[i].feed_sequence, expected.quotes[i].feed_sequence);
        ASSERT_EQ(seen.quotes[i].bid_price, expected.quotes[i].bid_price);
        ASSERT_EQ(seen.quotes[i].ask_price, expected.quotes[i].ask_price);
        ASSERT_EQ(seen.quotes[i].bid_size, expected.quotes[i].bid_size);
        ASSERT_EQ(seen.quotes[i].ask_size, expected.quotes[i].ask_size);
        ASSERT_EQ(seen.quotes[i].flags, expected.quotes[i].flags);
    }
}

TEST(ItchMessages, TogetherGiveTheSameEventsAsOneByOneWhateverTheirBytes) {
    std::mt19937_64 random{23};
    std::vector<std::unique_ptr<ExactCopy>> copies;
    std::vector<std::span<const std::byte>> messages;
    for (const auto& bytes : random_messages(random)) {
        copies.push_back(std::make_unique<ExactCopy>(bytes));
        messages.push_back(copies.back()->span());
    }
    InstrumentTable table{16};
    InstrumentTable other_table{16};
    ItchDecoder one_by_one{table, kFewOrders};
    ItchDecoder together{other_table, kFewOrders};
    Recorder expected;
    Recorder seen;
    std::uint64_t sequence = 0;
    for (const auto message : messages) one_by_one.books().apply(message, ++sequence, {}, expected);
    std::uint64_t first = 1;
    for (std::span<const std::span<const std::byte>> rest{messages}; !rest.empty();) {
        const auto count = std::min<std::size_t>(rest.size(), random() % 200);  // may be 0
        together.books().apply_all(rest.first(count), first, {}, seen);
        rest = rest.subspan(count);
        first += count;
    }
    EXPECT_GT(expected.quotes.size(), 100U);
    EXPECT_GT(one_by_one.books().unknown_orders().read(), 100U);
    expect_same(seen, expected);
    EXPECT_EQ(together.order_books().live_orders(), one_by_one.order_books().live_orders());
}

TEST(ItchMessages, InDatagramsMakeTheEventsOfOneByOneAlsoWithManyOrdersAndNumbersThatCameBefore) {
    constexpr std::uint64_t kOthers = 20'000;
    constexpr ItchDecoder::Options kLarge{.order_books = {.books = 16, .orders = 32'768, .level_chunks = 64}};
    std::mt19937_64 random{24};
    std::vector<std::vector<std::byte>> messages;
    ItchEncoder encoder;
    encoder.set_head(9, 0);
    for (std::uint64_t i = 0; i < kOthers; ++i) {
        const auto message = encoder.order_added(1'000 + i, 'B', 1, "OTHER", 5'000);
        messages.emplace_back(message.begin(), message.end());
    }
    for (auto& bytes : random_messages(random)) messages.push_back(std::move(bytes));
    InstrumentTable table{16};
    InstrumentTable other_table{16};
    ItchDecoder one_by_one{table, kLarge};
    ItchDecoder in_datagrams{other_table, kLarge};
    Recorder expected;
    Recorder seen;
    one_by_one.books().mark_complete();
    std::uint64_t sequence = 0;
    for (const auto& message : messages) one_by_one.books().apply(message, ++sequence, {}, expected);

    std::vector<std::unique_ptr<ExactCopy>> datagrams;
    std::array<std::byte, 4'096> buffer;
    std::uint64_t repeated = 0;
    for (std::size_t at = 0; at < messages.size();) {
        const auto back = std::min<std::size_t>(at, random() % 8 == 0 ? random() % 5 : 0);
        const auto end =
            std::min<std::size_t>(messages.size(), at + 1 + random() % 70);  // more than the decoder looks ahead
        MoldUdp64Encoder mold{"S1", at - back + 1};
        mold.begin(buffer);
        for (auto i = at - back; i < end; ++i) ASSERT_TRUE(mold.add(messages[i]));
        datagrams.push_back(std::make_unique<ExactCopy>(mold.finish()));
        repeated += back;
        at = end;
    }
    for (std::size_t i = 0; i < datagrams.size(); ++i) {
        // Includes datagrams that are cut off, which are not decoded.
        if (i + 1 < datagrams.size()) {
            const auto next = datagrams[i + 1]->span();
            in_datagrams.prefetch(ExactCopy{next.first(random() % next.size())}.span());
            in_datagrams.prefetch(next);
        }
        ASSERT_TRUE(in_datagrams.decode(datagrams[i]->span(), {}, seen).ok());
    }
    EXPECT_GT(one_by_one.order_books().live_orders(), kOthers);
    EXPECT_GT(repeated, 20U);
    EXPECT_EQ(in_datagrams.counters().stale.read(), repeated);
    EXPECT_EQ(in_datagrams.counters().messages.read(), messages.size() + repeated);
    expect_same(seen, expected);
    EXPECT_EQ(in_datagrams.order_books().live_orders(), one_by_one.order_books().live_orders());
}

}  // namespace
}  // namespace millpond::feed
