// Books that readers make of the events of an ITCH channel, against books of ordered maps that are made of its
// messages.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/core/endian.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/generated_feed.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/moldudp64_packet.hpp>
#include <millpond/market/book.hpp>
#include <millpond/market/books.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

#include "tests/market/depth_fixture.hpp"
#include "tests/market/itch_flow.hpp"
#include "tests/market/ring_fixture.hpp"

namespace millpond::market {
namespace {

/// Readers of a channel's events: for each instrument a book of its levels and one of its orders.
class Readers {
public:
    Readers(std::size_t instruments, std::uint32_t depth, std::uint32_t orders) {
        const auto levels = depth == feed::kFullDepth ? 4'096U : depth + 4;
        for (std::size_t i = 0; i < instruments; ++i) {
            of_levels.emplace_back(Book::Options{.depth = depth, .levels = levels});
            of_orders.emplace_back(Book::Options{.depth = depth, .levels = 4'096, .orders = orders});
        }
    }

    template <class Event>
    void on(const Event& event) {
        if constexpr (requires { of_levels[0].apply(event); }) {
            if constexpr (requires { event.instrument; }) {
                if (event.instrument != feed::kNoInstrument) return apply(event.instrument, event);
            }
            for (feed::InstrumentId id = 0; id < of_levels.size(); ++id) apply(id, event);
        }
    }
    /// Call it after each message: its events were one group, and the last one alone says so.
    void expect_one_group() {
        EXPECT_EQ(lasts_, flagged_ == 0 ? 0 : 1);
        EXPECT_TRUE(flagged_ == 0 || last_is_last_);
        lasts_ = flagged_ = 0;
    }

    void forget_groups() { lasts_ = flagged_ = 0; }

    std::vector<Book> of_levels;
    std::vector<Book> of_orders;
    std::uint64_t printed{0};      ///< Volume of the trades.
    std::uint64_t executed{0};     ///< Volume of the executions.
    std::uint64_t not_printed{0};  ///< Volume of trades that do not count.
    std::uint64_t book_events{0};

private:
    template <class Event>
    void apply(feed::InstrumentId id, const Event& event) {
        of_levels[id].apply(event);
        of_orders[id].apply(event);
        if constexpr (Event::kKind != feed::EventKind::clear && requires { event.flags; }) {
            ++flagged_;
            last_is_last_ = (event.flags & feed::kLast) != 0;
            if (last_is_last_) ++lasts_;
        }
        if constexpr (Event::kKind == feed::EventKind::trade) {
            ((event.flags & feed::kNotPrintable) != 0 ? not_printed : printed) += event.size;
        }
        if constexpr (Event::kKind == feed::EventKind::order) {
            if (event.action == feed::OrderAction::execute) executed += event.size;
        }
        constexpr bool kOfBook = Event::kKind == feed::EventKind::order || Event::kKind == feed::EventKind::level;
        if (kOfBook) ++book_events;
    }

    int lasts_{0};
    int flagged_{0};
    bool last_is_last_{false};
};

Ladder ladder_of(const feed::OrderBooks& books, std::uint16_t book, Side side, std::size_t depth) {
    Ladder ladder;
    books.visit_levels(
        book, side == Side::bid,
        [&](const feed::OrderBooks::Level& level) {
            ladder.push_back({feed::price_from<10'000>(level.price), level.shares, level.orders});
        },
        depth);
    return ladder;
}

feed::ItchBookBuilder::Options options_of(std::uint32_t depth) {
    return {.order_books = {.books = 16, .orders = 20'000, .level_chunks = 512}, .depth = depth, .orders = true};
}

class ItchDepth : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Depths, ItchDepth, testing::Values(1U, 2U, 5U, 10U, 50U, feed::kFullDepth));

TEST_P(ItchDepth, BooksOfReadersEqualThoseOfTheMessagesAtTheEndOfEachGroup) {
    const auto depth = GetParam();
    feed::InstrumentTable table{16};
    feed::ItchBookBuilder builder{table, options_of(depth)};
    builder.mark_complete();
    Readers readers{Flow::kStocks, depth, 20'000};
    Oracle oracle;
    Flow flow{depth};
    for (std::uint64_t number = 1; number <= 12'000; ++number) {
        const auto message = flow.next();
        const auto locate = core::load_be<std::uint16_t>(message.data() + 1);
        builder.apply(message, number, {}, readers);
        oracle.apply(message);
        readers.expect_one_group();
        const auto id = table.find_or_add(feed::Venue{"XNAS"}, feed::Symbol{"S" + std::to_string(locate)});
        const auto book = static_cast<std::uint16_t>(id);  // in the order of their first messages
        for (const auto side : {Side::bid, Side::ask}) {
            const auto expected = oracle.best(locate, side, depth);
            ASSERT_EQ(ladder_of(builder.order_books(), book, side, depth), expected) << "message " << number;
            if (expected.empty()) continue;
            ASSERT_TRUE(readers.of_levels[id].complete()) << "message " << number;
            ASSERT_TRUE(readers.of_orders[id].complete()) << "message " << number;
            ASSERT_EQ(ladder_of(readers.of_levels[id], side), expected) << "message " << number;
            ASSERT_EQ(ladder_of(readers.of_orders[id], side), expected) << "message " << number;
            if (number % 16 == 0) expect_queues(oracle, locate, side, readers.of_orders[id]);
        }
        if (testing::Test::HasFailure()) FAIL() << "message " << number;
    }
    EXPECT_GT(readers.executed, 0U);
    EXPECT_GT(readers.not_printed, 0U);
    for (const auto& book : readers.of_orders) EXPECT_EQ(book.faults().crossed, 0U);
}

TEST_P(ItchDepth, BooksOfReadersEqualThoseOfARealStocksMessages) {
    const char* const folder = std::getenv("MILLPOND_TEST_DATA");  // NOLINT(concurrency-mt-unsafe): never set here
    std::ifstream file{std::string{folder == nullptr ? "" : folder} + "/aapl_20200130_first10k.itch", std::ios::binary};
    if (!file) GTEST_SKIP() << "MILLPOND_TEST_DATA names no folder with the file";
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    auto bytes = std::as_bytes(std::span{text});
    const auto depth = GetParam();
    feed::InstrumentTable table{4};
    feed::ItchBookBuilder builder{table, options_of(depth)};
    builder.mark_complete();
    Readers readers{1, depth, 10'000};
    Oracle oracle;
    std::uint64_t number = 0;
    while (bytes.size() > 2) {
        const std::size_t length = core::load_be<std::uint16_t>(bytes.data());
        const auto message = bytes.subspan(2, length);
        bytes = bytes.subspan(2 + length);
        const auto locate = core::load_be<std::uint16_t>(message.data() + 1);
        builder.apply(message, ++number, {}, readers);
        oracle.apply(message);
        readers.expect_one_group();
        for (const auto side : {Side::bid, Side::ask}) {
            const auto expected = oracle.best(locate, side, depth);
            ASSERT_EQ(ladder_of(readers.of_levels[0], side), expected) << "message " << number;
            ASSERT_EQ(ladder_of(readers.of_orders[0], side), expected) << "message " << number;
            if (number % 8 == 0) expect_queues(oracle, locate, side, readers.of_orders[0]);
        }
    }
    EXPECT_EQ(number, 10'000U);
    EXPECT_TRUE(readers.of_levels[0].complete());
    EXPECT_TRUE(readers.of_orders[0].complete());
    EXPECT_EQ(readers.of_orders[0].live_orders(), 215U);
}

TEST_P(ItchDepth, ABookThatSaysItIsCompleteIsExactAlsoWhenMessagesAreWrong) {
    const auto depth = GetParam();
    std::mt19937_64 random{depth};
    for (int round = 0; round < 8; ++round) {
        feed::InstrumentTable table{16};
        auto options = options_of(depth);
        options.order_books.orders = round % 2 == 0 ? 20'000 : 60;
        options.order_books.level_chunks = round % 3 == 0 ? 512 : 8;
        feed::ItchBookBuilder builder{table, options};
        if (round % 4 != 3) builder.mark_complete();
        Readers readers{16, depth, 20'000};
        Flow flow{random()};
        std::uint64_t complete = 0;
        for (std::uint64_t number = 1; number <= 3'000; ++number) {
            const auto message = flow.next();
            std::vector<std::byte> mutated{message.begin(), message.end()};
            if (random() % 200 == 0) mutated[random() % mutated.size()] ^= static_cast<std::byte>(1U << random() % 8);
            if (random() % 500 != 0) builder.apply(mutated, number, {}, readers);  // else it is lost, and not noticed
            for (feed::InstrumentId id = 0; id < table.size(); ++id) {
                for (const auto* const book : {&readers.of_levels[id], &readers.of_orders[id]}) {
                    ASSERT_FALSE(book->is_open());
                    if (!book->complete()) continue;
                    ++complete;
                    for (const auto side : {Side::bid, Side::ask}) {
                        const auto own = ladder_of(builder.order_books(), static_cast<std::uint16_t>(id), side, depth);
                        ASSERT_EQ(ladder_of(*book, side), own) << "message " << number;
                    }
                }
            }
        }
        EXPECT_EQ(complete != 0, round % 4 != 3);
    }
}

/// Publishes a channel's events, and has readers of it.
class PublishedDepth {
public:
    explicit PublishedDepth(std::uint32_t depth) : board_depth_(std::min(depth, kMaxBoardDepth)) {
        writer_ = deep_writer(name_, board_depth_, 1U << 14U);
        name_instruments(*writer_, Flow::kStocks);
        writer_->set_depth(0, {.depth = depth, .orders = true});
    }
    template <class Event>
    void on(const Event& event) {
        ASSERT_TRUE(writer_->publish(event));
    }

    struct Reader {
        explicit Reader(const std::string& name)
            : reader({.name = name}),
              of_levels({.max_instruments = 8, .levels = 4'096}, depth_of()),
              of_orders({.max_instruments = 8, .orders = 20'000, .levels = 4'096}, depth_of()) {}
        template <class Event>
        void on(const Event& event) {
            of_levels.on(event);
            of_orders.on(event);
        }
        void poll() {
            while (reader.poll(*this, 64) != 0) {
            }
        }
        Books::DepthOf depth_of() {
            return [this](std::uint16_t channel) { return reader.depth(channel); };
        }
        RingReader reader;
        Books of_levels;
        Books of_orders;
    };
    [[nodiscard]] std::unique_ptr<Reader> open_reader() const { return std::make_unique<Reader>(name_); }

private:
    const std::string name_{fresh_name()};
    std::uint32_t board_depth_;
    std::unique_ptr<RingWriter> writer_;
};

TEST_P(ItchDepth, BooksOfReadersThatJoinFromTheBoardEqualThoseOfTheMessages) {
    const auto depth = GetParam();
    feed::InstrumentTable table{16};
    feed::ItchBookBuilder builder{table, options_of(depth)};
    builder.mark_complete();
    PublishedDepth published{depth};
    const auto first = published.open_reader();
    std::vector<std::unique_ptr<PublishedDepth::Reader>> joined;
    Oracle oracle;
    Flow flow{depth};
    int complete = 0;
    for (std::uint64_t number = 1; number <= 4'000; ++number) {
        const auto message = flow.next();
        const auto locate = core::load_be<std::uint16_t>(message.data() + 1);
        builder.apply(message, number, {}, published);
        oracle.apply(message);
        first->poll();
        for (const auto& reader : joined) reader->poll();
        if (number % 100 == 0) {
            if (joined.size() == 8) joined.erase(joined.begin() + static_cast<std::ptrdiff_t>(number / 100 % 8));
            joined.push_back(published.open_reader());
            joined.back()->reader.join(*joined.back());
        }
        const auto id = table.find_or_add(feed::Venue{"XNAS"}, feed::Symbol{"S" + std::to_string(locate)});
        const auto* const of_first = first->of_levels.find(id);
        if (of_first == nullptr) continue;
        ASSERT_TRUE(of_first->complete());
        for (const auto side : {Side::bid, Side::ask}) {
            const auto expected = oracle.best(locate, side, depth);
            ASSERT_EQ(ladder_of(*of_first, side), expected) << "message " << number;
            ASSERT_EQ(ladder_of(*first->of_orders.find(id), side), expected) << "message " << number;
            for (const auto& reader : joined) {
                const auto* const of_levels = reader->of_levels.find(id);
                ASSERT_NE(of_levels, nullptr);
                // Of all levels the board has fifty a side.
                ASSERT_TRUE(of_levels->complete() || depth == feed::kFullDepth) << "message " << number;
                if (!of_levels->complete()) continue;
                ++complete;
                ASSERT_EQ(ladder_of(*of_levels, side), expected) << "message " << number;
                const auto* const of_orders = reader->of_orders.find(id);
                if (of_orders != nullptr && of_orders->complete()) {
                    ASSERT_EQ(ladder_of(*of_orders, side), expected) << "message " << number;
                }
            }
        }
    }
    EXPECT_GT(complete, 10'000);
}

/// Keeps what ItchBookBuilder::adopt publishes.
struct Newest {
    std::array<feed::Quote, 16> quotes{};
    std::array<feed::Status, 16> states{};
    feed::Status channel{};
    void on(const feed::Quote& quote) { quotes.at(quote.instrument) = quote; }
    void on(const feed::Order&) {}
    void on(const feed::Trade&) {}
    void on(const feed::TradeBreak&) {}
    void on(const feed::Status&) {}
    void on(const feed::Gap&) {}
    void on(const feed::Clear&) {}
    void move(feed::InstrumentId, feed::InstrumentId, std::uint64_t, const feed::Arrival&) {}
};

TEST_P(ItchDepth, BooksOfReadersAreIncompleteAfterALossUntilTheyAreSentAgain) {
    const auto depth = GetParam();
    std::mt19937_64 random{depth};
    feed::InstrumentTable table{16};
    feed::InstrumentTable others{16};
    feed::ItchBookBuilder live{table, options_of(depth)};
    feed::ItchBookBuilder rebuilt{others, options_of(depth)};
    Newest newest;
    Readers readers{Flow::kStocks, depth, 20'000};
    Oracle oracle;
    Flow flow{depth};
    live.mark_complete();
    std::vector<std::vector<std::byte>> messages;
    const auto rebuild = [&](std::size_t from) {
        for (auto i = from; i < messages.size(); ++i) rebuilt.apply(messages[i], i + 1, {}, newest);
    };
    const auto complete_books = [&] {
        std::size_t complete = 0;
        for (std::uint16_t locate = 1; locate <= Flow::kStocks; ++locate) {
            const auto id = table.find_or_add(feed::Venue{"XNAS"}, feed::Symbol{"S" + std::to_string(locate)});
            for (const auto* const book : {&readers.of_levels.at(id), &readers.of_orders.at(id)}) {
                if (!book->complete()) continue;
                ++complete;
                for (const auto side : {Side::bid, Side::ask}) {
                    EXPECT_EQ(ladder_of(*book, side), oracle.best(locate, side, depth));
                    if (book == &readers.of_orders[id]) expect_queues(oracle, locate, side, *book);
                }
            }
        }
        return complete;
    };
    const auto ignore_moves = [](std::uint16_t, std::uint16_t) {};
    constexpr std::size_t kAll = 2 * std::size_t{Flow::kStocks};
    std::size_t sent = 0;
    for (std::uint64_t number = 1; number <= 4'800; ++number) {
        const auto message = flow.next();
        messages.emplace_back(message.begin(), message.end());
        oracle.apply(message);
        const auto when = number % 1'200;
        if (when >= 700 && when < 703) {
            live.mark_incomplete();
            readers.on(feed::Gap{});
            continue;
        }
        live.apply(message, number, {}, readers);
        readers.expect_one_group();
        if (when == 750) {  // the rebuild starts, and its books are listed while it continues
            rebuilt.reset();
            rebuilt.mark_complete();
            rebuild(0);
            ASSERT_FALSE(live.adopt(rebuilt, newest, number, {}, readers, ignore_moves)) << "orders are not listed";
            rebuilt.prepare_to_move();
        } else if (when > 750 && when <= 800) {
            rebuild(number - 1);
        }
        if (when == 800) {
            ASSERT_EQ(complete_books(), 0U);
            ASSERT_TRUE(live.adopt(rebuilt, newest, number, {}, readers, ignore_moves));
            readers.forget_groups();  // each quote is one
            ASSERT_EQ(complete_books(), 0U) << "quotes say nothing about levels and orders";
        }
        if (when == 1'000) {  // a loss that reached the readers only
            readers.on(feed::Gap{});
            ASSERT_EQ(complete_books(), 0U);
            live.renew_snapshots();
        }
        if (random() % 8 == 0) {
            const bool was_due = live.has_snapshots_due();
            std::size_t events = 0;
            for (int i = 0; events == 0 && i < 16; ++i) events = live.publish_snapshots(1, number, {}, readers);
            readers.expect_one_group();
            ASSERT_TRUE(was_due || !live.has_snapshots_due());
            sent += events;
        }
        const auto complete = complete_books();
        ASSERT_TRUE(complete == 0 || when < 700 || when >= 800);
        if (number > 100 && (when < 700 || when == 999 || when > 1'150)) {
            ASSERT_FALSE(live.has_snapshots_due());
            ASSERT_EQ(complete, kAll) << "message " << number;
        }
        if (testing::Test::HasFailure()) FAIL() << "message " << number;
    }
    EXPECT_GT(sent, 0U);
}

TEST(ItchDepthEvents, OrdersWhoseNumbersDoNotCountUpAreSentAgainAsIncomplete) {
    feed::InstrumentTable table{4};
    feed::ItchBookBuilder builder{table, options_of(10)};
    builder.mark_complete();
    Readers readers{2, 10, 100};
    feed::ItchEncoder encoder;
    std::uint64_t number = 0;
    const auto add = [&](std::uint16_t locate, std::uint64_t id) {
        encoder.set_head(locate, 1);
        builder.apply(encoder.order_added(id, 'B', 10, locate == 1 ? "A" : "B", 1'000'000), ++number, {}, readers);
        readers.expect_one_group();
    };
    add(1, 7);
    add(1, 3);
    add(2, 5);
    add(2, 6);
    EXPECT_TRUE(readers.of_orders[0].complete());
    readers.on(feed::Gap{});
    builder.renew_snapshots();
    while (builder.has_snapshots_due()) {
        builder.publish_snapshots(1, number, {}, readers);
        readers.expect_one_group();
    }
    EXPECT_FALSE(readers.of_orders[0].complete());
    EXPECT_TRUE(readers.of_levels[0].complete());
    EXPECT_TRUE(readers.of_orders[1].complete());
    EXPECT_TRUE(readers.of_levels[1].complete());
    add(1, 8);
    EXPECT_FALSE(readers.of_orders[0].complete());
    std::uint64_t unsorted = 0;
    builder.visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
        if (name == "orders_unsorted") unsorted = tally.read();
    });
    EXPECT_EQ(unsorted, 1U);
}

/// A channel of two stocks whose readers have lost something.
class RenewedSnapshots : public testing::Test {
protected:
    RenewedSnapshots() { builder_.mark_complete(); }
    void add(std::uint16_t locate, std::uint64_t id) {
        encoder_.set_head(locate, 1);
        apply(encoder_.order_added(id, 'B', 10, locate == 1 ? "A" : "B", 1'000'000));
    }
    void remove(std::uint16_t locate, std::uint64_t id) {
        encoder_.set_head(locate, 1);
        apply(encoder_.order_deleted(id));
    }
    std::size_t publish() {
        const auto events = builder_.publish_snapshots(1, number_, {}, readers_);
        readers_.expect_one_group();
        return events;
    }
    void lose() {
        readers_.on(feed::Gap{});
        builder_.renew_snapshots();
    }
    [[nodiscard]] int complete_books() const {
        int complete = 0;
        for (const auto* const books : {&readers_.of_levels, &readers_.of_orders}) {
            for (const auto& book : *books) complete += book.complete() ? 1 : 0;
        }
        return complete;
    }
    void expect_exact() const {
        for (const auto book : {std::uint16_t{0}, std::uint16_t{1}}) {
            const auto own = ladder_of(builder_.order_books(), book, Side::bid, 10);
            EXPECT_EQ(ladder_of(readers_.of_levels[book], Side::bid), own);
            EXPECT_EQ(ladder_of(readers_.of_orders[book], Side::bid), own);
        }
    }

    feed::InstrumentTable table_{4};
    feed::ItchBookBuilder builder_{table_, options_of(10)};
    Readers readers_{2, 10, 20'000};

private:
    void apply(Message message) {
        builder_.apply(message, ++number_, {}, readers_);
        readers_.expect_one_group();
    }
    feed::ItchEncoder encoder_;
    std::uint64_t number_{0};
};

TEST_F(RenewedSnapshots, OrdersAreListedInSlicesBetweenMessagesBeforeBooksAreSent) {
    for (std::uint64_t id = 1; id <= 4'000; ++id) add(id % 2 == 0 ? 1 : 2, id);
    EXPECT_EQ(complete_books(), 4);
    lose();
    int slices = 0;
    std::uint64_t id = 4'000;
    for (; complete_books() == 0; ++slices) {
        ASSERT_TRUE(builder_.has_snapshots_due());
        publish();
        add(1, ++id);
        remove(id % 2 == 0 ? 1 : 2, id - 4'000);
        add(2, ++id);
        remove(id % 2 == 0 ? 1 : 2, id - 4'000);
    }
    EXPECT_GE(slices, 100) << "the orders have 65,536 slots";
    while (builder_.has_snapshots_due()) publish();
    EXPECT_EQ(complete_books(), 4);
    expect_exact();
}

TEST_F(RenewedSnapshots, ABookWithMoreNewOrdersThanTheListHasRoomForIsSentAfterItIsListedAgain) {
    add(1, 1);
    add(2, 2);
    lose();
    std::uint64_t id = 2;
    for (int i = 0; i < 30'000; ++i) {
        add(1, ++id);
        remove(1, id);
    }
    add(2, ++id);
    int slices = 0;
    for (; publish() == 0; ++slices) {
        ASSERT_TRUE(builder_.has_snapshots_due());
        ASSERT_EQ(complete_books(), 0);
    }
    EXPECT_GE(slices, 200) << "twice all slots";
    while (builder_.has_snapshots_due()) publish();
    EXPECT_EQ(complete_books(), 4);
    EXPECT_EQ(readers_.of_orders[0].live_orders(), 1U);
    EXPECT_EQ(readers_.of_orders[1].live_orders(), 2U);
    expect_exact();
}

TEST(ItchDepthEvents, BooksThatAreCrossedOrLockedWhileTheirInstrumentTradesAreCounted) {
    feed::InstrumentTable table{4};
    feed::ItchBookBuilder builder{table, options_of(10)};
    builder.mark_complete();
    Readers readers{1, 10, 100};
    feed::ItchEncoder encoder;
    encoder.set_head(1, 1);
    std::uint64_t number = 0;
    const auto apply = [&](Message message) { builder.apply(message, ++number, {}, readers); };
    const auto crossed = [&] { return builder.crossed_books().read(); };
    apply(encoder.order_added(1, 'B', 10, "S", 1'000'000));
    apply(encoder.order_added(2, 'S', 10, "S", 1'000'000));
    EXPECT_EQ(crossed(), 0U) << "before market hours";
    apply(encoder.system_event('Q'));
    apply(encoder.order_added(3, 'B', 10, "S", 990'000));
    EXPECT_EQ(crossed(), 1U) << "locked";
    apply(encoder.trading_action("S", 'H', ""));
    apply(encoder.order_added(4, 'B', 10, "S", 1'000'100));
    EXPECT_EQ(crossed(), 1U) << "halted";
    apply(encoder.trading_action("S", 'T', ""));
    apply(encoder.order_deleted(3));
    EXPECT_EQ(crossed(), 2U);
    apply(encoder.order_deleted(2));
    EXPECT_EQ(crossed(), 2U);
    apply(encoder.system_event('M'));
    apply(encoder.order_added(5, 'S', 10, "S", 900'000));
    EXPECT_EQ(crossed(), 2U) << "after market hours";
}

TEST(ItchDepthEvents, AReplacementIsACancelAndAnAddWithoutPriorityInOneGroup) {
    struct Recorder {
        std::vector<feed::Order> orders;
        std::vector<feed::Level> levels;
        void on(const feed::Order& order) { orders.push_back(order); }
        void on(const feed::Level& level) { levels.push_back(level); }
        void on(const feed::Quote&) {}
        void on(const feed::Trade&) {}
        void on(const feed::TradeBreak&) {}
        void on(const feed::Status&) {}
        void on(const feed::Gap&) {}
        void on(const feed::Clear&) {}
    };
    feed::InstrumentTable table{4};
    feed::ItchBookBuilder builder{table, options_of(2)};
    builder.mark_complete();
    feed::ItchEncoder encoder;
    encoder.set_head(1, 1);
    Recorder before;
    for (std::uint64_t id = 1; id <= 3; ++id)
        builder.apply(encoder.order_added(id, 'B', 10, "S", static_cast<std::uint32_t>(1'000'000 - id * 100)), id, {},
                      before);
    ASSERT_EQ(before.orders.size(), 4U);
    EXPECT_EQ(before.orders[0].action, feed::OrderAction::clear);
    ASSERT_EQ(before.levels.size(), 3U);  // the clear, and the two within the depth
    Recorder seen;
    builder.apply(encoder.order_replaced(1, 9, 4, 900'000), 4, {}, seen);
    ASSERT_EQ(seen.orders.size(), 2U);
    EXPECT_EQ(seen.orders[0].action, feed::OrderAction::cancel);
    EXPECT_EQ(seen.orders[0].order_id, 1U);
    EXPECT_EQ(seen.orders[0].size, 10U);
    EXPECT_EQ(seen.orders[0].size_left, 0U);
    EXPECT_EQ(seen.orders[1].action, feed::OrderAction::add);
    EXPECT_EQ(seen.orders[1].order_id, 9U);
    EXPECT_EQ(seen.orders[1].flags & feed::kPriorityLost, feed::kPriorityLost);
    EXPECT_EQ(seen.orders[1].flags & feed::kLast, 0);
    ASSERT_EQ(seen.levels.size(), 2U);  // the one that is gone, and the one that takes the last place
    EXPECT_EQ(seen.levels[0].size, 0U);
    EXPECT_EQ(seen.levels[0].price, feed::price_from<10'000>(999'900U));
    EXPECT_EQ(seen.levels[1].price, feed::price_from<10'000>(999'700U));
    EXPECT_EQ(seen.levels[1].size, 10U);
}

TEST(ItchDepthEvents, ASessionFromItsFirstMessageGivesCompleteBooksAndAGapEndsThat) {
    feed::InstrumentTable table{16};
    feed::ItchDecoder decoder{table, options_of(10)};
    feed::GeneratedFeed generated{{.format = feed::WireFormat::itch, .market = {.instruments = 8}}};
    Readers readers{8, 10, 100};
    std::array<std::byte, feed::GeneratedFeed::kMaxDatagramBytes> buffer;
    std::int64_t now = 0;
    const auto play = [&](int datagrams) {
        for (int i = 0; i < datagrams; ++i) (void)decoder.decode(generated.next(buffer, ++now * 1'000), {}, readers);
    };
    const auto complete = [&](bool expected) {
        for (feed::InstrumentId id = 0; id < 8; ++id) {
            EXPECT_EQ(readers.of_levels[id].complete(), expected);
            EXPECT_EQ(readers.of_orders[id].complete(), expected);
            for (const auto side : {Side::bid, Side::ask}) {
                const auto own = ladder_of(decoder.order_books(), static_cast<std::uint16_t>(id), side, 10);
                if (!expected) continue;
                EXPECT_EQ(ladder_of(readers.of_levels[id], side), own);
                EXPECT_EQ(ladder_of(readers.of_orders[id], side), own);
            }
        }
    };
    play(2'000);
    complete(true);
    (void)generated.next(buffer, ++now * 1'000);
    play(2'000);
    complete(false);
}

}  // namespace
}  // namespace millpond::market
