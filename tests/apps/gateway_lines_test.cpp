// A receive thread with two lines of one feed and a re-request server for messages that no line delivered.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/quotes_encoder.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/udp_sender.hpp>

#include "apps/millpond/traffic/request_server.hpp"
#include "gateway/feeds/bbo28/settings.hpp"
#include "gateway/feeds/itch/settings.hpp"
#include "gateway/feeds/quotes/settings.hpp"
#include "gateway/receive/pipeline.hpp"
#include "gateway/settings/config.hpp"
#include "service/config_error.hpp"
#include "tests/apps/feed_lines.hpp"
#include "tests/apps/gateway_run.hpp"
#include "tests/apps/itch_session.hpp"
#include "tests/apps/program.hpp"
#include "tests/apps/udp_port.hpp"
#include "tests/net/network_pair.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;

void two_lines(gateway::FeedConfig& feed) { feed.line_b = net::SocketAddress::parse("127.0.0.1:0"); }

TEST(GatewayLines, WhatOneSocketLosesTheOtherFillsAndNoQuoteIsIncomplete) {
    const ItchSession session{4'000};
    Lines lines{"ab", two_lines};
    std::mt19937_64 random{5};
    std::uint64_t sent = 0;
    for (std::size_t i = 0; i < session.bytes.size(); ++i) {
        const auto fate = i == 0 ? 9 : random() % 10;
        for (std::size_t line = 0; line < 2; ++line) {
            if (fate == line) continue;
            lines.send(line, session.bytes[i]);
            ++sent;
        }
        // The kernel's buffers hold a few hundred datagrams.
        const bool keeps_up =
            i % 64 != 63 || lines.read_until([&] { return lines.count("line_datagrams") + 200 >= sent; });
        ASSERT_TRUE(keeps_up);
    }
    lines.send(0, session.bytes.back());
    lines.send(1, session.bytes.back());
    ASSERT_TRUE(lines.read_until([&] { return lines.count("messages") >= session.next - 1; }));
    EXPECT_EQ(lines.count("messages_applied") + lines.count("messages_ignored"), session.next - 1);
    EXPECT_EQ(lines.count("sequence_missing"), 0U);
    EXPECT_GT(lines.count("line_filled"), 0U);
    EXPECT_TRUE(lines.subscriber.gaps.empty());
    EXPECT_EQ(lines.subscriber.missed, 0U);
    ASSERT_FALSE(lines.subscriber.quotes.empty());
    for (const auto& quote : lines.subscriber.quotes) ASSERT_EQ(quote.flags & feed::kIncomplete, 0);
}

TEST(GatewayLines, WhatBothLoseIsAGapOnceItsTimeIsOver) {
    const ItchSession session{100};
    Lines lines{"ab-gap", [](gateway::FeedConfig& feed) {
                    two_lines(feed);
                    feed.reorder_us = 1'000;
                }};
    for (std::size_t i = 0; i < session.bytes.size(); ++i) {
        if (i == 50) continue;
        lines.send(0, session.bytes[i]);
        lines.send(1, session.bytes[i]);
    }
    ASSERT_TRUE(lines.read_until([&] { return !lines.subscriber.gaps.empty(); }));
    EXPECT_EQ(lines.count("holes_given_up"), 1U);
    EXPECT_TRUE(lines.read_until([&] { return lines.subscriber.quotes.back().flags == feed::kIncomplete; }));
}

TEST(GatewayLines, AGapIsRequestedAndTheBookStaysComplete) {
    const ItchSession session{2'000};
    traffic::RequestServer server{net::SocketAddress::parse("127.0.0.1:0"), session.name, session.messages};
    Lines lines{"ask", [&](gateway::FeedConfig& feed) {
                    feed.use<gateway::itch::Settings>().rerequest = server.address();
                    feed.reorder_us = 0;
                    feed.use<gateway::itch::Settings>().rerequest_ms = 1'000;
                }};
    // The gateway starts late and requests earlier messages too. Then every 40th datagram is lost.
    for (std::size_t i = 300; i < session.bytes.size(); ++i) {
        if (i % 40 != 17) lines.send(0, session.bytes[i]);
        if (i % 64 != 0) continue;
        // Not more than 200 datagrams wait for an answer.
        const auto reached =
            feed::MoldUdp64Packet::read(session.bytes[i - 200], [](std::span<const std::byte>) {}).sequence;
        ASSERT_TRUE(lines.read_until([&] {
            static_cast<void>(server.poll(0));
            return lines.count("messages") >= reached;
        }));
    }
    ASSERT_TRUE(lines.read_until([&] {
        static_cast<void>(server.poll(0));
        return lines.count("messages") >= session.next - 1;
    }));
    EXPECT_EQ(lines.count("messages_applied") + lines.count("messages_ignored"), session.next - 1);
    EXPECT_EQ(lines.count("sequence_missing"), 0U);
    EXPECT_GE(lines.count("rerequests"), server.requests());
    EXPECT_TRUE(lines.subscriber.gaps.empty());
    ASSERT_FALSE(lines.subscriber.quotes.empty());
    for (const auto& quote : lines.subscriber.quotes) ASSERT_EQ(quote.flags & feed::kIncomplete, 0);
}

TEST(GatewayLines, AnAnswerOfAnotherPortIsNotOne) {
    const ItchSession session{100};
    const UdpPort server;
    const UdpPort attacker;
    Lines lines{"forged", [&](gateway::FeedConfig& feed) {
                    feed.use<gateway::itch::Settings>().rerequest = server.address();
                    feed.reorder_us = 0;
                    feed.use<gateway::itch::Settings>().rerequest_ms = 10'000;
                }};
    for (std::size_t i = 0; i < session.bytes.size(); ++i) {
        if (i != 40) lines.send(0, session.bytes[i]);
    }
    std::optional<net::SocketAddress> asker;
    ASSERT_TRUE(lines.read_until([&] { return (asker = server.sender_of_request()).has_value(); }));
    auto forged = session.bytes[40];
    for (auto& byte : std::span{forged}.last(8)) byte ^= std::byte{0x5A};
    attacker.send(forged, *asker);
    server.send(session.bytes[40], *asker);
    ASSERT_TRUE(lines.read_until([&] { return lines.count("messages") >= session.next - 1; }));
    EXPECT_EQ(lines.count("rerequest_datagrams"), 1U);
    EXPECT_EQ(lines.count("rerequest_used"), 1U);
    EXPECT_EQ(lines.count("messages_applied") + lines.count("messages_ignored"), session.next - 1);
    EXPECT_EQ(lines.count("malformed"), 0U);
    EXPECT_TRUE(lines.subscriber.gaps.empty());
}

TEST(GatewayLines, AServerThatDoesNotAnswerIsAskedAFewTimesThenTheGapIsReported) {
    const ItchSession session{100};
    const traffic::SessionMessages nothing;
    traffic::RequestServer server{net::SocketAddress::parse("127.0.0.1:0"), session.name, nothing};
    Lines lines{"silent", [&](gateway::FeedConfig& feed) {
                    feed.use<gateway::itch::Settings>().rerequest = server.address();
                    feed.reorder_us = 0;
                    feed.use<gateway::itch::Settings>().rerequest_ms = 1;
                }};
    for (std::size_t i = 0; i < session.bytes.size(); ++i) {
        if (i != 40 && i != 60) lines.send(0, session.bytes[i]);
    }
    ASSERT_TRUE(lines.read_until([&] {
        static_cast<void>(server.poll(0));
        return lines.subscriber.gaps.size() == 2;
    }));
    EXPECT_EQ(lines.count("rerequests"), 7U);  // the second gap once
    EXPECT_EQ(lines.count("rerequest_retries"), 5U);
    EXPECT_EQ(lines.count("holes_given_up"), 2U);
}

TEST(GatewayLines, AServerWithoutARouteEndsNothingAndIsAskedOnceThereIsOne) {
    std::string why;
    const auto pair = net::test::NetworkPair::make(why);
    if (!pair) GTEST_SKIP() << why;
    const ItchSession session{100};
    const auto address = net::SocketAddress::parse("10.98.0.1:14000");
    Lines lines{"unroutable", [&](gateway::FeedConfig& feed) {
                    feed.use<gateway::itch::Settings>().rerequest = address;
                    feed.reorder_us = 0;
                    feed.use<gateway::itch::Settings>().rerequest_ms = 60'000;
                }};
    EXPECT_FALSE(lines.server_is_reachable());
    ASSERT_EQ(std::system("ip address add 10.98.0.1/32 dev lo"), 0);
    traffic::RequestServer server{address, session.name, session.messages};
    ASSERT_TRUE(lines.read_until([&] { return lines.server_is_reachable(); }));
    for (std::size_t i = 0; i < session.bytes.size(); ++i) {
        if (i != 40) lines.send(0, session.bytes[i]);
    }
    ASSERT_TRUE(lines.read_until([&] {
        static_cast<void>(server.poll(0));
        return lines.count("messages") >= session.next - 1;
    }));
    EXPECT_GE(lines.count("rerequest_used"), 1U);
    EXPECT_TRUE(lines.subscriber.gaps.empty());
}

TEST(GatewayLines, ANewSessionVoidsBooksAndBoardWithoutARestart) {
    const ItchSession first{200, 1};
    const ItchSession second{200, 2};
    Lines lines{"session", two_lines};
    for (const auto* session : {&first, &second}) {
        for (const auto& bytes : session->bytes) {
            lines.send(0, bytes);
            lines.send(1, bytes);
        }
        const auto messages = session == &first ? first.next - 1 : first.next + second.next - 2;
        ASSERT_TRUE(lines.read_until([&] { return lines.count("messages") >= messages; }));
    }
    ASSERT_TRUE(lines.read_until([&] { return !lines.subscriber.clears.empty(); }));
    EXPECT_EQ(lines.subscriber.clears.front().reason, feed::ClearReason::new_session);
    EXPECT_EQ(lines.count("sequence_missing"), 0U);
    EXPECT_EQ(lines.subscriber.quotes.back().flags & feed::kIncomplete, 0);
}

TEST(GatewayLines, WhatMakesNoSenseTogetherIsRefusedByName) {
    const auto refusal = [](const std::function<void(gateway::FeedConfig&)>& change) -> std::string {
        try {
            const Lines lines{"refused", change};
        } catch (const service::ConfigError& error) {
            return error.what();
        }
        return "nothing";
    };
    EXPECT_THAT(refusal([](gateway::FeedConfig& feed) {
                    two_lines(feed);
                    feed.use<gateway::bbo28::Settings>();
                }),
                HasSubstr("line_b: bbo28 has no sequence numbers"));
    EXPECT_THAT(refusal([](gateway::FeedConfig& feed) { feed.interface_b = "eth1"; }), HasSubstr("but no line_b"));
    EXPECT_THAT(refusal([](gateway::FeedConfig& feed) { feed.vlan = 7; }), HasSubstr("vlan: only with receive"));
    EXPECT_THAT(refusal([](gateway::FeedConfig& feed) {
                    feed.listen = feed.line_b = net::SocketAddress::parse("127.0.0.1:9999");
                }),
                HasSubstr("address '127.0.0.1:9999' is used twice"));
}

TEST(GatewayLines, AReplayAnswersForWhatItDroppedAndNothingIsMissing) {
    const ItchSession session{3'000};
    const test::ScratchFile itch{test::scratch_name("served.itch"), session.file()};
    const auto server = free_address();
    GatewayRun gateway{{.ring = unique_ring("served"),
                        .format = "itch",
                        .feed = ",reorder_us=0,rerequest_ms=100,rerequest=" + server}};
    Program replay{{"replay", itch.path(), "--to", gateway.feed_address(), "--speed", "2", "--drop", "0.05",
                    "--serve-requests", server, "--quiet"}};
    const auto all = static_cast<std::int64_t>(session.messages.size());
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    while (gateway.metric("millpond_feed_messages_total") < all && core::monotonic_nanos() < deadline)
        std::this_thread::yield();
    EXPECT_EQ(gateway.metric("millpond_feed_messages_total"), all);
    EXPECT_EQ(gateway.metric("millpond_feed_sequence_missing_total"), 0);
    EXPECT_GT(gateway.metric("millpond_feed_rerequest_used_total"), 0);
    replay.signal(SIGINT);
    const auto outcome = replay.wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("injected faults: dropped "));
    EXPECT_EQ(gateway.end().exit_code, 0);
}

TEST(GatewayLines, TheProgramShowsBothLines) {
    GatewayRun gateway{{.ring = unique_ring("lines"), .format = "quotes", .feed = ",line_b=127.0.0.1:0"}};
    const auto line_b = gateway.word_after("feed 'f', line B: listens on ");
    std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
    feed::QuotesEncoder encoder{{.session = 1}};
    net::UdpSender sender{{.to = net::SocketAddress::parse(line_b)}};
    encoder.begin(buffer);
    ASSERT_TRUE(sender.send(encoder.finish(0)));
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    const auto has = [&](const std::string& path, const std::string& text) {
        while (gateway.page(path).find(text) == std::string::npos) {
            if (core::monotonic_nanos() > deadline) return false;
            std::this_thread::yield();
        }
        return true;
    };
    EXPECT_TRUE(has("/metrics", "millpond_feed_packets_total{feed=\"f\",line=\"b\"} 1\n"));
    EXPECT_TRUE(has("/metrics", "millpond_feed_line_others_total{feed=\"f\",line=\"b\"} 1\n"));
    EXPECT_TRUE(has("/api/health", R"({"name":"b","listen":")" + line_b + R"(","packets":1,)"));
    EXPECT_EQ(gateway.end().exit_code, 0);
}

TEST(GatewayLines, ALineThatStaysInAnotherSessionIsAFindingWithBoth) {
    GatewayRun gateway{{.ring = unique_ring("apart"), .format = "quotes", .feed = ",line_b=127.0.0.1:0"}};
    const auto line_a = gateway.feed_address();
    net::UdpSender first{{.to = net::SocketAddress::parse(line_a)}};
    net::UdpSender second{{.to = net::SocketAddress::parse(gateway.word_after("feed 'f', line B: listens on "))}};
    std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
    feed::QuotesEncoder old_session{{.session = 41}};
    feed::QuotesEncoder new_session{{.session = 42}};
    const auto wanted = "line a (" + line_a + ") brings session '41' and is ignored: the feed is in session '42'";
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    const auto send_old = [&] {
        old_session.begin(buffer);
        static_cast<void>(first.send(old_session.finish(0)));
    };
    send_old();  // read before the other session begins: if datagrams wait on both lines, either line may be read first
    while (gateway.page("/metrics").find("millpond_feed_packets_total{feed=\"f\",line=\"a\"} 1\n") == std::string::npos)
        ASSERT_LT(core::monotonic_nanos(), deadline);
    while (gateway.page("/api/health").find(wanted) == std::string::npos) {
        ASSERT_LT(core::monotonic_nanos(), deadline) << gateway.page("/api/health");
        send_old();
        new_session.begin(buffer);
        ASSERT_TRUE(
            new_session.add({}, feed::Venue{"XNAS"}, feed::Symbol{"AAPL"}));  // heartbeats alone do not begin a session
        static_cast<void>(second.send(new_session.finish(0)));
        std::this_thread::yield();
    }
    EXPECT_EQ(gateway.end().exit_code, 0);
}

}  // namespace
}  // namespace millpond::app
