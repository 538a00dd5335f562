// A whole gateway with faults in one part after another: its health names the fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/endian.hpp>
#include <millpond/feed/quotes_encoder.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>
#include <millpond/net/udp_sender.hpp>

#include "gateway/feeds/itch/settings.hpp"
#include "gateway/feeds/miax_tom/settings.hpp"
#include "gateway/feeds/quotes/settings.hpp"
#include "gateway/gateway.hpp"
#include "gateway/health/findings.hpp"
#include "gateway/health/report_json.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/sinks/csv/settings.hpp"
#include "gateway/sinks/tcp/settings.hpp"
#include "service/log.hpp"
#include "tests/gateway/receive/itch_sender.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/gateway/sinks/events.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/support/line_client.hpp"

namespace millpond::gateway::health {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using test::ItchSender;
using test::RunningGateway;

TEST(Health, AFeedThatNeverSendsAndOneThatStopsHaveDifferentFindings) {
    RunningGateway gateway{"silent", [](Config& config) { config.feeds[0].stale_seconds = 1; }};
    EXPECT_EQ(gateway.found(Stage::no_datagrams).of, "feed 'f'");
    gateway.send_quote();
    EXPECT_TRUE(gateway.becomes_good());
    EXPECT_THAT(gateway.found(Stage::stale).text, HasSubstr("nothing received for"));
}

TEST(Health, ALostDatagramIsAGapAndGarbageIsUndecodable) {
    RunningGateway gateway{"gap"};
    gateway.send_quote();
    gateway.lose(3);
    gateway.send_quote();
    EXPECT_EQ(gateway.found(Stage::gap).text, "3 sequence numbers are missing");
    gateway.send(std::as_bytes(std::span{std::string_view{"this is no quote"}}));
    const auto found = gateway.found(Stage::undecodable);
    EXPECT_EQ(found.text, "1 datagrams were not decoded");
    EXPECT_EQ(found.severity, service::Severity::error);
}

TEST(Health, QuotesThatAGapMadeIncompleteAreAFindingUntilTheyAreReplaced) {
    RunningGateway gateway{"incomplete"};
    gateway.send_quote();
    gateway.lose(3);
    gateway.send_heartbeat();
    const auto found = gateway.found(Stage::incomplete);
    EXPECT_EQ(found.of, "feed 'f'");
    EXPECT_EQ(found.severity, service::Severity::warning);
    EXPECT_THAT(found.text, HasSubstr("incomplete quotes: 1, the first for "));
    EXPECT_TRUE(gateway.watch_until([](const State& state) {
        return report_line(state).starts_with("good, but quotes incomplete: feed 'f': ");
    })) << "after the gap's ten seconds";
    gateway.send_quote();
    EXPECT_TRUE(gateway.becomes_good());
}

TEST(Health, ASilenceMakesQuotesIncompleteUntilTheFeedShowsThatNothingWasLost) {
    RunningGateway gateway{"confirm", [](Config& config) { config.feeds[0].stale_seconds = 1; }};
    gateway.send_quote();
    EXPECT_THAT(gateway.found(Stage::incomplete).text, HasSubstr("incomplete quotes: 1"));
    EXPECT_TRUE(gateway.watch_until([&](const State& state) {
        gateway.send_heartbeat();
        return findings(state, state.now).empty();
    }));
}

TEST(Health, ASilenceIsNotHiddenByDatagramsOfOtherChannelsOrByGarbage) {
    RunningGateway gateway{"others", [](Config& config) { config.feeds[0].stale_seconds = 1; }};
    gateway.send_quote();
    feed::QuotesEncoder other{{.channel = 1, .session = 1}};
    std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
    std::string text;
    EXPECT_TRUE(gateway.watch_until([&](const State& state) {
        other.begin(buffer);
        gateway.send(other.finish(core::utc_nanos()));
        gateway.send(std::as_bytes(std::span{"no quote"}));
        bool incomplete = false;
        for (const auto& finding : findings(state, state.now)) {
            if (finding.stage == Stage::stale) text = finding.text;
            incomplete = incomplete || finding.stage == Stage::incomplete;
        }
        return incomplete && !text.empty();
    }));
    EXPECT_THAT(text, StartsWith("nothing of the feed, only other datagrams, received for "));
    EXPECT_TRUE(gateway.watch_until([&](const State& state) {
        gateway.send_heartbeat();
        return state.feeds[0].instruments_incomplete == 0 &&
               state.now - state.feeds[0].last_heard < state.feeds[0].patience_ns;
    }));
}

TEST(Health, AFeedHasItsConfiguredChannelWhicheverComesFirst) {
    RunningGateway gateway{
        "chosen", [](Config& config) { config.feeds[0].use<quotes::Settings>().from_channel = std::uint16_t{1}; }};
    gateway.send_quote();
    feed::QuotesEncoder other{{.channel = 1, .session = 1}};
    std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
    other.begin(buffer);
    ASSERT_TRUE(other.add(quote_of(0, 5), feed::Venue{"X"}, feed::Symbol{"MSFT"}));
    gateway.send(other.finish(core::utc_nanos()));
    EXPECT_TRUE(gateway.watch_until([](const State& state) { return state.feeds[0].quotes == 1; }));
    market::RingReader reader{{.name = gateway.ring()}};
    EXPECT_EQ(reader.instrument(0)->symbol.view(), "MSFT");
}

// The datagram has the system event 'C' (end of messages) of NASDAQ TotalView-ITCH 5.0 in MoldUDP64.
TEST(Health, TheEndOfASessionIsAFindingAndNoFault) {
    RunningGateway gateway{"halt", [](Config& config) {
                               config.feeds[0].stale_seconds = 1;
                               config.feeds[0].use<itch::Settings>().max_orders = 64;
                               config.rings[0].max_instruments = 16;
                           }};
    std::array<std::byte, 34> datagram{};
    std::fill_n(datagram.begin(), 10, std::byte{' '});  // session
    core::store_be<std::uint64_t>(&datagram[10], 1);    // sequence number
    core::store_be<std::uint16_t>(&datagram[18], 1);    // messages
    core::store_be<std::uint16_t>(&datagram[20], 12);   // length of the message
    datagram[22] = std::byte{'S'};
    datagram[33] = std::byte{'C'};
    gateway.send(datagram);
    const auto found = gateway.found(Stage::halted);
    EXPECT_EQ(found.text, "the venue says: end_of_messages");
    EXPECT_EQ(found.severity, service::Severity::info);
    EXPECT_TRUE(gateway.watch_until(
        [](const State& state) { return state.now - state.feeds[0].last_datagram > 2 * state.feeds[0].patience_ns; }));
    EXPECT_EQ(gateway.found(Stage::halted).stage, Stage::halted);
    EXPECT_TRUE(gateway.watch_until([](const State& state) { return is_good(state); }));
}

// MoldUDP64 and MACH datagrams end the session here, without an earlier system event of the venue.
TEST(Health, ASessionThatItsFramingEndsIsOver) {
    for (const bool miax : {false, true}) {
        RunningGateway gateway{"over", [&](Config& config) {
                                   config.feeds[0].stale_seconds = 1;
                                   if (miax) {
                                       config.feeds[0].use<miax_tom::Settings>();
                                   } else {
                                       config.feeds[0].use<itch::Settings>().max_orders = 64;
                                   }
                               }};
        std::array<std::byte, 20> mold{};
        std::fill_n(mold.begin(), 10, std::byte{' '});     // session
        core::store_be<std::uint64_t>(&mold[10], 1);       // sequence number
        core::store_be<std::uint16_t>(&mold[18], 0xFFFF);  // end of session
        std::array<std::byte, 12> mach{};                  // sequence number 0
        core::store_le<std::uint16_t>(&mach[8], 12);       // length
        mach[10] = std::byte{2};                           // end of session
        gateway.send(miax ? std::span<const std::byte>{mach} : std::span<const std::byte>{mold});
        EXPECT_TRUE(gateway.watch_until([](const State& state) {
            const auto& feed = state.feeds[0];
            return feed.last_datagram != 0 && state.now - feed.last_datagram > 2 * feed.patience_ns;
        }));
        EXPECT_TRUE(gateway.watch_until([](const State& state) { return findings(state, state.now).empty(); }));
    }
}

TEST(Health, ASinkThatCannotPassOnIsBehindAndSaysWhy) {
    if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "needs /dev/full";
    RunningGateway gateway{"behind", [](Config& config) {
                               auto& csv = config.add<csv::Settings>();
                               csv.path = "/dev/full";
                               csv.flush = std::chrono::milliseconds{10};
                           }};
    gateway.send_quote();
    const auto found = gateway.found(Stage::sink_behind);
    EXPECT_EQ(found.of, "sink 'csv'");
    EXPECT_THAT(found.text, AllOf(HasSubstr("1 events queued"), HasSubstr("No space left on device")));
}

TEST(Health, ASinkThatTheRingLapsWhileItStandsStillIsAnErrorAndHoldsUpNoEnd) {
    const auto fifo = ::testing::TempDir() + "millpond_stuck_" + std::to_string(getpid());
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    const int never_read = ::open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(never_read, 0);
    {
        RunningGateway gateway{"stuck", [&](Config& config) {
                                   auto& csv = config.add<csv::Settings>();
                                   csv.path = fifo;
                                   csv.flush = std::chrono::milliseconds{10};
                                   config.rings[0].capacity = 1'024;
                               }};
        EXPECT_TRUE(gateway.watch_until([&](const State& state) {
            for (int i = 0; i < 50; ++i) gateway.send_quote();
            const auto& sink = state.sinks[0];
            return sink.account.missed > 10'000 && sink.behind.holds && !is_good(state);
        })) << report_line(*gateway.gateway().health());
        EXPECT_EQ(gateway.found(Stage::sink_behind).severity, service::Severity::error);
    }
    ::close(never_read);
    ::unlink(fifo.c_str());
}

TEST(Health, MessagesThatAreRejectedAreAFindingThoughTheirQuotesAreNewSince) {
    RunningGateway gateway{"rejected"};
    std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
    feed::QuotesEncoder encoder{{.channel = 0, .session = 1}};
    encoder.begin(buffer);
    ASSERT_TRUE(encoder.add(quote_of(0, feed::price_from<10'000>(10'000)), feed::Venue{"X"}, feed::Symbol{"AAPL"}));
    const auto bytes = encoder.finish(0);
    buffer[bytes.size() - 1] = std::byte{7};  // not a character of a name
    gateway.send(bytes);
    gateway.lose(1);
    gateway.send_quote();
    const auto found = gateway.found(Stage::rejected);
    EXPECT_EQ(found.of, "feed 'f'");
    EXPECT_EQ(found.text, "1 messages could not be read or contradict the books");
}

