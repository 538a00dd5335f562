// A halt and resumption of an instrument at every output of a running gateway.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <millpond/feed/quotes_decoder.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/sinks/csv/settings.hpp"
#include "gateway/sinks/tcp/settings.hpp"
#include "gateway/sinks/udp/settings.hpp"
#include "tests/gateway/receive/itch_sender.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/support/line_client.hpp"

namespace millpond::gateway {
namespace {

using test::ItchSender;
using test::RunningGateway;

/// The newest quote and state from a ring or a `quotes` feed.
struct Newest {
    void on(const feed::Quote& event) { quote = event; }
    void on(const feed::Trade&) {}
    void on(const feed::TradeBreak& event) { trade_break = event.trade_id; }
    void on(const feed::Status& event) { (event.instrument == feed::kNoInstrument ? channel : state) = event.state; }
    void on(const feed::Gap&) {}
    void on(const feed::Clear&) {}
    void on(const queue::MissedRange&) {}
    feed::Quote quote{};
    feed::TradingState state{feed::TradingState::unknown};
    feed::TradingState channel{feed::TradingState::unknown};
    std::uint64_t trade_break{0};
};

class HaltOutputs : public testing::Test {
protected:
    HaltOutputs() { sender_.itch.set_head(1, 5); }
    ~HaltOutputs() override { std::filesystem::remove(csv_); }

    void halt(char state) { sender_.send(sender_.itch.trading_action("AAPL", state, "T1")); }
    [[nodiscard]] std::string rows() const {
        std::ifstream in{csv_};
        return {std::istreambuf_iterator<char>{in}, {}};
    }
    template <class Done>
    bool wait_for(Done&& done) {
        return gateway_.watch_until([&](const health::State&) {
            for (const auto& datagram : udp_.poll()) {
                static_cast<void>(decoder_.decode(datagram.bytes, {.receive_utc_ns = 1}, downstream_));
            }
            client_.receive();
            return done();
        });
    }
    [[nodiscard]] bool client_has(const std::string& part) const {
        return client_.text().find(part) != std::string::npos;
    }
    /// Board as a reader that joins now gets it.
    [[nodiscard]] Newest late_joiner() const {
        market::RingReader reader{{.name = gateway_.ring()}};
        Newest newest;
        reader.join(newest);
        return newest;
    }
    /// Whether a client that connects to the tcp sink now gets a line with `part`.
    bool late_client_gets(const std::string& part) {
        millpond::test::LineClient late{gateway_.tcp().port()};
        return gateway_.watch_until([&](const health::State&) {
            late.receive();
            return late.text().find(part) != std::string::npos;
        });
    }

    std::string csv_{::testing::TempDir() + "halt_outputs_" + std::to_string(getpid()) + ".csv"};
    net::UdpReceiver udp_{{.local = net::SocketAddress::parse("127.0.0.1:0")}};
    RunningGateway gateway_{"outputs", [this](Config& config) {
                                test::use_itch(config);
                                auto& csv = config.add<csv::Settings>();
                                csv.path = csv_;
                                csv.flush = std::chrono::milliseconds{1};
                                config.add<udp::Settings>().to = udp_.report().local;
                                config.add<tcp::Settings>().listen = net::SocketAddress::parse("127.0.0.1:0");
                            }};
    ItchSender sender_{gateway_};
    millpond::test::LineClient client_{gateway_.tcp().port()};
    feed::InstrumentTable table_{16};
    feed::QuotesDecoder decoder_{table_, {}};
    Newest downstream_;
};

TEST_F(HaltOutputs, EveryOutputShowsTheHaltAndItsEndWithoutAnotherQuoteOfTheVenue) {
    sender_.send(sender_.itch.order_added(1, 'B', 100, "AAPL", 1'000'000));
    ASSERT_TRUE(wait_for([&] { return downstream_.quote.bid_size == 100; }));
    EXPECT_EQ(downstream_.quote.flags, 0);
    halt('H');
    EXPECT_TRUE(wait_for([&] { return downstream_.quote.flags == feed::kHalted; })) << "udp";
    EXPECT_TRUE(wait_for([&] { return rows().find(",100.0000,100,,0,,0,halted\n") != std::string::npos; })) << rows();
    EXPECT_TRUE(wait_for([&] { return client_has(R"("incomplete":false,"halted":true})"); })) << client_.text();
    EXPECT_TRUE(client_has(R"("state":"halted","reason":"T1")"));
    const auto halted = late_joiner();
    EXPECT_EQ(halted.quote.flags, feed::kHalted);
    EXPECT_EQ(halted.quote.bid_size, 100U);
    EXPECT_EQ(halted.state, feed::TradingState::halted);
    EXPECT_TRUE(late_client_gets(R"("incomplete":false,"halted":true})"));
    halt('T');
    EXPECT_TRUE(wait_for([&] { return downstream_.quote.flags == 0; })) << "udp";
    EXPECT_TRUE(wait_for([&] { return rows().ends_with(",100.0000,100,,0,,0,\n"); })) << rows();
    EXPECT_EQ(late_joiner().quote.flags, 0);
    EXPECT_EQ(late_joiner().state, feed::TradingState::trading);
    EXPECT_TRUE(late_client_gets(R"("state":"trading")"));
}

TEST_F(HaltOutputs, ABrokenTradeReachesClientsAndReadersAndACircuitBreakerLateOnes) {
    market::RingReader reader{{.name = gateway_.ring()}};
    Newest newest;
    sender_.send(sender_.itch.order_added(1, 'B', 100, "AAPL", 1'000'000));
    // A client that joins gets quotes and states of the board, but no trades from before.
    ASSERT_TRUE(wait_for([&] { return client_has(R"("type":"quote")"); }));
    sender_.send(sender_.itch.broken_trade(4'711));
    sender_.send(sender_.itch.circuit_breaker('2'));
    EXPECT_TRUE(wait_for([&] { return client_has(R"("type":"trade_break","symbol":"AAPL")"); })) << client_.text();
    EXPECT_TRUE(client_has(R"("trade_id":4711})"));
    EXPECT_TRUE(wait_for([&] {
        static_cast<void>(reader.poll(newest, 64));
        return newest.channel == feed::TradingState::circuit_breaker;
    }));
    EXPECT_EQ(newest.trade_break, 4'711U);
    EXPECT_EQ(late_joiner().channel, feed::TradingState::circuit_breaker);
    EXPECT_TRUE(late_client_gets(R"("state":"circuit_breaker","reason":"2")"));
    EXPECT_EQ(gateway_.found(health::Stage::halted).text, "the venue says: circuit_breaker, level 2");
    ItchSender next{gateway_, "S2"};
    for (int i = 0; i < 2; ++i) next.send(next.itch.system_event('O'));
    EXPECT_TRUE(wait_for([&] { return late_joiner().channel == feed::TradingState::start_of_messages; }));
}

}  // namespace
}  // namespace millpond::gateway
