// The decoder with NASDAQ's data: a capture, and the first messages of AAPL of a day.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/core/endian.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>

#include "tests/feed/real_data.hpp"
#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

TEST(RealItch, TheTwoCapturedDatagramsAreWholeAndTheGapBetweenThemIsNamed) {
    const auto file = real_file("Multiple.Packets.pcap");
    if (file.empty()) GTEST_SKIP() << "MILLPOND_TEST_DATA names no folder with the capture";
    InstrumentTable table{64};
    ItchDecoder decoder{table, {.order_books = {.books = 64, .orders = 1'000, .level_chunks = 128}}};
    Recorder seen;
    for (const auto& [utc_ns, bytes] : captured_datagrams(file)) {
        const ExactCopy exact{bytes};
        EXPECT_TRUE(decoder.decode(exact.span(), {.receive_utc_ns = utc_ns}, seen).ok());
    }
    EXPECT_EQ(decoder.counters().messages.read(), 39U);
    EXPECT_EQ(decoder.counters().unknown.read() + decoder.counters().ignored.read(), 0U);
    ASSERT_EQ(seen.gaps.size(), 1U);
    EXPECT_EQ(seen.gaps[0].first, 0xE1'49D1U);
    EXPECT_EQ(seen.gaps[0].last, 0x122'0E5CU);
    for (const auto& quote : seen.quotes) EXPECT_NE(quote.flags & kIncomplete, 0);
}

class RealAapl : public testing::Test {
protected:
    void SetUp() override {
        file_ = real_file("aapl_20200130_first10k.itch");
        if (file_.empty()) GTEST_SKIP() << "MILLPOND_TEST_DATA names no folder with the file";
    }
    template <class OnMessage>
    void each(OnMessage on_message) {
        for (const auto message : itch_messages(file_)) on_message(message);
    }
    std::vector<std::byte> file_;
    InstrumentTable table_{4};
    ItchDecoder decoder_{table_, {.order_books = {.books = 4, .orders = 10'000, .level_chunks = 128}}};
    Recorder seen_;
};

TEST_F(RealAapl, GivesTheKnownNumberOfChangesAndLiveOrders) {
    decoder_.books().mark_complete();
    std::uint64_t sequence = 0;
    each([&](std::span<const std::byte> message) {
        const ExactCopy exact{message};
        decoder_.books().apply(exact.span(), ++sequence, {}, seen_);
    });
    EXPECT_EQ(sequence, 10'000U);
    EXPECT_EQ(seen_.quotes.size(), 2'792U);
    EXPECT_EQ(decoder_.order_books().live_orders(), 215U);
    EXPECT_EQ(decoder_.counters().messages.read(), 10'000U);
    EXPECT_EQ(decoder_.counters().ignored.read(), 52U);  // L
    EXPECT_EQ(decoder_.counters().applied.read(), 10'000U - 52);
    for (const auto& quote : seen_.quotes) ASSERT_EQ(quote.flags, 0);
}

TEST_F(RealAapl, AgreesQuoteForQuoteWithAPlainBookOfOrderedMaps) {
    struct Order {
        char side;
        std::uint32_t shares, price;
    };
    std::unordered_map<std::uint64_t, Order> orders;
    std::map<std::uint32_t, std::int64_t> levels[2];
    const auto change = [&](const Order& order, std::int64_t shares) {
        auto& side = levels[order.side == 'B' ? 0 : 1];
        side[order.price] += shares;
        if (side[order.price] == 0) side.erase(order.price);
    };
    const auto u32 = [](const std::byte* at) { return core::load_be<std::uint32_t>(at); };
    const auto u64 = [](const std::byte* at) { return core::load_be<std::uint64_t>(at); };
    OrderBooks::Top published;
    std::vector<OrderBooks::Top> expected;
    each([&](std::span<const std::byte> message) {
        const auto* const m = message.data();
        const auto reduce = [&](std::uint64_t number, std::uint32_t shares) {
            auto& order = orders.at(number);
            change(order, -std::int64_t{shares});
            order.shares -= shares;
            if (order.shares == 0) orders.erase(number);
        };
        switch (static_cast<char>(m[0])) {
            case 'A':
            case 'F': {
                const Order order{static_cast<char>(m[19]), u32(m + 20), u32(m + 32)};
                orders[u64(m + 11)] = order;
                change(order, order.shares);
                break;
            }
            case 'E':
            case 'C':
            case 'X': reduce(u64(m + 11), u32(m + 19)); break;
            case 'D': reduce(u64(m + 11), orders.at(u64(m + 11)).shares); break;
            case 'U': {
                const Order order{orders.at(u64(m + 11)).side, u32(m + 27), u32(m + 31)};
                reduce(u64(m + 11), orders.at(u64(m + 11)).shares);
                orders[u64(m + 19)] = order;
                change(order, order.shares);
                break;
            }
            default: return;
        }
        OrderBooks::Top top;
        if (!levels[0].empty()) {
            top.bid_price = levels[0].rbegin()->first;
            top.bid_size = static_cast<std::uint64_t>(levels[0].rbegin()->second);
        }
        if (!levels[1].empty()) {
            top.ask_price = levels[1].begin()->first;
            top.ask_size = static_cast<std::uint64_t>(levels[1].begin()->second);
        }
        if (top != published) expected.push_back(top);
        published = top;
    });
    each([&](std::span<const std::byte> message) { decoder_.books().apply(message, 1, {}, seen_); });
    ASSERT_EQ(seen_.quotes.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(seen_.quotes[i].bid_price, price_from<10'000>(expected[i].bid_price));
        ASSERT_EQ(seen_.quotes[i].ask_price, price_from<10'000>(expected[i].ask_price));
        ASSERT_EQ(seen_.quotes[i].bid_size, expected[i].bid_size);
        ASSERT_EQ(seen_.quotes[i].ask_size, expected[i].ask_size);
    }
}

TEST_F(RealAapl, AStartInTheMiddleOfTheDayIsIncompleteAndCountsTheOrdersItDoesNotKnow) {
    std::array<std::byte, 1472> buffer;
    MoldUdp64Encoder mold{"AAPL", 1};
    std::size_t messages = 0;
    each([&](std::span<const std::byte> message) {
        mold.begin(buffer);
        ASSERT_TRUE(mold.add(message));
        const auto bytes = mold.finish();
        if (++messages <= 5'000) return;
        ASSERT_TRUE(decoder_.decode(bytes, {}, seen_).ok());
    });
    std::uint64_t unknown = 0;
    decoder_.visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
        if (name == "orders_unknown") unknown = tally.read();
    });
    EXPECT_GT(unknown, 0U);
    ASSERT_FALSE(seen_.quotes.empty());
    for (const auto& quote : seen_.quotes) ASSERT_NE(quote.flags & kIncomplete, 0);
    EXPECT_TRUE(seen_.gaps.empty());
}

}  // namespace
}  // namespace millpond::feed
