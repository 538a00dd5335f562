#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/tcp/tcp_sink.hpp"
#include "tests/gateway/json_lines/book_client.hpp"
#include "tests/gateway/json_lines/json_lines_fixture.hpp"
#include "tests/gateway/sinks/events.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/gateway/sinks/settings_with.hpp"
#include "tests/support/line_client.hpp"

namespace millpond::gateway::tcp {
namespace {

using feed::Side;
using millpond::test::LineClient;
using ::testing::HasSubstr;
using ::testing::Not;

using Best = std::vector<std::pair<feed::Price, BookSide::Total>>;

/// What a feed with depth sends of one instrument, made of a book with all levels.
class LevelFeed {
public:
    LevelFeed(feed::InstrumentId id, std::size_t depth) : id_(id), depth_(depth) {}

    using Publish = std::function<void(const feed::Level&)>;

    /// Changes some levels and publishes the group. Returns the number of events.
    std::size_t change(std::mt19937& random, const Publish& publish, std::uint16_t flags = 0) {
        const auto before = std::pair{bids.best(depth_), asks.best(depth_)};
        for (auto changes = random() % 4 + 1; changes != 0; --changes) {
            const bool is_bid = random() % 2 == 0;
            auto& levels = (is_bid ? bids : asks).levels;
            const auto step = static_cast<feed::Price>(random() % 12 + 1) * feed::price_from<100>(1);
            const auto price = feed::price_from<100>(10'000) + (is_bid ? -step : step);
            if (random() % 3 == 0) {
                levels.erase(price);
            } else {
                levels[price] = {random() % 900 + 1, random() % 9 + 1};
            }
        }
        std::vector<feed::Level> events;
        add_changes(Side::bid, before.first, bids.best(depth_), bids, events);
        add_changes(Side::ask, before.second, asks.best(depth_), asks, events);
        std::ranges::shuffle(events, random);
        for (std::size_t i = 0; i < events.size(); ++i) {
            events[i].flags = static_cast<std::uint16_t>(flags | (i + 1 == events.size() ? feed::kLast : 0));
            publish(events[i]);
        }
        return events.size();
    }
    /// Publishes the whole book as a snapshot.
    void publish_snapshot(const Publish& publish) const {
        std::vector<feed::Level> events{level(Side::none, 0, {})};
        for (const auto& [price, total] : bids.best(depth_)) events.push_back(level(Side::bid, price, total));
        for (const auto& [price, total] : asks.best(depth_)) events.push_back(level(Side::ask, price, total));
        for (auto& event : events) {
            event.flags = feed::kSnapshot;
            if (&event == &events.back()) event.flags |= feed::kLast;
            publish(event);
        }
    }

    BookSide bids{true};
    BookSide asks{false};

private:
    [[nodiscard]] feed::Level level(Side side, feed::Price price, BookSide::Total total) const {
        feed::Level event;
        event.instrument = id_;
        event.side = side;
        event.price = price;
        event.size = total.size;
        event.orders = static_cast<std::uint32_t>(total.count);
        return event;
    }
    void add_changes(Side side, const Best& before, const Best& after, const BookSide& all,
                     std::vector<feed::Level>& events) const {
        for (const auto& [price, total] : before) {
            if (!all.levels.contains(price)) events.push_back(level(side, price, {}));
        }
        for (const auto& one : after) {
            if (std::ranges::find(before, one) == before.end()) events.push_back(level(side, one.first, one.second));
        }
    }

    feed::InstrumentId id_;
    std::size_t depth_;
};

class DepthTest : public JsonLinesFixture<TcpSink> {
protected:
    static constexpr std::size_t kDepth = 5;

    void open(const std::function<void(Settings&)>& change = {}) {
        ring_.writer.set_depth(0, {.depth = kDepth, .orders = true});
        ring_.writer.set_depth(1, {.depth = 3});
        reader_ = std::make_unique<market::RingReader>(market::RingReaderOptions{.name = ring_.name});
        make(test::settings_with<Settings>([&](Settings& s) {
                 s.listen = net::SocketAddress::parse("127.0.0.1:0");
                 if (change) change(s);
             }),
             ClientAccess{});
        sink_->open(*reader_);
    }
    LineClient connect(std::string_view request = {}, int receive_buffer = 0) {
        const auto before = sink_->counters().accepted.read();
        LineClient client{sink_->address().port(), receive_buffer};
        EXPECT_TRUE(run_until([&] { return sink_->counters().accepted.read() > before; }));
        if (!request.empty()) {
            client.send_text(std::string{request} + "\n{\"echo\":1}\n");
            EXPECT_TRUE(run_until([&] {
                client.receive();
                const auto lines = client.lines();
                return !lines.empty() && lines.back() == R"({"type":"echo","echo":1})";
            }));
        }
        return client;
    }
    void clear() { sink_->on(feed::Clear{}, ++number_); }
    LevelFeed::Publish publisher() {
        return [this](const feed::Level& level) { sink_->on(level, ++number_); };
    }
    /// Waits until the client has got everything.
    std::vector<std::string> all_lines(LineClient& client, int echo = 2) {
        client.send_text("{\"echo\":" + std::to_string(echo) + "}\n");
        const auto last = R"({"type":"echo","echo":)" + std::to_string(echo) + "}";
        std::vector<std::string> lines;
        EXPECT_TRUE(run_until([&] {
            client.receive();
            lines = client.lines();
            return std::ranges::find(lines, last) != lines.end();
        }));
        return lines;
    }
    std::vector<std::string> of_type(const std::vector<std::string>& lines, std::string_view type) {
        std::vector<std::string> found;
        for (const auto& line : lines) {
            if (text_in(line, "type") == '"' + std::string{type} + '"') found.push_back(line);
        }
        return found;
    }
    LevelFeed::Publish publisher_of(std::uint16_t channel) {
        return [this, channel](feed::Level level) {
            level.channel = channel;
            sink_->on(level, ++number_);
        };
    }
    /// The book that a client makes of the instrument's lines and its channel's clears.
    static BookClient book_of(const std::vector<std::string>& lines, std::string_view symbol, std::int64_t channel,
                              std::size_t depth) {
        BookClient book{depth};
        for (const auto& line : lines) {
            const bool is_clear = text_in(line, "type") == "\"clear\"" && number_in(line, "channel") == channel;
            if (is_clear || text_in(line, "symbol") == '"' + std::string{symbol} + '"') book.apply(line);
        }
        return book;
    }
    Best best(const BookSide& side, std::size_t depth) { return side.best(depth); }

