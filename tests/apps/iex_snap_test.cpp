// IEX feeds that start late, or lose messages, and rebuild their books from DEEP SNAP and DEEP+ SNAP snapshots: books
// are compared with those of a feed that ran from the start. Snapshots are made by code without the book builder.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/endian.hpp>
#include <millpond/feed/iex_snap.hpp>

#include "apps/millpond/traffic/iex_gap_fill_server.hpp"
#include "apps/millpond/traffic/iex_history.hpp"
#include "apps/millpond/traffic/iex_snap_server.hpp"
#include "gateway/feeds/iex/settings.hpp"
#include "gateway/feeds/iex/snap_quota.hpp"
#include "tests/apps/board_quotes.hpp"
#include "tests/apps/feed_lines.hpp"
#include "tests/apps/gateway_run.hpp"
#include "tests/apps/iex_session.hpp"
#include "tests/apps/program.hpp"
#include "tests/apps/ring_books.hpp"
#include "tests/apps/snap_feed.hpp"
#include "tests/apps/udp_port.hpp"
#include "tests/net/soupbin_peer.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;

class Snap : public SnapFeed, public ::testing::WithParamInterface<WireFormat> {
protected:
    Snap() : SnapFeed(GetParam()) {}
};

TEST_P(Snap, AFeedThatStartsLateHasTheBooksOfTheDay) {
    traffic::IexHistory history;
    for (std::size_t i = 0; i < 700; ++i) history.add(session_.bytes[i]);
    traffic::IexSnapServer server{any_port(), history};
    auto lines = late_lines("snap-late", server.address());
    RingBooks books{lines};
    std::size_t next = 700;
    while (next < 1'150 && lines.count("rebuilds") == 0) {
        history.add(session_.bytes[next]);
        send(lines, next, next + 1);
        ++next;
        server.poll(1);
    }
    ASSERT_TRUE(lines.read_until([&] {
        server.poll(0);
        return lines.count("rebuilds") == 1;
    })) << lines.rebuild_failure();
    send(lines, next, 1'200);
    expect_books_of_the_day(lines, books, 1'200);
    EXPECT_TRUE(lines.read_until([&] { return lines.subscriber.defined.size() == 20; }));  // of the snapshot
    EXPECT_EQ(lines.count("snap_snapshots"), 1U);
    EXPECT_EQ(lines.count("snap_requests"), 1U);
    EXPECT_EQ(lines.count("rebuild_failures"), 0U);
    EXPECT_TRUE(lines.subscriber.gaps.empty());
}

TEST_P(Snap, NothingIsVisibleBeforeTheEndAndMessagesAboveItsNumberApply) {
    net::test::SoupBinPeer peer;
    auto lines = late_lines("snap-end", peer.address());
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines);
    EXPECT_GE(minimum_, session_.first[500]);
    EXPECT_LT(minimum_, session_.first[510]);
    const auto snapshot = snapshot_before(520);
    send(lines, 510, 530);
    peer.send(std::span{snapshot}.first(snapshot.size() - 1));
    send(lines, 530, 600);
    ASSERT_TRUE(lines.settle());
    expect_nothing_complete(books);
    EXPECT_EQ(lines.count("rebuilds"), 0U);
    peer.send(std::span{snapshot}.last(1));
    expect_books_of_the_day(lines, books, 600);
    EXPECT_TRUE(peer.has_left());
    EXPECT_GT(lines.count("snap_skipped"), 0U);
    EXPECT_LE(lines.count("snap_skipped"), session_.first[520] - session_.first[500]);
}

TEST_P(Snap, ASnapshotThatIsAheadOfTheFeedWaitsForIt) {
    net::test::SoupBinPeer peer;
    auto lines = late_lines("snap-ahead", peer.address());
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines);
    peer.send(snapshot_before(700));
    ASSERT_TRUE(lines.read_until([&] { return lines.count("snap_snapshots") == 1; }));
    send(lines, 510, 690);
    EXPECT_EQ(lines.count("rebuilds"), 0U);
    send(lines, 690, 800);
    expect_books_of_the_day(lines, books, 800);
}