TEST(Health, DatagramsOfAnotherSessionAreAFindingAndVoidNoQuote) {
    RunningGateway gateway{"strays"};
    gateway.send_quote();
    std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
    feed::QuotesEncoder stray{{.channel = 0, .session = ~std::uint64_t{0}}};
    stray.begin(buffer);
    gateway.send(stray.finish(0));
    gateway.send_quote();
    EXPECT_EQ(gateway.found(Stage::other_session).text, "1 datagrams of another session were ignored");
    EXPECT_EQ(gateway.gateway().pipelines().front()->publisher().board().cleared(0), 0U);
}

TEST(Health, AnInstrumentThatIsHaltedInTheDayIsAFindingAndNoFault) {
    RunningGateway gateway{"halted"};
    gateway.send_quote(feed::kHalted);
    const auto found = gateway.found(Stage::halted);
    EXPECT_EQ(found.of, "feed 'f'");
    EXPECT_EQ(found.text, "instruments not trading: 1");
    EXPECT_TRUE(gateway.watch_until([](const State& state) {
        return is_good(state) && report_line(state).starts_with("good, but halted: feed 'f': ");
    }));
    gateway.send_quote();
    EXPECT_TRUE(gateway.becomes_good());
}

TEST(Health, AnImplausibleDelayIsAFindingThatNamesWhatMayBeWrong) {
    RunningGateway gateway{"delay", test::use_itch};
    ItchSender sender{gateway};
    // Every time of day differs from at least one of both by more than 11 hours.
    for (const std::int64_t hours : {0, 12}) {
        sender.itch.set_head(1, hours * 3'600'000'000'000);
        sender.send(sender.itch.order_added(static_cast<std::uint64_t>(hours) + 1, 'B', 1, "AAPL",
                                            static_cast<std::uint32_t>(10'000 + hours)));
        if (gateway.watch_until([&](const State& state) {
                return state.feeds[0].quotes == static_cast<std::uint64_t>(hours / 12) + 1 &&
                       state.feeds[0].delay_ns.has_value();
            }) &&
            gateway.gateway().health()->feeds[0].implausible_delay.holds)
            break;
    }
    const auto found = gateway.found(Stage::delay);
    EXPECT_EQ(found.of, "feed 'f'");
    EXPECT_EQ(found.severity, service::Severity::warning);
    EXPECT_THAT(found.text, HasSubstr("check timezone and date of the feed, and the clocks"));
}

TEST(Health, ExchangeTimesAtTheEndsOfTheirRangeAreImplausibleToo) {
    for (const auto time : {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
        RunningGateway gateway{"extreme"};
        feed::QuotesEncoder encoder{{.channel = 0, .session = 1}};
        std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
        auto quote = quote_of(0, feed::price_from<10'000>(10'000));
        quote.exchange_utc_ns = time;
        encoder.begin(buffer);
        ASSERT_TRUE(encoder.add(quote, feed::Venue{"X"}, feed::Symbol{"AAPL"}));
        gateway.send(encoder.finish(core::utc_nanos()));
        EXPECT_THAT(gateway.found(Stage::delay).text,
                    StartsWith(time < 0 ? "exchange times are 31536000.0 s behind"
                                        : "exchange times are 31536000.0 s ahead of"));
    }
}

TEST(Health, AClientThatTakesNothingIsNamedByItsSink) {
    RunningGateway gateway{"stuck", [](Config& config) {
                               auto& sink = config.add<tcp::Settings>();
                               sink.listen = net::SocketAddress::parse("127.0.0.1:0");
                               sink.backlog = 64;
                               sink.send_buffer = 4'096;
                               sink.stall = std::chrono::seconds{1};
                           }};
    const millpond::test::LineClient stuck{gateway.tcp().port(), 4'096};
    Finding found;
    Finding lost;
    EXPECT_TRUE(gateway.watch_until([&](const State& state) {
        gateway.send_quote();
        // The findings may follow others; they last for ten seconds only.
        for (const auto& one : findings(state, state.now)) {
            if (one.stage == Stage::slow_client) (one.part == 0 ? lost : found) = one;
        }
        return !found.text.empty();
    }));
    EXPECT_EQ(found.of, "sink 'tcp'");
    EXPECT_THAT(found.text, AllOf(StartsWith("clients that accepted no data and were disconnected: 1; its last error"),
                                  HasSubstr("client 127.0.0.1:")));
    EXPECT_THAT(lost.text, AllOf(StartsWith("clients lost "), HasSubstr(" events")));
    EXPECT_EQ(found.severity, service::Severity::warning);
}

TEST(Health, MessagesThatWaitForAServersAnswerAreAFindingAndAMetric) {
    // Receives requests and never answers.
    net::UdpReceiver server{{.local = net::SocketAddress::parse("127.0.0.1:0")}};
    RunningGateway gateway{"waits", [&](Config& config) {
                               test::use_itch(config);
                               auto& settings = config.feeds[0].use<itch::Settings>();
                               settings.rerequest = server.report().local;
                               settings.rerequest_ms = 1'000;
                           }};
    ItchSender sender{gateway};
    for (std::uint64_t order = 1; order <= 2; ++order) {
        sender.send(sender.itch.order_added(order, 'B', 100, "AAPL", 1'000'000));
        sender.lose(1);
    }
    const auto found = gateway.found(Stage::waiting);
    EXPECT_EQ(found.severity, service::Severity::warning);
    EXPECT_THAT(found.text, AllOf(StartsWith("newer messages have been waiting for missing ones for "),
                                  HasSubstr(server.report().local.to_string())));
    const auto metrics = gateway.gateway().page({.path = "/metrics"}).body;
    const std::string name{"millpond_feed_waiting_seconds{feed=\"f\"} "};
    ASSERT_THAT(metrics, HasSubstr(name));
    EXPECT_GE(std::stod(metrics.substr(metrics.find(name) + name.size())), 1.0);
}

TEST(Health, AFeedThatIsJoinedWithinItsSenderSessionSaysSo) {
    RunningGateway gateway{"late"};
    EXPECT_EQ(gateway.found(Stage::no_datagrams).severity, service::Severity::warning);
    gateway.lose(1);
    gateway.send_quote();
    EXPECT_THAT(gateway.found(Stage::joined_late).text, StartsWith("the session was joined at message 2: "));
}

TEST(Health, TheReportHoldsEveryPart) {
    RunningGateway gateway{"report", [](Config& config) {
                               config.add<tcp::Settings>().listen = net::SocketAddress::parse("127.0.0.1:0");
                           }};
    gateway.send_quote();
    ASSERT_TRUE(gateway.watch_until([](const State& state) {
        return state.rings[0].wire.all.count == 1 && state.feeds[0].delay_ns.has_value() &&
               state.sinks[0].account.delivered == 1;
    }));
    std::string json;
    ASSERT_TRUE(gateway.watch_until([&](const State& state) {
        json = report_json(state);
        return true;
    }));
    EXPECT_THAT(json,
                AllOf(HasSubstr(R"("good":true,"first":null,"findings":[])"), HasSubstr(R"("name":"f")"),
                      HasSubstr(R"("format":"quotes")"), HasSubstr(R"("packets":1)"), HasSubstr(R"("type":"tcp")"),
                      HasSubstr(R"("clients":0)"), HasSubstr(R"("readers":[{"name":"tcp")")));
}

constexpr std::string_view kUp =
    "ip link add eth9 type veth peer name eth8 && ip link set eth8 up && ip addr add 10.9.9.1/24 dev eth9 && "
    "ip link set eth9 up multicast on";

/// Exit status of a shell command.
int run(std::string_view command) { return std::system(std::string{command}.c_str()); }

/// Runs `test` on a new thread in a new network namespace with the interface eth9; false if that is not permitted.
bool in_own_network(const std::function<void()>& test) {
    bool permitted = false;
    std::thread{[&] {
        permitted = unshare(CLONE_NEWNET) == 0 && run(kUp) == 0;
        if (permitted) test();
    }}.join();
    return permitted;
}

TEST(Health, ALinkThatIsDownAndAGroupThatIsLostAreFound) {
    const bool permitted = in_own_network([] {
        RunningGateway gateway{"link", [](Config& config) {
                                   config.feeds[0].listen = net::SocketAddress::parse("239.9.9.9:5009");
                                   config.feeds[0].interface = "eth9";
                               }};
        EXPECT_TRUE(gateway.becomes_good());
        ASSERT_EQ(run("ip link set eth9 down"), 0);
        EXPECT_EQ(gateway.found(Stage::link).text, "interface eth9 is down");
        ASSERT_EQ(run("ip link del eth9"), 0);
        EXPECT_EQ(gateway.found(Stage::group_not_joined).text, "the group of 239.9.9.9:5009 is not joined on eth9");
        ASSERT_EQ(run(kUp), 0);
        EXPECT_TRUE(gateway.becomes_good()) << "it is joined again";
        EXPECT_THAT(gateway.logged(), HasSubstr("interface eth9 was made again; joined again"));
    });
    if (!permitted) GTEST_SKIP() << "needs a network namespace with a veth pair";
}

TEST(Health, AReRequestServerWithoutARouteIsAFindingUntilThereIsOne) {
    const bool permitted = in_own_network([] {
        ASSERT_EQ(run("ip link set lo up"), 0);
        RunningGateway gateway{"unroutable", [](Config& config) {
                                   config.feeds[0].use<itch::Settings>().rerequest =
                                       net::SocketAddress::parse("10.98.0.1:14000");
                               }};
        EXPECT_EQ(gateway.found(Stage::request_server).text,
                  "no route to the re-request server 10.98.0.1:14000; retrying");
        ASSERT_EQ(run("ip address add 10.98.0.1/32 dev lo"), 0);
        EXPECT_TRUE(gateway.becomes_good());
    });
    if (!permitted) GTEST_SKIP() << "needs a network namespace with a veth pair";
}

}  // namespace
}  // namespace millpond::gateway::health
