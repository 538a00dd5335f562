#include "gateway/sinks/web/web_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/socket_address.hpp>

#include "tests/gateway/json_lines/book_client.hpp"
#include "tests/gateway/json_lines/json_lines_fixture.hpp"
#include "tests/gateway/sinks/events.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/gateway/sinks/settings_with.hpp"
#include "tests/support/line_client.hpp"
#include "tests/support/web_socket_client.hpp"

namespace millpond::gateway::web {
namespace {

using millpond::test::LineClient;
using millpond::test::WebSocketClient;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class WebSinkTest : public JsonLinesFixture<WebSink> {
protected:
    void open(const std::function<void(Settings&)>& change = {}, ClientAccess access = {}) {
        const auto settings = test::settings_with<Settings>([&](Settings& s) {
            s.listen = net::SocketAddress::parse("127.0.0.1:0");
            s.send_buffer = kSmallBuffer;
            if (change) change(s);
        });
        make(settings, std::move(access), [](const http::Request& request) {
            return request.path == "/other" ? http::Page{.type = "text/plain", .body = "other\n"} : http::Page{};
        });
    }
    std::unique_ptr<WebSocketClient> connect(std::string_view headers = {}, int receive_buffer = 0) {
        auto client = std::make_unique<WebSocketClient>(sink_->address().port(), headers, receive_buffer);
        EXPECT_TRUE(run_until([&] {
            client->receive();
            return client->agreed();
        }));
        return client;
    }
    /// Response to a plain HTTP request.
    std::string answer(std::string_view request) {
        LineClient client{sink_->address().port()};
        client.send_text(request);
        EXPECT_TRUE(run_until([&] {
            client.receive();
            return client.over();
        }));
        return client.text();
    }
};

TEST_F(WebSinkTest, ClientsOfDifferentDepthsGetTheirLevelsAndOthersNone) {
    TestRing ring{"web-depth"};
    ring.writer.set_depth(0, {.depth = 2});
    const market::RingReader reader{{.name = ring.name}};
    open([&](Settings& s) { s.mode = Delivery::every; });
    sink_->open(reader);
    sink_->on(feed::Clear{}, ++number_);
    const auto publish_level = [&](feed::Price price, std::uint64_t size) {
        feed::Level level;
        level.instrument = 0;
        level.side = feed::Side::bid;
        level.price = price * feed::kPriceScale;
        level.size = size;
        level.flags = feed::kLast;
        sink_->on(level, ++number_);
    };
    publish_level(10, 100);
    publish_level(9, 90);
    auto one = connect();
    auto two = connect();
    auto plain = connect();
    one->send_text(R"({"subscribe":["AAPL"],"depth":1})");
    two->send_text(R"({"subscribe":["*"],"depth":2})");
    ASSERT_TRUE(run_until_lines(*one, 2));
    ASSERT_TRUE(run_until_lines(*two, 3));
    publish_level(9, 95);
    publish_level(10, 0);
    sink_->on(trade_of(0, feed::kPriceScale), ++number_);
    BookClient book_of_one{1};
    BookClient book_of_two{2};
    ASSERT_TRUE(run_until_lines(*one, 2 + 3));
    ASSERT_TRUE(run_until_lines(*two, 3 + 3));
    ASSERT_TRUE(run_until_lines(*plain, 1));
    for (const auto& line : one->lines()) book_of_one.apply(line);
    for (const auto& line : two->lines()) book_of_two.apply(line);
    const std::vector<std::pair<feed::Price, BookSide::Total>> left{{9 * feed::kPriceScale, {95, 0}}};
    for (const auto* book : {&book_of_one, &book_of_two}) {
        EXPECT_TRUE(book->complete);
        EXPECT_EQ(book->bids.best(9), left);
    }
    EXPECT_EQ(account_of(*one), (Account{.published = 3, .delivered = 2, .filtered = 1, .snapshot = 2}));
    EXPECT_EQ(account_of(*two), (Account{.published = 3, .delivered = 3, .snapshot = 3}));
    EXPECT_EQ(account_of(*plain), (Account{.published = 3, .delivered = 1, .filtered = 2}));
}

TEST_F(WebSinkTest, AClientGetsTheBoardAndThenEveryEvent) {
    open([&](Settings& s) { s.mode = Delivery::every; });
    sink_->board(quote_of(1, feed::price_from<10'000>(777)), 41);
    publish(1, 1);  // before the client connects: it gets it from the board
    auto client = connect();
    ASSERT_TRUE(run_until_lines(*client, 2));
    sink_->on(quote_of(0, feed::price_from<10'000>(1'892'400)), 2);
    sink_->on(trade_of(1, feed::kPriceScale), 3);
    sink_->on(feed::Status{.instrument = 0, .state = feed::TradingState::halted}, 4);
    sink_->on(feed::Gap{.channel = 3, .first = 7, .last = 9}, 5);
    sink_->on(feed::Clear{.channel = 3}, 6);
    sink_->missed(7, 9);
    // The missed events may have changed both quotes: they are sent again, marked as incomplete.
    ASSERT_TRUE(run_until_lines(*client, 10));
    const auto is_marked = HasSubstr(R"("incomplete":true)");
    EXPECT_THAT(client->lines(),
                ElementsAre(HasSubstr("AAPL"), AllOf(HasSubstr("MSFT"), HasSubstr("0.0777")),
                            AllOf(HasSubstr(R"("type":"quote","symbol":"AAPL")"), HasSubstr(R"("sequence":2)"),
                                  HasSubstr(R"("price":189.2400)")),
                            HasSubstr(R"("type":"trade","symbol":"MSFT")"), HasSubstr(R"("state":"halted")"),
                            HasSubstr(R"("first":7,"last":9)"), HasSubstr(R"("type":"clear")"),
                            HasSubstr(R"("type":"missed","count":3)"), is_marked, is_marked));
    EXPECT_EQ(account_of(*client), (Account{.published = 8, .delivered = 5, .missed = 3, .snapshot = 4}));
}

TEST_F(WebSinkTest, AClientChoosesItsSymbols) {
    open([&](Settings& s) { s.mode = Delivery::every; });
    publish(2);
    auto client = connect();
    ASSERT_TRUE(run_until_lines(*client, 2));
    client->send_text(R"({"subscribe":["MSFT"]})");
    ASSERT_TRUE(run_until_lines(*client, 3));  // the quote again, for the new subscription
    publish(4);
    ASSERT_TRUE(run_until_lines(*client, 5));
    EXPECT_THAT(client->lines().back(), HasSubstr("MSFT"));
    const auto account = account_of(*client);
    EXPECT_EQ(account.filtered, 2U);
    EXPECT_TRUE(account.closes());
}

TEST_F(WebSinkTest, WithAnIntervalLinesComeTogetherAndOnlyTheNewest) {
    open();
    auto client = connect();
    client->send_text(R"({"interval_ms":1000})");
    publish(1, 1);
    ASSERT_TRUE(run_until_lines(*client, 1));
    const auto before = client->messages();
    publish(100);
    ASSERT_TRUE(run_until_lines(*client, client->lines().size() + 2));
    EXPECT_EQ(client->messages(), before + 1);
    EXPECT_THAT(client->lines().back(), HasSubstr(R"("sequence":101)"));
    const auto account = account_of(*client);
    EXPECT_EQ(account.conflated, 98U);
    EXPECT_TRUE(account.closes());
}

TEST_F(WebSinkTest, AnIntervalEndsWithAllThatWaitsHoweverManyMessagesThatTakes) {
    constexpr std::size_t kInstruments = 3'000;  // several messages of 64 KiB
    symbols_.clear();
    for (std::size_t i = 0; i < kInstruments; ++i) symbols_.push_back(std::to_string(i));
    open();
    auto client = connect();
    client->send_text(R"({"unsubscribe":["*"],"interval_ms":1000})");
    client->send_text(R"({"subscribe":["*"],"echo":1})");
    const auto echoed = [&](std::string_view number) {
        client->receive();
        return !client->lines().empty() &&
               client->lines().back() == "{\"type\":\"echo\",\"echo\":" + std::string{number} + "}";
    };
    ASSERT_TRUE(run_until([&] { return echoed("1"); }));
    auto later = core::monotonic_nanos();
    for (const auto* const number : {"2", "3"}) {
        publish(2 * kInstruments, kInstruments);
        client->send_text(R"({"echo":)" + std::string{number} + "}");
        const auto before = client->lines().size();
        const auto messages = client->messages();
        later += 2'000'000'000;
        ASSERT_TRUE(run_until_at(later, [&] { return echoed(number); }));
        EXPECT_EQ(client->lines().size() - before,
                  kInstruments + 1);  // the newest quote of each instrument, and the echo
        EXPECT_GT(client->messages(), messages + 1);
    }
    EXPECT_TRUE(account_of(*client).closes());
}

TEST_F(WebSinkTest, AnEchoComesBehindAllThatWasPublishedBeforeItsRequest) {
    open([&](Settings& s) {
        s.mode = Delivery::every;
        s.backlog = 64;
    });
    publish(2);
    auto client = connect({}, kSmallBuffer);
    publish(1'000);
    client->send_text(R"({"echo":9007199254740991})");
    ASSERT_TRUE(run_until([&] {
        client->receive();
        return !client->lines().empty() && client->lines().back().starts_with("{\"type\":\"echo\"");
    }));
    const auto lines = client->lines();
    EXPECT_EQ(lines.back(), R"({"type":"echo","echo":9007199254740991})");
    EXPECT_THAT(lines[lines.size() - 2], HasSubstr(R"("sequence":1002)"));
    client->send_text(R"({"echo":9007199254740992})");
    ASSERT_TRUE(run_until_lines(*client, lines.size() + 1));
    EXPECT_THAT(client->lines().back(), HasSubstr("'echo' must be an integer from 0 to 9007199254740991"));
}

TEST_F(WebSinkTest, PingsAreAnsweredBetweenMessagesWhileTheSocketIsFull) {
    constexpr std::uint8_t kPing = 9;
    open([&](Settings& s) { s.mode = Delivery::every; });
    auto client = connect({}, kSmallBuffer);
    publish(2);
    ASSERT_TRUE(run_until_lines(*client, 2));
    publish(4'000);  // many messages; the socket accepts a part of them
    for (int i = 0; i < 20; ++i) {
        client->send_frame(kPing, std::to_string(i));
        for (int turn = 0; turn < 5; ++turn) {
            sink_->wait(std::chrono::milliseconds{0});
            sink_->step(core::monotonic_nanos());
        }
    }
    ASSERT_TRUE(run_until_lines(*client, 4'002));
    ASSERT_TRUE(run_until([&] {
        client->receive();
        return client->pongs().size() == 20;
    }));
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(client->pongs()[i], std::to_string(i));
    for (std::size_t i = 0; i < 4'002; ++i) {
        ASSERT_THAT(client->lines()[i], HasSubstr("\"sequence\":" + std::to_string(i + 1) + ","));
    }
    EXPECT_EQ(client->strange(), 0U);
    const auto account = account_of(*client);
    EXPECT_TRUE(account.closes());
    EXPECT_EQ(account.delivered, 4'002U);
}

TEST_F(WebSinkTest, AClientIsCutOffWhileTheRestOfAMessageAndAPingWait) {
    constexpr std::uint8_t kPing = 9;
    constexpr std::int64_t kLaterNs = 11'000'000'000;
    enum class End { stall, leaves, asks_too_often, closes };
    for (const auto way : {End::stall, End::leaves, End::asks_too_often, End::closes}) {
        SCOPED_TRACE(static_cast<int>(way));
        number_ = 0;
        open([&](Settings& s) { s.mode = Delivery::every; });
        auto stuck = connect({}, kSmallBuffer);
        auto good = connect();
        publish(4'000);  // the socket of `stuck` accepts a part of a message
        for (int i = 0; i < 20; ++i) {
            stuck->send_frame(kPing, std::to_string(i));
            sink_->wait(std::chrono::milliseconds{1});
            sink_->step(core::monotonic_nanos());
        }
        ASSERT_TRUE(run_until_lines(*good, 4'000));
        switch (way) {
            case End::stall:
                EXPECT_TRUE(run_until([&] { return sink_->counters().stalled.read() == 1; }, kLaterNs));
                break;
            case End::leaves: stuck->leave(); break;
            case End::asks_too_often:
                for (int i = 0; i < 300; ++i) stuck->send_text(R"({"account":true})");
                break;
            case End::closes: stuck->send_frame(8, {}); break;
        }
        if (way == End::asks_too_often || way == End::closes) {
            // The client reads again, and gets complete messages.
            EXPECT_TRUE(run_until_over(*stuck));
            EXPECT_EQ(stuck->strange(), 0U);
            std::int64_t next = 1;
            for (const auto& line : stuck->lines()) {
                if (!line.starts_with(R"({"type":"quote")")) continue;
                ASSERT_EQ(number_in(line, "sequence"), next++);
            }
        }
        EXPECT_TRUE(run_until([&] { return sink_->counters().clients.read() == 1; }, 2 * kLaterNs));
        publish(1);
        ASSERT_TRUE(run_until_lines(*good, 4'001));
        EXPECT_TRUE(account_of(*good).closes());
        EXPECT_EQ(account_of(*good).delivered, 4'001U);
    }
}

TEST_F(WebSinkTest, ClientsAtTheSamePlaceGetWhatEachAskedFor) {
    open();
    std::vector<std::unique_ptr<WebSocketClient>> clients;
    for (const auto* request : {R"({"mode":"every"})", R"({"mode":"every"})", R"({"mode":"conflate"})",
                                R"({"mode":"every","subscribe":["MSFT"]})"}) {
        clients.push_back(connect());
        clients.back()->send_text(request);
        ASSERT_EQ(account_of(*clients.back()).published, 0U);  // the request was applied
    }
    const auto sequences = [](const WebSocketClient& client) {
        std::vector<std::int64_t> all;
        for (const auto& line : client.lines()) {
            if (line.starts_with(R"({"type":"quote")")) all.push_back(number_in(line, "sequence"));
        }
        return all;
    };
    publish(4);  // quotes 1 and 3 are of AAPL
    EXPECT_TRUE(run_until([&] {
        for (auto& client : clients) client->receive();
        return sequences(*clients[3]).size() == 2;
    }));
    sink_->on(feed::Gap{.first = 1, .last = 2}, 5);
    publish(2);
    for (auto& client : clients) {
        const auto account = account_of(*client);
        EXPECT_TRUE(account.closes());
        EXPECT_EQ(account.published, 7U);
        EXPECT_EQ(account.missed, 0U);
    }
    EXPECT_THAT(sequences(*clients[0]), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_EQ(clients[0]->lines().size(), clients[1]->lines().size());
    EXPECT_THAT(sequences(*clients[2]), ElementsAre(3, 4, 5, 6));
    EXPECT_THAT(sequences(*clients[3]), ElementsAre(2, 4, 6));
    EXPECT_EQ(account_of(*clients[2]).conflated, 2U);
    EXPECT_EQ(account_of(*clients[3]).filtered, 3U);
}

TEST_F(WebSinkTest, AClientThatDoesNotReadIsConflatedAndThenCutOff) {
    open([&](Settings& s) { s.backlog = 64; });
    auto stuck = connect({}, kSmallBuffer);
    auto good = connect();
    for (int round = 0; round < 300; ++round) {
        publish(32);
        sink_->step(core::monotonic_nanos());
        good->receive();
    }
    ASSERT_TRUE(run_until([&] {
        good->receive();
        return !good->lines().empty() && good->lines().back().find(R"("sequence":9600)") != std::string::npos;
    }));
    EXPECT_GT(sink_->counters().conflated.read(), 0U);
    EXPECT_EQ(sink_->counters().clients.read(), 2U);
    constexpr std::int64_t kLaterNs = 11'000'000'000;
    EXPECT_TRUE(run_until([&] { return sink_->counters().stalled.read() == 1; }, kLaterNs));
    EXPECT_TRUE(run_until([&] { return sink_->counters().clients.read() == 1; }, 2 * kLaterNs));
    EXPECT_EQ(sink_->health().clients_departed, 1U);
    EXPECT_THAT(said_, ::testing::Contains(HasSubstr("accepted no data for too long")));
    EXPECT_TRUE(account_of(*good).closes());
}

TEST_F(WebSinkTest, GarbageIsAnsweredOrEndsTheConnectionAlone) {
    open();
    auto good = connect();
    auto words = connect();
    words->send_text("please");
    ASSERT_TRUE(run_until_lines(*words, 1));
    EXPECT_THAT(words->lines()[0], HasSubstr(R"("type":"error")"));
    auto overlong = connect();
    overlong->send_text(std::string(5'000, '{'));
    EXPECT_TRUE(run_until_over(*overlong));
    EXPECT_EQ(sink_->counters().overlong.read(), 1U);
    auto noise = connect();
    noise->send_raw(std::string(64, '\xFF'));
    EXPECT_TRUE(run_until_over(*noise));
    publish(1);
    EXPECT_TRUE(run_until_lines(*good, 1));
}

TEST_F(WebSinkTest, WhoAsksTooOftenIsToldAndCutOff) {
    open();
    auto client = connect();
    for (int i = 0; i < 300; ++i) client->send_text(R"({"mode":"every"})");
    ASSERT_TRUE(run_until_over(*client));
    EXPECT_THAT(client->lines().back(), AllOf(HasSubstr("bye"), HasSubstr("too many requests")));
    EXPECT_EQ(client->close_code(), 1008);
    EXPECT_EQ(client->close_reason(), "too many requests");
}

TEST_F(WebSinkTest, MoreClientsThanAllowedAreRefused) {
    open([&](Settings& s) { s.max_clients = 1; });
    auto first = connect();
    WebSocketClient second{sink_->address().port()};
    ASSERT_TRUE(run_until_over(second));
    EXPECT_THAT(second.head(), StartsWith("HTTP/1.1 503"));
    EXPECT_EQ(sink_->counters().refused.read(), 1U);
}

TEST_F(WebSinkTest, ATokenIsAskedForWhereThereIsOne) {
    setenv("MILLPOND_TEST_TOKEN", "a-secret-of-some-length", 1);
    open({}, {.token = service::Token{{.file = {}, .environment = "MILLPOND_TEST_TOKEN"}}});
    WebSocketClient stranger{sink_->address().port()};
    ASSERT_TRUE(run_until([&] {
        stranger.receive();
        return !stranger.head().empty();
    }));
    EXPECT_THAT(stranger.head(), StartsWith("HTTP/1.1 401"));
    EXPECT_TRUE(connect("Authorization: Bearer a-secret-of-some-length\r\n")->agreed());
    const auto browser =
        connect("Origin: http://localhost\r\nSec-WebSocket-Protocol: millpond, millpond.a-secret-of-some-length\r\n");
    EXPECT_THAT(browser->head(), HasSubstr("Sec-WebSocket-Protocol: millpond\r\n"));
    const auto encoded = connect(
        "Origin: http://localhost\r\nSec-WebSocket-Protocol: millpond, "
        "millpond.base64url.YS1zZWNyZXQtb2Ytc29tZS1sZW5ndGg\r\n");
    EXPECT_THAT(encoded->head(), HasSubstr("Sec-WebSocket-Protocol: millpond\r\n"));
    EXPECT_THAT(answer("GET /api/quotes HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 401"));
    EXPECT_THAT(answer("GET /api/quotes HTTP/1.0\r\nAuthorization: Bearer a-secret-of-some-length\r\n\r\n"),
                StartsWith("HTTP/1.0 200"));
}

TEST_F(WebSinkTest, APageOfAnotherSiteMayNotConnect) {
    open();
    WebSocketClient other{sink_->address().port(), "Origin: http://elsewhere.example\r\n"};
    ASSERT_TRUE(run_until([&] {
        other.receive();
        return !other.head().empty();
    }));
    EXPECT_THAT(other.head(), StartsWith("HTTP/1.1 403"));
}

TEST_F(WebSinkTest, TheStandingQuotesAreAPageInParts) {
    symbols_ = {"AAPL", "MSFT", "A B", "EMPTY"};
    open();
    publish(3, 3);
    EXPECT_THAT(
        answer("GET /api/quotes HTTP/1.0\r\n\r\n"),
        AllOf(HasSubstr("AAPL"), HasSubstr("MSFT"), HasSubstr("A B"), HasSubstr(R"("instruments":4,"next":null)")));
    EXPECT_THAT(answer("GET /api/quotes?limit=2 HTTP/1.0\r\n\r\n"),
                AllOf(HasSubstr("MSFT"), ::testing::Not(HasSubstr("A B")), HasSubstr(R"("next":2)")));
    EXPECT_THAT(answer("GET /api/quotes?first=2&limit=2 HTTP/1.0\r\n\r\n"),
                AllOf(::testing::Not(HasSubstr("MSFT")), HasSubstr("A B"), HasSubstr(R"("next":null)")));
    EXPECT_THAT(answer("GET /api/quotes?symbol=A%20B HTTP/1.0\r\n\r\n"),
                AllOf(::testing::Not(HasSubstr("MSFT")), HasSubstr("A B")));
    EXPECT_THAT(answer("GET /api/quotes?symbol=A+B HTTP/1.0\r\n\r\n"), HasSubstr(R"("symbol":"A B")")) << "a form's";
    EXPECT_THAT(answer("GET /other HTTP/1.0\r\n\r\n"), HasSubstr("other\n"));
    EXPECT_THAT(answer("GET /nothing HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 404"));
}

TEST_F(WebSinkTest, APlusIsASpaceOnlyWhereNoSymbolHasIt) {
    symbols_ = {"A B", "A+B"};
    open();
    publish(2, 2);
    for (const auto* const symbol : {"A+B", "A%2BB"}) {
        EXPECT_THAT(answer("GET /api/quotes?symbol=" + std::string{symbol} + " HTTP/1.0\r\n\r\n"),
                    AllOf(HasSubstr(R"("symbol":"A+B")"), ::testing::Not(HasSubstr(R"("symbol":"A B")"))));
    }
}

TEST_F(WebSinkTest, TheNamesOfAllInstrumentsAreServedInParts) {
    symbols_ = {"AAPL", "A\"B", "NEVER QUOTED"};
    open();
    publish(1, 1);
    EXPECT_THAT(
        answer("GET /api/symbols HTTP/1.0\r\n\r\n"),
        HasSubstr(
            R"({"symbols":["AAPL","A\"B","NEVER QUOTED"],"venues":["X","X","X"],"channels":[0,null,null],"next":3})"));
    EXPECT_THAT(answer("GET /api/symbols?first=2 HTTP/1.0\r\n\r\n"),
                HasSubstr(R"({"symbols":["NEVER QUOTED"],"venues":["X"],"channels":[null],"next":3})"));
    for (const auto* const first : {"3", "4", "18446744073709551615"}) {
        const auto text = answer("GET /api/symbols?first=" + std::string{first} + " HTTP/1.0\r\n\r\n");
        EXPECT_THAT(text, HasSubstr(R"("next":3})")) << first;
    }
    for (const auto* const query :
         {"/api/symbols?first=99999999999999999999", "/api/symbols?first=-1", "/api/quotes?limit=99999999999999999999",
          "/api/quotes?symbol=%zz", "/api/quotes?symbol=", "/api/instruments",
          "/api/instruments?symbol=", "/api/quotes?limit=0", "/api/quotes?limit=2001"}) {
        EXPECT_THAT(answer("GET " + std::string{query} + " HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 400 ")) << query;
    }
}

TEST_F(WebSinkTest, AnInstrumentHasTheTradesOfTheSession) {
    open();
    const auto instrument = [&](std::string_view symbol) {
        return answer("GET /api/instruments?symbol=" + std::string{symbol} + " HTTP/1.0\r\n\r\n");
    };
    const auto trade = [&](feed::Price cents, std::uint64_t size, std::uint16_t flags = 0) {
        auto made = trade_of(0, feed::price_from<100>(static_cast<std::int32_t>(cents)));
        made.size = size;
        made.flags = flags;
        made.receive_utc_ns = 1'700'000'000'000'000'000;
        sink_->on(made, ++number_);
    };
    EXPECT_THAT(instrument("AAPL"),
                HasSubstr(R"({"instruments":[{"symbol":"AAPL","venue":"X","channel":null,"depth":0,"trades":null}]})"));
    EXPECT_THAT(instrument("NONE"), HasSubstr(R"({"instruments":[]})"));
    trade(1'000, 5);
    trade(1'020, 7, feed::kHidden);
    trade(9'900, 1'000, feed::kNotPrintable);  // the volume includes it as part of another trade
    trade(990, 8);
    sink_->on(feed::TradeBreak{.instrument = 0, .trade_id = 1}, ++number_);
    const auto full = instrument("AAPL");
    EXPECT_THAT(full, HasSubstr(R"("complete":true,"count":3,"broken":1,"volume":20,"first":10.0000,"high":10.2000,)"
                                R"("low":9.9000,"last":9.9000,"last_time":1700000000000000000}}]})"));
    EXPECT_GT(number_in(full, "since"), 1'700'000'000'000'000'000);
}

TEST_F(WebSinkTest, TradesAreIncompleteAfterALossUntilTheNextSessionOfTheirChannel) {
    open();
    const auto is_complete = [&] {
        return answer("GET /api/instruments?symbol=AAPL HTTP/1.0\r\n\r\n").find(R"("complete":true)") !=
               std::string::npos;
    };
    const auto trade = [&] { sink_->on(trade_of(0, feed::kPriceScale), ++number_); };
    trade();
    sink_->on(feed::Gap{.channel = 1, .reason = feed::GapReason::sequence}, ++number_);
    sink_->on(feed::Gap{.channel = 0, .reason = feed::GapReason::silence}, ++number_);
    EXPECT_TRUE(is_complete());
    sink_->on(feed::Gap{.channel = 0, .reason = feed::GapReason::sequence}, ++number_);
    EXPECT_FALSE(is_complete());
    sink_->on(new_session_of(1), ++number_);
    EXPECT_FALSE(is_complete());
    sink_->on(new_session_of(0), ++number_);
    EXPECT_THAT(answer("GET /api/instruments?symbol=AAPL HTTP/1.0\r\n\r\n"), HasSubstr(R"("trades":null)"));
    trade();
    EXPECT_TRUE(is_complete());
    EXPECT_EQ(number_in(answer("GET /api/instruments?symbol=AAPL HTTP/1.0\r\n\r\n"), "since"),
              1'700'000'000'000'000'000);
    sink_->missed(number_ + 1, number_ + 3);
    EXPECT_FALSE(is_complete());
    sink_->on(new_session_of(0), number_ += 4);
    trade();
    EXPECT_TRUE(is_complete());
}

TEST_F(WebSinkTest, ClientsAreToldWhenTheGatewayEnds) {
    open([&](Settings& s) { s.mode = Delivery::every; });
    auto client = connect();
    publish(10);
    sink_->finish();
    client->wait();
    client->receive();
    EXPECT_EQ(client->lines().size(), 11U);
    EXPECT_THAT(client->lines().back(), AllOf(HasSubstr("bye"), HasSubstr("the gateway is stopping")));
}

TEST_F(WebSinkTest, AnAddressInUseIsRefusedByName) {
    open();
    const auto settings = test::settings_with<Settings>([&](Settings& s) { s.listen = sink_->address(); });
    try {
        const WebSink second{settings, {}, {}, {}};
        FAIL() << "no error";
    } catch (const std::system_error& error) {
        EXPECT_THAT(error.what(), StartsWith("web sink 'web': cannot listen on 127.0.0.1:"));
    }
}

}  // namespace
}  // namespace millpond::gateway::web
