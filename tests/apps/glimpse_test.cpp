// Feeds that start late, or lose messages, and rebuild their books from GLIMPSE snapshots: books are compared order by
// order with those of a feed that ran from the start. Snapshots are made by code that does not use the book builder.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/moldudp64_packet.hpp>

#include "apps/millpond/traffic/fixed_stream.hpp"
#include "apps/millpond/traffic/glimpse_snapshot.hpp"
#include "apps/millpond/traffic/paced_session.hpp"
#include "apps/millpond/traffic/request_server.hpp"
#include "apps/millpond/traffic/soupbin_server.hpp"
#include "gateway/feeds/itch/settings.hpp"
#include "tests/apps/board_quotes.hpp"
#include "tests/apps/feed_lines.hpp"
#include "tests/apps/gateway_run.hpp"
#include "tests/apps/itch_session.hpp"
#include "tests/apps/ring_books.hpp"
#include "tests/net/soupbin_peer.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;
using SnapshotMessages = std::vector<traffic::GlimpseSnapshot::Message>;

class Glimpse : public ::testing::Test {
protected:
    Glimpse() { std::filesystem::permissions(password_.path(), std::filesystem::perms{0600}); }
    auto late(const net::SocketAddress& glimpse, std::function<void(gateway::itch::Settings&)> more = {}) const {
        return [this, glimpse, more](gateway::FeedConfig& feed) {
            feed.reorder_us = 0;
            auto& itch = feed.use<gateway::itch::Settings>();
            itch.orders = true;
            itch.depth = feed::kFullDepth;
            itch.glimpse = glimpse;
            itch.user = "ALICE";
            itch.password.file = password_.path();
            if (more) more(itch);
        };
    }
    /// Sends datagrams first..last - 1, and waits until they are decoded.
    void send(Lines& lines, std::size_t first, std::size_t last) {
        for (; first < last; ++first) {
            lines.send(0, session_.bytes[first]);
            const auto sent = ++sent_[&lines];
            if (sent % 64 == 0 || first + 1 == last) {
                ASSERT_TRUE(
                    lines.read_until([&] { return lines.count("datagrams") + (first + 1 == last ? 0 : 100) >= sent; }));
            }
        }
    }
    /// Number of the first message of a datagram.
    [[nodiscard]] std::uint64_t number_of(std::size_t datagram) const {
        return feed::MoldUdp64Packet::read(session_.bytes[datagram], [](auto) {}).sequence;
    }
    /// The snapshot of the state before a datagram.
    [[nodiscard]] SnapshotMessages snapshot_before(std::size_t datagram) const {
        traffic::GlimpseSnapshot snapshot;
        for (std::uint64_t number = 1; number < number_of(datagram); ++number)
            snapshot.apply(session_.messages.message(number));
        return snapshot.messages();
    }
    static void send_messages(net::test::SoupBinPeer& peer, std::span<const SnapshotMessages::value_type> messages) {
        for (const auto& message : messages)
            peer.send('S', {reinterpret_cast<const char*>(message.data()), message.size()});
    }
    /// Waits for the next client of the peer and accepts its login.
    void accept(net::test::SoupBinPeer& peer, Lines& lines, std::string_view session) {
        ASSERT_TRUE(lines.read_until([&] { return peer.has_caller(); })) << lines.rebuild_failure();
        peer.accept();
        ASSERT_TRUE(lines.read_until([&] { return peer.received().size() >= 49; }));
        EXPECT_EQ(peer.received().substr(19, 30), std::string(29, ' ') + "1");
        peer.accept_login(session, 1);
    }
    bool becomes_complete(Lines& lines, RingBooks& books) {
        return lines.read_until([&] {
            books.read();
            return lines.count("rebuilds") >= 1 && lines.count("books_incomplete") == 0 && !lines.rebuild_wanted();
        });
    }
    /// Expects the books of a feed that received all datagrams before `last` from the start.
    void expect_books_of_the_day(Lines& lines, RingBooks& books, std::size_t last) {
        ASSERT_TRUE(becomes_complete(lines, books)) << lines.rebuild_failure();
        Lines day{"glimpse-day", [&](gateway::FeedConfig& feed) {
                      auto& itch = feed.use<gateway::itch::Settings>();
                      itch.orders = true;
                      itch.depth = feed::kFullDepth;
                  }};
        RingBooks wanted{day};
        sent_[&day] = 0;
        send(day, 0, last);
        ASSERT_TRUE(day.settle());
        ASSERT_TRUE(lines.settle());
        const auto expected = wanted.texts();
        ASSERT_EQ(expected.size(), 20U);
        for (const auto& [symbol, text] : expected) ASSERT_THAT(text, ::testing::StartsWith("complete")) << symbol;
        EXPECT_EQ(books.texts(), expected);
    }