TEST_P(Snap, AGapDuringASnapshotNeedsAnotherSnapshot) {
    net::test::SoupBinPeer peer;
    auto lines = late_lines("snap-gap", peer.address());
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines);
    send(lines, 510, 520);
    send(lines, 525, 600);
    peer.send(snapshot_before(510));
    accept(peer, lines);
    EXPECT_THAT(lines.rebuild_failure(), HasSubstr("messages " + std::to_string(session_.first[520]) + " to " +
                                                   std::to_string(session_.first[525] - 1) + " are missing between"));
    peer.send(snapshot_before(600));
    send(lines, 600, 700);
    expect_books_of_the_day(lines, books, 700);
    EXPECT_EQ(lines.count("snap_failures"), 1U);
    EXPECT_EQ(lines.count("snap_requests"), 2U);
}

TEST_P(Snap, AGapDuringASnapshotIsFilledByTheGapFillServerIfThereIsOne) {
    net::test::SoupBinPeer peer;
    traffic::IexHistory history;
    for (const auto& datagram : session_.bytes) history.add(datagram);
    traffic::IexGapFillServer fills{any_port(), history};
    auto lines = late_lines("snap-fill", peer.address(), [&](gateway::iex::DeepSettings& settings) {
        settings.rerequest = fills.address();
        settings.rerequest_ms = 50;
    });
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines);
    send(lines, 510, 520);
    send(lines, 525, 600);
    // The feed gives the gap up first: nobody answers.
    ASSERT_TRUE(lines.read_until([&] { return lines.subscriber.gaps.size() == 1; }));
    peer.send(snapshot_before(510));
    ASSERT_TRUE(lines.read_until([&] {
        fills.poll(0);
        return lines.count("rebuilds") == 1;
    })) << lines.rebuild_failure();
    expect_books_of_the_day(lines, books, 600);
    EXPECT_EQ(lines.count("rebuild_failures"), 0U);
}

TEST_P(Snap, ANewSessionDuringASnapshotCancelsIt) {
    net::test::SoupBinPeer peer;
    auto lines = late_lines("snap-session", peer.address());
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines);
    const auto snapshot = snapshot_before(510);
    peer.send(std::span{snapshot}.first(snapshot.size() / 2));
    session_ = IexSession{format_, 300, 2, 9};
    send(lines, 0, 300);
    ASSERT_TRUE(lines.read_until([&] { return peer.has_left(); }));
    ASSERT_TRUE(lines.read_until([&] { return !lines.rebuild_wanted(); }));
    EXPECT_EQ(lines.count("rebuilds"), 0U);
    EXPECT_EQ(incomplete_in(lines), 0U);
    EXPECT_FALSE(peer.has_caller());
}

TEST_P(Snap, TwoLinesThatLoseAndANewSessionDuringTheSnapshotEndWithTheBooksOfTheNewSession) {
    net::test::SoupBinPeer peer;
    Lines lines{"snap-lines",
                [&](gateway::FeedConfig& feed) {
                    late(peer.address())(feed);
                    feed.line_b = any_port();
                    feed.reorder_us = 10'000'000;  // what one line loses, the other one brings
                },
                state_};
    RingBooks books{lines};
    const auto send_on_both = [&](std::size_t first, std::size_t last) {
        for (auto i = first; i < last; ++i) {
            if (i % 5 != 1) lines.send(0, session_.bytes[i]);
            if (i % 5 != 3) lines.send(1, session_.bytes[i]);
        }
        ASSERT_TRUE(lines.settle());
    };
    send_on_both(500, 520);
    accept(peer, lines);
    const auto old_snapshot = snapshot_before(510);
    peer.send(std::span{old_snapshot}.first(old_snapshot.size() / 2));
    send_on_both(520, 540);
    const auto old_session = std::exchange(session_, IexSession{format_, 300, 2, 9});
    lines.send(0, session_.bytes[10]);                                            // both lines lose the beginning
    for (std::size_t i = 540; i < 545; ++i) lines.send(1, old_session.bytes[i]);  // line B is behind
    send_on_both(11, 60);
    ASSERT_TRUE(lines.read_until([&] { return peer.has_left(); }));
    accept(peer, lines);  // a request for the new session
    send_on_both(60, 100);
    peer.send(snapshot_before(80));  // at least what the feed had when it asked
    send_on_both(100, 300);
    expect_books_of_the_day(lines, books, 300);
    EXPECT_EQ(lines.count("snap_snapshots"), 1U);
    EXPECT_EQ(lines.count("snap_requests"), 2U);
}