    TestRing ring_{"depth"};
    std::unique_ptr<market::RingReader> reader_;
};

/// Books of the feed after each group, by the number of the group's entries.
struct History {
    struct State {
        Best bids;
        Best asks;
    };
    std::map<std::uint64_t, State> states;  // by the group's last number

    void add(std::uint64_t number, const LevelFeed& feed) { states[number] = {feed.bids.best(99), feed.asks.best(99)}; }
    /// The book after the group that has this entry.
    [[nodiscard]] const State& at(std::uint64_t number) const { return states.lower_bound(number)->second; }
};

Best first(Best levels, std::size_t depth) {
    if (levels.size() > depth) levels.resize(depth);
    return levels;
}

/// Applies the lines of AAPL and compares the book at each kLast. Returns the client's book.
BookClient follow(const std::vector<std::string>& lines, std::size_t depth, const History& history) {
    BookClient book{depth};
    for (const auto& line : lines) {
        const auto symbol = text_in(line, "symbol");
        if (!symbol.empty() && symbol != "null" && symbol != "\"AAPL\"") continue;
        if (!book.apply(line) || !book.complete) continue;
        const auto& wanted = history.at(book.sequence);
        EXPECT_EQ(book.bids.best(99), first(wanted.bids, depth)) << "depth " << depth << ": " << line;
        EXPECT_EQ(book.asks.best(99), first(wanted.asks, depth)) << "depth " << depth << ": " << line;
        if (::testing::Test::HasFailure()) break;
    }
    return book;
}

TEST_F(DepthTest, EachClientsBookHoldsTheBestLevelsOfTheFeedsAtEachLast) {
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
        std::mt19937 random{seed};
        number_ = 0;
        open();
        clear();
        LevelFeed aapl{0, kDepth};
        LevelFeed msft{1, kDepth};
        History history;
        for (int i = 0; i < 20; ++i) {
            if (aapl.change(random, publisher()) != 0) history.add(number_, aapl);
        }
        history.add(number_, aapl);
        std::vector<LineClient> clients;
        for (std::size_t depth = 1; depth <= kDepth; ++depth) {
            clients.push_back(connect(R"({"subscribe":["AAPL"],"depth":)" + std::to_string(depth) + "}"));
        }
        auto everything = connect(R"({"subscribe":["*"],"depth":2})");
        auto plain = connect();
        for (int i = 0; i < 400; ++i) {
            if (aapl.change(random, publisher()) != 0) history.add(number_, aapl);
            msft.change(random, publisher());
            if (random() % 4 == 0) sink_->on(trade_of(0, 1), ++number_);
            if (random() % 8 == 0) sink_->step(core::monotonic_nanos());
        }
        history.add(number_, aapl);
        for (std::size_t depth = 1; depth <= kDepth; ++depth) {
            auto& client = clients[depth - 1];
            const auto book = follow(all_lines(client), depth, history);
            EXPECT_TRUE(book.complete);
            EXPECT_EQ(book.snapshots, 1U);
            EXPECT_GT(book.lasts, 50U);
            EXPECT_EQ(book.bids.best(99), aapl.bids.best(depth));
            EXPECT_EQ(book.asks.best(99), aapl.asks.best(depth));
            const auto account = account_of(client);
            EXPECT_TRUE(account.closes());
            EXPECT_EQ(account.missed + account.conflated + account.queued, 0U);
        }
        const auto book = follow(all_lines(everything), 2, history);
        EXPECT_EQ(book.bids.best(99), aapl.bids.best(2));
        EXPECT_TRUE(account_of(everything).closes());
        const auto lines = all_lines(plain);
        EXPECT_TRUE(of_type(lines, "level").empty());
        EXPECT_GT(of_type(lines, "trade").size(), 10U);
        EXPECT_TRUE(account_of(plain).closes());
        clients.clear();
        sink_.reset();
        if (HasFailure()) FAIL() << "seed " << seed;
    }
}

TEST_F(DepthTest, TheSnapshotIsMarkedAndSaysWhetherItIsComplete) {
    open();
    std::mt19937 random{7};
    LevelFeed aapl{0, kDepth};
    for (int i = 0; i < 20; ++i) aapl.change(random, publisher());
    auto early = connect(R"({"subscribe":["AAPL"],"depth":3})");
    const auto levels = of_type(early.lines(), "level");
    ASSERT_EQ(levels.size(), 1 + aapl.bids.best(3).size() + aapl.asks.best(3).size());
    for (const auto& line : levels) {
        const auto last = &line == &levels.back() ? feed::kLast : 0;
        EXPECT_EQ(number_in(line, "flags"), feed::kSnapshot | feed::kIncomplete | last);
    }
    EXPECT_EQ(text_in(levels.front(), "side"), "\"none\"");
    clear();
    for (int i = 0; i < 20; ++i) aapl.change(random, publisher());
    auto late = connect(R"({"subscribe":["AAPL"],"depth":3})");
    for (const auto& line : of_type(late.lines(), "level")) {
        EXPECT_EQ(number_in(line, "flags") & ~feed::kLast, feed::kSnapshot);
    }
    // An instrument without levels yet comes as a snapshot too.
    auto msft = connect(R"({"subscribe":["MSFT"],"depth":1})");
    LevelFeed{1, kDepth}.change(random, publisher());
    const auto lines = of_type(all_lines(msft), "level");
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(number_in(lines.front(), "flags") & feed::kSnapshot, feed::kSnapshot);
}

TEST_F(DepthTest, TheLinesOfABookNameItsChannel) {
    open();
    feed::Level level;
    level.instrument = 1;
    level.channel = 1;
    level.side = Side::bid;
    level.price = feed::kPriceScale;
    level.size = 5;
    level.flags = feed::kLast;
    sink_->on(level, ++number_);
    for (const auto& [mode, type] : {std::pair{"every", "level"}, std::pair{"conflate", "book"}}) {
        auto client = connect(R"({"subscribe":["MSFT"],"depth":3,"mode":")" + std::string{mode} + "\"}");
        const auto lines = of_type(client.lines(), type);
        ASSERT_FALSE(lines.empty()) << mode;
        for (const auto& line : lines) EXPECT_EQ(text_in(line, "channel"), "1") << line;
    }
}

TEST_F(DepthTest, MoreThanTheFeedSendsIsAnErrorOfTheSubscription) {
    open();
    std::mt19937 random{1};
    clear();
    LevelFeed aapl{0, kDepth};
    while (aapl.change(random, publisher()) == 0) {
    }
    auto quote = quote_of(1, 5);
    quote.channel = 2;
    sink_->on(quote, ++number_);
    const std::vector<std::pair<std::string, std::string>> requests{
        {R"({"subscribe":["AAPL"],"depth":6})", "'depth': the feed of AAPL sends 5 levels of a side"},
        {R"({"subscribe":["AAPL"],"depth":"full"})", "'depth': the feed of AAPL sends 5 levels of a side"},
        {R"({"subscribe":["MSFT"],"depth":1})", "'depth': the feed of MSFT sends no levels"},
        {R"({"subscribe":["MSFT"],"orders":true})", "'orders': the feed of MSFT sends no orders"},
        {R"({"subscribe":["*"],"depth":4})", "'depth': the feed of * sends 3 levels of a side"},
        {R"({"subscribe":["*"],"orders":true})", "'orders': the feed of * sends no orders"},
        {R"({"subscribe":["AAPL"],"orders":true,"mode":"conflate"})", R"('orders' needs the mode \"every\")"},
        {R"({"depth":3})", "'depth' and 'orders' belong to 'subscribe'"},
        {R"({"subscribe":["AAPL"],"depth":0})", R"('depth' must be a number of levels from 1 on, or \"full\")"},
        {R"({"subscribe":["AAPL"],"orders":1})", "'orders' must be true or false"},
    };
    for (const auto& [request, error] : requests) {
        auto client = connect(request);
        const auto lines = client.lines();
        EXPECT_EQ(of_type(lines, "error"), (std::vector{R"({"type":"error","text":")" + error + "\"}"})) << request;
        EXPECT_TRUE(of_type(lines, "level").empty()) << request;
    }
    EXPECT_EQ(sink_->counters().bad_requests.read(), requests.size());
    auto client = connect(R"({"subscribe":["AAPL"],"orders":true})");
    client.send_text("{\"mode\":\"conflate\"}\n");
    EXPECT_EQ(of_type(all_lines(client), "error").size(), 1U);
}