    ItchSession session_{1'200};
    std::map<const Lines*, std::uint64_t> sent_;
    const test::ScratchFile password_{test::scratch_name("glimpse.password"), "secret\n"};
};

TEST_F(Glimpse, AFeedThatStartsLateHasTheBooksOfTheDayOrderByOrder) {
    traffic::GlimpseSnapshot state;
    std::uint64_t applied = 0;
    std::uint64_t sent = 0;
    traffic::SoupBinServer server{net::SocketAddress::parse("127.0.0.1:0"), session_.name, [&] {
                                      while (applied < sent) state.apply(session_.messages.message(++applied));
                                      return std::make_shared<traffic::FixedStream>(state.messages());
                                  }};
    Lines lines{"glimpse-late", late(server.address())};
    RingBooks books{lines};
    std::size_t next = 700;
    while (next < 1'150 && lines.count("rebuilds") == 0) {
        send(lines, next, next + 1);
        sent = number_of(++next) - 1;
        server.poll(1);
    }
    ASSERT_TRUE(lines.read_until([&] {
        server.poll(0);
        return lines.count("rebuilds") == 1;
    })) << lines.rebuild_failure();
    send(lines, next, 1'200);
    EXPECT_EQ(server.logins(), 1U);
    expect_books_of_the_day(lines, books, 1'200);
    EXPECT_TRUE(lines.read_until([&] { return lines.subscriber.defined.size() == 20; }));  // of the snapshot
    EXPECT_EQ(lines.count("glimpse_snapshots"), 1U);
    EXPECT_EQ(lines.count("rebuild_failures"), 0U);
    EXPECT_TRUE(lines.subscriber.gaps.empty());
}

TEST_F(Glimpse, NothingOfASnapshotIsVisibleBeforeItsEndAndTheFeedContinuesFromItsNumberInclusive) {
    net::test::SoupBinPeer peer;
    Lines lines{"glimpse-end", late(peer.address())};
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines, session_.name);
    const auto snapshot = snapshot_before(520);
    send(lines, 510, 530);
    send_messages(peer, std::span{snapshot}.first(snapshot.size() - 1));
    send(lines, 530, 600);
    ASSERT_TRUE(lines.settle());
    for (const auto& [symbol, text] : books.texts())
        EXPECT_THAT(text, ::testing::Not(::testing::StartsWith("complete"))) << symbol;
    EXPECT_EQ(lines.count("rebuilds"), 0U);
    send_messages(peer, std::span{snapshot}.last(1));
    expect_books_of_the_day(lines, books, 600);
    EXPECT_TRUE(peer.has_left());
    EXPECT_EQ(peer.received().substr(peer.received().size() - 3), (std::string{"\x00\x01O", 3}));
    // The feed joined at datagram 500, and the snapshot had all messages before datagram 520.
    EXPECT_GT(lines.count("glimpse_skipped"), 0U);
    EXPECT_LE(lines.count("glimpse_skipped"), number_of(520) - number_of(500));
}

TEST_F(Glimpse, ASnapshotThatIsAheadOfTheFeedWaitsForIt) {
    net::test::SoupBinPeer peer;
    Lines lines{"glimpse-ahead", late(peer.address())};
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines, session_.name);
    send_messages(peer, snapshot_before(700));
    ASSERT_TRUE(lines.read_until([&] { return lines.count("glimpse_snapshots") == 1; }));
    send(lines, 510, 690);
    EXPECT_EQ(lines.count("rebuilds"), 0U);
    send(lines, 690, 800);
    expect_books_of_the_day(lines, books, 800);
}

TEST_F(Glimpse, AGapDuringASnapshotNeedsAnotherSnapshot) {
    net::test::SoupBinPeer peer;
    Lines lines{"glimpse-gap", late(peer.address())};
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines, session_.name);
    send(lines, 510, 520);
    send(lines, 525, 600);
    send_messages(peer, snapshot_before(510));
    accept(peer, lines, session_.name);
    EXPECT_THAT(lines.rebuild_failure(), HasSubstr("messages " + std::to_string(number_of(520)) + " to " +
                                                   std::to_string(number_of(525) - 1) + " are missing between"));
    send_messages(peer, snapshot_before(600));
    send(lines, 600, 700);
    expect_books_of_the_day(lines, books, 700);
    EXPECT_EQ(lines.count("rebuild_failures"), 1U);
    EXPECT_EQ(lines.count("glimpse_failures"), 1U);
}