TEST_P(Snap, AFeedThatStartsAfterTheEndOfItsSessionEndsItAndRequestsNothingMore) {
    session_.end();
    net::test::SoupBinPeer peer;
    auto lines = late_lines("snap-over", peer.address());
    RingBooks books{lines};
    lines.send(0, session_.heartbeat());
    accept(peer, lines);
    peer.send(snapshot_before(session_.bytes.size()));
    ASSERT_TRUE(lines.read_until([&] { return !lines.subscriber.clears.empty(); })) << lines.rebuild_failure();
    EXPECT_EQ(lines.subscriber.clears.back().reason, feed::ClearReason::end_of_session);
    ASSERT_TRUE(lines.read_until([&] { return !lines.rebuild_wanted(); }));
    lines.send(0, session_.heartbeat());
    ASSERT_TRUE(lines.settle());
    EXPECT_EQ(lines.count("snap_failures"), 0U);
    EXPECT_EQ(lines.count("snap_requests"), 1U);
    expect_nothing_complete(books);
}

TEST_P(Snap, ErrorsAndLiesAreNamedAndNothingIsVisible) {
    const auto honest = snapshot_before(510);
    const auto error = [](char code) {
        return std::vector<std::byte>{std::byte{2}, std::byte{0}, std::byte{'e'}, static_cast<std::byte>(code)};
    };
    namespace at = feed::iex_snap;
    const auto changed = [&](std::size_t place, std::uint8_t value) {
        auto bytes = honest;
        bytes[place] = std::byte{value};
        return bytes;
    };
    constexpr std::size_t kData = at::kStartBytes;  // the first data
    const auto end = honest.size() - at::kEndBytes;
    auto late_data = honest;
    core::store_le(late_data.data() + kData + at::kBodyAt + feed::iex_layout::kSequenceAt, session_.next + 7);
    auto old_end = honest;
    core::store_le(old_end.data() + end + at::kBodyAt, std::uint64_t{1});
    const std::pair<std::vector<std::byte>, std::string_view> lies[] = {
        {error('A'), "it rejected the token (A)"},
        {error('C'), "it does not serve the feed's channel (C)"},
        {error('E'), "another request of this client is active (E)"},
        {error('Q'), "the day's requests are used up (Q)"},
        {error('R'), "it has no snapshot yet that is new enough (R)"},
        {error('S'), "it is in another session than the feed (S)"},
        {error('U'), "it does not know the request (U)"},
        {error('?'), "it rejected the request with an unknown code"},
        {changed(at::kTypeAt, 'd'), "its snapshot has no start"},
        {changed(at::kBodyAt, 12), "its snapshot is not as long as it says"},
        {changed(kData + at::kBodyAt + feed::iex_layout::kSessionAt, 0x7F), "data of another feed or session"},
        {changed(kData + at::kBodyAt + feed::iex_layout::kProtocolAt, 3), "data of another feed or session"},
        {changed(kData + at::kBodyAt + feed::iex_layout::kCountAt, 2), "its snapshot has data that is not one message"},
        {changed(kData + at::kTypeAt, 'q'), "it sent a message that snapshots do not have"},
        {late_data, "its snapshot has numbers that contradict its end"},
        {old_end, "its snapshot has numbers that contradict its end"},
    };
    for (const auto& [bytes, failure] : lies) {
        net::test::SoupBinPeer peer;
        auto lines = late_lines("snap-lies", peer.address());
        RingBooks books{lines};
        sent_[&lines] = 0;
        send(lines, 500, 510);
        accept(peer, lines);
        peer.send(bytes);
        ASSERT_TRUE(lines.read_until([&] { return lines.count("snap_failures") == 1; })) << failure;
        EXPECT_THAT(lines.rebuild_failure(), HasSubstr("the SNAP server " + peer.address().to_string() + ": "));
        EXPECT_THAT(lines.rebuild_failure(), HasSubstr(std::string{failure}));
        expect_nothing_complete(books);
    }
}

