// A feed that receives by SoupBinTCP, with servers that behave, break, change their session and lie.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/net/socket_address.hpp>

#include "apps/millpond/traffic/paced_session.hpp"
#include "apps/millpond/traffic/soupbin_server.hpp"
#include "gateway/feeds/itch/settings.hpp"
#include "gateway/receive/soupbin_receiver.hpp"
#include "gateway/settings/read.hpp"
#include "tests/apps/board_quotes.hpp"
#include "tests/apps/feed_lines.hpp"
#include "tests/apps/gateway_run.hpp"
#include "tests/apps/itch_session.hpp"
#include "tests/net/soupbin_peer.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;

/// A SoupBinTCP server of a generated session, which the test polls.
class Server {
public:
    explicit Server(const ItchSession& session,
                    const net::SocketAddress& listen = net::SocketAddress::parse("127.0.0.1:0"))
        : released_(std::make_shared<traffic::PacedSession>(session.messages)),
          server_(listen, session.name, [this] { return released_; }) {}
    void release(std::uint64_t up_to) { released_->release(up_to - released_->available()); }
    void end() { released_->end(); }
    void poll() { server_.poll(0); }
    [[nodiscard]] net::SocketAddress address() const { return server_.address(); }

private:
    std::shared_ptr<traffic::PacedSession> released_;
    traffic::SoupBinServer server_;
};

class SoupBinFeed : public ::testing::Test {
protected:
    SoupBinFeed() { std::filesystem::permissions(password_.path(), std::filesystem::perms{0600}); }
    [[nodiscard]] auto connecting(const net::SocketAddress& server) const {
        return [this, server](gateway::FeedConfig& feed) {
            feed.listen = {};
            feed.connect = server;
            feed.reorder_us = gateway::FeedConfig{}.reorder_us;
            auto& itch = feed.use<gateway::itch::Settings>();
            itch.user = "ALICE";
            itch.password.file = password_.path();
        };
    }
    /// The board after the session's first `count` messages, of a feed that received them as datagrams of one message.
    static Board board_of_udp(const ItchSession& session, std::uint64_t count) {
        Lines whole{"udp", [](gateway::FeedConfig&) {}};
        feed::MoldUdp64Encoder mold{session.name};
        std::array<std::byte, 1'400> buffer;
        for (std::uint64_t number = 1; number <= count; ++number) {
            mold.begin(buffer);
            EXPECT_TRUE(mold.add(session.messages.message(number)));
            whole.send(0, mold.finish());
            if (number % 64 != 0) continue;
            EXPECT_TRUE(whole.read_until([&] { return whole.count("datagrams") + 100 >= number; }));
        }
        EXPECT_TRUE(whole.read_until([&] { return whole.count("datagrams") >= count; }));
        EXPECT_EQ(incomplete_in(whole), 0U);
        return board_of(whole);
    }
    static bool reaches(Lines& lines, Server& server, std::uint64_t messages) {
        return lines.read_until([&] {
            server.poll();
            return lines.count("soupbin_messages") >= messages;
        });
    }

    ItchSession session_{600};
    std::uint64_t size_{session_.messages.size()};
    const test::ScratchFile password_{test::scratch_name("soupbin.password"), "secret\n"};
};

TEST_F(SoupBinFeed, TheBoardIsThatOfTheSameMessagesInDatagrams) {
    Server server{session_};
    server.release(size_);
    Lines lines{"soupbin", connecting(server.address())};
    ASSERT_TRUE(reaches(lines, server, size_)) << lines.connection_failure();
    EXPECT_EQ(incomplete_in(lines), 0U);
    EXPECT_EQ(board_of(lines), board_of_udp(session_, size_));
    EXPECT_TRUE(lines.subscriber.gaps.empty());
}

