// IEX feeds with planted losses on their lines, and gap fill servers that answer, lie, answer late or not at all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/endian.hpp>
#include <millpond/feed/iex_gap_fill.hpp>
#include <millpond/feed/iex_layout.hpp>

#include "apps/millpond/traffic/iex_gap_fill_server.hpp"
#include "apps/millpond/traffic/iex_history.hpp"
#include "apps/millpond/traffic/pcap_source.hpp"
#include "gateway/feeds/iex/settings.hpp"
#include "gateway/receive/request_stream.hpp"
#include "tests/apps/feed_lines.hpp"
#include "tests/apps/gap_fill_feed.hpp"
#include "tests/apps/gateway_run.hpp"
#include "tests/apps/iex_session.hpp"
#include "tests/apps/iex_wire_books.hpp"
#include "tests/apps/program.hpp"
#include "tests/apps/ring_books.hpp"
#include "tests/apps/udp_port.hpp"
#include "tests/net/soupbin_peer.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;

enum class Loss : std::uint8_t { only_line, line_a, line_b, both };

struct Planted {
    WireFormat format;
    Loss loss;
};

class IexGapFill : public ::testing::TestWithParam<Planted> {};

TEST_P(IexGapFill, WhatEachLineLosesIsFilledAndTheBooksAreThoseOfTheWire) {
    const auto [format, loss] = GetParam();
    const IexSession session{format, 1'500};
    traffic::IexHistory history;
    traffic::IexGapFillServer server{any_port(), history};
    Lines lines{"iex-fill", [&](gateway::FeedConfig& feed) {
                    auto& settings = iex_settings(feed, format);
                    settings.rerequest = server.address();
                    settings.rerequest_ms = 1'000;
                    if (loss != Loss::only_line) feed.line_b = any_port();
                }};
    RingBooks books{lines};
    const std::size_t sending = loss == Loss::only_line ? 1 : 2;
    std::mt19937_64 random{7};
    for (std::size_t i = 0; i < session.bytes.size(); ++i) {
        const bool is_lost = i != 0 && i + 1 != session.bytes.size() && random() % 20 == 0;
        const std::array lost{is_lost && loss != Loss::line_b, is_lost && (loss == Loss::line_b || loss == Loss::both)};
        history.add(session.bytes[i]);
        for (std::size_t line = 0; line < sending; ++line) {
            if (!lost[line]) lines.send(line, session.bytes[i]);
        }
        if (i % 64 != 0 && i + 1 != session.bytes.size()) continue;
        // Not more than 100 datagrams wait for an answer or in the kernel.
        const auto reached = i + 1 == session.bytes.size() ? session.next : session.first[i < 100 ? 0 : i - 100];
        ASSERT_TRUE(lines.read_until([&] {
            server.poll(0);
            books.read();
            return iex_decoded(lines) + 1 >= reached;
        })) << "at datagram "
            << i;
    }
    ASSERT_TRUE(lines.settle());
    expect_nothing_lost(lines, session);
    EXPECT_EQ(books.levels(), IexWireBooks{session.bytes}.levels());
    const bool is_requested = loss == Loss::only_line || loss == Loss::both;
    if (is_requested) {
        EXPECT_GT(lines.count("rerequest_used"), 0U);
    }
    EXPECT_EQ(lines.count("rerequest_refused"), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    EachFormatAndLine, IexGapFill,
    ::testing::Values(Planted{WireFormat::iex_tops, Loss::only_line}, Planted{WireFormat::iex_tops, Loss::both},
                      Planted{WireFormat::iex_deep, Loss::only_line}, Planted{WireFormat::iex_deep, Loss::line_a},
                      Planted{WireFormat::iex_deep, Loss::line_b}, Planted{WireFormat::iex_deep, Loss::both},
                      Planted{WireFormat::iex_deep_plus, Loss::only_line},
                      Planted{WireFormat::iex_deep_plus, Loss::both}));

TEST_F(IexGapFillPeer, TheRequestHasTheMissingNumbers) {
    Lines lines{"iex-request", asking(10'000)};
    send_with_loss(lines);
    const auto asked = request(lines);
    ASSERT_TRUE(asked);
    const auto read = feed::IexGapFillRequest::read(asked->bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->protocol(), feed::iex_layout::kDeep);
    EXPECT_EQ(read->session(), session_.session);
    ASSERT_EQ(read->size(), 1U);
    EXPECT_EQ(read->range(0), (feed::IexRange{session_.first[kLost], session_.first[kLost + 1] - 1}));
    server_.send(session_.bytes[kLost], asked->from);
    ASSERT_TRUE(lines.read_until([&] { return iex_decoded(lines) >= session_.next - 1; }));
    expect_nothing_lost(lines, session_);
}

TEST_F(IexGapFillPeer, AServerThatLiesMovesNothing) {
    Lines lines{"iex-liar", asking(10'000)};
    send_with_loss(lines);
    const auto asked = request(lines);
    ASSERT_TRUE(asked);
    namespace at = feed::iex_layout;
    const auto& truth = session_.bytes[kLost];
    std::size_t refused = 0;
    for (const auto number : {session_.next, session_.next - 1, session_.next + 1'000'000, std::uint64_t{1} << 62U}) {
        server_.send(with(truth, at::kSequenceAt, number), asked->from);  // messages that no line has shown
        ++refused;
    }
    auto other = truth;
    core::store_le(other.data() + at::kSessionAt, session_.session.number + 1);
    server_.send(other, asked->from);
    other = truth;
    core::store_le(other.data() + at::kChannelAt, session_.session.channel + 1);
    server_.send(other, asked->from);
    refused += 2;
    // A heartbeat far ahead.
    auto heartbeat = with(truth, at::kSequenceAt, std::uint64_t{1} << 40U);
    heartbeat.resize(at::kHeaderBytes);
    core::store_le(heartbeat.data() + at::kCountAt, std::uint16_t{0});
    core::store_le(heartbeat.data() + at::kPayloadAt, std::uint16_t{0});
    server_.send(heartbeat, asked->from);
    // A segment that ends in the middle of its last message, and bytes that are none.
    auto cut = truth;
    cut.resize(cut.size() - 1);
    server_.send(cut, asked->from);
    server_.send(std::vector<std::byte>(100), asked->from);
    ASSERT_TRUE(lines.read_until([&] { return lines.count("rerequest_datagrams") >= 2; }));
    EXPECT_TRUE(lines.subscriber.gaps.empty());
    server_.send(truth, asked->from);
    ASSERT_TRUE(lines.read_until([&] { return iex_decoded(lines) >= session_.next - 1; }));
    EXPECT_EQ(lines.count("rerequest_refused"), refused);
    expect_nothing_lost(lines, session_);
}

TEST_F(IexGapFillPeer, AnAnswerAfterTheGapWasGivenUpChangesNothing) {
    Lines lines{"iex-late", asking(1)};
    send_with_loss(lines);
    const auto asked = request(lines);
    ASSERT_TRUE(asked);
    ASSERT_TRUE(lines.read_until([&] { return !lines.subscriber.gaps.empty(); }));
    EXPECT_EQ(lines.count("rerequests"), 6U);
    EXPECT_EQ(lines.count("rerequest_retries"), 5U);
    ASSERT_TRUE(lines.settle());
    const auto before = iex_decoded(lines);
    server_.send(session_.bytes[kLost], asked->from);
    ASSERT_TRUE(lines.read_until([&] { return lines.count("rerequest_datagrams") == 1; }));
    ASSERT_TRUE(lines.settle());
    EXPECT_EQ(iex_decoded(lines), before);
    EXPECT_EQ(lines.count("rerequest_used"), 0U);
    EXPECT_EQ(lines.subscriber.gaps.size(), 1U);
    EXPECT_EQ(lines.count("sequence_missing"), session_.first[kLost + 1] - session_.first[kLost]);
    EXPECT_NE(lines.subscriber.quotes.back().flags & feed::kIncomplete, 0);
}

TEST_F(IexGapFillPeer, AServerThatDoesNotAnswerTestsIsFoundOutWithoutAGap) {
    Lines lines{"iex-dead", asking(10)};
    for (const auto& datagram : session_.bytes) lines.send(0, datagram);
    ASSERT_TRUE(lines.read_until([&] { return lines.server_state() == gateway::RequestClient::State::silent; }));
    EXPECT_GE(lines.count("rerequest_tests"), 3U);
    const auto test = server_.receive();
    ASSERT_TRUE(test);
    const auto expected =
        feed::iex_gap_fill_request(feed::iex_layout::kDeep, session_.session, std::array<feed::IexRange, 0>{});
    EXPECT_TRUE(std::ranges::equal(test->bytes, expected));
    auto answer = session_.bytes.front();
    answer.resize(feed::iex_layout::kHeaderBytes);
    core::store_le(answer.data() + feed::iex_layout::kCountAt, std::uint16_t{0});
    core::store_le(answer.data() + feed::iex_layout::kPayloadAt, std::uint16_t{0});
    core::store_le(answer.data() + feed::iex_layout::kSequenceAt, session_.next);
    server_.send(answer, test->from);
    ASSERT_TRUE(lines.read_until([&] { return lines.server_is_reachable(); }));
    EXPECT_TRUE(lines.subscriber.gaps.empty());
}

/// Serves until the feed has decoded all messages of the session.
bool gaps_are_filled(Lines& lines, traffic::IexGapFillServer& server, const IexSession& session) {
    return lines.read_until([&] {
        server.poll(0);
        return iex_decoded(lines) >= session.next - 1;
    });
}

TEST(IexGapFillByTcp, AFeedThatStartsLateGetsTheWholeSessionBefore) {
    const IexSession session{WireFormat::iex_deep, 3'000};
    ASSERT_GT(session.first[2'900], 5'000U);
    traffic::IexHistory history;
    for (const auto& datagram : session.bytes) history.add(datagram);
    traffic::IexGapFillServer server{any_port(), history};
    Lines lines{"iex-tcp", [&](gateway::FeedConfig& feed) {
                    auto& settings = iex_settings(feed, WireFormat::iex_deep);
                    settings.rerequest_tcp = server.address();
                    settings.rerequest_ms = 1'000;
                }};
    for (std::size_t i = 2'900; i < session.bytes.size(); ++i) {
        if (i != 2'950) lines.send(0, session.bytes[i]);
    }
    ASSERT_TRUE(gaps_are_filled(lines, server, session));
    expect_nothing_lost(lines, session);
    EXPECT_EQ(lines.count("rerequest_connections"), 2U);  // the start, and the gap
    EXPECT_EQ(lines.count("rerequest_connection_failures"), 0U);
}

TEST(IexGapFillByTcp, WithBothTheSmallGapIsRequestedByUdpAndTheLargeOneByTcp) {
    const IexSession session{WireFormat::iex_deep_plus, 3'000};
    traffic::IexHistory history;
    for (const auto& datagram : session.bytes) history.add(datagram);
    traffic::IexGapFillServer server{any_port(), history};
    Lines lines{"iex-both", [&](gateway::FeedConfig& feed) {
                    auto& settings = iex_settings(feed, WireFormat::iex_deep_plus);
                    settings.rerequest = settings.rerequest_tcp = server.address();
                    settings.rerequest_ms = 10'000;
                }};
    for (std::size_t i = 2'900; i < session.bytes.size(); ++i) {
        if (i != 2'950) lines.send(0, session.bytes[i]);
    }
    ASSERT_TRUE(gaps_are_filled(lines, server, session));
    expect_nothing_lost(lines, session);
    EXPECT_EQ(lines.count("rerequest_connections"), 1U);
    EXPECT_EQ(lines.count("rerequests"), 1U);
}

TEST_F(IexGapFillPeer, WhatUdpDoesNotAnswerIsRequestedByTcp) {
    traffic::IexHistory history;
    for (const auto& datagram : session_.bytes) history.add(datagram);
    traffic::IexGapFillServer server{any_port(), history};
    Lines lines{"iex-fallback", [&](gateway::FeedConfig& feed) {
                    asking(50)(feed);
                    iex_settings(feed, WireFormat::iex_deep).rerequest_tcp = server.address();
                }};
    send_with_loss(lines);
    ASSERT_TRUE(gaps_are_filled(lines, server, session_));
    expect_nothing_lost(lines, session_);
    EXPECT_EQ(lines.count("rerequests"), 6U);
    EXPECT_EQ(lines.count("rerequest_connections"), 1U);
}

TEST_F(IexGapFillTcpPeer, ASegmentInPiecesIsReadWhole) {
    accept();
    for (const auto byte : session_.bytes[kLost]) peer_.send(std::array{byte});
    expect_filled();
}

TEST_F(IexGapFillTcpPeer, AServerThatDiesWithinASegmentIsAskedAgain) {
    accept();
    peer_.send(std::span{session_.bytes[kLost]}.first(session_.bytes[kLost].size() - 1));
    peer_.hang_up();
    accept();
    peer_.send(session_.bytes[kLost]);
    expect_filled();
    EXPECT_EQ(lines_.count("rerequest_connections"), 2U);
    EXPECT_EQ(lines_.count("rerequest_connection_failures"), 1U);
}

TEST_F(IexGapFillTcpPeer, AServerThatIsGoneLeavesAGap) {
    accept();
    peer_.hang_up();
    peer_.stop();
    ASSERT_TRUE(lines_.read_until([&] { return !lines_.subscriber.gaps.empty(); }));
    EXPECT_EQ(lines_.count("holes_given_up"), 1U);
    EXPECT_EQ(lines_.count("rerequest_connections"), 2U);
    EXPECT_EQ(lines_.count("rerequest_connection_failures"), 1U);
}

TEST_F(IexGapFillTcpPeer, SegmentsThatWereNotRequestedEndTheConnectionAndMoveNothing) {
    accept();
    auto ahead = session_.bytes[kLost];
    core::store_le(ahead.data() + feed::iex_layout::kSequenceAt, session_.next + 5);
    peer_.send(ahead);
    ASSERT_TRUE(lines_.read_until([&] { return peer_.has_left(); }));
    accept();
    peer_.send(session_.bytes[kLost]);
    expect_filled();
    EXPECT_EQ(lines_.count("rerequest_refused"), 1U);
}

TEST_F(IexGapFillTcpPeer, BytesThatAreNoSegmentEndTheConnection) {
    accept();
    peer_.send(std::vector<std::byte>(200));
    ASSERT_TRUE(lines_.read_until([&] { return peer_.has_left(); }));
    accept();
    auto other = session_.bytes[kLost];
    core::store_le(other.data() + feed::iex_layout::kSessionAt, session_.session.number + 1);
    peer_.send(other);
    peer_.send(session_.bytes[kLost]);
    expect_filled();
    EXPECT_EQ(lines_.count("malformed"), 0U);
}

TEST(IexGapFillServer, ByTcpItSendsAllThatIsThereAndClosesTheConnection) {
    const IexSession session{WireFormat::iex_tops, 3'000};
    traffic::IexHistory history;
    for (const auto& datagram : session.bytes) history.add(datagram);
    traffic::IexGapFillServer server{any_port(), history};
    gateway::RequestStream client{server.address(), &feed::iex_segment_length};
    client.send(feed::iex_gap_fill_request(session.protocol, session.session,
                                           std::array{feed::IexRange{2, std::uint64_t{1} << 40U}}),
                1U << 30U);
    std::uint64_t next = 2;
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    while (client.is_open() && core::monotonic_nanos() < deadline) {
        server.poll(0);
        for (const auto& segment : client.poll()) {
            const auto packet = feed::IexPacket::read(segment.bytes, session.protocol, [](auto) {});
            EXPECT_FALSE(packet.error);
            EXPECT_EQ(packet.sequence, next);
            next += packet.messages;
        }
    }
    EXPECT_FALSE(client.is_open());
    EXPECT_EQ(next, session.next);
    EXPECT_EQ(client.failures().read(), 0U);
}

TEST(IexGapFillServer, InvalidRequestsEndAConnection) {
    const IexSession session{WireFormat::iex_tops, 10};
    traffic::IexHistory history;
    for (const auto& datagram : session.bytes) history.add(datagram);
    traffic::IexGapFillServer server{any_port(), history};
    const auto is_closed = [&](std::span<const std::byte> request) {
        gateway::RequestStream client{server.address(), &feed::iex_segment_length};
        client.send(request, 1U << 24U);
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (client.is_open() && core::monotonic_nanos() < deadline) {
            server.poll(0);
            EXPECT_TRUE(client.poll().empty());
        }
        return !client.is_open();
    };
    using feed::IexRange;
    auto other = session.session;
    ++other.number;
    EXPECT_TRUE(is_closed(feed::iex_gap_fill_request(session.protocol, other, std::array{IexRange{1, 2}})));
    EXPECT_TRUE(is_closed(
        feed::iex_gap_fill_request(session.protocol, session.session, std::array<IexRange, 2>{{{5, 6}, {6, 7}}})));
    EXPECT_TRUE(
        is_closed(feed::iex_gap_fill_request(feed::iex_layout::kDeep, session.session, std::array{IexRange{1, 2}})));
}

TEST(IexGapFillServer, ATestIsAnsweredWithTheNextNumberOfTheSession) {
    const IexSession session{WireFormat::iex_deep_plus, 10};
    traffic::IexHistory history;
    traffic::IexGapFillServer server{any_port(), history};
    for (const auto& datagram : session.bytes) history.add(datagram);
    const UdpPort client;
    client.send(feed::iex_gap_fill_request(session.protocol, session.session, std::array<feed::IexRange, 0>{}),
                server.address());
    server.poll(1'000);
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    const auto packet = feed::IexPacket::read(answer->bytes, session.protocol, [](auto) {});
    EXPECT_FALSE(packet.error);
    EXPECT_EQ(packet.session, session.session);
    EXPECT_EQ(packet.sequence, session.next);
    EXPECT_EQ(packet.messages, 0U);
    namespace at = feed::iex_layout;
    std::uint64_t payload = 0;
    for (const auto& datagram : session.bytes) payload += datagram.size() - at::kHeaderBytes;
    EXPECT_EQ(core::load_le<std::uint64_t>(answer->bytes.data() + at::kOffsetAt), payload);
}

TEST(IexGapFillServer, ByUdpARequestGetsAThousandMessagesAtMost) {
    const IexSession session{WireFormat::iex_tops, 600};
    ASSERT_GT(session.next, 1'200U);
    traffic::IexHistory history;
    traffic::IexGapFillServer server{any_port(), history};
    for (const auto& datagram : session.bytes) history.add(datagram);
    const UdpPort client;
    const std::array<feed::IexRange, 2> ranges{{{11, 500}, {601, 100'000}}};
    client.send(feed::iex_gap_fill_request(session.protocol, session.session, ranges), server.address());
    server.poll(1'000);
    std::vector<std::uint64_t> numbers;
    while (const auto answer = client.receive()) {
        auto number = feed::IexPacket::read(answer->bytes, session.protocol, [](auto) {}).sequence;
        const auto packet =
            feed::IexPacket::read(answer->bytes, session.protocol, [&](auto) { numbers.push_back(number++); });
        EXPECT_FALSE(packet.error);
    }
    std::vector<std::uint64_t> expected;
    for (std::uint64_t n = 11; n <= 500; ++n) expected.push_back(n);
    for (std::uint64_t n = 601; expected.size() < 1'000; ++n) expected.push_back(n);
    EXPECT_EQ(numbers, expected);
}

TEST(IexGapFillServer, AReplayAnswersForWhatItDroppedAndNothingIsMissing) {
    const test::ScratchFile capture{test::scratch_name("served.pcapng"), ""};
    const auto generated = run({"generate", "--out", capture.path(), "--format", "iex-deep-plus", "--count", "5000",
                                "--symbols", "50", "--rate", "5000"});
    ASSERT_EQ(generated.exit_code, 0) << generated.err;
    traffic::PcapSource source{capture.path()};
    std::int64_t all = 0;
    for (traffic::Outgoing datagram; source.next(datagram);) {
        const auto packet = feed::IexPacket::read(datagram.bytes, feed::iex_layout::kDeepPlus, [](auto) {});
        all = static_cast<std::int64_t>(packet.sequence + packet.messages) - 1;
    }
    ASSERT_GT(all, 5'000);
    const auto server = free_address();
    GatewayRun gateway{{.ring = unique_ring("iex-served"),
                        .format = "iex-deep-plus",
                        .feed = ",reorder_us=0,rerequest_ms=100,rerequest=" + server}};
    Program replay{{"replay", capture.path(), "--to", gateway.feed_address(), "--drop", "0.05", "--serve-iex-gap-fill",
                    server, "--quiet"}};
    const auto decoded = [&] {
        return gateway.metric("millpond_feed_messages_applied_total") +
               gateway.metric("millpond_feed_messages_ignored_total");
    };
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    while (decoded() < all && core::monotonic_nanos() < deadline) std::this_thread::yield();
    EXPECT_EQ(decoded(), all);
    EXPECT_EQ(gateway.metric("millpond_feed_sequence_missing_total"), 0);
    EXPECT_GT(gateway.metric("millpond_feed_rerequest_used_total"), 0);
    replay.signal(SIGINT);
    const auto outcome = replay.wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("IEX gap fills are served at " + server));
    EXPECT_THAT(outcome.out, HasSubstr("injected faults: dropped "));
    EXPECT_EQ(gateway.end().exit_code, 0);
}

}  // namespace
}  // namespace millpond::app
