// Access to tcp and web sinks: tokens, TLS, and limits for unauthenticated clients.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/tcp/tcp_sink.hpp"
#include "gateway/sinks/web/web_sink.hpp"
#include "tests/gateway/json_lines/json_lines_fixture.hpp"
#include "tests/gateway/sinks/settings_with.hpp"
#include "tests/service/certificate.hpp"
#include "tests/service/tls_client.hpp"
#include "tests/support/line_client.hpp"

namespace millpond::gateway {
namespace {

using millpond::test::LineClient;
using millpond::test::TlsClient;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kSecret = "0123456789abcdef-secret";

template <class Sink, class Settings>
class SecureSink : public JsonLinesFixture<Sink> {
protected:
    void SetUp() override {
        std::signal(SIGPIPE, SIG_IGN);  // like the program
    }
    void want_token() {
        std::ofstream{folder_ / "token"} << kSecret << '\n';
        chmod((folder_ / "token").c_str(), 0600);
        token_ = service::Token{{.file = folder_ / "token", .environment = {}}};
    }
    void speak_tls(const millpond::test::Certificate* client = nullptr) {
        tls_ = service::server_tls({.certificate = server_.certificate,
                                    .key = server_.key,
                                    .authorities = client == nullptr ? std::string{} : client->certificate});
    }
    template <class Client>
    bool run_until_text(Client& client, const std::string& text) {
        return this->run_until([&] {
            client.receive();
            return client.text().find(text) != std::string::npos;
        });
    }
    /// Clients whose handshake must fail are logged with their address, in the words of the tls component.
    void expect_refusals_logged() {
        using ::testing::ContainsRegex;
        using ::testing::UnorderedElementsAre;
        TlsClient none{port()};
        const millpond::test::Certificate stranger{folder_, "stranger"};
        TlsClient other{port(), &stranger};
        LineClient plain{port()};
        plain.send_text("no record of TLS\n");
        {
            const LineClient gone{port()};
        }
        ASSERT_TRUE(this->run_until([&] {
            none.receive();
            other.receive();
            return this->sink_->counters().refused.read() == 4;
        }));
        const std::string refused = " sink '.*': refused 127\\.0\\.0\\.1:[0-9]+: TLS handshake failed: ";
        EXPECT_THAT(this->said_, UnorderedElementsAre(ContainsRegex(refused + "peer did not return a certificate$"),
                                                      ContainsRegex(refused + "self.signed certificate$"),
                                                      ContainsRegex(refused + "wrong version number$"),
                                                      ContainsRegex(refused + "the peer closed the connection$")));
    }
    [[nodiscard]] std::uint16_t port() { return this->sink_->address().port(); }

    [[nodiscard]] static Settings settings() {
        return test::settings_with<Settings>([](Settings& s) {
            s.listen = net::SocketAddress::parse("127.0.0.1:0");
            s.backlog = 4'096;
            s.send_buffer = JsonLinesFixture<Sink>::kSmallBuffer;
        });
    }
    [[nodiscard]] ClientAccess access() const { return {.token = token_, .tls = tls_ ? *tls_ : tls::Context{}}; }

