#include "gateway/health/findings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/net/socket_address.hpp>

#include "gateway/health/advice.hpp"
#include "gateway/health/link.hpp"
#include "gateway/health/report_json.hpp"
#include "gateway/health/report_metrics.hpp"
#include "gateway/sinks/client_list.hpp"

namespace millpond::gateway::health {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kNow = 1'580'398'200 * kSecond;

/// State of a feed that has just received a datagram.
FeedState good_feed() {
    FeedState feed;
    feed.name = "a";
    feed.listen = "239.1.1.1:5000";
    feed.interface = "eth1";
    feed.started = kNow - 100 * kSecond;
    feed.patience_ns = 10 * kSecond;
    feed.last_datagram = kNow;
    return feed;
}

SinkState good_sink() {
    SinkState sink;
    sink.name = "csv";
    sink.patience_ns = kSecond;
    return sink;
}

auto is(Stage stage, service::Severity severity, std::int64_t since) {
    return AllOf(Field(&Finding::stage, stage), Field(&Finding::severity, severity), Field(&Finding::since, since));
}

TEST(Findings, AFeedThatReceivesIsGoodHoweverQuietItsSymbolsAre) {
    auto feed = good_feed();
    feed.quotes = 1;  // one long ago, only heartbeats since
    EXPECT_THAT(findings(feed, kNow), IsEmpty());
    EXPECT_THAT(findings(feed, kNow + 10 * kSecond), IsEmpty());
}

TEST(Findings, ADelayThatNoNetworkMakesIsAWarning) {
    auto feed = good_feed();
    feed.delay_ns = 5 * 3'600 * kSecond;
    EXPECT_THAT(findings(feed, kNow), IsEmpty()) << "only while it is known to be implausible";
    feed.implausible_delay = {true, kNow - kSecond};
    auto found = findings(feed, kNow);
    EXPECT_THAT(found, ElementsAre(is(Stage::delay, service::Severity::warning, kNow - kSecond)));
    EXPECT_EQ(found[0].text,
              "exchange times are 18000.0 s behind receive times: check timezone and date of the feed, and the clocks");
    feed.delay_ns = -2 * kSecond;
    EXPECT_THAT(findings(feed, kNow)[0].text, StartsWith("exchange times are 2.0 s ahead of receive times"));
}

TEST(Findings, AFullTableIsAnErrorThatNamesItsKey) {
    PoolState pool{.name = "orders", .of = "feed 'a'", .capacity = 16, .refused = 9, .bound = "max_orders"};
    EXPECT_THAT(findings(pool), IsEmpty()) << "of an earlier session";
    pool.missing = 4;
    pool.full_since = kNow;
    const auto found = findings(pool);
    EXPECT_THAT(found, ElementsAre(is(Stage::table_full, service::Severity::error, kNow)));
    EXPECT_EQ(found[0].text, "the table of 16 orders is full: 4 messages did not fit; raise max_orders");
}

TEST(Findings, ATableOfOrdersThatIsNearlyFullIsAWarning) {
    PoolState pool{.name = "orders", .of = "feed 'a'", .used = 91, .capacity = 100, .bound = "max_orders"};
    EXPECT_THAT(findings(pool), IsEmpty());
    pool.nearly_full.update(true, kNow);
    auto found = findings(pool);
    EXPECT_THAT(found, ElementsAre(is(Stage::table_full, service::Severity::warning, kNow)));
    EXPECT_EQ(found[0].text, "the table of 100 orders is 91 % full: raise max_orders before it is full");
    pool.missing = 1;
    pool.full_since = kNow + kSecond;
    found = findings(pool);
    EXPECT_THAT(found, ElementsAre(is(Stage::table_full, service::Severity::error, kNow + kSecond)));
}

TEST(Findings, IncompleteBooksOfReadersAreAWarning) {
    auto feed = good_feed();
    feed.books_incomplete = 3;
    feed.some_books_incomplete.update(true, kNow);
    const auto found = findings(feed, kNow + kSecond);
    EXPECT_THAT(found, ElementsAre(is(Stage::books_incomplete, service::Severity::warning, kNow)));
    EXPECT_EQ(found[0].text, "incomplete books: 3, the first for 1.0 s");
}

TEST(Findings, SilenceBeyondAFeedsPatienceIsStaleSinceItsLastDatagram) {
    auto feed = good_feed();
    EXPECT_THAT(findings(feed, kNow + 10 * kSecond + 1), ElementsAre(is(Stage::stale, service::Severity::error, kNow)));
    feed.patience_ns = 0;
    EXPECT_THAT(findings(feed, kNow + 1'000 * kSecond), IsEmpty());
}

TEST(Findings, AfterTheEndOfASessionSilenceIsNoFault) {
    auto feed = good_feed();
    feed.session_over = true;
    feed.channel_state = "end_of_messages";
    feed.halted = {true, kNow};
    EXPECT_THAT(findings(feed, kNow + 1'000 * kSecond), ElementsAre(is(Stage::halted, service::Severity::info, kNow)));
}

TEST(Findings, AFeedOfWhichOnlyOtherDatagramsArriveIsStale) {
    auto feed = good_feed();
    feed.last_heard = kNow - 10 * kSecond;
    EXPECT_THAT(findings(feed, kNow), IsEmpty());
    feed.last_heard = kNow - 20 * kSecond;
    const auto found = findings(feed, kNow);
    ASSERT_THAT(found, ElementsAre(is(Stage::stale, service::Severity::error, kNow - 20 * kSecond)));
    EXPECT_EQ(found[0].text, "nothing of the feed, only other datagrams, received for 20.0 s");
}

TEST(Findings, AFeedThatNeverReceivedDiffersFromAStaleOne) {
    auto feed = good_feed();
    feed.last_datagram = 0;
    EXPECT_THAT(findings(feed, kNow), ElementsAre(is(Stage::no_datagrams, service::Severity::error, feed.started)));
    for (const auto patience : {10 * kSecond, std::int64_t{0}}) {
        feed.patience_ns = patience;
        const auto found = findings(feed, feed.started + kSecond);
        ASSERT_THAT(found, ElementsAre(is(Stage::no_datagrams, service::Severity::warning, feed.started)));
        EXPECT_EQ(found[0].text, "waiting for the first datagram at 239.1.1.1:5000 on eth1");
    }
    EXPECT_THAT(findings(feed, kNow), ElementsAre(is(Stage::no_datagrams, service::Severity::warning, feed.started)))
        << "however long it takes, where no silence is a fault";
}

TEST(Findings, AWaitOfASecondForMissingMessagesIsAFindingWithItsServer) {
    auto feed = good_feed();
    feed.waits_ns = kSecond - 1;
    EXPECT_THAT(findings(feed, kNow), IsEmpty());
    feed.waits_ns = 3 * kSecond / 2;
    auto found = findings(feed, kNow);
    ASSERT_THAT(found, ElementsAre(is(Stage::waiting, service::Severity::warning, kNow - feed.waits_ns)));
    EXPECT_EQ(found[0].text, "newer messages have been waiting for missing ones for 1.5 s");
    feed.request_server = "10.0.0.9:26400";
    found = findings(feed, kNow);
    EXPECT_THAT(found[0].text, EndsWith("for 1.5 s, requested from 10.0.0.9:26400"));
}

TEST(Findings, AFeedThatJoinedASessionLateMayLackInstruments) {
    auto feed = good_feed();
    feed.joined_at = 8'757;
    feed.joined_since = kNow - kSecond;
    const auto found = findings(feed, kNow);
    ASSERT_THAT(found, ElementsAre(is(Stage::joined_late, service::Severity::warning, kNow - kSecond)));
    EXPECT_EQ(found[0].text, "the session was joined at message 8757: what was sent before it is missing");
}

TEST(Findings, TheFirstBrokenStageOfAFeedComesFirst) {
    auto feed = good_feed();
    feed.last_datagram = kNow - 50 * kSecond;
    feed.link_down = {true, kNow - 51 * kSecond};
    feed.not_joined = {true, kNow - 52 * kSecond};
    feed.undecodable.update(3, kNow - kSecond);
    feed.missing.update(7, kNow - kSecond);
    feed.halted = {true, kNow};
    EXPECT_THAT(findings(feed, kNow),
                ElementsAre(is(Stage::link, service::Severity::error, kNow - 51 * kSecond),
                            is(Stage::group_not_joined, service::Severity::error, kNow - 52 * kSecond),
                            is(Stage::stale, service::Severity::error, kNow - 50 * kSecond),
                            is(Stage::undecodable, service::Severity::error, kNow - kSecond),
                            is(Stage::gap, service::Severity::warning, kNow - kSecond),
                            is(Stage::halted, service::Severity::info, kNow)));
}

TEST(Findings, TheFirstFailureOfARebuildIsNamedAlsoIfItWasNoticedLaterThanTheGap) {
    auto feed = good_feed();
    feed.update_rebuild(false, "of the gap before", kNow - kSecond, kNow);
    feed.update_rebuild(true, "of the gap before", kNow - kSecond, kNow + 2 * kSecond);
    EXPECT_EQ(feed.rebuild_failure, "");
    feed.update_rebuild(true, "of this gap", kNow + kSecond, kNow + 3 * kSecond);
    EXPECT_EQ(feed.rebuild_failure, "of this gap");
    const auto found = findings(feed, kNow + 3 * kSecond);
    ASSERT_THAT(found, ElementsAre(is(Stage::books_incomplete, service::Severity::warning, kNow + 2 * kSecond)));
    EXPECT_EQ(found[0].text, "the books have a gap and could not be rebuilt: of this gap");
    feed.update_rebuild(false, "of this gap", kNow + kSecond, kNow + 4 * kSecond);
    EXPECT_EQ(feed.rebuild_failure, "");
}

TEST(Findings, IgnoredPacketsOfTheServerAreAFinding) {
    auto feed = good_feed();
    feed.ignored.update(2, kNow);
    const auto found = findings(feed, kNow);
    ASSERT_THAT(found, ElementsAre(is(Stage::rejected, service::Severity::warning, kNow)));
    EXPECT_EQ(found[0].text, "2 packets of " + feed.listen + " were ignored: repeated messages or unknown types");
}

TEST(Findings, RejectedIgnoredAndDamagedMessagesAreFindingsForTenSeconds) {
    auto feed = good_feed();
    feed.corrupt.update(2, kNow);
    feed.rejected.update(3, kNow);
    feed.refused_prices.update(5, kNow);
    feed.crossed.update(2, kNow);
    feed.strays.update(4, kNow);
    feed.no_request_server.update(true, kNow);
    feed.request_server = "10.0.0.9:26400";
    feed.last_datagram = kNow + 10 * kSecond;
    const auto found = findings(feed, kNow + 10 * kSecond);
    ASSERT_THAT(found, ElementsAre(is(Stage::checksum, service::Severity::warning, kNow),
                                   is(Stage::other_session, service::Severity::warning, kNow),
                                   is(Stage::request_server, service::Severity::warning, kNow),
                                   is(Stage::rejected, service::Severity::warning, kNow),
                                   is(Stage::rejected, service::Severity::warning, kNow),
                                   is(Stage::books_crossed, service::Severity::warning, kNow)));
    EXPECT_EQ(found[4].text,
              "5 orders or levels have prices above 429,496.7295, which books cannot hold; their instruments are "
              "incomplete");
    EXPECT_EQ(found.back().text, "2 groups left a book crossed or locked while its instrument traded");
    EXPECT_EQ(found[0].text, "2 datagrams had a wrong checksum and were dropped");
    EXPECT_EQ(found[1].text, "4 datagrams of another session were ignored");
    EXPECT_EQ(found[2].text, "no route to the re-request server 10.0.0.9:26400; retrying");
    EXPECT_EQ(found[3].text, "3 messages could not be read or contradict the books");
    feed.no_request_server.update(false, kNow);
    EXPECT_THAT(findings(feed, kNow + 10 * kSecond + 1), IsEmpty());
}

TEST(Findings, ACauseComesBeforeItsConsequenceOfTheSameSeverity) {
    auto feed = good_feed();
    feed.last_datagram = kNow;
    feed.missing.update(7, kNow);
    feed.rejected.update(3, kNow);
    feed.incomplete.update(true, kNow);
    feed.quotes_incomplete.update(true, kNow);
    feed.no_request_server.update(true, kNow);
    feed.waits_ns = 2 * kSecond;
    std::vector<Stage> stages;
    for (const auto& finding : findings(feed, kNow)) stages.push_back(finding.stage);
    EXPECT_THAT(stages, ElementsAre(Stage::request_server, Stage::waiting, Stage::gap, Stage::books_incomplete,
                                    Stage::rejected, Stage::incomplete));
    // The gap is not a finding after ten seconds, but messages contradict its books until these are rebuilt.
    feed.rejected.update(4, kNow + 20 * kSecond);
    State later;
    later.feeds.push_back(feed);
    later.feeds[0].last_datagram = kNow + 20 * kSecond;
    later.feeds[0].no_request_server.update(false, kNow);
    later.feeds[0].waits_ns = 0;
    EXPECT_EQ(findings(later, kNow + 20 * kSecond).front().stage, Stage::books_incomplete);

    State state;
    state.now = kNow;
    state.feeds.push_back(good_feed());
    state.feeds[0].last_datagram = kNow - 50 * kSecond;
    state.rings.emplace_back().silent = {true, kNow - 50 * kSecond};
    state.sinks.push_back(good_sink());
    state.sinks[0].lost.update(1, kNow);
    state.sinks[0].failed.update(1, kNow);
    stages.clear();
    for (const auto& finding : findings(state, kNow)) stages.push_back(finding.stage);
    EXPECT_THAT(stages, ElementsAre(Stage::receive_thread, Stage::stale, Stage::sink_failures, Stage::sink_lost));
}

TEST(Findings, ALineInAnotherSessionIsAFindingWithBothSessionsOnceItLasts) {
    auto feed = good_feed();
    feed.lines.resize(2);
    feed.lines[1].name = "b";
    feed.lines[1].listen = "239.1.1.2:5000";
    feed.lines[0].last_datagram = feed.lines[1].last_datagram = kNow;
    feed.lines[1].session = "S1";
    feed.lines[1].feed_session = "S2";
    feed.lines[1].apart = {true, kNow - kSecond};
    EXPECT_THAT(findings(feed, kNow), IsEmpty());
    feed.lines[1].apart.since = kNow - 2 * kSecond;
    const auto found = findings(feed, kNow);
    ASSERT_THAT(found, ElementsAre(is(Stage::line, service::Severity::warning, kNow - 2 * kSecond)));
    EXPECT_EQ(found[0].text, "line b (239.1.1.2:5000) brings session 'S1' and is ignored: the feed is in session 'S2'");
    feed.lines[1].data_apart = true;
    const auto with_data = findings(feed, kNow);
    ASSERT_THAT(with_data, ElementsAre(is(Stage::line, service::Severity::error, kNow - 2 * kSecond)));
    EXPECT_THAT(with_data[0].text, HasSubstr("brings messages of session 'S1' and is ignored"));
    feed.lines[1].apart.update(false, kNow);
    EXPECT_THAT(findings(feed, kNow), IsEmpty());
}

TEST(Findings, AGapIsAFindingForTenSecondsAndABurstOfThemOne) {
    auto feed = good_feed();
    feed.missing.update(2, kNow);
    feed.missing.update(5, kNow + 4 * kSecond);
    feed.last_datagram = kNow + 14 * kSecond;
    const auto found = findings(feed, kNow + 14 * kSecond);
    ASSERT_THAT(found, ElementsAre(is(Stage::gap, service::Severity::warning, kNow)));
    EXPECT_THAT(found[0].text, StartsWith("5 sequence numbers"));
    EXPECT_THAT(findings(feed, kNow + 14 * kSecond + 1), IsEmpty());
    feed.missing.update(6, kNow + 100 * kSecond);
    feed.last_datagram = kNow + 100 * kSecond;
    EXPECT_THAT(findings(feed, kNow + 100 * kSecond)[0].text, StartsWith("1 sequence numbers"));
}

TEST(Findings, IncompleteQuotesStayAFindingWithCountAndAgeUntilThereAreNone) {
    auto feed = good_feed();
    feed.instruments_incomplete = 49;
    feed.quotes_incomplete.update(true, kNow - 90 * kSecond);
    feed.quotes_incomplete.update(true, kNow);
    const auto found = findings(feed, kNow);
    ASSERT_THAT(found, ElementsAre(is(Stage::incomplete, service::Severity::warning, kNow - 90 * kSecond)));
    EXPECT_EQ(found[0].text, "incomplete quotes: 49, the first for 90.0 s");
    feed.quotes_incomplete.update(false, kNow);
    EXPECT_THAT(findings(feed, kNow), IsEmpty());
}

TEST(Findings, ACaptureThatCannotBeWrittenIsAWarningOfItsRing) {
    RingState ring;
    ring.name = "main";
    EXPECT_THAT(findings(ring, kNow), IsEmpty());
    ring.capture_errors.update(3, kNow);
    ring.capture_lost.update(40, kNow + kSecond);
    const auto found = findings(ring, kNow + kSecond);
    ASSERT_THAT(found, ElementsAre(is(Stage::capture, service::Severity::warning, kNow)));
    EXPECT_EQ(found[0].text, "3 writes of the capture failed; 40 datagrams are missing from it");
    EXPECT_THAT(findings(ring, kNow + 20 * kSecond), IsEmpty());
}

TEST(Findings, ALossOfASinkIsAFindingForFiveMinutesBesideAllOthers) {
    auto sink = good_sink();
    sink.lost.update(100, kNow);
    sink.lost.update(130, kNow + 200 * kSecond);
    auto found = findings(sink, kNow + 500 * kSecond);
    ASSERT_THAT(found, ElementsAre(is(Stage::sink_lost, service::Severity::warning, kNow)));
    EXPECT_EQ(found[0].text, "the ring overwrote 130 events before the sink read them, the last 300.0 s ago");
    EXPECT_THAT(findings(sink, kNow + 500 * kSecond + 1), IsEmpty());
    sink.ended = true;
    sink.behind.update(true, kNow);
    EXPECT_THAT(findings(sink, kNow + 300 * kSecond),
                ElementsAre(is(Stage::sink_behind, service::Severity::error, kNow),
                            is(Stage::sink_lost, service::Severity::warning, kNow)));
}

TEST(Findings, AnOverdueCheckpointIsAFinding) {
    auto sink = good_sink();
    sink.checkpoint_overdue.update(true, kNow);
    sink.checkpoint_age_seconds = 200;
    const auto found = findings(sink, kNow + kSecond);
    ASSERT_THAT(found, ElementsAre(is(Stage::checkpoint, service::Severity::warning, kNow)));
    EXPECT_THAT(found[0].text, ::testing::StartsWith("the newest checkpoint of the books is 200 s old"));
}

TEST(Findings, WhatTheKernelDropsComesBeforeTheGapThatItMakes) {
    auto feed = good_feed();
    feed.dropped.update(7, kNow);
    feed.missing.update(7, kNow);
    const auto found = findings(feed, kNow);
    ASSERT_THAT(found, ElementsAre(is(Stage::kernel_drops, service::Severity::warning, kNow),
                                   is(Stage::gap, service::Severity::warning, kNow)));
    EXPECT_EQ(found[0].text, "the kernel dropped 7 datagrams because the socket buffer was full");
    EXPECT_THAT(found[1].text, EndsWith("the kernel dropped 7 datagrams since startup"));
}

TEST(Findings, ASinkWithoutItsConnectionIsAFindingAfterItsPatienceThoughNothingWaits) {
    auto sink = good_sink();
    sink.connected = false;
    sink.disconnected.update(true, kNow);
    sink.last_error = "Connection refused";
    sink.last_error_at = kNow + sink.patience_ns - kSecond;
    EXPECT_THAT(findings(sink, kNow + sink.patience_ns), IsEmpty());
    const auto found = findings(sink, kNow + sink.patience_ns + 1);
    ASSERT_THAT(found, ElementsAre(is(Stage::sink_disconnected, service::Severity::error, kNow)));
    EXPECT_EQ(found[0].text, "it is not connected; its last error, 1.0 s ago: Connection refused");
}

TEST(Findings, ASinkThatIsBehindBecauseItIsDisconnectedIsOneFindingThatNamesTheCause) {
    auto sink = good_sink();
    sink.connected = false;
    sink.disconnected.update(true, kNow);
    sink.account.queued = 9;
    sink.behind.update(true, kNow + kSecond);
    sink.last_error = "Connection refused";
    sink.last_error_at = kNow + sink.patience_ns;
    const auto later = kNow + sink.patience_ns + 2 * kSecond;
    auto found = findings(sink, later);
    ASSERT_THAT(found, ElementsAre(is(Stage::sink_disconnected, service::Severity::error, kNow)));
    EXPECT_EQ(found[0].text, "it is not connected; 9 events queued; its last error, 2.0 s ago: Connection refused");
    sink.disconnected.update(false, later);
    EXPECT_THAT(findings(sink, later), ElementsAre(is(Stage::sink_behind, service::Severity::error, kNow + kSecond)));
}

TEST(Findings, ASinkIsBehindOrHasEnded) {
    auto sink = good_sink();
    EXPECT_THAT(findings(sink, kNow), IsEmpty());
    sink.account.queued = 9;
    sink.lag_ns = 5 * kSecond;
    sink.last_error = "disk full";
    sink.last_error_at = kNow - 600 * kSecond;  // possibly caused by another problem
    sink.behind.update(true, kNow);
    auto found = findings(sink, kNow);
    ASSERT_THAT(found, ElementsAre(is(Stage::sink_behind, service::Severity::error, kNow)));
    EXPECT_EQ(found[0].text, "9 events queued, the oldest for 5.0 s; its last error, 600.0 s ago: disk full");
    sink.ended = true;
    EXPECT_THAT(findings(sink, kNow)[0].text, StartsWith("it has stopped"));
}

TEST(Findings, StuckClientsAreAFindingForTenSecondsAndNoError) {
    auto sink = good_sink();
    sink.stalled.update(2, kNow);
    const auto found = findings(sink, kNow + 5 * kSecond);
    ASSERT_THAT(found, ElementsAre(is(Stage::slow_client, service::Severity::warning, kNow)));
    EXPECT_THAT(found[0].text, EndsWith("disconnected: 2"));
    EXPECT_THAT(findings(sink, kNow + 11 * kSecond), IsEmpty());
}

TEST(Findings, ClientsThatLoseEventsAreAFindingWithTheWorstOfThem) {
    auto sink = good_sink();
    sink.client_list = std::make_shared<ClientList>();
    sink.clients_missed.update(70, kNow);
    auto found = findings(sink, kNow + 5 * kSecond);
    ASSERT_THAT(found, ElementsAre(is(Stage::slow_client, service::Severity::warning, kNow)));
    EXPECT_EQ(found[0].text, "clients lost 70 events");
    ASSERT_TRUE(
        sink.client_list->publish({{.id = 1, .peer = "10.0.0.1:5", .account = {.missed = 10}},
                                   {.id = 2, .peer = "10.0.0.2:5", .name = "desk", .account = {.missed = 60}}}));
    found = findings(sink, kNow + 5 * kSecond);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].text, "clients lost 70 events; of those connected 10.0.0.2:5 'desk' the most: 60");
    EXPECT_THAT(findings(sink, kNow + 11 * kSecond), IsEmpty());
}

TEST(Findings, HaltedInstrumentsAreAFindingWhileTheChannelTrades) {
    auto feed = good_feed();
    feed.instruments_halted = 3;
    feed.some_halted.update(true, kNow);
    const auto found = findings(feed, kNow);
    ASSERT_THAT(found, ElementsAre(is(Stage::halted, service::Severity::info, kNow)));
    EXPECT_EQ(found[0].text, "instruments not trading: 3");
}

TEST(Findings, ErrorsComeBeforeWarningsAndThenTheFirstOnTheWay) {
    State state;
    state.now = kNow;
    state.feeds = {good_feed(), good_feed()};
    state.feeds[0].missing.update(1, kNow);
    state.feeds[1].last_datagram = kNow - 60 * kSecond;
    state.rings.emplace_back().silent = {true, kNow};
    state.sinks = {good_sink()};
    state.sinks[0].ended = true;
    EXPECT_THAT(findings(state, kNow),
                ElementsAre(Field(&Finding::stage, Stage::receive_thread), Field(&Finding::stage, Stage::stale),
                            Field(&Finding::stage, Stage::sink_behind), Field(&Finding::stage, Stage::gap)));
    EXPECT_FALSE(is_good(state));
    EXPECT_EQ(report_line(state),
              "receive thread: ring '': the receive thread of ring '' does not respond (since 2020-01-30T15:30:00Z)\n");
}

TEST(Findings, AWarningAloneIsStillGood) {
    State state;
    state.now = kNow;
    EXPECT_EQ(report_line(state), "good\n");
    state.feeds = {good_feed()};
    state.feeds[0].missing.update(1, kNow);
    EXPECT_TRUE(is_good(state));
    EXPECT_THAT(report_line(state), StartsWith("good, but gap: feed 'a': 1 sequence numbers are missing"));
    EXPECT_THAT(report_json(state),
                AllOf(HasSubstr(R"("good":true,"first":{"stage":"gap","severity":"warning","of":"feed 'a'")"),
                      HasSubstr(R"("missing":1,"undecodable":0)"), EndsWith("}\n")));
}

TEST(Findings, WhatIsSoOrNotKeepsTheTimeWhenItBegan) {
    Condition condition;
    condition.update(false, 1);
    condition.update(true, 5);
    condition.update(true, 9);
    EXPECT_TRUE(condition.holds);
    EXPECT_EQ(condition.since, 5);
    condition.update(false, 11);
    EXPECT_EQ(condition.since, 11);
}

// Tables printed by Linux 6.1.
TEST(Link, AGroupIsFoundInTheKernelsTableOnItsInterface) {
    constexpr std::string_view kTable =
        "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n"
        "1\tlo        :     1      V3\n"
        "\t\t\t\t010000E0     1 0:00000000\t\t0\n"
        "4\teth1      :     2      V3\n"
        "\t\t\t\t010101EF     1 0:00000000\t\t0\n"
        "\t\t\t\t010000E0     1 0:00000000\t\t0\n";
    const auto group = net::SocketAddress::parse("239.1.1.1:5000");
    EXPECT_TRUE(holds_group(kTable, group, "eth1"));
    EXPECT_TRUE(holds_group(kTable, group, ""));
    EXPECT_FALSE(holds_group(kTable, group, "lo"));
    EXPECT_FALSE(holds_group(kTable, net::SocketAddress::parse("239.1.1.2:5000"), "eth1"));
    constexpr std::string_view kTable6 =
        "2    eth1            ff020000000000000000000000000001     1 0000000C 0\n"
        "2    eth1            ff150000000000000000000000000101     1 00000004 0\n";
    EXPECT_TRUE(holds_group6(kTable6, net::SocketAddress::parse("[ff15::101]:5000"), "eth1"));
    EXPECT_FALSE(holds_group6(kTable6, net::SocketAddress::parse("[ff15::101]:5000"), "eth2"));
}

TEST(Link, TheLoopbackInterfaceIsUp) {
    EXPECT_EQ(link_is_up("lo"), true);
    EXPECT_EQ(link_is_up("no-such-link"), std::nullopt);
}

TEST(Findings, EachIsASeriesOfMetricsOnceWhateverItsNameHolds) {
    State state;
    state.now = kNow;
    state.feeds = {good_feed()};
    EXPECT_THAT(report_metrics(state), AllOf(HasSubstr("# TYPE millpond_finding gauge\n"), Not(HasSubstr("} 1"))));
    state.feeds.front().name = "a\"b\\c";
    state.feeds.front().missing = {.count = 3, .before = 0, .since = kNow, .last = kNow};
    state.feeds.push_back(state.feeds.front());
    EXPECT_THAT(report_metrics(state),
                EndsWith("# TYPE millpond_finding gauge\n"
                         R"(millpond_finding{of="feed 'a\"b\\c'",severity="warning",stage="gap"} 1)"
                         "\n"));
}

TEST(Findings, EachStageHasAMeaningAndAdvice) {
    for (int stage = 0; to_string(static_cast<Stage>(stage)) != "unknown"; ++stage) {
        EXPECT_NE(advice(static_cast<Stage>(stage)).meaning, "") << to_string(static_cast<Stage>(stage));
        EXPECT_NE(advice(static_cast<Stage>(stage)).action, "") << to_string(static_cast<Stage>(stage));
    }
}

}  // namespace
}  // namespace millpond::gateway::health
