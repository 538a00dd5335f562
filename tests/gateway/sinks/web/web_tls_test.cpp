// Clients with and without TLS at the web sinks of one gateway.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/web/settings.hpp"
#include "tests/gateway/json_lines/stream_socket.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/gateway/sinks/events.hpp"
#include "tests/service/certificate.hpp"
#include "tests/service/tls_client.hpp"
#include "tests/support/web_socket_client.hpp"

namespace millpond::gateway::web {
namespace {

using test::RunningGateway;
using PlainClient = millpond::test::WebSocketClientOf<millpond::test::LineClient>;
using SecureClient = millpond::test::WebSocketClientOf<millpond::test::TlsClient>;

class WebTls : public ::testing::Test {
protected:
    static constexpr std::size_t kClients = 3;

    WebTls() {
        std::signal(SIGPIPE, SIG_IGN);  // like the program
        for (std::size_t i = 0; i < kClients; ++i) {
            plain_.push_back(std::make_unique<PlainClient>(plain_port_));
            secure_.push_back(std::make_unique<SecureClient>(secure_port_));
        }
    }
    void add_sinks(Config& config) const {
        for (const bool secure : {false, true}) {
            auto& sink = config.add<Settings>();
            sink.name = secure ? "secure" : "plain";
            sink.listen = net::SocketAddress::parse_host("127.0.0.1").with_port(secure ? secure_port_ : plain_port_);
            sink.mode = Delivery::every;
            if (secure) sink.tls = {.certificate = certificate_.certificate, .key = certificate_.key};
        }
    }
    /// Reads from all clients until `done` returns true.
    template <class Done>
    [[nodiscard]] bool read_until(Done&& done) {
        return gateway_.watch_until([&](const health::State&) {
            for (auto& client : plain_) client->receive();
            for (auto& client : secure_) client->receive();
            return done();
        });
    }
    template <class Each>
    [[nodiscard]] bool all(Each&& each) const {
        for (std::size_t i = 0; i < kClients; ++i) {
            if (!each(*plain_[i]) || !each(*secure_[i])) return false;
        }
        return true;
    }
    template <class Client>
    [[nodiscard]] static std::vector<std::string> quotes_of(const Client& client) {
        std::vector<std::string> quotes;
        for (const auto& line : client.lines()) {
            if (line.starts_with(R"({"type":"quote")")) quotes.push_back(line);
        }
        return quotes;
    }

    millpond::test::Folder folder_{"webtls"};
    millpond::test::Certificate certificate_{folder_};
    std::uint16_t plain_port_{test::StreamSocket{}.free_port()};
    std::uint16_t secure_port_{test::StreamSocket{}.free_port()};
    RunningGateway gateway_{"webtls", [this](Config& config) { add_sinks(config); }};
    std::vector<std::unique_ptr<PlainClient>> plain_;
    std::vector<std::unique_ptr<SecureClient>> secure_;
};

TEST_F(WebTls, ClientsOfBothGetTheSameLinesAlsoOneThatReadsLate) {
    constexpr std::size_t kQuotes = 3'000;
    constexpr std::size_t kBurst = 50;
    ASSERT_TRUE(read_until([&] { return all([](const auto& client) { return client.agreed(); }); }));
    auto late_plain = std::move(plain_.back());
    auto late_secure = std::move(secure_.back());
    plain_.pop_back();
    secure_.pop_back();
    auto& first = *plain_.front();
    for (std::size_t sent = 0; sent < kQuotes;) {
        for (std::size_t i = 0; i < kBurst; ++i, ++sent) gateway_.send_quote();
        ASSERT_TRUE(read_until([&] { return first.lines().size() >= sent; }));
    }
    plain_.push_back(std::move(late_plain));
    secure_.push_back(std::move(late_secure));
    ASSERT_TRUE(read_until([&] { return all([](const auto& client) { return client.lines().size() >= kQuotes; }); }));
    const auto expected = quotes_of(first);
    ASSERT_EQ(expected.size(), kQuotes);
    for (std::size_t i = 0; i < kQuotes; ++i) {
        ASSERT_EQ(number_in(expected[i], "sequence"), static_cast<std::int64_t>(i + 1));
    }
    EXPECT_TRUE(all([&](const auto& client) { return quotes_of(client) == expected && client.strange() == 0; }));
}

}  // namespace
}  // namespace millpond::gateway::web