TEST_F(Glimpse, AGapDuringASnapshotIsRequestedFromTheServerIfThereIsOne) {
    net::test::SoupBinPeer peer;
    traffic::RequestServer requests{net::SocketAddress::parse("127.0.0.1:0"), session_.name, session_.messages};
    Lines lines{"glimpse-request", late(peer.address(), [&](gateway::itch::Settings& itch) {
                    itch.rerequest = requests.address();
                    itch.rerequest_ms = 1;
                })};
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines, session_.name);
    send(lines, 510, 520);
    send(lines, 525, 600);
    // The feed gives the gap up first: nobody answers.
    ASSERT_TRUE(lines.read_until([&] { return lines.subscriber.gaps.size() == 1; }));
    send_messages(peer, snapshot_before(510));
    ASSERT_TRUE(lines.read_until([&] {
        static_cast<void>(requests.poll(0));
        return lines.count("rebuilds") == 1;
    })) << lines.rebuild_failure();
    expect_books_of_the_day(lines, books, 600);
    EXPECT_EQ(lines.count("rebuild_failures"), 0U);
}

TEST_F(Glimpse, ANewSessionDuringASnapshotCancelsIt) {
    net::test::SoupBinPeer peer;
    Lines lines{"glimpse-session", late(peer.address())};
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines, session_.name);
    const auto snapshot = snapshot_before(510);
    send_messages(peer, std::span{snapshot}.first(snapshot.size() / 2));
    session_ = ItchSession{300, 2, 9};
    send(lines, 0, 300);
    ASSERT_TRUE(lines.read_until([&] { return peer.has_left(); }));
    ASSERT_TRUE(lines.read_until([&] { return !lines.rebuild_wanted(); }));
    EXPECT_EQ(lines.count("rebuilds"), 0U);
    EXPECT_EQ(incomplete_in(lines), 0U);
    EXPECT_FALSE(peer.has_caller());
}

TEST_F(Glimpse, AServerThatDiesIsNamedAndTheOtherSourcesAreUsed) {
    net::test::SoupBinPeer peer;
    traffic::RequestServer requests{net::SocketAddress::parse("127.0.0.1:0"), session_.name, session_.messages};
    Lines lines{"glimpse-dies",
                late(peer.address(), [&](gateway::itch::Settings& itch) { itch.rerequest = requests.address(); })};
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines, session_.name);
    const auto snapshot = snapshot_before(510);
    send_messages(peer, std::span{snapshot}.first(snapshot.size() / 2));
    peer.hang_up();
    ASSERT_TRUE(lines.read_until([&] {
        static_cast<void>(requests.poll(0));
        return lines.count("rebuilds") == 1;
    })) << lines.rebuild_failure();
    EXPECT_THAT(lines.rebuild_failure(),
                HasSubstr("the GLIMPSE server " + peer.address().to_string() + ": the server closed the connection"));
    expect_books_of_the_day(lines, books, 510);
    EXPECT_EQ(lines.count("glimpse_failures"), 1U);
    EXPECT_GE(requests.answered(), number_of(500) - 1);
}

