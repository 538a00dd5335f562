// The SoupBinTCP server of replay and its GLIMPSE snapshots, with the client of the library.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/glimpse_layout.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/net/soupbin_client.hpp>

#include "apps/millpond/traffic/glimpse_snapshot.hpp"
#include "apps/millpond/traffic/paced_session.hpp"
#include "apps/millpond/traffic/soupbin_server.hpp"
#include "tests/apps/itch_session.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

/// A client and what it has received.
struct Client {
    explicit Client(const net::SocketAddress& server, std::string_view session = {}, std::uint64_t sequence = 1)
        : client({.connection = {.server = server, .user = core::FixedString<6>{"U"}},
                  .session = net::soupbin::Session{session},
                  .sequence = sequence}) {}

    void on_login(const net::soupbin::Session& session, std::uint64_t next, bool) {
        name = session.view();
        first = next;
    }
    void on_message(std::span<const std::byte> bytes, std::uint64_t number) {
        messages.push_back(text_of(bytes));
        last = number;
    }
    void on_heartbeat(std::uint64_t) { ++heartbeats; }
    void on_end_of_session(std::uint64_t) { ended = true; }

    /// Polls until `done`, with work of the server in between.
    bool until(const std::function<bool()>& done, const std::function<void()>& serve = [] {}) {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (!done()) {
            if (core::monotonic_nanos() > deadline) return false;
            serve();
            client.on_timer(core::monotonic_nanos());
            if (client.poll(*this) == 0) std::this_thread::yield();
        }
        return true;
    }

    net::SoupBinClient client;
    std::string name;
    std::uint64_t first{0};
    std::uint64_t last{0};
    std::uint64_t heartbeats{0};
    bool ended{false};
    std::vector<std::string> messages;
};

class SoupBinServerTest : public ::testing::Test {
protected:
    SoupBinServerTest() {
        for (const auto* text : {"one", "two", "three", "four"}) messages_.add(bytes_of(text));
    }
    auto serve() {
        return [this] { server_.poll(0); };
    }

    traffic::SessionMessages messages_;
    std::shared_ptr<traffic::PacedSession> released_ = std::make_shared<traffic::PacedSession>(messages_);
    traffic::SoupBinServer server_{net::SocketAddress::parse("127.0.0.1:0"), "DAY001", [this] { return released_; }};
};

TEST_F(SoupBinServerTest, SendsMessagesAsTheyAreReleasedThenTheEndOfTheSession) {
    Client client{server_.address()};
    released_->release(2);
    ASSERT_TRUE(client.until([&] { return client.messages.size() == 2; }, serve()));
    EXPECT_EQ(client.name, "DAY001");
    ASSERT_TRUE(client.until([&] { return client.heartbeats == 1; }, serve()));
    released_->release(2);
    released_->end();
    ASSERT_TRUE(client.until([&] { return client.ended; }, serve()));
    EXPECT_THAT(client.messages, ElementsAre("one", "two", "three", "four"));
}

TEST_F(SoupBinServerTest, BeginsAtTheRequestedMessageAtTheNewestForZeroAndAtTheNextAtMost) {
    released_->release(3);
    for (const auto& [requested, first] : {std::pair<std::uint64_t, std::uint64_t>{2, 2}, {0, 3}, {9, 4}}) {
        Client client{server_.address(), "DAY001", requested};
        ASSERT_TRUE(client.until([&] { return client.first != 0; }, serve()));
        EXPECT_EQ(client.first, first) << requested;
    }
}

TEST_F(SoupBinServerTest, AnotherSessionIsRejected) {
    Client client{server_.address(), "DAY002"};
    ASSERT_TRUE(client.until([&] { return client.client.counters().rejects.read() == 1; }, serve()));
    EXPECT_EQ(client.client.status().failure, net::SoupBinFailure::session_unavailable);
}

