// The list of a sink's clients, and clients that an operator disconnects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include <millpond/core/clock.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/client_list.hpp"
#include "gateway/sinks/web/web_sink.hpp"
#include "tests/gateway/json_lines/json_lines_fixture.hpp"
#include "tests/gateway/sinks/settings_with.hpp"
#include "tests/support/web_socket_client.hpp"

namespace millpond::gateway::web {
namespace {

using millpond::test::WebSocketClient;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// The list is published once a second.
constexpr std::int64_t kListEveryNs = 1'000'000'000;

class WebClients : public JsonLinesFixture<WebSink> {
protected:
    void SetUp() override {
        make(test::settings_with<Settings>([](Settings& s) {
                 s.listen = net::SocketAddress::parse("127.0.0.1:0");
                 s.send_buffer = kSmallBuffer;
                 s.mode = Delivery::every;
             }),
             ClientAccess{}, http::Pages{});
        clients_ = sink_->client_list();
    }
    std::unique_ptr<WebSocketClient> connect(int receive_buffer = 0) {
        auto client = std::make_unique<WebSocketClient>(sink_->address().port(), "", receive_buffer);
        EXPECT_TRUE(run_until([&] {
            client->receive();
            return client->agreed();
        }));
        return client;
    }
    /// Skips to the next list.
    ClientList::Clients next_list() {
        skipped_ns_ += kListEveryNs;
        sink_->step(core::monotonic_nanos() + skipped_ns_);
        return *clients_->clients();
    }

    std::shared_ptr<ClientList> clients_;
    std::int64_t skipped_ns_{0};
};

TEST_F(WebClients, AClientIsListedWithItsNameAddressAndAccount) {
    auto one = connect();
    auto two = connect();
    one->send_text(R"({"name":"pricer"})");
    one->send_text(R"({"echo":1})");
    ASSERT_TRUE(run_until_lines(*one, 1));
    publish(3);
    ASSERT_TRUE(run_until_lines(*one, 4));
    const auto list = next_list();
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(list[0].name, "pricer");
    EXPECT_EQ(list[1].name, "");
    EXPECT_THAT(list[0].peer, StartsWith("127.0.0.1:"));
    EXPECT_NE(list[0].peer, list[1].peer);
    EXPECT_NE(list[0].id, list[1].id);
    EXPECT_EQ(list[0].account.published, 3U);
    EXPECT_EQ(list[0].account.delivered, 3U);
    EXPECT_GT(list[0].delivered_per_second, 0);
    EXPECT_EQ(list[0].lag_ns, 0);
    EXPECT_GT(list[0].connected_utc_ns, 1'600'000'000'000'000'000);
    EXPECT_EQ(next_list()[0].delivered_per_second, 0);
}

TEST_F(WebClients, AClientThatAcceptsNothingLagsByTheAgeOfItsOldestEvent) {
    auto stuck = connect(kSmallBuffer);
    next_list();
    for (int i = 0; i < 200; ++i) publish(100);  // more than the buffers of the sockets hold
    static_cast<void>(next_list());
    static_cast<void>(next_list());
    const auto list = next_list();
    ASSERT_EQ(list.size(), 1U);
    EXPECT_GT(list[0].account.queued, 0U);
    EXPECT_GE(list[0].lag_ns, 2 * kListEveryNs);
}

TEST_F(WebClients, OnlyTheClientThatAnOperatorNamesIsDisconnectedWithTheReason) {
    auto one = connect();
    auto two = connect();
    const auto list = next_list();
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(clients_->disconnect(77), "");
    EXPECT_EQ(clients_->disconnect(list[0].id), list[0].peer);
    static_cast<void>(next_list());
    ASSERT_TRUE(run_until_over(*one, skipped_ns_));
    EXPECT_THAT(one->lines().back(), HasSubstr("an operator has closed this connection"));
    const auto rest = next_list();
    ASSERT_EQ(rest.size(), 1U);
    EXPECT_EQ(rest[0].id, list[1].id);
    EXPECT_EQ(clients_->disconnect(list[0].id), "") << "it is gone";
    publish(1);
    EXPECT_TRUE(run_until_lines(*two, 1));
}

}  // namespace
}  // namespace millpond::gateway::web