TEST_P(Snap, AServerThatDiesIsNamedAndAskedAgain) {
    net::test::SoupBinPeer peer;
    auto lines = late_lines("snap-dies", peer.address());
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines);
    const auto snapshot = snapshot_before(510);
    peer.send(std::span{snapshot}.first(snapshot.size() / 2));
    peer.hang_up();
    accept(peer, lines);
    EXPECT_THAT(lines.rebuild_failure(), HasSubstr("it closed the connection before the end of the snapshot"));
    peer.send(snapshot_before(510));
    expect_books_of_the_day(lines, books, 510);
    EXPECT_EQ(lines.count("snap_failures"), 1U);
}

TEST_P(Snap, ABufferThatIsTooSmallIsNamedWithTheBytesThatWereNeeded) {
    net::test::SoupBinPeer peer;
    auto lines = late_lines("snap-small", peer.address(),
                            [](gateway::iex::DeepSettings& settings) { settings.rebuild_buffer = 4'096; });
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines);
    send(lines, 510, 700);
    peer.send(snapshot_before(510));
    ASSERT_TRUE(lines.read_until([&] { return !lines.rebuild_failure().empty(); }));
    EXPECT_THAT(lines.rebuild_failure(),
                ::testing::MatchesRegex(".*rebuild_buffer = 4096 is too small: [0-9]+ bytes of the feed arrived.*"));
    accept(peer, lines);
    peer.send(snapshot_before(700));
    expect_books_of_the_day(lines, books, 700);
}

class SnapOfOrders : public SnapFeed {
protected:
    SnapOfOrders() : SnapFeed(WireFormat::iex_deep_plus) {}
};

// Readers of orders know their priority by their numbers.
TEST_F(SnapOfOrders, OrdersAreThoseOfTheDayUnlessTheirNumbersDoNotCountUpWithTheirPriority) {
    sends_orders_ = true;
    constexpr std::size_t kLast = 30;
    traffic::IexHistory history;
    for (std::size_t i = 0; i < kLast; ++i) history.add(session_.bytes[i]);
    traffic::IexSnapServer server{any_port(), history};
    auto lines = late_lines("snap-orders", server.address());
    RingBooks books{lines};
    send(lines, kLast - 10, kLast);
    ASSERT_TRUE(lines.read_until([&] {
        server.poll(0);
        return lines.count("rebuilds") == 1 && lines.count("books_incomplete") == 0;
    })) << lines.rebuild_failure();
    Lines day{"snap-orders-day", [&](gateway::FeedConfig& feed) { static_cast<void>(settings_of(feed)); }};
    RingBooks wanted{day};
    send(day, 0, kLast);
    ASSERT_TRUE(day.settle());
    ASSERT_TRUE(lines.settle());
    const auto expected = wanted.texts();
    std::size_t complete = 0;
    std::size_t incomplete = 0;
    for (const auto& [symbol, text] : books.texts()) {
        if (text.starts_with("complete")) {
            EXPECT_EQ(text, expected.at(symbol));
            ++complete;
        } else if (text.starts_with("incomplete")) {
            ++incomplete;
        }
    }
    EXPECT_GT(complete, 0U);
    EXPECT_EQ(lines.count("orders_unsorted"), incomplete);
}

TEST_F(SnapOfOrders, ASnapshotWithMoreOrdersThanFitIsNamedAndNothingIsVisible) {
    net::test::SoupBinPeer peer;
    auto lines = late_lines("snap-many", peer.address(), [](gateway::iex::DeepSettings& settings) {
        static_cast<gateway::iex::DeepPlusSettings&>(settings).max_orders = 3;
    });
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines);
    peer.send(snapshot_before(510));
    ASSERT_TRUE(lines.read_until([&] { return lines.count("snap_failures") == 1; }));
    EXPECT_THAT(lines.rebuild_failure(), HasSubstr("its snapshot has more than max_orders = 3 orders"));
    expect_nothing_complete(books);
}

INSTANTIATE_TEST_SUITE_P(DeepAndDeepPlus, Snap, ::testing::Values(WireFormat::iex_deep, WireFormat::iex_deep_plus),
                         [](const auto& param) { return std::string{feed::to_string(param.param)}; });

