// The best of four ITCH feeds, from their sockets to the lines of a tcp client.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "gateway/feeds/itch/settings.hpp"
#include "gateway/sinks/tcp/settings.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/support/line_client.hpp"

namespace millpond::gateway {
namespace {

using millpond::test::LineClient;

/// A venue, with one message in each datagram.
class Venue {
public:
    explicit Venue(const net::SocketAddress& to) : sender_({.to = to}) {}

    feed::ItchEncoder itch;

    void send(feed::ItchEncoder::Message message) {
        mold_.begin(buffer_);
        ASSERT_TRUE(mold_.add(message));
        const auto datagram = mold_.finish();
        while (!sender_.send(datagram)) std::this_thread::yield();
    }
    void lose(feed::ItchEncoder::Message message) {
        mold_.begin(buffer_);
        ASSERT_TRUE(mold_.add(message));
        static_cast<void>(mold_.finish());
    }
    /// Begins the session with these instruments.
    void begin(std::initializer_list<std::string_view> symbols) {
        send(itch.system_event('O'));
        send(itch.system_event('Q'));
        for (const auto symbol : symbols) {
            select(symbol);
            send(itch.directory(symbol));
            send(itch.trading_action(symbol, 'T', ""));
        }
    }
    void add(std::uint64_t number, char side, std::uint32_t shares, std::string_view symbol, std::uint32_t price) {
        select(symbol);
        send(itch.order_added(number, side, shares, symbol, price));
    }
    void select(std::string_view symbol) { itch.set_head(symbol == "AAPL" ? 1 : 2, 36'000'000'000'000); }

private:
    net::UdpSender sender_;
    feed::MoldUdp64Encoder mold_{"S1"};
    std::array<std::byte, 1'472> buffer_{};
};

class FourVenues {
public:
    /// depth: levels of a side, of the venues and the composite.
    explicit FourVenues(std::uint32_t depth = 0)
        : gateway_("four", [depth](Config& config) {
              config.feeds.clear();
              for (const auto* name : {"A", "B", "C", "D"}) {
                  auto& feed = config.feeds.emplace_back();
                  auto& settings = feed.use<itch::Settings>();
                  settings.max_orders = 64;
                  settings.depth = depth;
                  feed.name = feed.venue = name;
                  feed.listen = net::SocketAddress::parse("127.0.0.1:0");
                  feed.stale_seconds = 0;
              }
              config.rings[0].max_instruments = 64;
              config.composites.emplace_back().depth = depth;
              config.add<tcp::Settings>().listen = net::SocketAddress::parse("127.0.0.1:0");
          }) {
        gateway_.gateway().pipelines().front()->for_each_feed(
            [&](const Feed& feed) { venues_.push_back(std::make_unique<Venue>(feed.receiver().report().local)); });
    }
    Venue& operator[](std::size_t index) { return *venues_[index]; }
    [[nodiscard]] LineClient connect() const { return LineClient{gateway_.tcp().port()}; }
    /// Watches until the health report has this part.
    bool wait_for_health(std::string_view part) {
        return gateway_.watch_until(
            [&](const health::State& state) { return health::report_json(state).find(part) != std::string::npos; });
    }

private:
    test::RunningGateway gateway_;
    std::vector<std::unique_ptr<Venue>> venues_;
};

/// Waits until the newest quote of BEST for the symbol has all these parts.
bool gets(LineClient& client, std::string_view symbol, const std::vector<std::string>& parts) {
    constexpr std::int64_t kPatienceNs = 40'000'000'000;
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    const auto begin = std::string{R"({"type":"quote","symbol":")"} + std::string{symbol} + '"';
    std::string newest;
    while (core::monotonic_nanos() < deadline) {
        client.receive();
        for (const auto& line : client.lines()) {
            if (line.starts_with(begin) && line.find(R"("venue":"BEST")") != std::string::npos) newest = line;
        }
        bool has_all = !newest.empty();
        for (const auto& part : parts) has_all = has_all && newest.find(part) != std::string::npos;
        if (has_all) return true;
        client.wait(10);
    }
    ADD_FAILURE() << "the newest line is " << newest;
    return false;
}

/// The levels of BEST for a symbol, as a client of the lines has them.
class Levels {
public:
    using Sizes = std::map<double, std::string>;  // by price

