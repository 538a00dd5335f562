#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/web/web_sink.hpp"
#include "tests/gateway/json_lines/json_lines_fixture.hpp"
#include "tests/gateway/sinks/settings_with.hpp"
#include "tests/support/line_client.hpp"
#include "tests/support/web_socket_client.hpp"

namespace millpond::gateway::web {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class WebPages : public JsonLinesFixture<WebSink> {
protected:
    void open(ClientAccess access = {}, http::Pages pages = {}) {
        make(test::settings_with<Settings>([](Settings& s) {
                 s.listen = net::SocketAddress::parse("127.0.0.1:0");
                 s.mode = Delivery::every;
             }),
             std::move(access), std::move(pages));
    }
    /// Response to a GET request. headers: each with its end of line.
    std::string get(std::string_view target, std::string_view headers = {}) {
        millpond::test::LineClient client{sink_->address().port()};
        client.send_text("GET " + std::string{target} + " HTTP/1.0\r\n" + std::string{headers} + "\r\n");
        EXPECT_TRUE(run_until([&] {
            client.receive();
            return client.over();
        }));
        return client.text();
    }
};

/// The text after `mark`, up to the next `end`.
std::string after(const std::string& text, std::string_view mark, char end) {
    const auto begin = text.find(mark) + mark.size();
    return text.substr(begin, text.find(end, begin) - begin);
}

TEST_F(WebPages, ThePagesFilesArePartOfTheProgramAndNeedNoToken) {
    setenv("MILLPOND_TEST_TOKEN", "a-secret-of-some-length", 1);
    open({.token = service::Token{{.file = {}, .environment = "MILLPOND_TEST_TOKEN"}}});
    EXPECT_THAT(get("/"),
                AllOf(StartsWith("HTTP/1.0 200"), HasSubstr("Content-Type: text/html"),
                      HasSubstr("Content-Security-Policy: default-src 'self'"), HasSubstr("<h1>millpond</h1>")));
    for (const auto* const file : {"/page.js", "/page.css", "/dygraph.js", "/openapi.yaml"})
        EXPECT_THAT(get(file), StartsWith("HTTP/1.0 200")) << file;
}

TEST_F(WebPages, AFileIsCompressedForClientsThatAcceptIt) {
    open();
    const auto plain = get("/page.js");
    EXPECT_THAT(plain, AllOf(HasSubstr("Vary: Accept-Encoding"), Not(HasSubstr("Content-Encoding"))));
    for (const auto* const accepted : {"gzip", "br, gzip;q=0.5", "deflate,gzip ,br"}) {
        const auto packed = get("/page.js", "Accept-Encoding: " + std::string{accepted} + "\r\n");
        EXPECT_THAT(packed, AllOf(HasSubstr("Content-Encoding: gzip"), HasSubstr("\r\n\r\n\x1f\x8b"))) << accepted;
        EXPECT_LT(packed.size(), plain.size() / 3);
        EXPECT_NE(after(packed, "ETag: ", '\r'), after(plain, "ETag: ", '\r'));
    }
    for (const auto* const refused : {"", "br", "gzip;q=0", "gzip;q=0.0, br", "xgzip"})
        EXPECT_EQ(get("/page.js", "Accept-Encoding: " + std::string{refused} + "\r\n"), plain) << refused;
    EXPECT_THAT(get("/api/symbols", "Accept-Encoding: gzip\r\n"), Not(HasSubstr("Content-Encoding")));
}

TEST_F(WebPages, AFileIsKeptForGoodOnlyByItsHashWhichTheIndexNames) {
    open();
    const auto index = get("/");
    EXPECT_THAT(index, HasSubstr("Cache-Control: no-cache"));
    for (const std::string file : {"page.js", "page.css", "dygraph.js", "dygraph.css"}) {
        const auto hash = after(index, '"' + file + "?v=", '"');
        EXPECT_EQ(hash.size(), 16) << file;
        EXPECT_THAT(get('/' + file + "?v=" + hash), HasSubstr("Cache-Control: public, max-age=31536000, immutable"));
        for (const std::string query : {"", "?v=", "?v=0123456789abcdef"})
            EXPECT_THAT(get('/' + file + query), HasSubstr("Cache-Control: no-cache")) << file << query;
    }
    EXPECT_THAT(get("/?v="), HasSubstr("Cache-Control: no-cache"));
    const auto same = get("/", "If-None-Match: " + after(index, "ETag: ", '\r') + "\r\n");
    EXPECT_THAT(same, AllOf(StartsWith("HTTP/1.0 304"), Not(HasSubstr("<h1>"))));
}

TEST_F(WebPages, ClientsGetTheirDataBetweenThePartsOfALargePage) {
    constexpr int kParts = 300;
    int made = 0;
    open({}, [&](const http::Request&) {
        return http::Page{.type = "text/plain", .body = "begin", .more = [&](std::string& body) {
                              body += 'x';
                              return ++made < kParts;
                          }};
    });
    millpond::test::WebSocketClient client{sink_->address().port()};
    ASSERT_TRUE(run_until([&] {
        client.receive();
        return client.agreed();
    }));
    millpond::test::LineClient reader{sink_->address().port()};
    reader.send_text("GET /large HTTP/1.0\r\n\r\n");
    ASSERT_TRUE(run_until([&] { return made != 0; }));
    for (std::size_t lines = 1; lines <= 10; ++lines) {
        publish(1);
        ASSERT_TRUE(run_until_lines(client, lines));
    }
    EXPECT_LT(made, kParts) << "the page was made first";
    ASSERT_TRUE(run_until([&] {
        reader.receive();
        return reader.over();
    }));
    EXPECT_EQ(made, kParts);
    EXPECT_THAT(reader.text(), ::testing::EndsWith("\r\n\r\nbegin" + std::string(kParts, 'x')));
    EXPECT_THAT(reader.text(), HasSubstr("Content-Length: 305"));
}

TEST_F(WebPages, SeveralLargePagesAreMadeInTurnAndAClientThatLeavesHoldsUpNone) {
    constexpr int kParts = 20;
    std::string order;
    open({}, [&](const http::Request& request) {
        const char name = request.path.back();
        return http::Page{.type = "text/plain", .more = [&order, name, left = kParts](std::string& body) mutable {
                              order += name;
                              body += name;
                              return --left > 0;
                          }};
    });
    millpond::test::LineClient a{sink_->address().port()};
    millpond::test::LineClient b{sink_->address().port()};
    {
        millpond::test::LineClient gone{sink_->address().port()};
        gone.send_text("GET /c HTTP/1.0\r\n\r\n");
        ASSERT_TRUE(run_until([&] { return order.find('c') != std::string::npos; }));
        a.send_text("GET /a HTTP/1.0\r\n\r\n");
        b.send_text("GET /b HTTP/1.0\r\n\r\n");
    }
    ASSERT_TRUE(run_until([&] {
        a.receive();
        b.receive();
        return a.over() && b.over();
    }));
    EXPECT_THAT(a.text(), ::testing::EndsWith(std::string(kParts, 'a')));
    EXPECT_THAT(b.text(), ::testing::EndsWith(std::string(kParts, 'b')));
    EXPECT_LT(order.find('b'), order.rfind('a'));
}

}  // namespace
}  // namespace millpond::gateway::web