constexpr std::int64_t kMonday = 1'796'000'000'000'000'000;  // 2026-11-30 00:53 UTC
constexpr std::int64_t kDay = 86'400'000'000'000;

class Quota : public ::testing::Test {
protected:
    ~Quota() override { std::filesystem::remove_all(folder_); }
    const std::string name_{test::scratch_name("quota")};
    const std::string folder_{::testing::TempDir() + name_};
    const std::string file_{folder_ + "/snap-requests.iex-deep.1"};
};

TEST_F(Quota, AThousandRequestsAreCountedAcrossRestartsAndNoMoreUntilTheNextDay) {
    for (std::uint64_t n = 1; n <= feed::iex_snap::kMaxRequests; ++n)
        ASSERT_EQ(gateway::iex::SnapQuota{file_}.count(kMonday), n);
    gateway::iex::SnapQuota quota{file_};
    try {
        quota.count(kMonday);
        FAIL();
    } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), HasSubstr("1000 snapshots were requested on 2026-11-30"));
        EXPECT_THAT(error.what(), HasSubstr("2026-12-01"));
        EXPECT_THAT(error.what(), HasSubstr(file_));
    }
    EXPECT_EQ(quota.count(kMonday + kDay), 1U);
}

TEST_F(Quota, AFileThatIsNoCountIsNamedAndKept) {
    std::filesystem::create_directories(folder_);
    const test::ScratchFile other{name_ + "/snap-requests.iex-deep.1", "2026-11-30 12\n"};
    gateway::iex::SnapQuota quota{file_};
    EXPECT_THROW(quota.count(kMonday), std::runtime_error);
    EXPECT_EQ(std::filesystem::file_size(file_), 14U);
}

TEST(SnapProgram, WithoutAFolderToCountRequestsInTheGatewayDoesNotStart) {
    const test::ScratchFile token{test::scratch_name("snap.token"), "ATOKEN1\n"};
    std::filesystem::permissions(token.path(), std::filesystem::perms{0600});
    const auto outcome = run({"gateway", "--metrics", "off", "--ring", "name=" + unique_ring("snap-state"), "--feed",
                              "listen=127.0.0.1:0,format=iex-deep,snap=127.0.0.1:9,snap_token_file=" + token.path()});
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err, HasSubstr("feed '127.0.0.1:0': snap: needs the top-level key state"));
}

TEST(SnapProgram, AReplayServesSnapshotsToAGatewayThatLostMessagesAndCountsItsRequests) {
    const test::ScratchFile token{test::scratch_name("snap.token"), "ATOKEN1\n"};
    std::filesystem::permissions(token.path(), std::filesystem::perms{0600});
    const auto state = ::testing::TempDir() + test::scratch_name("snap.state");
    const test::ScratchFile capture{test::scratch_name("snap.pcapng"), ""};
    ASSERT_EQ(run({"generate", "--out", capture.path(), "--format", "iex-deep-plus", "--count", "4000", "--symbols",
                   "50", "--rate", "2000"})
                  .exit_code,
              0);
    const auto server = free_address();
    GatewayRun gateway{{.ring = unique_ring("iex-snap"),
                        .format = "iex-deep-plus",
                        .feed = ",depth=10,snap=" + server + ",snap_token_file=" + token.path(),
                        .more = {"--state", state},
                        .ring_more = ",capacity=16384"}};
    Program replay{{"replay", capture.path(), "--to", gateway.feed_address(), "--serve-iex-snap", server, "--quiet",
                    "--drop", "0.002"}};
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    while (gateway.metric("millpond_feed_rebuilds_total") < 1 && core::monotonic_nanos() < deadline)
        std::this_thread::yield();
    EXPECT_GE(gateway.metric("millpond_feed_rebuilds_total"), 1);
    EXPECT_GE(gateway.metric("millpond_feed_snap_snapshots_total"), 1);
    EXPECT_EQ(gateway.end().exit_code, 0);
    EXPECT_TRUE(std::filesystem::exists(state + "/snap-requests.iex-deep-plus.1"));
    replay.signal(SIGINT);
    const auto outcome = replay.wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("snapshot requests "));
    std::filesystem::remove_all(state);
}

}  // namespace
}  // namespace millpond::app
