#include <millpond/market/books.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/feed/event.hpp>
#include <millpond/market/ring_reader.hpp>

namespace millpond::market {
namespace {

using feed::Side;
using testing::ElementsAre;
using testing::IsEmpty;

static_assert(RingHandler<Books>);

feed::Level level(feed::InstrumentId id, std::uint16_t channel, Side side, feed::Price price, std::uint64_t size,
                  std::uint16_t flags = feed::kLast) {
    feed::Level event;
    event.instrument = id;
    event.channel = channel;
    event.side = side;
    event.price = price;
    event.size = size;
    event.flags = flags;
    return event;
}

feed::Order order(feed::InstrumentId id, std::uint16_t channel, std::uint64_t order_id, std::uint64_t size) {
    feed::Order event;
    event.instrument = id;
    event.channel = channel;
    event.side = Side::bid;
    event.order_id = order_id;
    event.price = 100;
    event.size = event.size_left = size;
    event.flags = feed::kLast;
    return event;
}

feed::Clear clear(std::uint16_t channel, feed::InstrumentId id = feed::kNoInstrument, std::uint16_t flags = 0) {
    feed::Clear event;
    event.channel = channel;
    event.instrument = id;
    event.flags = flags;
    return event;
}

feed::Quote quote(feed::InstrumentId id, std::uint16_t channel, std::uint16_t flags) {
    feed::Quote event;
    event.instrument = id;
    event.channel = channel;
    event.flags = flags;
    return event;
}

std::vector<feed::Price> bids(const Books& books, feed::InstrumentId id) {
    std::vector<feed::Price> prices;
    for (const auto& bid : books.find(id)->bids()) prices.push_back(bid.price);
    return prices;
}

class BooksOfChannels : public testing::Test {
protected:
    [[nodiscard]] bool complete(feed::InstrumentId id) const {
        const auto* const book = books_.find(id);
        return book != nullptr && book->complete();
    }
    /// Channel 0 sends nothing, channel c two levels, channel 3 orders too, channel 4 all levels.
    std::vector<ChannelDepth> depths_{
        {}, {.depth = 2}, {.depth = 2}, {.depth = 2, .orders = true}, {.depth = feed::kFullDepth}};
    Books books_{{.max_instruments = 8}, [this](std::uint16_t channel) { return depths_.at(channel); }};
};

TEST_F(BooksOfChannels, AnInstrumentHasABookOfItsChannelsDepthFromItsFirstLevelOn) {
    books_.on(clear(1));
    books_.on(clear(4));
    EXPECT_EQ(books_.find(5), nullptr);
    EXPECT_FALSE(books_.on(level(5, 1, Side::bid, 100, 1, 0)));
    books_.on(level(5, 1, Side::bid, 101, 1, 0));
    EXPECT_TRUE(books_.on(level(5, 1, Side::bid, 102, 1)));
    EXPECT_THAT(bids(books_, 5), ElementsAre(102, 101));
    for (const feed::Price price : {100, 101, 102}) books_.on(level(6, 4, Side::bid, price, 1));
    EXPECT_THAT(bids(books_, 6), ElementsAre(102, 101, 100));
    EXPECT_TRUE(complete(5) && complete(6));
}

TEST_F(BooksOfChannels, AGroupMayReplaceAllLevels) {
    books_.on(clear(1));
    for (const feed::Price price : {100, 101}) books_.on(level(5, 1, Side::bid, price, 1));
    for (const feed::Price price : {98, 99}) books_.on(level(5, 1, Side::bid, price, 1, 0));
    books_.on(level(5, 1, Side::bid, 100, 0, 0));
    books_.on(level(5, 1, Side::bid, 101, 0));
    EXPECT_THAT(bids(books_, 5), ElementsAre(99, 98));
    EXPECT_TRUE(complete(5));
}

TEST_F(BooksOfChannels, AChannelWithoutDepthHasNoBooks) {
    books_.on(clear(0));
    EXPECT_FALSE(books_.on(level(5, 0, Side::bid, 100, 1)));
    EXPECT_FALSE(books_.on(quote(5, 0, feed::kIncomplete)));
    EXPECT_EQ(books_.find(5), nullptr);
}

TEST_F(BooksOfChannels, ABookIsIncompleteUntilItsChannelWasCleared) {
    books_.on(level(5, 1, Side::bid, 100, 1));
    EXPECT_FALSE(complete(5));
    books_.on(clear(2));
    books_.on(level(6, 1, Side::bid, 100, 1));
    EXPECT_FALSE(complete(5) || complete(6)) << "another channel was cleared";
    books_.on(clear(1, feed::kNoInstrument, feed::kIncomplete));
    books_.on(level(7, 1, Side::bid, 100, 1));
    EXPECT_FALSE(complete(5) || complete(6) || complete(7));
    books_.on(clear(1));
    EXPECT_TRUE(complete(5) && complete(6) && complete(7));
    books_.on(clear(1, 3));
    EXPECT_TRUE(complete(3)) << "cleared before its first level";
}

TEST_F(BooksOfChannels, ClearsAndGapsReachAllBooksOfTheChannelAndMissedRangesAll) {
    const auto fill = [&] {
        for (const auto channel : {std::uint16_t{1}, std::uint16_t{2}}) {
            books_.on(clear(channel));
            for (const feed::InstrumentId id : {0U, 1U})
                books_.on(level(channel * 2U + id, channel, Side::bid, 100, 1));
        }
    };
    fill();
    books_.on(clear(1, 2));
    EXPECT_THAT(bids(books_, 2), IsEmpty());
    EXPECT_THAT(bids(books_, 3), ElementsAre(100));
    books_.on(clear(1));
    EXPECT_THAT(bids(books_, 3), IsEmpty());
    EXPECT_THAT(bids(books_, 4), ElementsAre(100));
    fill();
    books_.on(feed::Gap{.channel = 2});
    EXPECT_TRUE(complete(2) && complete(3));
    EXPECT_FALSE(complete(4) || complete(5));
    books_.on(level(6, 2, Side::bid, 100, 1));
    EXPECT_FALSE(complete(6)) << "the first event after a gap";
    fill();
    books_.on(queue::MissedRange{1, 2});
    EXPECT_FALSE(complete(2) || complete(3) || complete(4) || complete(5));
    books_.on(level(7, 1, Side::bid, 100, 1));
    EXPECT_FALSE(complete(7)) << "the first event after a missed range";
}

TEST_F(BooksOfChannels, AnIncompleteQuoteBeforeTheFirstLevelMakesTheBookIncomplete) {
    books_.on(clear(1));
    books_.on(quote(5, 1, feed::kIncomplete | feed::kLast));
    books_.on(quote(6, 1, feed::kLast));
    for (const feed::InstrumentId id : {5U, 6U}) books_.on(level(id, 1, Side::bid, 100, 1));
    EXPECT_FALSE(complete(5));
    EXPECT_TRUE(complete(6));
}

TEST_F(BooksOfChannels, BooksOfOrdersAreMadeWhereTheChannelSendsThem) {
    Books books{{.max_instruments = 8, .orders = 4, .levels = 8},
                [this](std::uint16_t channel) { return depths_.at(channel); }};
    for (const auto channel : {std::uint16_t{1}, std::uint16_t{3}}) books.on(clear(channel));
    books.on(order(5, 3, 17, 30));
    books.on(level(5, 3, Side::bid, 7, 1));
    ASSERT_NE(books.find(5), nullptr);
    EXPECT_TRUE(books.find(5)->complete());
    EXPECT_EQ(books.find(5)->order(17)->size, 30U);
    EXPECT_THAT(bids(books, 5), ElementsAre(100));
    books.on(level(6, 1, Side::bid, 7, 1));
    EXPECT_THAT(bids(books, 6), ElementsAre(7));
}

TEST_F(BooksOfChannels, BooksOfOrdersGrowUpToTheLimits) {
    constexpr std::uint64_t kOrders = 1'000;
    constexpr std::uint64_t kLevels = 300;
    Books books{{.max_instruments = 8, .orders = kOrders, .levels = kLevels},
                [this](std::uint16_t channel) { return depths_.at(channel); }};
    books.on(clear(3));
    const auto order_at = [](std::uint64_t id) {
        auto event = order(5, 3, id, id);
        event.price = static_cast<feed::Price>(100 + id % kLevels);
        return event;
    };
    for (std::uint64_t id = 1; id <= kOrders; ++id) books.on(order_at(id));
    const auto& book = *books.find(5);
    EXPECT_TRUE(book.complete());
    EXPECT_EQ(book.live_orders(), kOrders);
    for (std::uint64_t id = 1; id <= kOrders; ++id) ASSERT_EQ(book.order(id)->size, id);
    const auto& best = book.bids()[0];
    std::vector<std::uint64_t> queue;
    book.visit_orders(best, [&](const Book::Order& one) { queue.push_back(one.id); });
    EXPECT_EQ(best.price, 100 + 299);
    EXPECT_THAT(queue, ElementsAre(299, 599, 899));
    for (std::uint64_t id = 1; id <= kOrders; id += 2) {
        auto event = order_at(id);
        event.action = feed::OrderAction::remove;
        event.size_left = 0;
        books.on(event);
    }
    EXPECT_TRUE(book.complete());
    EXPECT_EQ(book.live_orders(), kOrders / 2);
    EXPECT_EQ(book.order(299), nullptr);
    for (std::uint64_t id = kOrders + 1; id <= kOrders + kOrders / 2; ++id) books.on(order_at(id));
    EXPECT_TRUE(book.complete());
    books.on(order_at(2 * kOrders));
    EXPECT_FALSE(book.complete());
    EXPECT_EQ(book.faults().refused_orders, 1U);
}

TEST_F(BooksOfChannels, AnInstrumentThatDoesNotFitHasNoBookAndIsCounted) {
    books_.on(clear(1));
    EXPECT_FALSE(books_.on(level(8, 1, Side::bid, 100, 1)));
    EXPECT_FALSE(books_.on(level(feed::kNoInstrument, 1, Side::bid, 100, 1)));
    EXPECT_FALSE(books_.on(quote(8, 1, 0)));
    EXPECT_EQ(books_.find(8), nullptr);
    EXPECT_EQ(books_.refused_events(), 2U);
}

TEST(BooksOfManyInstruments, TakeMemoryOnlyUpToTheLargestIdWithABook) {
    constexpr std::uint32_t kMax = 1U << 21U;
    Books books{{.max_instruments = kMax}, [](std::uint16_t) { return ChannelDepth{.depth = 3}; }};
    books.on(clear(1));
    for (const feed::InstrumentId id : {0U, 5U, (1U << 20U) + 7}) {
        books.on(level(id, 1, Side::bid, 100, 1));
        ASSERT_NE(books.find(id), nullptr) << id;
        EXPECT_TRUE(books.find(id)->complete()) << id;
    }
    books.on(quote((1U << 20U) + 8, 1, feed::kIncomplete));
    EXPECT_FALSE(books.find((1U << 20U) + 8)->complete());
    EXPECT_FALSE(books.on(level(kMax, 1, Side::bid, 100, 1)));
    EXPECT_EQ(books.refused_events(), 1U);
}

TEST_F(BooksOfChannels, AnotherChannelOrDepthMakesANewBook) {
    books_.on(clear(1));
    books_.on(level(5, 1, Side::bid, 100, 1));
    books_.on(level(5, 2, Side::bid, 90, 1));
    EXPECT_THAT(bids(books_, 5), ElementsAre(90));
    EXPECT_FALSE(complete(5));
    books_.on(level(6, 1, Side::bid, 100, 1));
    depths_[1].depth = 1;
    books_.on(clear(1));
    EXPECT_EQ(books_.find(6), nullptr);
    EXPECT_NE(books_.find(5), nullptr) << "of the other channel";
    for (const feed::Price price : {100, 101}) books_.on(level(6, 1, Side::bid, price, 1));
    EXPECT_THAT(bids(books_, 6), ElementsAre(101));
}

TEST_F(BooksOfChannels, AnInstrumentThatComesFromAnotherChannelIsIncompleteUntilASnapshot) {
    books_.on(clear(1));
    books_.on(clear(2));
    books_.on(level(5, 1, Side::bid, 100, 1));
    books_.on(level(5, 2, Side::bid, 90, 1));
    EXPECT_FALSE(complete(5));
    books_.on(level(5, 1, Side::bid, 101, 1));
    EXPECT_FALSE(complete(5)) << "the level of 100 is lost";
    books_.on(level(5, 1, Side::none, 0, 0, feed::kSnapshot));
    books_.on(level(5, 1, Side::bid, 101, 1));
    EXPECT_TRUE(complete(5));
}

TEST_F(BooksOfChannels, AnEventOfAChannelWithoutBooksLeavesThoseOfAnother) {
    books_.on(clear(1));
    books_.on(level(5, 1, Side::bid, 100, 1));
    depths_.resize(10);
    books_.on(quote(5, 9, feed::kIncomplete | feed::kLast));
    EXPECT_THAT(bids(books_, 5), ElementsAre(100));
    EXPECT_TRUE(complete(5));
}

TEST(BooksMemory, AnEventForWhichThereIsNoMemoryLeavesAnIncompleteBook) {
    class FailsOnce final : public std::pmr::memory_resource {
        bool failed_{false};
        void* do_allocate(std::size_t bytes, std::size_t alignment) override {
            if (!std::exchange(failed_, true)) throw std::bad_alloc{};
            return std::pmr::new_delete_resource()->allocate(bytes, alignment);
        }
        void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
            std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
        }
        [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
    } memory;
    Books books{{.max_instruments = 8}, [](std::uint16_t) { return ChannelDepth{.depth = 3}; }, &memory};
    books.on(clear(1));
    EXPECT_THROW(books.on(level(5, 1, Side::bid, 100, 1)), std::bad_alloc);
    books.on(level(5, 1, Side::bid, 99, 1));
    ASSERT_NE(books.find(5), nullptr);
    EXPECT_FALSE(books.find(5)->complete());
}

TEST(BooksOptions, ValuesOutOfRangeAndAnEmptyFunctionAreRefused) {
    const auto off = [](std::uint16_t) { return ChannelDepth{}; };
    EXPECT_THROW(Books({}, {}), std::invalid_argument);
    EXPECT_THROW(Books({.levels = 0}, off), std::invalid_argument);
    EXPECT_THROW(Books({.levels = (1U << 28) + 1}, off), std::invalid_argument);
    EXPECT_THROW(Books({.orders = (1U << 28) + 1}, off), std::invalid_argument);
    EXPECT_NO_THROW(Books({.max_instruments = 0, .levels = 1}, off));
}

TEST_F(BooksOfChannels, AResetRemovesAllBooks) {
    books_.on(clear(1));
    books_.on(level(5, 1, Side::bid, 100, 1));
    books_.reset();
    EXPECT_EQ(books_.find(5), nullptr);
    books_.on(level(5, 1, Side::bid, 100, 1));
    EXPECT_FALSE(complete(5));
}

}  // namespace
}  // namespace millpond::market