TEST_F(SoupBinFeed, AServerThatDiesLosesNothingAndTheFeedContinuesAtTheNextMessage) {
    auto server = std::make_unique<Server>(session_);
    const auto address = server->address();
    Lines lines{"soupbin-dies", connecting(address)};
    std::uint64_t sent = 0;
    for (int life = 1; life <= 3; ++life) {
        sent = size_ * static_cast<std::uint64_t>(life) / 3;
        if (!server) server = std::make_unique<Server>(session_, address);
        server->release(sent);
        ASSERT_TRUE(reaches(lines, *server, sent)) << lines.connection_failure();
        server.reset();
        const auto failures = static_cast<std::uint64_t>(life);
        ASSERT_TRUE(lines.read_until([&] { return lines.count("soupbin_failures") >= failures; }));
    }
    EXPECT_EQ(board_of(lines), board_of_udp(session_, size_));
    EXPECT_EQ(lines.count("soupbin_messages"), size_);
    EXPECT_EQ(lines.count("soupbin_duplicates"), 0U);
    EXPECT_TRUE(lines.subscriber.gaps.empty());
    EXPECT_TRUE(lines.subscriber.clears.empty());
}

TEST_F(SoupBinFeed, AnotherSessionAtTheReconnectIsANewSessionFromItsFirstMessage) {
    auto server = std::make_unique<Server>(session_);
    const auto address = server->address();
    server->release(300);
    Lines lines{"soupbin-session", connecting(address)};
    ASSERT_TRUE(reaches(lines, *server, 300));
    const ItchSession next{200, 2, 7};
    server = nullptr;
    Server newer{next, address};
    newer.release(next.messages.size());
    ASSERT_TRUE(reaches(lines, newer, 300 + next.messages.size())) << lines.connection_failure();
    EXPECT_EQ(incomplete_in(lines), 0U);
    EXPECT_EQ(board_of(lines), board_of_udp(next, next.messages.size()));
    ASSERT_EQ(lines.subscriber.clears.size(), 1U);
    EXPECT_EQ(lines.subscriber.clears[0].reason, feed::ClearReason::new_session);
    EXPECT_TRUE(lines.subscriber.gaps.empty());
}

TEST_F(SoupBinFeed, TheEndOfASessionVoidsTheBooksAndTheNextSessionFollows) {
    auto server = std::make_unique<Server>(session_);
    const auto address = server->address();
    server->release(200);
    server->end();
    Lines lines{"soupbin-end", connecting(address)};
    ASSERT_TRUE(reaches(lines, *server, 200));
    ASSERT_TRUE(lines.read_until([&] {
        server->poll();
        return !lines.subscriber.clears.empty();
    }));
    EXPECT_EQ(lines.subscriber.clears[0].reason, feed::ClearReason::end_of_session);
    const ItchSession next{50, 2, 7};
    server = nullptr;
    Server newer{next, address};
    newer.release(next.messages.size());
    ASSERT_TRUE(reaches(lines, newer, 200 + next.messages.size())) << lines.connection_failure();
    EXPECT_EQ(board_of(lines), board_of_udp(next, next.messages.size()));
}

TEST_F(SoupBinFeed, SequenceZeroJoinsAtTheNewestMessageWithIncompleteBooks) {
    Server server{session_};
    server.release(size_ - 200);
    Lines lines{"soupbin-zero", [&](gateway::FeedConfig& feed) {
                    connecting(server.address())(feed);
                    feed.use<gateway::itch::Settings>().sequence = 0;
                }};
    ASSERT_TRUE(reaches(lines, server, 1));
    server.release(size_);
    ASSERT_TRUE(reaches(lines, server, 201));
    EXPECT_EQ(lines.count("soupbin_messages"), 201U);
    ASSERT_TRUE(lines.settle());
    EXPECT_GT(lines.count("orders_unknown"), 0U);
    for (const auto& quote : lines.subscriber.quotes) EXPECT_NE(quote.flags & feed::kIncomplete, 0);
    EXPECT_TRUE(lines.subscriber.gaps.empty());
}