TEST_F(SoupBinServerTest, AClientThatDoesNotReadHoldsUpNoOther) {
    traffic::SessionMessages many;
    const std::string long_message(1'000, 'x');
    for (int i = 0; i < 20'000; ++i) many.add(bytes_of(long_message));
    auto all = std::make_shared<traffic::PacedSession>(many);
    all->release(many.size());
    traffic::SoupBinServer server{net::SocketAddress::parse("127.0.0.1:0"), "DAY001", [&] { return all; }};
    Client slow{server.address()};
    ASSERT_TRUE(slow.until([&] { return slow.first != 0; }, [&] { server.poll(0); }));
    Client fast{server.address()};
    ASSERT_TRUE(fast.until([&] { return fast.messages.size() == many.size(); }, [&] { server.poll(0); }));
    ASSERT_TRUE(slow.until([&] { return slow.messages.size() == many.size(); }, [&] { server.poll(0); }));
    EXPECT_EQ(server.logins(), 2U);
}

// Worked out from "Nasdaq GLIMPSE", version 5.0 of 13 February 2026, section 1.7: type, then 20 digits and spaces.
TEST(GlimpseLayout, TheEndOfASnapshotHasTheBytesOfTheSpecification) {
    std::array<std::byte, feed::glimpse_layout::kEndBytes> end;
    feed::glimpse_layout::write_end(4'711, end);
    EXPECT_EQ(text_of(end), "G                4711");
    EXPECT_EQ(feed::glimpse_layout::read_end(end), 4'711U);
    EXPECT_EQ(feed::glimpse_layout::read_end(bytes_of("G00000000000000004711")), 4'711U);
    EXPECT_EQ(feed::glimpse_layout::read_end(bytes_of("G4711                ")), 4'711U);
    EXPECT_EQ(feed::glimpse_layout::read_end(bytes_of("G18446744073709551615")), 18'446'744'073'709'551'615U);
    for (const auto* bad :
         {"G                   0", "G                    ", "G               4 711", "G                -711",
          "G18446744073709551616", "S                4711", "G                711", ""})
        EXPECT_FALSE(feed::glimpse_layout::read_end(bytes_of(bad))) << bad;
}

TEST(GlimpseSnapshot, HasTheNewestStatesTheLiveOrdersAndTheNextNumber) {
    feed::ItchEncoder itch;
    traffic::GlimpseSnapshot snapshot;
    itch.set_head(1, 100);
    snapshot.apply(itch.system_event('O'));
    snapshot.apply(itch.directory("AAA"));
    snapshot.apply(itch.trading_action("AAA", 'H', "T1"));
    snapshot.apply(itch.trading_action("AAA", 'T', ""));
    snapshot.apply(itch.system_event('Q'));
    snapshot.apply(itch.order_added(10, 'B', 500, "AAA", 10'000, true));
    snapshot.apply(itch.order_added(11, 'S', 100, "AAA", 20'000));
    snapshot.apply(itch.order_added(12, 'S', 100, "AAA", 20'000));
    snapshot.apply(itch.order_added(13, 'S', 100, "AAA", 20'000));
    snapshot.apply(itch.order_executed(10, 200, 1));
    snapshot.apply(itch.order_reduced(11, 100));
    snapshot.apply(itch.order_deleted(12));
    snapshot.apply(itch.order_replaced(13, 14, 70, 30'000));
    std::multiset<std::string> got;
    const auto messages = snapshot.messages();
    for (const auto& message : messages) got.insert(text_of(message));
    std::multiset<std::string> wanted{"G                  14"};
    wanted.insert(text_of(itch.system_event('Q')));
    wanted.insert(text_of(itch.directory("AAA")));
    wanted.insert(text_of(itch.trading_action("AAA", 'T', "")));
    wanted.insert(text_of(itch.order_added(10, 'B', 300, "AAA", 10'000, true)));
    wanted.insert(text_of(itch.order_added(14, 'S', 70, "AAA", 30'000)));
    EXPECT_EQ(got, wanted);
    EXPECT_EQ(text_of(messages.back()), "G                  14");
}

TEST(ReplayServers, ReplayServesASessionBySoupBinTCPAtItsPaceAndSnapshotsOfIt) {
    const ItchSession session{200};
    const test::ScratchFile file{test::scratch_name("served.itch"), session.file()};
    Program replay{{"replay", file.path(), "--serve-soupbin", "127.0.0.1:0", "--serve-glimpse", "127.0.0.1:0",
                    "--speed", "max", "--session", "REPLAY"}};
    ASSERT_TRUE(replay.prints("GLIMPSE is served at "));
    Client client{net::SocketAddress::parse(replay.word_after("SoupBinTCP is served at "))};
    ASSERT_TRUE(client.until([&] { return client.ended; }));
    EXPECT_EQ(client.name, "REPLAY01");
    ASSERT_EQ(client.messages.size(), session.messages.size());
    for (std::uint64_t number = 1; number <= session.messages.size(); ++number)
        ASSERT_EQ(client.messages[number - 1], text_of(session.messages.message(number))) << number;
    Client late{net::SocketAddress::parse(replay.word_after("GLIMPSE is served at "))};
    ASSERT_TRUE(late.until([&] { return late.ended; }));
    EXPECT_EQ(feed::glimpse_layout::read_end(bytes_of(late.messages.back())), session.messages.size() + 1);
    replay.signal(SIGINT);
    const auto outcome = replay.wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out,
                HasSubstr("SoupBinTCP logins 1, messages sent " + std::to_string(session.messages.size())));
    EXPECT_THAT(outcome.out, HasSubstr("GLIMPSE logins 1, messages sent "));
}

TEST(ReplayServers, OptionsThatMakeNoSenseAreRefused) {
    const test::ScratchFile file{test::scratch_name("refused.itch"), ItchSession{10}.file()};
    const auto error = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments{"replay", file.path()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto outcome = run(arguments);
        EXPECT_EQ(outcome.exit_code, 2);
        return outcome.err;
    };
    EXPECT_THAT(error({}), HasSubstr("--serve-soupbin ADDRESS:PORT is needed"));
    EXPECT_THAT(error({"--serve-glimpse", "127.0.0.1:0"}), HasSubstr("--serve-soupbin ADDRESS:PORT is needed"));
    EXPECT_THAT(error({"--serve-soupbin", "127.0.0.1:0", "--drop", "0.1"}), HasSubstr("only with --to"));
    EXPECT_THAT(error({"--serve-soupbin", "here"}), HasSubstr("--serve-soupbin: "));
}

}  // namespace
}  // namespace millpond::app