TEST_F(Glimpse, AServerThatLiesIsFoundOutBeforeAnythingIsVisible) {
    const auto honest = snapshot_before(510);
    auto twice = honest;  // an order
    twice.insert(twice.end() - 1, twice[twice.size() - 2]);
    auto endless = honest;
    std::ranges::fill(endless.back(), std::byte{'G'});
    auto executing = honest;
    executing.front()[0] = std::byte{'E'};
    auto torn = honest;
    torn.front().resize(5);
    const struct {
        std::string_view session;
        SnapshotMessages messages;
        std::string_view failure;
    } lies[] = {
        {"OTHER", {}, ": its snapshots are of session 'OTHER', but the feed is in session '"},
        {session_.name, twice, " contradicts itself or the feed"},
        {session_.name, endless, ": the end of its snapshot, message "},
        {session_.name, executing, ": message 1 of its snapshot has the type 0x45, which snapshots do not have"},
        {session_.name, torn, " has a message that cannot be read"},
    };
    for (const auto& lie : lies) {
        net::test::SoupBinPeer peer;
        Lines lines{"glimpse-lies", late(peer.address())};
        RingBooks books{lines};
        sent_[&lines] = 0;
        send(lines, 500, 510);
        accept(peer, lines, lie.session);
        send_messages(peer, lie.messages);
        ASSERT_TRUE(lines.read_until([&] { return lines.count("glimpse_failures") == 1; }));
        EXPECT_THAT(lines.rebuild_failure(), HasSubstr(peer.address().to_string() + std::string{lie.failure}));
        for (const auto& [symbol, text] : books.texts())
            EXPECT_THAT(text, ::testing::Not(::testing::StartsWith("complete"))) << symbol;
        accept(peer, lines, session_.name);
        send_messages(peer, honest);
        expect_books_of_the_day(lines, books, 510);
    }
}

TEST_F(Glimpse, APacketOfAnUnknownTypeEndsTheSnapshot) {
    net::test::SoupBinPeer peer;
    Lines lines{"glimpse-unknown", late(peer.address())};
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines, session_.name);
    peer.send('?', "new");
    ASSERT_TRUE(lines.read_until([&] { return lines.count("glimpse_failures") == 1; }));
    EXPECT_THAT(lines.rebuild_failure(),
                HasSubstr(peer.address().to_string() + ": it sent a packet of an unknown type"));
    accept(peer, lines, session_.name);
    send_messages(peer, snapshot_before(510));
    expect_books_of_the_day(lines, books, 510);
}

TEST_F(Glimpse, ABufferThatIsTooSmallIsNamedWithTheBytesThatWereNeeded) {
    net::test::SoupBinPeer peer;
    Lines lines{"glimpse-small",
                late(peer.address(), [](gateway::itch::Settings& itch) { itch.rebuild_buffer = 4'096; })};
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines, session_.name);
    send(lines, 510, 700);
    send_messages(peer, snapshot_before(510));
    ASSERT_TRUE(lines.read_until([&] { return !lines.rebuild_failure().empty(); }));
    EXPECT_THAT(lines.rebuild_failure(),
                ::testing::MatchesRegex(".*rebuild_buffer = 4096 is too small: [0-9]+ bytes of the feed arrived.*"));
    // The next snapshot is of a quieter time.
    accept(peer, lines, session_.name);
    send_messages(peer, snapshot_before(700));
    expect_books_of_the_day(lines, books, 700);
}

TEST_F(Glimpse, ALateSoupBinFeedBeginsWithTheNewestMessageAndASnapshot) {
    auto released = std::make_shared<traffic::PacedSession>(session_.messages);
    traffic::SoupBinServer server{net::SocketAddress::parse("127.0.0.1:0"), session_.name, [&] { return released; }};
    traffic::SoupBinServer glimpse{net::SocketAddress::parse("127.0.0.1:0"), session_.name, [&] {
                                       traffic::GlimpseSnapshot state;
                                       for (std::uint64_t n = 1; n <= released->available(); ++n)
                                           state.apply(session_.messages.message(n));
                                       return std::make_shared<traffic::FixedStream>(state.messages());
                                   }};
    released->release(number_of(600) - 1);
    Lines lines{"glimpse-soupbin", [&](gateway::FeedConfig& feed) {
                    late(glimpse.address())(feed);
                    feed.reorder_us = gateway::FeedConfig{}.reorder_us;
                    feed.listen = {};
                    feed.connect = server.address();
                    feed.use<gateway::itch::Settings>().sequence = 0;
                }};
    RingBooks books{lines};
    ASSERT_TRUE(lines.read_until([&] {
        server.poll(0);
        glimpse.poll(0);
        return lines.count("rebuilds") == 1;
    })) << lines.rebuild_failure();
    released->release(number_of(700) - number_of(600));
    ASSERT_TRUE(lines.read_until([&] {
        server.poll(0);
        return lines.count("soupbin_messages") >= number_of(700) - number_of(600);
    }));
    expect_books_of_the_day(lines, books, 700);
}

}  // namespace
}  // namespace millpond::app