TEST_F(DepthTest, MoreThanTheClientsMayHaveIsAnErrorOfTheSubscription) {
    const std::string levels = R"({"subscribe":["AAPL"],"depth":2})";
    const std::string orders = R"({"subscribe":["AAPL"],"orders":true})";
    const std::string replay = R"({"subscribe":["*"],"depth":1,"orders":true,"from":{"record":1}})";
    const auto error_of = [&](const std::string& request) {
        auto client = connect(request);
        const auto errors = of_type(client.lines(), "error");
        return errors.empty() ? std::string{} : errors.front();
    };
    constexpr auto* kNoLevels = "'depth': clients of this sink may not have levels";
    constexpr auto* kNoOrders = "'orders': clients of this sink may not have orders";
    open([](Settings& s) { s.entitlement = json_lines::Entitlement::quotes; });
    EXPECT_THAT(error_of(levels), HasSubstr(kNoLevels));
    EXPECT_THAT(error_of(orders), HasSubstr(kNoOrders));
    EXPECT_THAT(error_of(replay), HasSubstr(kNoLevels));
    EXPECT_EQ(error_of(R"({"subscribe":["AAPL"]})"), "");
    open([](Settings& s) { s.entitlement = json_lines::Entitlement::levels; });
    EXPECT_EQ(error_of(levels), "");
    EXPECT_THAT(error_of(orders), HasSubstr(kNoOrders));
    EXPECT_THAT(error_of(replay), HasSubstr(kNoOrders));
    open();
    EXPECT_EQ(error_of(levels), "");
    EXPECT_THAT(error_of(orders), Not(HasSubstr(kNoOrders)));
}

