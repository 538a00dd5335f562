#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <poll.h>

#include <millpond/core/clock.hpp>
#include <millpond/net/soupbin_client.hpp>

#include "tests/net/soupbin_peer.hpp"

namespace millpond::net {
namespace {

using test::SoupBinPeer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kPatience = 60 * kSecond;

/// Events as texts: "login DAY001 1 new", "1 abc", "heartbeat 2", "end 2".
struct Recorder {
    std::vector<std::string> events;
    void on_login(const soupbin::Session& session, std::uint64_t next, bool is_new) {
        events.push_back("login " + std::string{session.view()} + " " + std::to_string(next) + (is_new ? " new" : ""));
    }
    void on_message(std::span<const std::byte> bytes, std::uint64_t number) {
        events.push_back(std::to_string(number) + " " +
                         std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    void on_heartbeat(std::uint64_t next) { events.push_back("heartbeat " + std::to_string(next)); }
    void on_end_of_session(std::uint64_t next) { events.push_back("end " + std::to_string(next)); }
};

/// A client whose clock the test sets, and a server that sends what the test tells it.
class SoupBinClientTest : public ::testing::Test {
protected:
    explicit SoupBinClientTest(SoupBinClient::Options options = {}) : client_(completed(std::move(options))) {}

    SoupBinClient::Options completed(SoupBinClient::Options options) const {
        options.connection.server = peer_.address();
        options.connection.user = core::FixedString<6>{"ALICE"};
        options.connection.password = core::FixedString<10>{"secret"};
        return options;
    }
    /// Polls until `done`; false after a timeout.
    bool until(const std::function<bool()>& done) {
        const auto deadline = core::monotonic_nanos() + kPatience;
        while (!done()) {
            if (core::monotonic_nanos() > deadline) return false;
            if (client_.poll(events_) == 0) std::this_thread::yield();
        }
        return true;
    }
    bool until_events(std::size_t count) {
        return until([&] { return events_.events.size() >= count; });
    }
    void beat(std::int64_t later = 0) {
        now_ += later;
        client_.on_timer(now_);
    }
    /// Connects, and returns the login request without its header.
    std::string login_request() {
        beat();
        return next_login_request();
    }
    std::string next_login_request() {
        EXPECT_TRUE(until([&] { return peer_.has_caller(); }));
        peer_.accept();
        EXPECT_TRUE(until([&] { return peer_.received().size() >= soupbin::kLoginRequestBytes; }));
        return peer_.received().substr(soupbin::kHeaderBytes);
    }
    void log_in(std::string_view session = "DAY001", std::uint64_t next = 1) {
        static_cast<void>(login_request());
        peer_.accept_login(session, next);
        ASSERT_TRUE(until_events(1));
    }
    /// Waits for the next login request, whose session and number must be these, and answers it.
    void expect_login(std::string_view session, std::uint64_t sequence, std::string_view answer, std::uint64_t next) {
        beat();
        beat(60 * kSecond);
        const auto number = std::to_string(sequence);
        EXPECT_EQ(next_login_request().substr(16), std::string(10 - session.size(), ' ') + std::string{session} +
                                                       std::string(20 - number.size(), ' ') + number);
        peer_.accept_login(answer, next);
    }
    /// Waits until the client has noticed its failure.
    void expect_failure(SoupBinFailure failure) {
        ++failures_;
        ASSERT_TRUE(until([&] { return client_.counters().failures.read() == failures_; }));
        EXPECT_EQ(client_.status().failure, failure) << to_string(client_.status().failure, client_.status().detail);
        EXPECT_FALSE(client_.status().is_logged_in);
    }

    SoupBinPeer peer_;
    Recorder events_;
    SoupBinClient client_;
    std::int64_t now_{1'000 * kSecond};
    std::uint64_t failures_{0};
};

TEST_F(SoupBinClientTest, LogsInWithABlankSessionFromMessage1AndNumbersTheMessages) {
    EXPECT_EQ(login_request(), "ALICE secret              " + std::string(19, ' ') + "1");
    peer_.send('+', "hello");
    peer_.accept_login("DAY001", 1);
    peer_.send('S', "one");
    peer_.send('+');
    peer_.send('S', "");
    peer_.send('H');
    ASSERT_TRUE(until_events(4));
    EXPECT_THAT(events_.events, ElementsAre("login DAY001 1 new", "1 one", "2 ", "heartbeat 3"));
    EXPECT_TRUE(client_.status().is_logged_in);
    EXPECT_EQ(client_.counters().messages.read(), 2U);
}

TEST_F(SoupBinClientTest, PacketsMayArriveByteByByteAndAreReadInPlaceUpToTheLongest) {
    log_in();
    const std::string longest(soupbin::kMaxPayloadBytes, 'x');
    std::vector<std::byte> packets(3 * soupbin::kHeaderBytes + 6);
    soupbin::write_header(packets.data(), 'S', 6);
    soupbin::write_header(packets.data() + 9, 'H', 0);
    for (std::size_t i = 0; i < 12; ++i) {
        peer_.send(std::span{packets}.subspan(i, 1));
        for (int j = 0; j < 10; ++j) static_cast<void>(client_.poll(events_));
    }
    ASSERT_TRUE(until_events(3));
    std::thread sender{[&] {
        for (int i = 0; i < 20; ++i) {
            std::vector<std::byte> packet(soupbin::kMaxPacketBytes, std::byte{'x'});
            soupbin::write_header(packet.data(), 'S', soupbin::kMaxPayloadBytes);
            for (std::size_t sent = 0; sent < packet.size();) {
                pollfd wait{peer_.client(), POLLOUT, 0};
                ::poll(&wait, 1, -1);
                const auto took = ::send(peer_.client(), packet.data() + sent, packet.size() - sent, MSG_NOSIGNAL);
                if (took > 0) sent += static_cast<std::size_t>(took);
            }
        }
    }};
    EXPECT_TRUE(until_events(23));
    sender.join();
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(events_.events[3 + i], std::to_string(i + 2) + " " + longest) << i;
}

TEST_F(SoupBinClientTest, SendsAHeartbeatAfterASecondWithoutOtherDataButNotBeforeTheLogin) {
    static_cast<void>(login_request());
    beat(kSecond);
    beat(kSecond);
    EXPECT_EQ(peer_.received().size(), soupbin::kLoginRequestBytes);
    peer_.accept_login("DAY001", 1);
    ASSERT_TRUE(until_events(1));
    beat();
    beat(kSecond / 2);
    EXPECT_EQ(peer_.received().size(), soupbin::kLoginRequestBytes);
    beat(kSecond / 2);
    const auto received = [&](std::size_t bytes) {
        return until([&] { return peer_.received().size() >= soupbin::kLoginRequestBytes + bytes; });
    };
    ASSERT_TRUE(received(3));
    EXPECT_THAT(peer_.received(), ::testing::EndsWith(std::string{"\x00\x01R", 3}));
    beat(kSecond / 2);
    ASSERT_TRUE(client_.send(std::as_bytes(std::span{std::string_view{"order"}})));
    beat(kSecond / 2);  // not due: the order was sent
    ASSERT_TRUE(received(11));
    EXPECT_THAT(peer_.received(), ::testing::EndsWith(std::string{"\x00\x06Uorder", 8}));
    beat(kSecond);
    ASSERT_TRUE(received(14));
}

TEST_F(SoupBinClientTest, ReconnectsAtTheNextNumberAfterPausesThatGrowUntilTheServerSendsAgain) {
    log_in();
    peer_.send('S', "one");
    ASSERT_TRUE(until_events(2));
    peer_.hang_up();
    expect_failure(SoupBinFailure::closed);
    beat();  // the pause begins
    beat(kSecond / 20);
    EXPECT_FALSE(peer_.has_caller());
    beat(kSecond / 20);
    EXPECT_EQ(next_login_request().substr(16), "    DAY001" + std::string(19, ' ') + "2");
    peer_.hang_up();
    expect_failure(SoupBinFailure::closed);
    beat();
    beat(kSecond * 19 / 100);
    EXPECT_FALSE(peer_.has_caller());
    beat(kSecond / 100);
    static_cast<void>(next_login_request());
    peer_.accept_login("DAY001", 2);
    peer_.send('S', "two");
    ASSERT_TRUE(until_events(4));
    peer_.hang_up();
    expect_failure(SoupBinFailure::closed);
    beat();
    beat(kSecond / 10);  // the first pause again
    EXPECT_EQ(next_login_request().substr(16), "    DAY001" + std::string(19, ' ') + "3");
    EXPECT_THAT(events_.events, ElementsAre("login DAY001 1 new", "1 one", "login DAY001 2", "2 two"));
}

TEST_F(SoupBinClientTest, AServerThatFallsSilentIsDroppedAlsoWithHalfAPacket) {
    log_in();
    const std::array<std::byte, 2> half{std::byte{0}, std::byte{9}};
    peer_.send(half);
    for (int i = 0; i < 100; ++i) static_cast<void>(client_.poll(events_));
    ASSERT_TRUE(until([&] {
        static_cast<void>(client_.poll(events_));
        beat(kSecond);
        return !client_.status().is_logged_in;
    }));
    EXPECT_EQ(client_.status().failure, SoupBinFailure::silent);
    ASSERT_TRUE(until([&] { return peer_.has_left(); }));
}

TEST_F(SoupBinClientTest, AServerThatAcceptsTheConnectionButNotTheLoginIsDropped) {
    static_cast<void>(login_request());
    for (int i = 0; i < 7; ++i) beat(kSecond);
    expect_failure(SoupBinFailure::no_login);
}

TEST_F(SoupBinClientTest, AServerThatSendsOtherThingsInsteadOfTheAnswerToTheLoginIsDroppedToo) {
    static_cast<void>(login_request());
    ASSERT_TRUE(until([&] {
        peer_.send('+', "please wait");
        static_cast<void>(client_.poll(events_));
        beat(kSecond);
        return client_.counters().failures.read() == 1;
    }));
    EXPECT_EQ(client_.status().failure, SoupBinFailure::no_login);
}

TEST_F(SoupBinClientTest, ARejectedPasswordIsReportedAndTriedAgainAfterTheLongestPauseOnly) {
    static_cast<void>(login_request());
    peer_.send('J', "A");
    expect_failure(SoupBinFailure::not_authorized);
    EXPECT_EQ(to_string(client_.status().failure, 0), "the server rejected user and password");
    EXPECT_EQ(client_.counters().rejects.read(), 1U);
    beat();
    beat(29 * kSecond);
    EXPECT_FALSE(peer_.has_caller());
    beat(kSecond);
    static_cast<void>(next_login_request());
}

TEST_F(SoupBinClientTest, ASessionThatIsGoneIsFollowedByTheActiveOneFromItsFirstMessage) {
    log_in("DAY001", 7);
    peer_.hang_up();
    expect_failure(SoupBinFailure::closed);
    beat();
    beat(kSecond);
    EXPECT_EQ(next_login_request().substr(16), "    DAY001" + std::string(19, ' ') + "7");
    peer_.send('J', "S");
    expect_failure(SoupBinFailure::session_unavailable);
    beat();
    beat(kSecond);
    EXPECT_EQ(next_login_request().substr(16), "          " + std::string(19, ' ') + "1");
    peer_.accept_login("DAY002", 1);
    ASSERT_TRUE(until_events(2));
    EXPECT_THAT(events_.events, ElementsAre("login DAY001 7 new", "login DAY002 1 new"));
}

TEST_F(SoupBinClientTest, ASessionThatComesBackAfterItWasGoneGoesOnAtTheNextNumber) {
    log_in();
    for (const auto* message : {"one", "two"}) peer_.send('S', message);
    ASSERT_TRUE(until_events(3));
    peer_.hang_up();
    expect_failure(SoupBinFailure::closed);
    for (int i = 0; i < 2; ++i) {
        beat();
        beat(kSecond);
        static_cast<void>(next_login_request());
        peer_.send('J', "S");
        expect_failure(SoupBinFailure::session_unavailable);
    }
    beat();
    beat(kSecond);
    EXPECT_EQ(next_login_request().substr(16), "          " + std::string(19, ' ') + "1");
    peer_.accept_login("DAY001", 1);
    for (const auto* message : {"one", "two", "three"}) peer_.send('S', message);
    ASSERT_TRUE(until_events(5));
    EXPECT_THAT(events_.events, ElementsAre("login DAY001 1 new", "1 one", "2 two", "login DAY001 3", "3 three"));
    EXPECT_EQ(client_.counters().duplicates.read(), 2U);
    peer_.hang_up();
    expect_failure(SoupBinFailure::closed);
    beat();
    beat(kSecond);
    EXPECT_EQ(next_login_request().substr(16), "    DAY001" + std::string(19, ' ') + "4");
}

TEST_F(SoupBinClientTest, ASessionThatComesBackInPlaceOfAnotherIsRequestedFromTheNextNumber) {
    log_in("DAY001", 3);
    peer_.hang_up();
    expect_failure(SoupBinFailure::closed);
    const auto answer = [&](std::string_view requested, std::string_view session, std::uint64_t next) {
        beat();
        beat(kSecond);
        EXPECT_EQ(next_login_request().substr(16), requested);
        peer_.accept_login(session, next);
    };
    answer("    DAY001" + std::string(19, ' ') + "3", "DAY002", 9);
    expect_failure(SoupBinFailure::other_session);
    answer("    DAY002" + std::string(19, ' ') + "1", "DAY001", 5);
    expect_failure(SoupBinFailure::other_session);
    answer("    DAY001" + std::string(19, ' ') + "3", "DAY001", 3);
    ASSERT_TRUE(until_events(2));
    EXPECT_THAT(events_.events, ElementsAre("login DAY001 3 new", "login DAY001 3"));
}

TEST_F(SoupBinClientTest, AnotherSessionAtTheReconnectIsRequestedFromItsFirstMessage) {
    log_in("DAY001", 500);
    peer_.hang_up();
    expect_failure(SoupBinFailure::closed);
    beat();
    beat(kSecond);
    static_cast<void>(next_login_request());
    peer_.accept_login("DAY002", 20);  // a server that ignores the requested session
    peer_.send('S', "dropped");
    expect_failure(SoupBinFailure::other_session);
    beat();
    beat(kSecond);
    EXPECT_EQ(next_login_request().substr(16), "    DAY002" + std::string(19, ' ') + "1");
    peer_.accept_login("DAY002", 1);
    ASSERT_TRUE(until_events(2));
    EXPECT_THAT(events_.events, ElementsAre("login DAY001 500 new", "login DAY002 1 new"));
}

TEST_F(SoupBinClientTest, AfterTheEndOfASessionItLogsInToTheNextOneAndNotToTheSameAgain) {
    log_in();
    peer_.send('S', "one");
    peer_.send('Z');
    ASSERT_TRUE(until_events(3));
    EXPECT_EQ(events_.events.back(), "end 2");
    EXPECT_EQ(client_.status().failure, SoupBinFailure::none);
    peer_.hang_up();
    beat();
    beat(kSecond);
    EXPECT_EQ(next_login_request().substr(16), "          " + std::string(19, ' ') + "1");
    peer_.accept_login("DAY001", 1);
    peer_.send('S', "one");
    expect_failure(SoupBinFailure::same_session);
    beat();
    beat(kSecond);
    static_cast<void>(next_login_request());
    peer_.accept_login("DAY002", 1);
    ASSERT_TRUE(until_events(4));
    EXPECT_EQ(events_.events.back(), "login DAY002 1 new");
}

/// A client whose session DAY001 has ended with message 3, at a server that still has a session of this name.
class SoupBinAfterTheEnd : public SoupBinClientTest {
protected:
    void SetUp() override {
        log_in();
        for (const auto* message : {"one", "two", "three"}) peer_.send('S', message);
        peer_.send('Z');
        ASSERT_TRUE(until_events(5));
        EXPECT_EQ(events_.events.back(), "end 4");
        events_.events.clear();
        peer_.hang_up();
        expect_login("", 1, "DAY001", 1);
        peer_.send('S', "uno");
        expect_failure(SoupBinFailure::same_session);
    }
    void TearDown() override { EXPECT_THAT(events_.events, ElementsAre("login DAY001 1 new", "1 uno")); }
    /// The client joins the session that has the name now.
    void expect_join() {
        expect_failure(SoupBinFailure::went_back);
        expect_login("DAY001", 1, "DAY001", 1);
        peer_.send('S', "uno");
        ASSERT_TRUE(until_events(2));
    }
};

TEST_F(SoupBinAfterTheEnd, ANameWhoseNumbersHaveRestartedIsAnotherSession) {
    expect_login("", 4, "DAY001", 2);
    expect_join();
}

TEST_F(SoupBinAfterTheEnd, SoItIsIfTheServerHasAMessageAfterTheLastOne) {
    expect_login("", 4, "DAY001", 4);
    peer_.send('S', "cuatro");
    expect_join();
}

TEST_F(SoupBinAfterTheEnd, SoItIsIfAHeartbeatShowsThatTheServerHasFewerMessages) {
    expect_login("", 4, "DAY001", 1);
    peer_.send('S', "uno");
    peer_.send('H');
    expect_join();
}

TEST_F(SoupBinAfterTheEnd, TheEndedSessionIsNotJoinedWhateverItsServerRepeats) {
    for (int i = 0; i < 3; ++i) {
        expect_login("", 4, "DAY001",
                     i == 0 ? 1 : 4);  // a server that ignores the requested number, and one that does not
        if (i == 0) {
            for (const auto* message : {"one", "two", "three"}) peer_.send('S', message);
        }
        if (i != 2) {
            peer_.send('H');
            peer_.send('Z');
            ++failures_;  // the heartbeat shows nothing new
        } else {
            peer_.hang_up();
            expect_failure(SoupBinFailure::closed);
        }
        ASSERT_TRUE(until([&] { return peer_.has_left() || i == 2; }));
        EXPECT_EQ(client_.status().failure, i == 2 ? SoupBinFailure::closed : SoupBinFailure::same_session);
        EXPECT_THAT(events_.events, ElementsAre());
        expect_login("", 1, "DAY001", 1);
        expect_failure(SoupBinFailure::same_session);
    }
    expect_login("", 4, "DAY001", 3);
    expect_join();
}

TEST_F(SoupBinAfterTheEnd, AHeartbeatThatShowsNothingNewEndsTheConnection) {
    expect_login("", 4, "DAY001", 4);
    peer_.send('H');
    expect_failure(SoupBinFailure::same_session);
    expect_login("", 1, "DAY001", 1);
    expect_failure(SoupBinFailure::same_session);
    expect_login("", 4, "DAY001", 4);
    peer_.send('S', "cuatro");
    expect_join();
}

TEST_F(SoupBinAfterTheEnd, ASessionWithAnotherNameIsJoinedFromItsFirstMessage) {
    expect_login("", 4, "DAY002", 3);
    expect_failure(SoupBinFailure::other_session);
    expect_login("DAY002", 1, "DAY002", 1);
    peer_.send('S', "uno");
    ASSERT_TRUE(until_events(2));
    EXPECT_EQ(events_.events[0], "login DAY002 1 new");
    events_.events[0] = "login DAY001 1 new";  // as in the other tests
}

constexpr std::uint64_t kAbsurd = 1'000'000'000'000'000;

TEST_F(SoupBinClientTest, ANumberFarAheadInTheAnswerToALoginIsForgottenIfNothingFollowsIt) {
    log_in();
    peer_.send('S', "one");
    ASSERT_TRUE(until_events(2));
    for (int i = 0; i < 2; ++i) {
        peer_.hang_up();
        expect_failure(SoupBinFailure::closed);
        expect_login("DAY001", 2, "DAY001", kAbsurd);
        ASSERT_TRUE(until_events(3 + static_cast<std::size_t>(i)));
        EXPECT_TRUE(client_.is_in_doubt());
    }
    peer_.hang_up();
    expect_failure(SoupBinFailure::closed);
    expect_login("DAY001", 2, "DAY001", 2);
    peer_.send('S', "two");
    ASSERT_TRUE(until_events(6));
    EXPECT_EQ(events_.events[5], "2 two");
    EXPECT_FALSE(client_.is_in_doubt());
}

TEST_F(SoupBinClientTest, ANumberFarAheadThatTheServerDoesNotConfirmLaterMakesTheSessionBeginAgain) {
    log_in();
    peer_.hang_up();
    expect_failure(SoupBinFailure::closed);
    expect_login("DAY001", 1, "DAY001", kAbsurd);
    peer_.send('S', "one");
    ASSERT_TRUE(until_events(3));
    peer_.hang_up();
    expect_failure(SoupBinFailure::closed);
    expect_login("DAY001", kAbsurd + 1, "DAY001", 2);
    expect_failure(SoupBinFailure::went_back);
    expect_login("DAY001", 1, "DAY001", 1);
    peer_.send('S', "one");
    ASSERT_TRUE(until_events(5));
    EXPECT_EQ(events_.events[3], "login DAY001 1 new");
    EXPECT_EQ(events_.events[4], "1 one");
}

TEST_F(SoupBinClientTest, AHeartbeatBelowTheNextNumberMakesTheSessionBeginAgain) {
    log_in();
    for (const auto* message : {"one", "two"}) peer_.send('S', message);
    ASSERT_TRUE(until_events(3));
    peer_.hang_up();
    expect_failure(SoupBinFailure::closed);
    expect_login("DAY001", 3, "DAY001", 1);
    peer_.send('S', "uno");
    peer_.send('H');
    expect_failure(SoupBinFailure::went_back);
    expect_login("DAY001", 1, "DAY001", 1);
    for (const auto* message : {"uno", "dos"}) peer_.send('S', message);
    ASSERT_TRUE(until_events(7));
    EXPECT_THAT(events_.events, ElementsAre("login DAY001 1 new", "1 one", "2 two", "login DAY001 3",
                                            "login DAY001 1 new", "1 uno", "2 dos"));
}

TEST_F(SoupBinClientTest, ANumberOf2To63OrMoreIsMalformed) {
    static_cast<void>(login_request());
    peer_.accept_login("DAY001", std::uint64_t{1} << 63U);
    expect_failure(SoupBinFailure::bad_login);
    expect_login("", 1, "DAY001", 1);
    ASSERT_TRUE(until_events(1));
}

TEST_F(SoupBinClientTest, AServerThatStartsTooEarlyRepeatsNothingAndOneThatStartsTooLateShowsInTheNumbers) {
    log_in("DAY001", 3);
    peer_.send('S', "three");
    ASSERT_TRUE(until_events(2));
    peer_.hang_up();
    expect_failure(SoupBinFailure::closed);
    beat();
    beat(kSecond);
    static_cast<void>(next_login_request());
    peer_.accept_login("DAY001", 2);
    for (const auto* message : {"two", "three", "four"}) peer_.send('S', message);
    ASSERT_TRUE(until_events(4));
    EXPECT_THAT(events_.events, ElementsAre("login DAY001 3 new", "3 three", "login DAY001 4", "4 four"));
    EXPECT_EQ(client_.counters().duplicates.read(), 2U);
    peer_.hang_up();
    expect_failure(SoupBinFailure::closed);
    beat();
    beat(kSecond);
    static_cast<void>(next_login_request());
    peer_.accept_login("DAY001", 9);
    peer_.send('S', "nine");
    ASSERT_TRUE(until_events(6));
    EXPECT_EQ(events_.events[4], "login DAY001 9");
    EXPECT_EQ(events_.events[5], "9 nine");
}

TEST_F(SoupBinClientTest, BytesThatAreNotOfTheProtocolEndTheConnectionByName) {
    const auto failure_of = [&](const std::function<void()>& misbehave) {
        if (!peer_.has_caller()) beat();
        beat(60 * kSecond);
        static_cast<void>(next_login_request());
        misbehave();
        EXPECT_TRUE(until([&] { return peer_.has_left(); }));
        peer_.hang_up();
        const auto status = client_.status();
        beat();
        return to_string(status.failure, status.detail);
    };
    EXPECT_EQ(failure_of([&] { peer_.send('S', "early"); }), "the server sent an unexpected packet of type 'S'");
    EXPECT_EQ(failure_of([&] { peer_.send('\x1b', "early"); }), "the server sent an unexpected packet of type 0x1b");
    EXPECT_EQ(failure_of([&] { peer_.send('J', "\xff"); }), "the server rejected the login with code 0xff");
    EXPECT_EQ(failure_of([&] { peer_.send('A', "short"); }), "the server's session or sequence number is malformed");
    EXPECT_EQ(failure_of([&] { peer_.send(std::array{std::byte{0}, std::byte{0}}); }),
              "the server sent a packet of length 0");
    EXPECT_EQ(failure_of([&] { peer_.send('J', "X"); }), "the server rejected the login with code 'X'");
    EXPECT_EQ(failure_of([&] {
                  peer_.accept_login("DAY001", 1);
                  peer_.accept_login("DAY001", 1);
              }),
              "the server sent an unexpected packet of type 'A'");
    EXPECT_EQ(client_.counters().failures.read(), 7U);
}

TEST_F(SoupBinClientTest, PacketsOfUnknownTypesAreCountedAndIgnored) {
    log_in();
    peer_.send('?', "new");
    peer_.send('S', "one");
    ASSERT_TRUE(until_events(2));
    EXPECT_EQ(client_.counters().unknown.read(), 1U);
}

TEST_F(SoupBinClientTest, ARefusedConnectionIsReportedAndTriedAgain) {
    peer_.stop();
    beat();
    expect_failure(SoupBinFailure::cannot_connect);
    EXPECT_THAT(to_string(client_.status().failure, client_.status().detail),
                HasSubstr("cannot connect: Connection refused"));
    EXPECT_FALSE(client_.send({}));
}

TEST_F(SoupBinClientTest, ItsDescriptorIsReadableWhenThereIsSomethingToDoAcrossReconnects) {
    const auto readable = [&] {
        pollfd wait{client_.fd(), POLLIN, 0};
        return ::poll(&wait, 1, 0) == 1;
    };
    EXPECT_FALSE(readable());
    log_in();
    ASSERT_TRUE(until([&] { return !readable(); }));
    peer_.send('S', "one");
    const auto deadline = core::monotonic_nanos() + kPatience;
    while (!readable()) ASSERT_LT(core::monotonic_nanos(), deadline);
    ASSERT_TRUE(until_events(2));
    peer_.hang_up();
    expect_failure(SoupBinFailure::closed);
    EXPECT_FALSE(readable());
}

class SoupBinClientOfNewest : public SoupBinClientTest {
protected:
    SoupBinClientOfNewest() : SoupBinClientTest({.session = soupbin::Session{"DAY001"}, .sequence = 0}) {}
};

TEST_F(SoupBinClientOfNewest, SequenceZeroBeginsWithTheNewestMessageAndContinuesFromThere) {
    EXPECT_EQ(login_request().substr(16), "    DAY001" + std::string(19, ' ') + "0");
    peer_.accept_login("DAY001", 900);
    peer_.hang_up();
    ASSERT_TRUE(until_events(1));
    expect_failure(SoupBinFailure::closed);
    beat();
    beat(kSecond);
    EXPECT_EQ(next_login_request().substr(16), "    DAY001" + std::string(17, ' ') + "900");
}

}  // namespace
}  // namespace millpond::net