TEST_F(SoupBinFeed, MessagesThatAServerLeavesOutAreAGapAndRepeatedOnesChangeNothing) {
    net::test::SoupBinPeer peer;
    Lines lines{"soupbin-lies", connecting(peer.address())};
    const auto send = [&](std::uint64_t first, std::uint64_t last) {
        for (; first <= last; ++first) {
            const auto message = session_.messages.message(first);
            peer.send('S', {reinterpret_cast<const char*>(message.data()), message.size()});
        }
    };
    const auto log_in = [&](std::uint64_t next) {
        ASSERT_TRUE(lines.read_until([&] { return peer.has_caller(); }));
        peer.accept();
        ASSERT_TRUE(lines.read_until([&] { return peer.received().size() >= 49; }));
        peer.accept_login(session_.name, next);
    };
    log_in(1);
    send(1, 100);
    ASSERT_TRUE(lines.read_until([&] { return lines.count("soupbin_messages") == 100; }));
    peer.hang_up();
    log_in(51);  // 101 was requested
    send(51, 150);
    ASSERT_TRUE(lines.read_until([&] { return lines.count("soupbin_messages") == 150; }));
    EXPECT_EQ(lines.count("soupbin_duplicates"), 50U);
    EXPECT_EQ(incomplete_in(lines), 0U);
    EXPECT_TRUE(lines.subscriber.gaps.empty());
    peer.hang_up();
    log_in(161);  // 151 was requested
    send(161, 170);
    ASSERT_TRUE(lines.read_until([&] { return lines.subscriber.gaps.size() == 1; }));
    EXPECT_EQ(lines.subscriber.gaps[0].first, 151U);
    EXPECT_EQ(lines.subscriber.gaps[0].last, 160U);
    EXPECT_GT(incomplete_in(lines), 0U);
}

TEST_F(SoupBinFeed, ReceivingHeartbeatsAndReconnectsAllocateNothingOnTheReceiveThread) {
    net::test::SoupBinPeer peer;
    gateway::SoupBinReceiver receiver{{.connection = {.server = peer.address(), .user = net::soupbin::User{"U"}}}};
    std::uint64_t allocations = 0;
    std::uint64_t datagrams = 0;
    const auto until = [&](const std::function<bool()>& done) {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (!done()) {
            if (core::monotonic_nanos() > deadline) return false;
            const test::AllocationCounter counter;
            receiver.beat();
            datagrams += receiver.poll().size();
            allocations += counter.allocations();
        }
        return true;
    };
    const auto& counters = receiver.client().counters();
    std::uint64_t number = 1;
    for (std::uint64_t life = 1; life <= 3; ++life) {
        ASSERT_TRUE(until([&] { return peer.has_caller(); }));
        peer.accept();
        ASSERT_TRUE(until([&] { return peer.received().size() >= 49; }));
        peer.accept_login(session_.name, number);
        for (const auto last = number + 100; number < last; ++number) {
            const auto message = session_.messages.message(number);
            peer.send('S', {reinterpret_cast<const char*>(message.data()), message.size()});
        }
        ASSERT_TRUE(until([&] { return counters.messages.read() == number - 1; }));
        peer.send('H');
        ASSERT_TRUE(until([&] { return counters.heartbeats.read() == life; }));
        peer.hang_up();
        ASSERT_TRUE(until([&] { return counters.failures.read() == life; }));
    }
    EXPECT_EQ(allocations, 0U);
    EXPECT_GE(datagrams, 9U);  // of each life: the login, messages and the heartbeat
}

TEST_F(SoupBinFeed, TheProgramNamesARejectedLoginAndAServerThatCannotBeReached) {
    net::test::SoupBinPeer peer;
    const auto keys = ",user=ALICE,password_file=" + password_.path();
    GatewayRun gateway{
        {.ring = unique_ring("soupbin"), .format = "itch", .feed = keys, .connect = peer.address().to_string()}};
    const auto shows = [&](const std::string& text) {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (gateway.page("/api/health").find(text) == std::string::npos) {
            if (core::monotonic_nanos() > deadline) return false;
            std::this_thread::yield();
        }
        return true;
    };
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    while (!peer.has_caller()) ASSERT_LT(core::monotonic_nanos(), deadline);
    EXPECT_TRUE(shows(R"("stage":"connection","severity":"error")"));
    EXPECT_TRUE(shows("waiting for the login at " + peer.address().to_string()));
    peer.accept();
    peer.send('J', "A");
    EXPECT_TRUE(
        shows("not logged in at " + peer.address().to_string() + ": the server rejected user and password; retrying"));
    EXPECT_EQ(gateway.metric("millpond_feed_soupbin_rejects_total"), 1);
    ASSERT_TRUE(gateway.program().prints("the server rejected user and password; retrying"));
    EXPECT_EQ(gateway.program().output().find("secret"), std::string::npos);
    EXPECT_EQ(gateway.end().exit_code, 0);
}