    Levels(std::string_view symbol, std::size_t depth)
        : begin_(R"({"type":"level","symbol":")" + std::string{symbol} + R"(","channel":4,)"), depth_(depth) {}

    /// Waits until the levels are complete, and these after a group.
    bool become(LineClient& client, const Sizes& bids, const Sizes& asks) {
        constexpr std::int64_t kPatienceNs = 40'000'000'000;
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (core::monotonic_nanos() < deadline) {
            client.receive();
            const auto lines = client.lines();
            for (; read_ < lines.size(); ++read_) apply(lines[read_]);
            if (is_whole_ && bids_ == bids && asks_ == asks) return true;
            client.wait(10);
        }
        ADD_FAILURE() << "the levels are " << testing::PrintToString(bids_) << " and " << testing::PrintToString(asks_)
                      << (is_whole_ ? "" : ", incomplete");
        return false;
    }

private:
    static std::string value(std::string_view line, std::string_view key) {
        const auto at = line.find('"' + std::string{key} + "\":");
        if (at == std::string_view::npos) return "0";
        const auto begin = at + key.size() + 3;
        return std::string{line.substr(begin, line.find_first_of(",}", begin) - begin)};
    }
    void apply(std::string_view line) {
        if (!line.starts_with(begin_)) return;
        const auto side = value(line, "side");
        const auto flags = std::stoul(value(line, "flags"));
        auto& levels = side == R"("bid")" ? bids_ : asks_;
        if (side == R"("none")") {
            bids_.clear();
            asks_.clear();
            is_incomplete_ = false;
        } else if (value(line, "size") == "0") {
            levels.erase(std::stod(value(line, "price")));
        } else {
            levels[std::stod(value(line, "price"))] = value(line, "size");
        }
        is_incomplete_ = is_incomplete_ || (flags & feed::kIncomplete) != 0;
        is_whole_ = (flags & feed::kLast) != 0 && !is_incomplete_;
        if ((flags & feed::kLast) == 0) return;
        while (bids_.size() > depth_) bids_.erase(bids_.begin());
        while (asks_.size() > depth_) asks_.erase(std::prev(asks_.end()));
    }