    millpond::test::Folder folder_{"secure"};
    millpond::test::Certificate server_{folder_};
    service::Token token_;
    std::optional<tls::Context> tls_;
};

class SecureTcpSink : public SecureSink<tcp::TcpSink, tcp::Settings> {
protected:
    void open() { make(settings(), access()); }
};

class SecureWebSink : public SecureSink<web::WebSink, web::Settings> {
protected:
    void open() {
        make(settings(), access(),
             [](const http::Request&) { return http::Page{.type = "text/plain", .body = "the page\n"}; });
    }
    static std::string request(const std::string& path, const std::string& more = {}) {
        return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n";
    }
    static constexpr const char* kUpgrade =
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
};

TEST_F(SecureTcpSink, WithoutTheTokenInItsFirstLineAClientGetsNothingButTheReason) {
    want_token();
    open();
    LineClient wrong{port()};
    wrong.send_text("{\"token\":\"0123456789abcdef-wrong!\"}\n");
    LineClient none{port()};
    none.send_text("{\"subscribe\":[\"AAPL\"]}\n");
    publish(10);
    ASSERT_TRUE(run_until_over(wrong));
    ASSERT_TRUE(run_until_over(none));
    for (const auto* client : {&wrong, &none}) {
        EXPECT_THAT(client->text(), HasSubstr("a token is required"));
        EXPECT_THAT(client->text(), Not(HasSubstr("AAPL")));
    }
    EXPECT_EQ(sink_->counters().refused.read(), 2U);
    EXPECT_EQ(sink_->counters().accepted.read(), 0U);
}

TEST_F(SecureTcpSink, WithTheTokenItIsAClientAndWhatItSaysBehindItCounts) {
    want_token();
    open();
    publish(2);
    LineClient client{port()};
    client.send_text("{\"token\":\"" + std::string{kSecret} + "\"}\n{\"subscribe\":[\"MSFT\"]}\n");
    ASSERT_TRUE(run_until_text(client, "MSFT"));
    publish(2);
    ASSERT_TRUE(run_until([&] {
        client.receive();
        return client.lines().size() >= 2;
    }));
    EXPECT_THAT(client.lines(), Each(HasSubstr("MSFT")));
    EXPECT_THAT(said_, Each(Not(HasSubstr(kSecret))));
}

TEST_F(SecureTcpSink, AnUnauthenticatedClientIsClosedAfterFiveSecondsAndDelaysNoOther) {
    want_token();
    open();
    LineClient silent{port()};
    LineClient client{port()};
    client.send_text("{\"token\":\"" + std::string{kSecret} + "\"}\n");
    publish(1);
    ASSERT_TRUE(run_until_text(client, "AAPL"));
    EXPECT_FALSE(silent.over());
    EXPECT_TRUE(run_until_over(silent, 6'000'000'000));
    EXPECT_THAT(silent.text(), IsEmpty());
}

TEST_F(SecureTcpSink, TheOldestOfTooManyWhoShowNothingGoes) {
    want_token();
    open();
    std::vector<std::unique_ptr<LineClient>> crowd;
    for (int i = 0; i < 65; ++i) {
        crowd.push_back(std::make_unique<LineClient>(port()));
        sink_->wait(std::chrono::milliseconds{1});
        sink_->step(core::monotonic_nanos());
    }
    EXPECT_TRUE(run_until_over(*crowd.front()));
    crowd.back()->receive();
    EXPECT_FALSE(crowd.back()->over());
}

TEST_F(SecureTcpSink, LinesTravelByTlsWholeAndInOrderAlsoToAClientThatIsSlow) {
    speak_tls();
    open();
    millpond::test::TlsClient client{port()};
    ASSERT_TRUE(run_until([&] {
        client.receive();
        return sink_->counters().accepted.read() == 1;
    }));
    constexpr std::uint64_t kQuotes = 2'000;  // far more than the sockets hold
    publish(kQuotes);
    for (int i = 0; i < 100; ++i) sink_->step(core::monotonic_nanos());
    ASSERT_TRUE(run_until_text(client, "\"sequence\":" + std::to_string(kQuotes) + ","));
    std::uint64_t next = 1;
    for (std::size_t at = 0; (at = client.text().find("\"sequence\":", at)) != std::string::npos; ++at, ++next) {
        ASSERT_EQ(std::strtoull(&client.text()[at + 11], nullptr, 10), next);
    }
    EXPECT_EQ(next, kQuotes + 1);
    const auto& counters = sink_->counters();
    EXPECT_EQ(counters.delivered.read(), kQuotes);
    EXPECT_EQ(counters.missed.read(), 0U);
}

TEST_F(SecureTcpSink, AClientThatSpeaksNoTlsIsRefused) {
    speak_tls();
    open();
    LineClient plain{port()};
    plain.send_text("{\"subscribe\":[\"AAPL\"]}\n");
    publish(3);
    ASSERT_TRUE(run_until_over(plain));
    EXPECT_THAT(plain.text(), Not(HasSubstr("AAPL")));
    EXPECT_EQ(sink_->counters().refused.read(), 1U);
}

TEST_F(SecureTcpSink, OnlyClientsWithAKnownCertificateWhereOneIsWanted) {
    const millpond::test::Certificate known{folder_, "known"};
    const millpond::test::Certificate stranger{folder_, "stranger"};
    speak_tls(&known);
    want_token();
    open();
    millpond::test::TlsClient good{port(), &known};
    good.send_text("{\"token\":\"" + std::string{kSecret} + "\"}\n");
    millpond::test::TlsClient bad{port(), &stranger};
    bad.send_text("{\"token\":\"" + std::string{kSecret} + "\"}\n");
    publish(1);
    ASSERT_TRUE(run_until_text(good, "AAPL"));
    ASSERT_TRUE(run_until_over(bad));
    EXPECT_THAT(bad.text(), IsEmpty());
}

TEST_F(SecureTcpSink, AFailedHandshakeIsLoggedWithThePeerAndTheReason) {
    const millpond::test::Certificate known{folder_, "known"};
    speak_tls(&known);
    open();
    expect_refusals_logged();
}

TEST_F(SecureTcpSink, AResetInTheHandshakeIsLoggedAsOneThatFailed) {
    speak_tls();
    open();
    LineClient client{port()};
    client.reset();
    ASSERT_TRUE(run_until([&] { return sink_->counters().refused.read() == 1; }));
    EXPECT_THAT(said_, ::testing::ElementsAre(HasSubstr("TLS handshake failed: the peer closed the connection")));
}

TEST_F(SecureTcpSink, AClientThatAsksTooOftenIsDisconnected) {
    open();
    LineClient client{port()};
    std::string many;
    for (int i = 0; i < 1'000; ++i) many += "{\"interval_ms\":0}\n";
    client.send_text(many);
    ASSERT_TRUE(run_until_over(client));
    EXPECT_THAT(client.text(), HasSubstr("too many requests"));
    EXPECT_EQ(sink_->counters().bad_requests.read(), 1U);
}

TEST_F(SecureWebSink, PagesAndWebSocketsTravelByTls) {
    speak_tls();
    open();
    publish(1);
    millpond::test::TlsClient page{port()};
    page.send_text(request("/other"));
    EXPECT_TRUE(run_until_text(page, "the page"));
    millpond::test::TlsClient socket{port()};
    socket.send_text(request("/ws", kUpgrade));
    ASSERT_TRUE(run_until_text(socket, "101 Switching Protocols"));
    EXPECT_TRUE(run_until_text(socket, "\"symbol\":\"AAPL\""));
    publish(2);
    EXPECT_TRUE(run_until_text(socket, "\"symbol\":\"MSFT\""));
    sink_->finish();
    EXPECT_TRUE(run_until_text(socket, "the gateway is stopping"));
}

TEST_F(SecureWebSink, WhoSpeaksNoTlsGetsNoPage) {
    speak_tls();
    open();
    LineClient plain{port()};
    plain.send_text(request("/other"));
    ASSERT_TRUE(run_until_over(plain));
    EXPECT_THAT(plain.text(), Not(HasSubstr("the page")));
}

TEST_F(SecureWebSink, AFailedHandshakeIsLoggedWithThePeerAndTheReason) {
    const millpond::test::Certificate known{folder_, "known"};
    speak_tls(&known);
    open();
    expect_refusals_logged();
}

TEST_F(SecureWebSink, ByTlsTheTokenIsAskedForToo) {
    speak_tls();
    want_token();
    open();
    millpond::test::TlsClient without{port()};
    without.send_text(request("/other"));
    EXPECT_TRUE(run_until_text(without, "401 Unauthorized"));
    millpond::test::TlsClient with{port()};
    with.send_text(request("/other", "Authorization: Bearer " + std::string{kSecret} + "\r\n"));
    EXPECT_TRUE(run_until_text(with, "the page"));
}

}  // namespace
}  // namespace millpond::gateway
