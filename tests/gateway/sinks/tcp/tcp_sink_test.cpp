#include "gateway/sinks/tcp/tcp_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include <millpond/core/clock.hpp>
#include <millpond/net/socket_address.hpp>

#include "tests/gateway/json_lines/json_lines_fixture.hpp"
#include "tests/gateway/sinks/events.hpp"
#include "tests/gateway/sinks/settings_with.hpp"
#include "tests/support/descriptor_limit.hpp"
#include "tests/support/line_client.hpp"

namespace millpond::gateway::tcp {
namespace {

using millpond::test::LineClient;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TcpSinkTest : public JsonLinesFixture<TcpSink> {
protected:
    void open(const std::function<void(Settings&)>& change = {}, int send_buffer = kSmallBuffer) {
        make(test::settings_with<Settings>([&](Settings& s) {
                 s.listen = net::SocketAddress::parse("127.0.0.1:0");
                 s.send_buffer = static_cast<std::uint64_t>(send_buffer);
                 if (change) change(s);
             }),
             ClientAccess{});
    }
    LineClient connect(int receive_buffer = 0) {
        const auto before = sink_->counters().accepted.read();
        LineClient client{sink_->address().port(), receive_buffer};
        EXPECT_TRUE(run_until([&] { return sink_->counters().accepted.read() > before; }));
        return client;
    }
};

TEST_F(TcpSinkTest, EveryEventIsALineWithItsRingNumber) {
    open();
    auto client = connect();
    sink_->on(quote_of(0, feed::price_from<10'000>(1'892'400)), 1);
    sink_->on(trade_of(1, feed::kPriceScale), 2);
    sink_->on(feed::Status{.instrument = 0, .state = feed::TradingState::halted}, 3);
    sink_->on(feed::Gap{.channel = 3, .first = 7, .last = 9}, 4);
    sink_->on(feed::Clear{.channel = 3}, 5);
    ASSERT_TRUE(run_until_lines(client, 5));
    EXPECT_THAT(client.lines(),
                ElementsAre(AllOf(HasSubstr(R"("type":"quote","symbol":"AAPL")"), HasSubstr(R"("sequence":1)"),
                                  HasSubstr(R"("price":189.2400)")),
                            AllOf(HasSubstr(R"("type":"trade","symbol":"MSFT")"), HasSubstr(R"("sequence":2)")),
                            HasSubstr(R"("state":"halted")"), HasSubstr(R"("first":7,"last":9)"),
                            HasSubstr(R"("type":"clear")")));
}

TEST_F(TcpSinkTest, TheBoardComesFirstAndIsNoPartOfTheAccount) {
    open();
    sink_->board(quote_of(1, feed::price_from<10'000>(777)), 41);
    publish(1, 1);  // before the client connects: it gets it from the board
    auto client = connect();
    publish(1, 1);
    ASSERT_TRUE(run_until_lines(client, 3));
    const auto lines = client.lines();
    EXPECT_THAT(lines[0], HasSubstr("AAPL"));
    EXPECT_THAT(lines[1], HasSubstr("MSFT"));
    EXPECT_THAT(lines[2], HasSubstr("\"sequence\":2"));
    EXPECT_EQ(account_of(client), (Account{.published = 1, .delivered = 1, .snapshot = 2}));
}

TEST_F(TcpSinkTest, ALateClientGetsTheTradingStatesBeforeTheQuotes) {
    using feed::TradingState;
    open();
    sink_->board(feed::Status{.channel = 2, .state = TradingState::start_of_market_hours}, 40);
    sink_->board(feed::Status{.instrument = 1, .state = TradingState::halted}, 41);
    sink_->board(quote_of(1, feed::price_from<10'000>(777)), 41);
    auto first = connect();
    ASSERT_TRUE(run_until_lines(first, 3));
    EXPECT_THAT(first.lines(),
                ElementsAre(AllOf(HasSubstr(R"("type":"status","symbol":null,"channel":2)"),
                                  HasSubstr(R"("sequence":40)"), HasSubstr("start_of_market_hours")),
                            AllOf(HasSubstr(R"("type":"status","symbol":"MSFT")"), HasSubstr(R"("state":"halted")")),
                            HasSubstr(R"("type":"quote","symbol":"MSFT")")));
    EXPECT_EQ(account_of(first), (Account{.published = 0, .snapshot = 3}));
    // A state published while the sink runs replaces the board's state for later clients.
    sink_->on(feed::Status{.instrument = 1, .state = TradingState::paused}, 42);
    auto second = connect();
    ASSERT_TRUE(run_until_lines(second, 3));
    EXPECT_THAT(second.lines()[1], AllOf(HasSubstr(R"("state":"paused")"), HasSubstr(R"("sequence":42)")));
    EXPECT_EQ(account_of(second), (Account{.published = 0, .snapshot = 3}));
}

TEST_F(TcpSinkTest, SubscribingBringsTheTradingStateToo) {
    open();
    auto client = connect();
    client.send_text("{\"unsubscribe\":[\"*\"]}\n");
    EXPECT_EQ(account_of(client), Account{});
    sink_->on(feed::Status{.instrument = 0, .state = feed::TradingState::halted}, 1);
    sink_->on(feed::Status{.instrument = 1, .state = feed::TradingState::halted}, 2);
    EXPECT_EQ(account_of(client), (Account{.published = 2, .filtered = 2}));
    client.send_text("{\"subscribe\":[\"AAPL\"]}\n");
    ASSERT_TRUE(run_until_lines(client, 3));
    EXPECT_THAT(client.lines()[2], AllOf(HasSubstr("AAPL"), HasSubstr(R"("state":"halted")")));
    EXPECT_EQ(account_of(client), (Account{.published = 2, .filtered = 2, .snapshot = 1}));
}

TEST_F(TcpSinkTest, AClientThatStopsReadingKeepsNearlyAllOfItsBacklog) {
    constexpr std::uint64_t kBacklog = 1'024;
    open([&](Settings& s) { s.backlog = kBacklog; });
    auto stuck = connect(kSmallBuffer);
    while (sink_->counters().missed.read() == 0) {
        publish(64);
        sink_->step(core::monotonic_nanos());
    }
    // A sixteenth of the log is freed at once.
    EXPECT_LE(sink_->counters().missed.read(), kBacklog / 16 + 64);
}

TEST_F(TcpSinkTest, ASubscriberGetsItsSymbolsAndTheOthersAreFiltered) {
    open();
    auto client = connect();
    client.send_text("{\"subscribe\":[\"MSFT\"]}\n");
    EXPECT_EQ(account_of(client), Account{});
    publish(10);
    ASSERT_TRUE(run_until_lines(client, 6));
    for (const auto& line : client.lines()) EXPECT_THAT(line, Not(HasSubstr("AAPL")));
    EXPECT_EQ(account_of(client), (Account{.published = 10, .delivered = 5, .filtered = 5}));
}

TEST_F(TcpSinkTest, ASubscriptionCountsForInstrumentsThatAreNamedLater) {
    open();
    auto client = connect();
    client.send_text("{\"subscribe\":[\"NEWCO\"]}\n");
    EXPECT_EQ(account_of(client), Account{});
    sink_->name(2, feed::Venue{}, feed::Symbol{"NEWCO"}, feed::kDefaultDecimals);
    publish(3, 3);
    ASSERT_TRUE(run_until_lines(client, 2));
    EXPECT_THAT(client.lines().back(), HasSubstr("NEWCO"));
}

TEST_F(TcpSinkTest, SubscribingBringsTheStandingQuoteFirst) {
    open();
    auto client = connect();
    client.send_text("{\"unsubscribe\":[\"*\"]}\n");
    EXPECT_EQ(account_of(client), Account{});
    publish(4);
    EXPECT_EQ(account_of(client), (Account{.published = 4, .filtered = 4}));
    client.send_text("{\"subscribe\":[\"AAPL\"]}\n");
    ASSERT_TRUE(run_until_lines(client, 3));
    EXPECT_THAT(client.lines()[2], AllOf(HasSubstr("AAPL"), HasSubstr("\"sequence\":3")));
}

TEST_F(TcpSinkTest, AClientThatNeverReadsLosesCountedEventsAndDisturbsNoOther) {
    open([&](Settings& s) {
        s.backlog = 64;
        s.stall = std::chrono::hours{1};
    });
    auto stuck = connect(kSmallBuffer);
    auto reader = connect();
    constexpr std::uint64_t kRounds = 400;
    constexpr std::uint64_t kPerRound = 50;
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
        publish(kPerRound);
        ASSERT_TRUE(run_until_lines(reader, round * kPerRound));
    }
    const auto lines = reader.lines();
    for (std::size_t i = 0; i < lines.size(); ++i) {
        ASSERT_EQ(number_in(lines[i], "sequence"), static_cast<std::int64_t>(i + 1));
    }
    EXPECT_EQ(account_of(reader), (Account{.published = kRounds * kPerRound, .delivered = kRounds * kPerRound}));
    EXPECT_GT(sink_->counters().missed.read(), 0U);
#if !defined(__SANITIZE_THREAD__)  // through windows of 4 KiB, catching up takes the race detector minutes
    // The client reads now, and gets the exact number of lost events.
    std::uint64_t told = 0;
    std::uint64_t quotes = 0;
    const auto account = account_of(stuck);
    ASSERT_TRUE(run_until([&] {
        stuck.receive();
        told = quotes = 0;
        for (const auto& line : stuck.lines()) {
            if (line.starts_with("{\"type\":\"missed\"")) told += static_cast<std::uint64_t>(number_in(line, "count"));
            if (line.starts_with("{\"type\":\"quote\"")) ++quotes;
        }
        return told + quotes == kRounds * kPerRound;
    })) << told
        << " + " << quotes;
    EXPECT_TRUE(account.closes());
    const auto end = account_of(stuck);
    EXPECT_TRUE(end.closes());
    EXPECT_GT(end.missed, 0U);
#endif
}

TEST_F(TcpSinkTest, AConflatingClientThatDoesNotReadGetsTheNewestOfEachInstrument) {
    open([&](Settings& s) {
        s.mode = Delivery::conflate;
        s.backlog = 64;
    });
    auto client = connect(kSmallBuffer);
    constexpr std::uint64_t kCount = 20'000;
    for (std::uint64_t i = 0; i < kCount / 50; ++i) {
        publish(50);
        sink_->step(core::monotonic_nanos());
    }
    const auto account = [&] {
        std::int64_t last_aapl = 0;
        std::int64_t last_msft = 0;
        EXPECT_TRUE(run_until([&] {
            client.receive();
            for (const auto& line : client.lines()) {
                if (line.find("AAPL") != std::string::npos) last_aapl = number_in(line, "sequence");
                if (line.find("MSFT") != std::string::npos) last_msft = number_in(line, "sequence");
            }
            return last_aapl == kCount - 1 && last_msft == kCount;
        })) << last_aapl
            << ' ' << last_msft;
        return account_of(client);
    }();
    EXPECT_TRUE(account.closes());
    EXPECT_EQ(account.published, kCount);
    EXPECT_EQ(account.missed, 0U);
    EXPECT_EQ(account.queued, 0U);
    EXPECT_GT(account.conflated, 0U);
    std::int64_t before = 0;
    std::uint64_t quotes = 0;
    for (const auto& line : client.lines()) {
        if (!line.starts_with("{\"type\":\"quote\"")) continue;
        ++quotes;
        EXPECT_GT(number_in(line, "sequence"), 0);
        if (line.find("AAPL") == std::string::npos) continue;
        EXPECT_GT(number_in(line, "sequence"), before);  // an instrument's quotes never go back
        before = number_in(line, "sequence");
    }
    EXPECT_EQ(quotes, account.delivered);
}

TEST_F(TcpSinkTest, AnIntervalEndsWithAllThatWaitsThoughTheSocketIsFullMeanwhile) {
    constexpr std::size_t kInstruments = 3'000;
    symbols_.clear();
    for (std::size_t i = 0; i < kInstruments; ++i) symbols_.push_back(std::to_string(i));
    open([&](Settings& s) { s.mode = Delivery::conflate; });
    auto client = connect(kSmallBuffer);
    client.send_text("{\"interval_ms\":1000,\"echo\":1}\n");
    const auto echoed = [&](std::string_view number) {
        client.receive();
        return !client.lines().empty() &&
               client.lines().back() == "{\"type\":\"echo\",\"echo\":" + std::string{number} + "}";
    };
    ASSERT_TRUE(run_until([&] { return echoed("1"); }));
    publish(2 * kInstruments, kInstruments);
    client.send_text("{\"echo\":2}\n");
    const auto before = client.lines().size();
    ASSERT_TRUE(run_until_at(core::monotonic_nanos() + 2'000'000'000, [&] { return echoed("2"); }));
    EXPECT_EQ(client.lines().size() - before, kInstruments + 1);
    EXPECT_TRUE(account_of(client).closes());
}

TEST_F(TcpSinkTest, AConflatingClientStillLosesTradesByCount) {
    open([&](Settings& s) {
        s.mode = Delivery::conflate;
        s.backlog = 64;
    });
    auto client = connect(kSmallBuffer);
    constexpr std::uint64_t kTrades = 20'000;
    for (std::uint64_t i = 0; i < kTrades; ++i) {
        sink_->on(trade_of(0, feed::kPriceScale), ++number_);
        if (i % 50 == 0) sink_->step(core::monotonic_nanos());
    }
    const auto account = account_of(client);
    EXPECT_TRUE(account.closes());
    EXPECT_EQ(account.conflated, 0U);
    EXPECT_GT(account.missed, 0U);
}

TEST_F(TcpSinkTest, AClientThatTakesNothingForTooLongIsToldAndDisconnected) {
    open([&](Settings& s) {
        s.backlog = 64;
        s.stall = std::chrono::seconds{2};
    });
    auto stuck = connect(kSmallBuffer);
    while (sink_->counters().missed.read() == 0) {  // until the kernel's buffers and the log are full
        publish(1'000);
        sink_->step(core::monotonic_nanos());
    }
    // The sink's clock advances by three seconds.
    ASSERT_TRUE(run_until([&] { return sink_->counters().stalled.read() == 1; }, 3'000'000'000));
    ASSERT_TRUE(run_until(
        [&] {
            stuck.receive();
            return stuck.over();
        },
        3'000'000'000));
    ASSERT_TRUE(stuck.ends_in_a_line());
    EXPECT_THAT(stuck.lines().back(), StartsWith("{\"type\":\"bye\",\"text\":\"no data was accepted for 2 s"));
    EXPECT_EQ(sink_->counters().clients.read(), 0U);
}

TEST_F(TcpSinkTest, AClientThatReadsSlowlyButSteadilyStays) {
    // A large send buffer: the socket becomes writable only after a third of it was sent.
    open([](Settings& s) { s.backlog = 64; }, 256 * 1024);
    auto slow = connect(16'384);
    while (sink_->counters().missed.read() ==
           0) {  // fewer lines than the log holds: they are lost only if the socket is full
        publish(50);
        sink_->step(core::monotonic_nanos());
    }
    const auto begin = core::monotonic_nanos();
    for (std::int64_t second = 1; second <= 40; ++second) {
        publish(50);
        slow.skip_at_most(4'000);
        sink_->wait(std::chrono::milliseconds{1});
        sink_->step(begin + second * 1'000'000'000);
        ASSERT_EQ(sink_->counters().stalled.read(), 0U) << "after " << second << " s";
    }
    // The client accepts no more data from here on.
    for (std::int64_t second = 41; second <= 120 && sink_->counters().stalled.read() == 0; ++second) {
        publish(50);
        sink_->wait(std::chrono::milliseconds{1});
        sink_->step(begin + second * 1'000'000'000);
    }
    EXPECT_EQ(sink_->counters().stalled.read(), 1U);
}

TEST_F(TcpSinkTest, NonsenseIsAnsweredAndTheNextRequestWorks) {
    open();
    auto client = connect();
    client.send_text("hello\n{\"subscribe\":5}\n{\"mode\":\"fast\"}\n{\"colour\":\"red\"}\n[[[[[[\n");
    client.send_text("{\"subscribe\":[[[\"x\"]]]}\n{\"subscribe\":[\"\"]}\n{}\n\n");
    client.send_text("{\"mode\":\"conflate\",\"subscribe\":[\"AAPL\"]}\n");
    EXPECT_EQ(account_of(client), Account{});
    EXPECT_EQ(sink_->counters().bad_requests.read(), 9U);
    const auto lines = client.lines();
    ASSERT_EQ(lines.size(), 10U);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_THAT(lines[i], StartsWith("{\"type\":\"error\",\"text\":\""));
    EXPECT_THAT(lines[3], HasSubstr("unknown key 'colour'"));
}

TEST_F(TcpSinkTest, ARequestMayComeInPieces) {
    open();
    auto client = connect();
    const std::string request = "{\"subscribe\":[\"MSFT\"]}\n";
    for (const char c : request) {
        client.send_text({&c, 1});
        sink_->wait(std::chrono::milliseconds{1});
        sink_->step(core::monotonic_nanos());
    }
    EXPECT_EQ(account_of(client), Account{});
    publish(2);
    EXPECT_EQ(account_of(client).filtered, 1U);
    EXPECT_EQ(sink_->counters().bad_requests.read(), 0U);
}

TEST_F(TcpSinkTest, AnOverlongRequestEndsTheConnectionWithItsReason) {
    open();
    auto client = connect();
    client.send_text(std::string(10'000, 'x'));
    ASSERT_TRUE(run_until([&] {
        client.receive();
        return client.over();
    }));
    EXPECT_THAT(client.lines().back(), HasSubstr("a request line may have at most 4096 bytes"));
    EXPECT_EQ(sink_->counters().overlong.read(), 1U);
}

TEST_F(TcpSinkTest, AnOverlongRequestThatEndsInALineEndsTheConnectionToo) {
    open();
    for (const std::size_t size : {4'097U, 6'000U, 8'000U}) {
        auto client = connect();
        client.send_text(std::string(size, 'x') + "\n{\"account\":true}\n");
        client.send_no_more();
        ASSERT_TRUE(run_until_over(client)) << size;
        EXPECT_THAT(client.lines().back(), HasSubstr("a request line may have at most 4096 bytes")) << size;
        EXPECT_TRUE(run_until([&] { return sink_->counters().clients.read() == 0; })) << size;
    }
    EXPECT_EQ(sink_->counters().overlong.read(), 3U);
}

TEST_F(TcpSinkTest, AClientThatOnlyListensMayCloseItsSide) {
    open();
    auto client = connect();
    client.send_no_more();
    publish(3);
    ASSERT_TRUE(run_until_lines(client, 3));
    publish(1);
    ASSERT_TRUE(run_until_lines(client, 4));
}

TEST_F(TcpSinkTest, AClientThatFloodsWithRequestsAndNeverReadsIsBounded) {
    open();
    LineClient client{sink_->address().port(), kSmallBuffer};
    ASSERT_TRUE(run_until([&] { return sink_->counters().clients.read() == 1; }));
    // The sink stops reading when its replies do not fit, so the kernel eventually accepts no more requests.
    std::uint64_t requests = 0;
    std::uint64_t before = ~std::uint64_t{0};
    const std::string request = "nonsense\n";
    while (requests != before) {
        before = sink_->counters().bad_requests.read();
        for (int i = 0; i < 2'000; ++i) client.try_send(request);
        for (int i = 0; i < 20; ++i) {
            sink_->wait(std::chrono::nanoseconds{0});
            sink_->step(core::monotonic_nanos());
        }
        requests = sink_->counters().bad_requests.read();
        ASSERT_LT(requests, 1'000'000U);
    }
    auto other = connect();
    publish(1);
    EXPECT_TRUE(run_until_lines(other, 1));
}

TEST_F(TcpSinkTest, AClientThatClosedItsSideMakesWayForANewOneOnAQuietFeed) {
    open([&](Settings& s) { s.max_clients = 2; });
    auto half_closed = connect();
    auto whole = connect();
    half_closed.send_no_more();
    ASSERT_TRUE(run_until([&] {
        whole.receive();
        return sink_->counters().clients.read() == 2;
    }));
    publish(1);
    EXPECT_TRUE(
        run_until_lines(half_closed, 1));  // the client may continue to read while no new client needs its place
    auto next = connect();
    publish(1);
    EXPECT_TRUE(run_until_lines(next, 1));
    EXPECT_TRUE(run_until_lines(whole, 2));
    EXPECT_EQ(sink_->counters().clients.read(), 2U);
    EXPECT_EQ(sink_->counters().refused.read(), 0U);
    EXPECT_EQ(sink_->counters().left.read(), 1U);
    EXPECT_EQ(sink_->health().clients_departed, 1U);
}

TEST_F(TcpSinkTest, TooManyClientsAreRefusedWithTheReason) {
    open([&](Settings& s) { s.max_clients = 2; });
    auto first = connect();
    auto second = connect();
    LineClient third{sink_->address().port()};
    ASSERT_TRUE(run_until([&] {
        third.receive();
        return third.over();
    }));
    EXPECT_THAT(third.lines(), ElementsAre("{\"type\":\"bye\",\"text\":\"2 clients are connected already\"}"));
    first.leave();
    ASSERT_TRUE(run_until([&] {
        publish(1);
        return sink_->counters().clients.read() == 1;
    }));
    auto fourth = connect();
    publish(1);
    EXPECT_TRUE(run_until_lines(fourth, 1));
}

TEST_F(TcpSinkTest, WithoutDescriptorsItWaitsAndTheClientGetsInLater) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "UBSan's vptr check needs a descriptor";
#endif
    open();
    LineClient client{sink_->address().port()};
    const auto now = core::monotonic_nanos();
    {
        const millpond::test::NoMoreDescriptors none;
        for (int round = 0; round < 50; ++round) {
            sink_->wait(std::chrono::milliseconds{1});
            sink_->step(now);
        }
    }
    EXPECT_THAT(said_, ElementsAre(HasSubstr("cannot accept: Too many open files")));
    ASSERT_TRUE(run_until([&] { return sink_->counters().accepted.read() == 1; }));
    publish(1);
    EXPECT_TRUE(run_until_lines(client, 1));
}

TEST_F(TcpSinkTest, AThousandClientsEachGetEveryEvent) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    constexpr std::size_t kClients = 1'000;
    constexpr std::size_t kEvents = 20;
    if (limit.rlim_max < 2 * kClients + 100) GTEST_SKIP() << "needs " << 2 * kClients + 100 << " descriptors";
    open();
    std::vector<LineClient> clients;
    clients.reserve(kClients);
    while (clients.size() < kClients) clients.push_back(connect());
    publish(kEvents);
    const auto goal = kClients * kEvents;
    ASSERT_TRUE(run_until([&] {
        for (auto& client : clients) client.receive();
        return sink_->counters().delivered.read() == goal;
    }));
    for (auto& client : clients) {
        ASSERT_TRUE(run_until_lines(client, kEvents));
        ASSERT_EQ(client.lines().size(), kEvents);
        ASSERT_EQ(number_in(client.lines().back(), "sequence"), static_cast<std::int64_t>(kEvents));
    }
}

TEST_F(TcpSinkTest, WhatTheSinkItselfMissedIsToldToAll) {
    open();
    auto client = connect();
    publish(1);
    sink_->missed(2, 11);
    number_ = 11;
    publish(1);
    ASSERT_TRUE(run_until_lines(client, 3));
    EXPECT_EQ(client.lines()[1], R"({"type":"missed","count":10,"first":2,"last":11})");
    EXPECT_EQ(account_of(client), (Account{.published = 12, .delivered = 2, .missed = 10}));
}

TEST_F(TcpSinkTest, BehindAGapEveryClientGetsTheQuotesThatItMadeIncomplete) {
    symbols_.emplace_back("IBM");
    open();
    auto other = quote_of(2, feed::price_from<10'000>(30'000));
    other.channel = 1;
    auto early = connect();
    sink_->on(quote_of(0, feed::price_from<10'000>(10'000)), 1);
    sink_->on(quote_of(1, feed::price_from<10'000>(20'000)), 2);
    sink_->on(other, 3);
    sink_->on(feed::Gap{.channel = 0, .first = 4, .last = 5}, 4);
    sink_->on(quote_of(1, feed::price_from<10'000>(21'000)), 5);
    ASSERT_TRUE(run_until_lines(early, 6));
    const auto is = [](std::string_view symbol, bool incomplete) {
        return AllOf(HasSubstr("\"symbol\":\"" + std::string{symbol} + '"'),
                     HasSubstr(incomplete ? "\"incomplete\":true" : "\"incomplete\":false"));
    };
    // MSFT's newer quote is complete, and IBM belongs to another channel.
    EXPECT_THAT(early.lines(), ElementsAre(is("AAPL", false), is("MSFT", false), is("IBM", false),
                                           HasSubstr(R"("type":"gap")"), is("MSFT", false), is("AAPL", true)));
    auto late = connect();
    ASSERT_TRUE(run_until_lines(late, 3));
    EXPECT_THAT(late.lines(), ElementsAre(is("AAPL", true), is("MSFT", false), is("IBM", false)));
    sink_->on(feed::Gap{.channel = 0, .first = 7, .last = 8}, 6);
    sink_->on(quote_of(0, feed::price_from<10'000>(11'000)), 7);
    ASSERT_TRUE(run_until_lines(early, 9));
    const auto lines = early.lines();
    EXPECT_THAT(lines[7], is("AAPL", false));
    EXPECT_THAT(lines[8], is("MSFT", true)) << "AAPL was marked before";
    EXPECT_EQ(account_of(early), (Account{.published = 7, .delivered = 7, .snapshot = 2}));
}

TEST_F(TcpSinkTest, AClientThatLostTheGapItselfGetsTheIncompleteQuotesAllTheSame) {
    for (const auto* mode : {"{\"mode\":\"every\"}\n", "{\"mode\":\"conflate\"}\n"}) {
        symbols_ = {"AAPL", "MSFT"};
        number_ = 0;
        open([&](Settings& s) { s.backlog = 64; });
        auto client = connect(kSmallBuffer);
        client.send_text(mode);
        sink_->on(quote_of(1, feed::price_from<10'000>(20'000)), ++number_);
        ASSERT_TRUE(run_until_lines(client, 1));
        sink_->on(feed::Gap{.channel = 0, .first = 4, .last = 5}, ++number_);
        for (int i = 0; i < 5'000; ++i) sink_->on(trade_of(0, 1), ++number_);
        ASSERT_TRUE(run_until([&] {
            client.receive();
            return client.ends_in_a_line() && client.text().find("\"incomplete\":true") != std::string::npos;
        }));
        EXPECT_THAT(client.text(),
                    AllOf(HasSubstr("\"type\":\"missed\""), ::testing::Not(HasSubstr("\"type\":\"gap\""))));
        sink_.reset();
    }
}

TEST_F(TcpSinkTest, WhatTheSinkItselfMissedMakesTheQuotesBeforeItIncomplete) {
    open();
    sink_->on(quote_of(0, feed::price_from<10'000>(10'000)), 1);
    sink_->on(quote_of(1, feed::price_from<10'000>(20'000)), 2);
    auto early = connect();
    ASSERT_TRUE(run_until_lines(early, 2));
    sink_->missed(3, 9);
    sink_->on(quote_of(1, feed::price_from<10'000>(20'000)), 10);
    auto late = connect();
    ASSERT_TRUE(run_until_lines(late, 2));
    EXPECT_THAT(late.lines(), ElementsAre(HasSubstr(R"("incomplete":true)"), HasSubstr(R"("incomplete":false)")));
    ASSERT_TRUE(run_until_lines(early, 5));
    EXPECT_THAT(early.lines()[4], AllOf(HasSubstr("AAPL"), HasSubstr(R"("incomplete":true)")));
}

TEST_F(TcpSinkTest, AtTheEndEveryClientGetsWhatWaitsAndGoodbye) {
    open();
    auto client = connect();
    publish(100);
    sink_->finish();
    client.receive();
    ASSERT_EQ(client.lines().size(), 101U);
    EXPECT_EQ(client.lines().back(), "{\"type\":\"bye\",\"text\":\"the gateway is stopping\"}");
    EXPECT_TRUE(client.over());
}

TEST_F(TcpSinkTest, AnAddressInUseIsRefusedByName) {
    open();
    const auto settings = test::settings_with<Settings>([&](Settings& s) {
        s.name = "b";
        s.listen = sink_->address();
    });
    try {
        TcpSink second{settings, {}, [](service::Severity, std::string_view, const std::string&) {}};
        FAIL() << "no error";
    } catch (const std::system_error& error) {
        EXPECT_EQ(std::string{error.what()},
                  "tcp sink 'b': cannot listen on " + sink_->address().to_string() + ": Address already in use");
    }
}

}  // namespace
}  // namespace millpond::gateway::tcp