    std::string begin_;
    std::size_t depth_;
    Sizes bids_;
    Sizes asks_;
    std::size_t read_{0};
    bool is_incomplete_{true};
    bool is_whole_{false};
};

TEST(CompositeGateway, ItsLevelsAreTheSumsOfThoseOfTheVenuesThatTakePart) {
    FourVenues venues{3};
    auto client = venues.connect();
    client.send_text("{\"subscribe\":[\"*\"],\"depth\":3}\n");
    Levels levels{"AAPL", 3};
    for (std::size_t i = 0; i < 4; ++i) venues[i].begin({"AAPL", "MSFT"});
    venues[0].add(1, 'B', 100, "AAPL", 100'000);
    venues[0].add(2, 'S', 100, "AAPL", 101'000);
    venues[1].add(1, 'B', 300, "AAPL", 100'100);
    venues[1].add(2, 'S', 200, "AAPL", 101'000);
    venues[2].add(1, 'B', 400, "AAPL", 100'100);
    venues[2].add(2, 'B', 50, "AAPL", 99'900);
    ASSERT_TRUE(levels.become(client, {{10.01, "700"}, {10.0, "100"}, {9.99, "50"}}, {{10.1, "300"}}));
    venues[3].add(1, 'B', 10, "AAPL", 100'050);
    ASSERT_TRUE(levels.become(client, {{10.01, "700"}, {10.005, "10"}, {10.0, "100"}}, {{10.1, "300"}}));
    venues[3].send(venues[3].itch.order_deleted(1));
    ASSERT_TRUE(levels.become(client, {{10.01, "700"}, {10.0, "100"}, {9.99, "50"}}, {{10.1, "300"}}));
    venues[2].send(venues[2].itch.trading_action("AAPL", 'H', "T1"));
    ASSERT_TRUE(levels.become(client, {{10.01, "300"}, {10.0, "100"}}, {{10.1, "300"}}));
    venues[1].lose(venues[1].itch.order_deleted(1));
    venues[1].send(venues[1].itch.order_deleted(2));
    EXPECT_TRUE(venues.wait_for_health(R"({"feed":"B","incomplete":2,)"));
    auto late = venues.connect();
    ASSERT_TRUE(gets(late, "AAPL", {R"("incomplete":true)"}));
}

TEST(CompositeGateway, TheBestOfFourFeedsIsALineWithItsVenuesAndThoseLeftOut) {
    FourVenues venues;
    auto client = venues.connect();
    for (std::size_t i = 0; i < 4; ++i) venues[i].begin({"AAPL", "MSFT"});
    venues[0].add(1, 'B', 100, "AAPL", 100'000);
    venues[0].add(2, 'S', 100, "AAPL", 101'000);
    venues[1].add(1, 'B', 300, "AAPL", 100'100);
    venues[1].add(2, 'S', 200, "AAPL", 100'900);
    venues[2].add(1, 'B', 400, "AAPL", 100'100);
    venues[2].add(2, 'S', 50, "AAPL", 100'800);
    // D has no order, which is known: it is followed from its first message on.
    ASSERT_TRUE(
        gets(client, "AAPL",
             {R"("bid":{"price":10.0100,"shares":700},"ask":{"price":10.0800,"shares":50})",
              R"("incomplete":false,"venue":"BEST","bid_venues":["B","C"],"ask_venues":["C"],"left_out":{}})"}));

    venues[2].send(venues[2].itch.trading_action("AAPL", 'H', "T1"));
    ASSERT_TRUE(gets(client, "AAPL",
                     {R"("bid":{"price":10.0100,"shares":300},"ask":{"price":10.0900,"shares":200})",
                      R"("incomplete":false)", R"("left_out":{"C":"halted"}})"}));
    EXPECT_TRUE(venues.wait_for_health(
        R"("composites":[{"venue":"BEST","channel":4,"symbols":2,"locked":0,"crossed":0,"refused":0,"left_out":[)"
        R"({"feed":"A","incomplete":0,"silent":0,"halted":0,"not_firm":0},)"
        R"({"feed":"B","incomplete":0,"silent":0,"halted":0,"not_firm":0},)"
        R"({"feed":"C","incomplete":0,"silent":0,"halted":1,"not_firm":0},)"
        R"({"feed":"D","incomplete":0,"silent":0,"halted":0,"not_firm":0}]}])"));

    venues[1].lose(venues[1].itch.order_deleted(1));
    venues[1].send(venues[1].itch.order_deleted(2));
    ASSERT_TRUE(gets(client, "AAPL",
                     {R"("bid":{"price":10.0000,"shares":100},"ask":{"price":10.1000,"shares":100})",
                      R"("incomplete":true)", R"("left_out":{"B":"incomplete","C":"halted"}})"}));
    venues[0].add(3, 'B', 10, "MSFT", 200'000);
    ASSERT_TRUE(gets(client, "MSFT", {R"("bid":{"price":20.0000,"shares":10})", R"("left_out":{"B":"incomplete"}})"}));
    auto late = venues.connect();
    ASSERT_TRUE(gets(late, "AAPL", {R"("incomplete":true)", R"("bid_venues":["A"])", R"("C":"halted")"}));

    venues[3].add(1, 'B', 5, "AAPL", 101'000);
    ASSERT_TRUE(gets(client, "AAPL", {R"("bid":{"price":10.1000,"shares":5})", R"("locked":true)"}));
    venues[3].send(venues[3].itch.system_event('C'));
    ASSERT_TRUE(gets(client, "AAPL", {R"("bid":{"price":10.0000,"shares":100})", R"("bid_venues":["A"])"}));
    ASSERT_TRUE(gets(late, "AAPL", {R"("bid":{"price":10.0000,"shares":100})", R"("bid_venues":["A"])"}));
}

}  // namespace
}  // namespace millpond::gateway