TEST_F(SoupBinFeed, DoctorConnectsWithoutALogin) {
    net::test::SoupBinPeer peer;
    const auto config = [&] {
        return "metrics = \"off\"\n[[feed]]\nname = \"s\"\nformat = \"itch\"\nconnect = \"" +
               peer.address().to_string() + "\"\nuser = \"ALICE\"\npassword_file = \"" + password_.path() + "\"\n";
    };
    const test::ScratchFile file{test::scratch_name("soupbin.toml"), config()};
    const auto reached = run({"doctor", "--config", file.path(), "--feed", "s", "--seconds", "0.5"});
    EXPECT_EQ(reached.exit_code, 0) << reached.out << reached.err;
    EXPECT_THAT(reached.out, HasSubstr("accepts connections; the login was not tried"));
    EXPECT_EQ(run({"config", "check", file.path()}).exit_code, 0);
    peer.stop();
    const auto refused = run({"doctor", "--config", file.path(), "--feed", "s", "--seconds", "0.5"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.out, HasSubstr("cannot connect to " + peer.address().to_string() + ": Connection refused"));
}

TEST(SoupBinFeedKeys, ThatDoNotFitTogetherAreRefusedByName) {
    const test::ScratchFile password{test::scratch_name("keys.password"), "secret\n"};
    const test::ScratchFile longer{test::scratch_name("long.password"), "12345678901\n"};
    for (const auto* file : {&password, &longer})
        std::filesystem::permissions(file->path(), std::filesystem::perms{0600});
    const std::string connect = "format='itch'\nconnect='127.0.0.1:1'\n";
    const std::string login = "user='U'\npassword_file='" + password.path() + "'\n";
    const auto error = [&](const std::string& keys, bool starts = false) -> std::string {
        gateway::Config config;
        try {
            gateway::read_toml("[[feed]]\nname='f'\n" + keys, "x", config);
            complete(config);
            if (starts) check_start(config);
        } catch (const std::exception& refused) {
            return refused.what();
        }
        return "accepted";
    };
    EXPECT_EQ(error(connect + login, true), "accepted");
    EXPECT_THAT(error(connect), HasSubstr("connect: needs user"));
    EXPECT_THAT(error(connect + "user='U'\n"), HasSubstr("connect: needs password_file"));
    EXPECT_THAT(error(connect + login + "listen='127.0.0.1:2'\n"), HasSubstr("listen: not with connect"));
    EXPECT_THAT(error(connect + login + "line_b='127.0.0.1:2'\n"), HasSubstr("line_b: not with connect"));
    EXPECT_THAT(error(connect + login + "reorder_us=1\n"), HasSubstr("reorder_us: not with connect"));
    EXPECT_THAT(error(connect + login + "rerequest='127.0.0.1:2'\n"),
                HasSubstr("rerequest: not with connect; the server sends what was missed"));
    EXPECT_THAT(error("format='bbo28'\nconnect='127.0.0.1:1'\n"),
                HasSubstr("connect: bbo28 feeds are received as datagrams only"));
    EXPECT_THAT(error("format='itch'\nconnect='239.1.1.1:1'\n" + login), HasSubstr("is not the address of a server"));
    EXPECT_THAT(error("format='itch'\nlisten='127.0.0.1:1'\n" + login), HasSubstr("user: needs connect or glimpse"));
    EXPECT_THAT(error("format='itch'\nlisten='127.0.0.1:1'\nsession='X'\n"), HasSubstr("session: needs connect"));
    EXPECT_THAT(error("format='itch'\nlisten='127.0.0.1:1'\nsequence=5\n"), HasSubstr("sequence: needs connect"));
    EXPECT_THAT(error(connect + login + "session='A B'\n"), HasSubstr("visible ASCII characters only"));
    EXPECT_THAT(error(connect + "user='TOOLONG'\npassword_file='x'\n"), HasSubstr("'user'"));
    EXPECT_THAT(error(connect + "user='U'\npassword_file='/nonexistent'\n", true), HasSubstr("/nonexistent"));
    EXPECT_THAT(error(connect + "user='U'\npassword_file='" + longer.path() + "'\n", true),
                HasSubstr("has 11 characters, SoupBinTCP allows 10"));
    EXPECT_THAT(error("format='itch'\n"), HasSubstr("key 'listen' is missing"));
}

}  // namespace
}  // namespace millpond::app
