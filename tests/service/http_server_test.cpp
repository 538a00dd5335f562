#include "service/http/server.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <future>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <millpond/net/socket_address.hpp>

#include "service/tls.hpp"
#include "tests/service/certificate.hpp"
#include "tests/support/line_client.hpp"

namespace millpond::service {
namespace {

using test::LineClient;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

http::Page page_of(const http::Request& request) {
    if (request.path == "/good") return {"text/plain", "fine\n"};
    if (request.path == "/sum") {
        return {"text/plain",
                request.parameter("word").value_or("") + std::to_string(request.number("number", 7)) + "\n"};
    }
    if (request.path == "/bad") return {.type = "text/plain", .body = "broken\n", .good = false};
    return {};
}

class HttpServerTest : public ::testing::Test {
protected:
    [[nodiscard]] std::string answer(const std::string& request) const {
        LineClient client{server_.address().port()};
        client.send_text(request);
        return rest_of(client);
    }
    static std::string rest_of(LineClient& client) {
        while (!client.over()) {
            client.wait();
            client.receive();
        }
        return client.text();
    }
    http::Server server_{{.name = "metrics", .listen = net::SocketAddress::parse("127.0.0.1:0")}, page_of};
};

TEST_F(HttpServerTest, APageIsServedWithItsTypeAndState) {
    EXPECT_THAT(
        answer("GET /good HTTP/1.0\r\n\r\n"),
        AllOf(StartsWith("HTTP/1.0 200 OK\r\n"), HasSubstr("Content-Type: text/plain"), HasSubstr("\r\n\r\nfine\n")));
    EXPECT_THAT(answer("GET /good?x=1 HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 200 OK\r\n"));
    EXPECT_THAT(answer("GET /bad HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 503"));
    EXPECT_THAT(answer("GET /other HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 404"));
    EXPECT_THAT(answer("DELETE /good HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.0 405"));
}

TEST_F(HttpServerTest, AConnectionMayBeUsedAgain) {
    LineClient client{server_.address().port()};
    client.send_text(
        "GET /good HTTP/1.1\r\nHost: localhost\r\n\r\nGET /good HTTP/1.1\r\nHost: localhost\r\nConnection: "
        "close\r\n\r\n");
    const auto text = rest_of(client);
    EXPECT_NE(text.find("fine"), text.rfind("fine"));
}

TEST_F(HttpServerTest, NonsenseAndSilenceDisturbNoOtherClient) {
    LineClient silent{server_.address().port()};
    LineClient half{server_.address().port()};
    half.send_text("GET /go");
    EXPECT_THAT(answer("\x01\x02 nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
    EXPECT_THAT(answer("GET /good HTTP/1.0\r\n\r\n"), HasSubstr("fine"));
}

TEST_F(HttpServerTest, MalformedOrTooLargeRequestsAreAnsweredAndTheConnectionIsClosed) {
    const auto head = [](const std::string& rest) {
        return "GET /good HTTP/1.1\r\nHost: localhost\r\n" + rest + "\r\n";
    };
    const auto refused = [](const char* status) {
        return AllOf(StartsWith(std::string{"HTTP/1.1 "} + status), HasSubstr("Connection: close\r\n"));
    };
    EXPECT_THAT(answer("GET\r\n\r\n"), refused("400 "));
    EXPECT_THAT(answer("GET /good HTTP/9.9\r\n\r\n"), refused("400 "));
    EXPECT_THAT(answer(head("no colon\r\n")), refused("400 "));
    EXPECT_THAT(answer(head("Content-Length: many\r\n")), refused("400 "));
    EXPECT_THAT(answer(head("X: " + std::string(20'000, 'x') + "\r\n")), refused("431 "));
    EXPECT_THAT(answer("GET /" + std::string(20'000, 'x') + " HTTP/1.1\r\nHost: localhost\r\n\r\n"), refused("414 "));
    EXPECT_THAT(answer(head("Content-Length: 20000\r\n") + std::string(20'000, 'x')), refused("413 "));
    EXPECT_THAT(answer(head("Connection: close\r\n")), HasSubstr("fine"));
}

TEST_F(HttpServerTest, ARequestNeedsOneHostAndUnfoldedLines) {
    const auto refused = [](const char* why) {
        return AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("Connection: close\r\n"), HasSubstr(why));
    };
    EXPECT_THAT(answer("GET /good HTTP/1.1\r\n\r\n"), refused("no Host"));
    EXPECT_THAT(answer("GET /good HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"),
                refused("more than one Host"));
    EXPECT_THAT(answer("GET /good HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n"), refused("begins with a space"));
    EXPECT_THAT(answer("GET /good HTTP/1.1\r\nHost: localhost\r\nX: a\r\n\tb\r\n\r\n"), refused("begins with a space"));
    EXPECT_THAT(answer("GET /good HTTP/1.0\r\n\r\n"), HasSubstr("fine"));
}

TEST_F(HttpServerTest, AWebSocketKeyIsSixteenBytes) {
    const auto with_key = [this](const std::string& key) {
        return answer(
            "GET /good HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\n" +
            key + "\r\n");
    };
    for (const std::string key : {"Sec-WebSocket-Key: x\r\n", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=*\r\n",
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j\r\n"}) {
        EXPECT_THAT(with_key(key), AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("Sec-WebSocket-Key"))) << key;
    }
}

TEST_F(HttpServerTest, ParametersThatMakeNoSenseAreRefusedWithTheReason) {
    const auto asked = [this](const std::string& query) { return answer("GET /sum?" + query + " HTTP/1.0\r\n\r\n"); };
    EXPECT_THAT(asked("word=a%2fb&number=35"), HasSubstr("a/b35\n"));
    EXPECT_THAT(asked("number="), HasSubstr("\r\n7\n"));
    for (const std::string query : {"number=99999999999999999999", "number=-1", "number=1x", "number=0x10"}) {
        EXPECT_THAT(asked(query), AllOf(StartsWith("HTTP/1.0 400 "), HasSubstr("number needs a whole number")))
            << query;
    }
    for (const std::string query : {"word=%zz", "word=%4", "word=%", "word=%-1"}) {
        EXPECT_THAT(asked(query), AllOf(StartsWith("HTTP/1.0 400 "), HasSubstr("hexadecimal"))) << query;
    }
}

TEST_F(HttpServerTest, AnUnfinishedRequestIsAnsweredWith408) {
    EXPECT_THAT(answer("GET /good HTTP/1.1\r\nHost: loc"),
                AllOf(StartsWith("HTTP/1.1 408 "), HasSubstr("Connection: close\r\n")));
    EXPECT_EQ(answer(""), "") << "a connection without a request is closed";
}

TEST_F(HttpServerTest, AnAddressInUseIsRefusedByName) {
    try {
        const http::Server second{{.name = "metrics", .listen = server_.address()}, page_of};
        FAIL() << "no error";
    } catch (const std::system_error& error) {
        EXPECT_EQ(std::string{error.what()},
                  "metrics: cannot listen on " + server_.address().to_string() + ": Address already in use");
    }
}

TEST_F(HttpServerTest, AHandshakeThatEndsForANewerConnectionOrByAResetIsReportedWithItsPeer) {
    const test::Folder folder{"http-handshake"};
    const test::Certificate certificate{folder};
    std::array<std::promise<std::string>, 2> refused;
    std::size_t count = 0;
    const http::Server server{{.name = "page",
                               .listen = net::SocketAddress::parse("127.0.0.1:0"),
                               .tls = server_tls({.certificate = certificate.certificate, .key = certificate.key}),
                               .max_connections = 1,
                               .on_refused =
                                   [&](std::string_view peer, std::string_view reason) {
                                       refused.at(count++).set_value(fmt::format("{}: {}", peer, reason));
                                   }},
                              page_of};
    const LineClient silent{server.address().port()};
    LineClient next{server.address().port()};
    EXPECT_THAT(refused[0].get_future().get(),
                MatchesRegex("127.0.0.1:[0-9]+: TLS handshake failed: closed for a newer one of 1 connections"));
    next.reset();
    EXPECT_THAT(refused[1].get_future().get(),
                MatchesRegex("127.0.0.1:[0-9]+: TLS handshake failed: the peer closed the connection"));
}

}  // namespace
}  // namespace millpond::service