TEST_F(DepthTest, ASubscriptionWithDepthNamesTheSymbolsThatNoInstrumentHasYet) {
    open();
    LineClient client{sink_->address().port()};
    client.send_text(
        "{\"subscribe\":[\"NOPE\",\"AAPL\",\"N\\\"\"],\"depth\":2}\n{\"subscribe\":[\"OTHER\"]}\n{\"echo\":1}\n");
    ASSERT_TRUE(run_until([&] {
        client.receive();
        return !client.lines().empty() && client.lines().back().starts_with("{\"type\":\"echo\"");
    }));
    EXPECT_THAT(client.lines(), ::testing::IsSupersetOf(
                                    {R"({"type":"unknown","symbol":"N\""})", R"({"type":"unknown","symbol":"NOPE"})"}));
    EXPECT_THAT(client.lines(), Not(::testing::Contains(HasSubstr("OTHER"))));
    EXPECT_THAT(client.lines(), Not(::testing::Contains(HasSubstr(R"("unknown","symbol":"AAPL")"))));
}

TEST_F(DepthTest, AClientWithoutDepthGetsTheSameBytesWhetherTheFeedHasDepth) {
    const auto lines_with = [&](bool depth) {
        open();
        std::mt19937 random{3};
        LevelFeed aapl{0, kDepth};
        auto client = connect();
        auto other = connect(depth ? R"({"subscribe":["*"],"depth":3})" : R"({"mode":"every"})");
        for (std::uint64_t i = 1; i <= 50; ++i) {
            if (depth) aapl.change(random, [&](const feed::Level& level) { sink_->on(level, 3 * i - 2); });
            auto trade = trade_of(0, feed::kPriceScale);
            auto quote = quote_of(0, feed::kPriceScale);
            if (depth) trade.flags = quote.flags = feed::kLast;
            sink_->on(trade, 3 * i - 1);
            sink_->on(quote, 3 * i);
        }
        const auto lines = all_lines(client);
        sink_.reset();
        return lines;
    };
    EXPECT_EQ(lines_with(false), lines_with(true));
}

TEST_F(DepthTest, LevelsThatNoClientWantsAreFilteredByTheSink) {
    open();
    feed::Level level;
    level.instrument = 0;
    level.side = Side::bid;
    level.size = 1;
    level.flags = feed::kLast;
    feed::Order order;
    order.instrument = 0;
    order.side = Side::bid;
    order.order_id = order.size = order.size_left = 1;
    order.flags = feed::kLast;
    EXPECT_EQ(sink_->on(level, ++number_), Admission::filtered);
    auto client = connect(R"({"subscribe":["AAPL"],"depth":1})");
    EXPECT_EQ(sink_->on(level, ++number_), Admission::kept);
    EXPECT_EQ(sink_->on(order, ++number_), Admission::filtered);
    level.instrument = 1;
    EXPECT_EQ(sink_->on(level, ++number_), Admission::filtered);
    client.send_text("{\"unsubscribe\":[\"AAPL\"]}\n");
    all_lines(client);
    level.instrument = 0;
    EXPECT_EQ(sink_->on(level, ++number_), Admission::filtered);
}

TEST_F(DepthTest, AConflatedClientGetsOneBookForEachIntervalAndItComesBeforeATrade) {
    open();
    std::mt19937 random{11};
    clear();
    LevelFeed aapl{0, kDepth};
    History history;
    while (aapl.change(random, publisher()) == 0) {
    }
    history.add(number_, aapl);
    auto client = connect(R"({"subscribe":["AAPL"],"depth":3,"mode":"conflate","interval_ms":60000})");
    const auto before = client.lines().size();
    EXPECT_EQ(of_type(client.lines(), "book").size(), 1U);
    const auto now = core::monotonic_nanos();
    for (int i = 0; i < 100; ++i) {
        if (aapl.change(random, publisher()) != 0) history.add(number_, aapl);
    }
    sink_->on(trade_of(0, feed::kPriceScale), ++number_);
    for (int i = 0; i < 100; ++i) {
        if (aapl.change(random, publisher()) != 0) history.add(number_, aapl);
    }
    history.add(number_, aapl);
    sink_->step(now + 1'000'000);
    client.receive();
    EXPECT_EQ(client.lines().size(), before) << "the interval has not ended";
    ASSERT_TRUE(run_until(
        [&] {
            client.receive();
            return of_type(client.lines(), "trade").size() == 1;
        },
        61'000'000'000));
    const auto lines = client.lines();
    ASSERT_EQ(lines.size(), before + 2);
    EXPECT_EQ(text_in(lines[before], "type"), "\"book\"");
    const auto book = follow(lines, 3, history);
    EXPECT_EQ(book.books, 2U);
    EXPECT_EQ(book.bids.best(99), aapl.bids.best(3));
    EXPECT_EQ(book.asks.best(99), aapl.asks.best(3));
    EXPECT_TRUE(of_type(lines, "level").empty());
    client.send_text("{\"interval_ms\":0}\n");
    ASSERT_TRUE(run_until(
        [&] {
            sink_->step(core::monotonic_nanos() + 200'000'000'000);
            return account_of(client).closes();
        },
        200'000'000'000));
}

TEST_F(DepthTest, AGapMakesTheBookIncompleteUntilItIsRebuilt) {
    open();
    std::mt19937 random{5};
    clear();
    LevelFeed aapl{0, kDepth};
    History history;
    for (int i = 0; i < 20; ++i) {
        if (aapl.change(random, publisher()) != 0) history.add(number_, aapl);
    }
    for (const std::string_view request :
         {R"({"subscribe":["AAPL"],"depth":2})", R"({"subscribe":["AAPL"],"depth":2,"mode":"conflate"})"}) {
        auto client = connect(request);
        auto book = follow(all_lines(client), 2, history);
        EXPECT_TRUE(book.complete) << request;
        sink_->on(feed::Gap{.channel = 0, .first = 1, .last = 2}, ++number_);
        book = follow(all_lines(client, 3), 2, history);
        EXPECT_FALSE(book.complete) << request;
        for (int i = 0; i < 20; ++i) {
            if (aapl.change(random, publisher()) != 0) history.add(number_, aapl);
        }
        book = follow(all_lines(client, 4), 2, history);
        EXPECT_FALSE(book.complete) << request;
        aapl.publish_snapshot(publisher());
        history.add(number_, aapl);
        for (int i = 0; i < 20; ++i) {
            if (aapl.change(random, publisher()) != 0) history.add(number_, aapl);
        }
        history.add(number_, aapl);
        book = follow(all_lines(client, 5), 2, history);
        EXPECT_TRUE(book.complete) << request;
        EXPECT_EQ(book.bids.best(99), aapl.bids.best(2)) << request;
        EXPECT_TRUE(account_of(client).closes()) << request;
    }
}

TEST_F(DepthTest, ALappedSinksBooksAreIncompleteUntilTheBoardCompletesThem) {
    open();
    std::mt19937 random{6};
    clear();
    LevelFeed aapl{0, kDepth};
    History history;
    for (int i = 0; i < 20; ++i) {
        if (aapl.change(random, publisher()) != 0) history.add(number_, aapl);
    }
    history.add(number_, aapl);
    auto client = connect(R"({"subscribe":["AAPL"],"depth":2})");
    // A group is open when the sink is lapped: its beginning is dropped.
    feed::Level half;
    half.instrument = 0;
    half.side = Side::bid;
    half.price = feed::price_from<100>(1);
    half.size = 1;
    sink_->on(half, ++number_);
    sink_->missed(number_ + 1, number_ + 100);
    number_ += 100;
    auto book = follow(all_lines(client, 2), 2, history);
    EXPECT_FALSE(book.complete);
    for (int i = 0; i < 20; ++i) aapl.change(random, [](const feed::Level&) {});
    aapl.publish_snapshot([&](const feed::Level& level) { sink_->board(level, number_); });
    history.add(number_, aapl);
    book = follow(all_lines(client, 3), 2, history);
    EXPECT_TRUE(book.complete);
    EXPECT_EQ(book.bids.best(99), aapl.bids.best(2));
    const auto account = account_of(client);
    EXPECT_TRUE(account.closes());
    EXPECT_EQ(account.missed, 100U);
    EXPECT_EQ(account.published, 100U) << "levels of the board are not entries of the ring";
}

TEST_F(DepthTest, AStuckClientLosesItsBacklogAndContinuesWithASnapshotWhileOthersGetEverything) {
    open([](Settings& s) {
        s.backlog = 256;
        s.send_buffer = kSmallBuffer;
    });
    std::mt19937 random{9};
    clear();
    LevelFeed aapl{0, kDepth};
    History history;
    while (aapl.change(random, publisher()) == 0) {
    }
    history.add(number_, aapl);
    auto stuck = connect(R"({"subscribe":["AAPL"],"depth":2})", kSmallBuffer);
    auto conflated = connect(R"({"subscribe":["AAPL"],"depth":2,"mode":"conflate"})", kSmallBuffer);
    auto reading = connect(R"({"subscribe":["AAPL"],"depth":5})");
    while (sink_->counters().missed.read() < 1'000) {
        for (int i = 0; i < 20; ++i) {
            if (aapl.change(random, publisher()) != 0) history.add(number_, aapl);
        }
        ASSERT_TRUE(run_until([&] {
            reading.receive();
            const auto lines = of_type(reading.lines(), "level");
            return static_cast<std::uint64_t>(number_in(lines.back(), "sequence")) + 20 > number_;
        }));
    }
    for (auto* client : {&stuck, &conflated}) {
        const auto lines = all_lines(*client);
        const auto book = follow(lines, 2, history);
        EXPECT_TRUE(book.complete);
        EXPECT_EQ(book.bids.best(99), aapl.bids.best(2));
        EXPECT_EQ(book.asks.best(99), aapl.asks.best(2));
        const auto account = account_of(*client);
        EXPECT_TRUE(account.closes());
        EXPECT_EQ(account.missed == 0, client == &conflated);
        EXPECT_EQ(of_type(lines, "missed").empty(), client == &conflated);
    }
    const auto book = follow(all_lines(reading), kDepth, history);
    EXPECT_EQ(book.snapshots, 1U);
    EXPECT_EQ(account_of(reading).missed, 0U);
}

TEST_F(DepthTest, AClearThatLeavesTheLogUnsentVoidsTheBooksOfQuietInstruments) {
    for (const std::string_view mode : {"every", "conflate"}) {
        open([](Settings& s) {
            s.backlog = 256;
            s.send_buffer = kSmallBuffer;
        });
        std::mt19937 random{13};
        clear();
        LevelFeed quiet{0, kDepth};
        LevelFeed busy{1, kDepth};
        while (quiet.bids.levels.empty() || quiet.asks.levels.empty()) quiet.change(random, publisher());
        auto client = connect(R"({"subscribe":["*"],"depth":2,"mode":")" + std::string{mode} + "\"}", kSmallBuffer);
        const auto fill = [&](std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i) {
                sink_->on(trade_of(1, feed::kPriceScale), ++number_);
                sink_->step(core::monotonic_nanos());
            }
        };
        fill(2'000);  // the socket is full
        clear();
        fill(2'000);  // the Clear leaves the log
        busy.change(random, publisher());
        const auto lines = all_lines(client);
        EXPECT_TRUE(of_type(lines, "clear").empty()) << mode;
        EXPECT_FALSE(of_type(lines, "missed").empty()) << mode;
        const auto book = book_of(lines, "AAPL", 0, 2);
        EXPECT_TRUE(book.bids.levels.empty()) << mode;
        EXPECT_TRUE(book.asks.levels.empty()) << mode;
        EXPECT_TRUE(book.complete) << mode;
        EXPECT_TRUE(account_of(client).closes()) << mode;
        sink_.reset();
    }
}

TEST_F(DepthTest, OnlyTheBookOfAFeedWithTooFewLevelsEnds) {
    for (const std::string_view mode : {"every", "conflate"}) {
        open();
        std::mt19937 random{14};
        clear();
        sink_->on(new_session_of(1), ++number_);
        LevelFeed aapl{0, kDepth};
        LevelFeed msft{1, 2};
        while (aapl.change(random, publisher()) == 0) {
        }
        auto client = connect(R"({"subscribe":["*"],"depth":3,"mode":")" + std::string{mode} + "\"}");
        ring_.writer.set_depth(1, {.depth = 2});
        for (int i = 0; i < 20; ++i) {
            msft.change(random, publisher_of(1));
            aapl.change(random, publisher());
            if (i % 5 == 0) sink_->step(core::monotonic_nanos());
        }
        const auto lines = all_lines(client);
        EXPECT_EQ(of_type(lines, "error"),
                  (std::vector<std::string>{
                      R"({"type":"error","text":"'depth': the feed of MSFT sends 2 levels of a side"})"}));
        auto book = book_of(lines, "MSFT", 1, 3);
        EXPECT_EQ(book.snapshots + book.books, 1U);
        EXPECT_FALSE(book.complete);
        EXPECT_TRUE(book.bids.levels.empty() && book.asks.levels.empty());
        book = book_of(lines, "AAPL", 0, 3);
        EXPECT_TRUE(book.complete);
        EXPECT_EQ(book.bids.best(99), aapl.bids.best(3));
        EXPECT_EQ(book.asks.best(99), aapl.asks.best(3));
        const auto account = account_of(client);
        EXPECT_TRUE(account.closes());
        EXPECT_GT(account.filtered, 0U);
        EXPECT_LT(account.snapshot, 100U);
        // Another subscription tries again.
        ring_.writer.set_depth(1, {.depth = 3});
        client.send_text(R"({"subscribe":["*"],"depth":3})"
                         "\n");
        EXPECT_EQ(book_of(all_lines(client, 3), "MSFT", 1, 3).bids.best(99), msft.bids.best(2));
        sink_.reset();
    }
}

TEST_F(DepthTest, SubscriptionsAreCheckedAgainWhenTheRingsWriterHasAnotherDepth) {
    for (const std::string_view mode : {"every", "conflate"}) {
        open();
        std::mt19937 random{15};
        clear();
        LevelFeed before{0, kDepth};
        for (int i = 0; i < 20; ++i) before.change(random, publisher());
        const auto request = [&](const char* depth) {
            return std::string{R"({"subscribe":["AAPL"],"depth":)"} + depth + R"(,"mode":")" + std::string{mode} +
                   "\"}";
        };
        auto deep = connect(request("4"));
        auto shallow = connect(request("2"));
        EXPECT_TRUE(book_of(all_lines(deep), "AAPL", 0, 4).complete);
        ring_.writer.set_depth(0, {.depth = 3});
        clear();
        auto book = book_of(all_lines(deep, 3), "AAPL", 0, 4);
        EXPECT_TRUE(book.bids.levels.empty() && book.asks.levels.empty());
        LevelFeed after{0, 3};
        while (after.bids.levels.empty() || after.asks.levels.empty()) after.change(random, publisher());
        const auto lines = all_lines(deep, 4);
        EXPECT_EQ(of_type(lines, "error").size(), 1U) << mode;
        book = book_of(lines, "AAPL", 0, 4);
        EXPECT_FALSE(book.complete) << mode;
        EXPECT_TRUE(book.bids.levels.empty() && book.asks.levels.empty());
        book = book_of(all_lines(shallow), "AAPL", 0, 2);
        EXPECT_TRUE(book.complete) << mode;
        EXPECT_EQ(book.bids.best(99), after.bids.best(2));
        EXPECT_EQ(book.asks.best(99), after.asks.best(2));
        EXPECT_TRUE(account_of(deep).closes());
        EXPECT_TRUE(account_of(shallow).closes());
        sink_.reset();
    }
}

TEST_F(DepthTest, AGapAfterTheWritersDepthChangedMakesTheBookIncomplete) {
    open();
    std::mt19937 random{16};
    clear();
    LevelFeed aapl{0, kDepth};
    while (aapl.change(random, publisher()) == 0) {
    }
    auto client = connect(R"({"subscribe":["AAPL"],"depth":2})");
    ring_.writer.set_depth(0, {.depth = 3});
    clear();
    EXPECT_TRUE(book_of(all_lines(client), "AAPL", 0, 2).complete);
    sink_->on(feed::Gap{.channel = 0, .first = 1, .last = 2}, ++number_);
    const auto book = book_of(all_lines(client, 3), "AAPL", 0, 2);
    EXPECT_FALSE(book.complete);
    EXPECT_TRUE(book.bids.levels.empty() && book.asks.levels.empty());
}

TEST_F(DepthTest, AnIncompleteQuoteAfterTheClearOfItsInstrumentMakesTheBookIncomplete) {
    open();
    auto client = connect(R"({"subscribe":["*"],"depth":2})");
    sink_->on(feed::Clear{.instrument = 1}, ++number_);
    auto quote = quote_of(1, feed::kPriceScale);
    quote.flags = feed::kLast;
    sink_->on(quote, ++number_);
    quote.flags |= feed::kIncomplete;
    sink_->on(quote, ++number_);
    const auto lines = of_type(all_lines(client), "level");
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(text_in(lines[0], "symbol"), "\"MSFT\"");
    EXPECT_EQ(number_in(lines[0], "flags"), feed::kSnapshot | feed::kIncomplete | feed::kLast);
}

TEST_F(DepthTest, ATradeInsideASnapshotDoesNotLeaveTheBookIncomplete) {
    for (const bool ends_with_trade : {false, true}) {
        open();
        std::mt19937 random{17};
        LevelFeed aapl{0, kDepth};
        for (int i = 0; i < 20; ++i) aapl.change(random, publisher());
        auto client = connect(R"({"subscribe":["AAPL"],"depth":2})");
        aapl.publish_snapshot([&](feed::Level level) {
            const bool is_last = (level.flags & feed::kLast) != 0;
            if (is_last) {
                all_lines(client);
                sink_->on(trade_of(0, feed::kPriceScale), ++number_);
                all_lines(client, 3);
            }
            if (ends_with_trade) level.flags = feed::kSnapshot;
            sink_->on(level, ++number_);
            if (!ends_with_trade || !is_last) return;
            auto trade = trade_of(0, feed::kPriceScale);
            trade.flags = feed::kLast;
            sink_->on(trade, ++number_);
        });
        const auto book = book_of(all_lines(client, 4), "AAPL", 0, 2);
        EXPECT_TRUE(book.complete) << ends_with_trade;
        EXPECT_EQ(book.bids.best(99), aapl.bids.best(2));
        EXPECT_EQ(book.asks.best(99), aapl.asks.best(2));
        EXPECT_TRUE(account_of(client).closes());
        sink_.reset();
    }
}

TEST_F(DepthTest, ManyBooksAreSentInSeveralSteps) {
    constexpr std::size_t kBooks = 15;
    constexpr std::uint64_t kOrders = 700;                         // about 100 KiB of text
    constexpr std::uint64_t kMaxStep = std::uint64_t{512} * 1024;  // four texts of 64 KiB and a book
    symbols_.clear();
    for (std::size_t i = 0; i < kBooks; ++i) symbols_.push_back("S" + std::to_string(i));
    open([](Settings& s) { s.send_buffer = std::uint64_t{4} << 20U; });
    clear();
    for (feed::InstrumentId id = 0; id < kBooks; ++id) {
        for (std::uint64_t i = 1; i <= kOrders; ++i) {
            feed::Order order;
            order.instrument = id;
            order.side = Side::bid;
            order.order_id = i;
            order.price = feed::kPriceScale;
            order.size = order.size_left = 1;
            order.flags = feed::kLast;
            sink_->on(order, ++number_);
        }
    }
    auto client = connect({}, 4 << 20);
    std::jthread reader{[&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            client.wait(1);
            client.receive();
        }
    }};
    ring_.writer.set_depth(1, {});
    client.send_text("{\"subscribe\":[\"*\"],\"orders\":true}\n");
    const auto bytes = [this] { return sink_->counters().bytes.read(); };
    std::uint64_t steps = 0;
    for (auto before = bytes(); before < kBooks * std::uint64_t{64} * 1024; ++steps) {
        const auto begin = core::monotonic_nanos();
        sink_->wait(std::chrono::milliseconds{1});
        sink_->step(begin);
        EXPECT_LE(bytes() - before, kMaxStep);
        before = bytes();
    }
    EXPECT_GE(steps, 3U);
}

std::size_t resident_bytes() {
    std::ifstream statm{"/proc/self/statm"};
    std::size_t all = 0;
    std::size_t resident = 0;
    statm >> all >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST_F(DepthTest, OfAThousandClientsFiftyStuckOnesLoseChangesAndTheOthersNone) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    constexpr std::size_t kClients = 200;
    constexpr bool kMemoryIsOurs = false;  // most of it is the sanitizer's
#else
    constexpr std::size_t kClients = 1'000;
    constexpr bool kMemoryIsOurs = true;
#endif
    constexpr std::size_t kStuck = 50;
    constexpr std::size_t kLevels = 2;
    constexpr int kGroups = 300;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 2 * kClients + 200) GTEST_SKIP() << "needs more descriptors than " << limit.rlim_cur;
    open([](Settings& s) {
        s.max_clients = kClients;
        s.backlog = 64;
        s.send_buffer = kSmallBuffer;
        s.stall = std::chrono::hours{1};
    });
    clear();
    LevelFeed feed{0, kDepth};
    std::mt19937 random{1};  // NOLINT(cert-msc51-cpp): the same changes in each run
    feed.change(random, publisher());
    std::vector<LineClient> clients;
    // Whether it is in the newest bytes of each client.
    const auto all_have = [&](std::size_t from, std::string_view text) {
        constexpr std::size_t kNewest = 400;
        return run_until([&] {
            bool all = true;
            for (auto& client : std::span{clients}.subspan(from)) {
                client.receive();
                const auto& got = client.text();
                all = all && got.find(text, got.size() < kNewest ? 0 : got.size() - kNewest) != std::string::npos;
            }
            return all;
        });
    };
    while (clients.size() < kClients) {
        for (int i = 0; i < 50; ++i) {
            clients.emplace_back(sink_->address().port(), clients.size() < kStuck ? kSmallBuffer : 0);
            clients.back().send_text("{\"subscribe\":[\"AAPL\"],\"depth\":2}\n{\"echo\":1}\n");
        }
        ASSERT_TRUE(all_have(clients.size() - 50, R"({"type":"echo","echo":1})"));
    }
    const auto resident = resident_bytes();
    for (int group = 0; group < kGroups; ++group) {
        feed.change(random, publisher());
        if (group % 4 != 0) continue;
        for (auto& client : std::span{clients}.subspan(kStuck))
            client.send_text("{\"echo\":" + std::to_string(group + 2) + "}\n");
        ASSERT_TRUE(all_have(kStuck, "{\"type\":\"echo\",\"echo\":" + std::to_string(group + 2) + "}"));
    }
    std::size_t received = 0;
    for (const auto& client : clients) received += client.text().capacity();
    if (kMemoryIsOurs) {
        EXPECT_LT(resident_bytes(), resident + received + (std::size_t{64} << 20U));
    }
    for (auto& client : clients) client.send_text("{\"echo\":1000}\n");
    ASSERT_TRUE(all_have(0, R"({"type":"echo","echo":1000})"));
    for (auto& client : clients) client.send_text("{\"account\":true}\n");
    ASSERT_TRUE(all_have(0, R"({"type":"account")"));
    std::uint64_t stuck = 0;
    for (std::size_t i = 0; i < kClients; ++i) {
        const auto lines = clients[i].lines();
        const auto book = book_of(lines, "AAPL", 0, kLevels);
        ASSERT_TRUE(book.complete) << i;
        ASSERT_EQ(book.bids.best(99), best(feed.bids, kLevels)) << i;
        ASSERT_EQ(book.asks.best(99), best(feed.asks, kLevels)) << i;
        const auto account = of_type(lines, "account").back();
        const auto part = [&](std::string_view key) { return number_in(account, key); };
        ASSERT_EQ(part("published"),
                  part("delivered") + part("filtered") + part("conflated") + part("missed") + part("queued"))
            << account;
        if (part("missed") != 0) ++stuck;
        if (i >= kStuck) {
            ASSERT_EQ(part("missed"), 0) << account;
        }
    }
    EXPECT_EQ(stuck, kStuck);
}

TEST_F(DepthTest, OrdersComeWithTheirPriorityAndTheLastEntryOfEachClientIsMarked) {
    open();
    clear();
    const auto order = [&](feed::OrderAction action, std::uint64_t id, feed::Price price, std::uint64_t size,
                           std::uint64_t left, std::uint16_t flags = 0) {
        feed::Order event;
        event.instrument = 0;
        event.action = action;
        event.side = Side::bid;
        event.order_id = id;
        event.price = price * feed::kPriceScale;
        event.size = size;
        event.size_left = left;
        event.flags = flags;
        sink_->on(event, ++number_);
    };
    const auto level = [&](feed::Price price, std::uint64_t size, std::uint32_t orders) {
        feed::Level event;
        event.instrument = 0;
        event.side = Side::bid;
        event.price = price * feed::kPriceScale;
        event.size = size;
        event.orders = orders;
        event.flags = feed::kLast;
        sink_->on(event, ++number_);
    };
    using Action = feed::OrderAction;
    order(Action::add, 1, 10, 100, 100);
    level(10, 100, 1);
    order(Action::add, 2, 10, 50, 50);
    level(10, 150, 2);
    order(Action::add, 3, 9, 70, 70);
    level(9, 70, 1);
    auto both = connect(R"({"subscribe":["AAPL"],"depth":1,"orders":true})");
    auto orders = connect(R"({"subscribe":["AAPL"],"orders":true})");
    order(Action::execute, 1, 10, 40, 60);
    level(10, 110, 2);
    order(Action::add, 4, 9, 5, 5);
    level(9, 75, 2);  // not among the first client's levels
    const auto wanted = [](const BookClient& book) {
        ASSERT_EQ(book.orders.size(), 4U);
        EXPECT_EQ(book.orders[0], (BookClient::Order{"\"bid\"", 10 * feed::kPriceScale, 1, 60}));
        EXPECT_EQ(book.orders[1], (BookClient::Order{"\"bid\"", 10 * feed::kPriceScale, 2, 50}));
        EXPECT_EQ(book.orders[2], (BookClient::Order{"\"bid\"", 9 * feed::kPriceScale, 3, 70}));
        EXPECT_EQ(book.orders[3], (BookClient::Order{"\"bid\"", 9 * feed::kPriceScale, 4, 5}));
        EXPECT_TRUE(book.complete);
        EXPECT_EQ(book.lasts, 3U);  // the snapshot and two groups
    };
    BookClient book{1};
    for (const auto& line : all_lines(both)) book.apply(line);
    wanted(book);
    EXPECT_EQ(book.bids.best(99), (Best{{10 * feed::kPriceScale, {110, 2}}}));
    book = BookClient{1};
    for (const auto& line : all_lines(orders)) book.apply(line);
    wanted(book);
    EXPECT_EQ(account_of(both), (Account{.published = 4, .delivered = 3, .filtered = 1, .snapshot = 6}));
    EXPECT_EQ(account_of(orders), (Account{.published = 4, .delivered = 2, .filtered = 2, .snapshot = 4}));
}

}  // namespace
}  // namespace millpond::gateway::tcp
