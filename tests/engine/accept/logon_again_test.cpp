// A peer logs on again immediately, on another I/O thread than the listener's: the end of its first connection and its
// new Logon reach two threads in any order.

#include <chrono>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/engine/engine_pair.hpp"
#include "tests/engine/fix_text.hpp"
#include "tests/engine/raw_client.hpp"

namespace millpond::engine {
namespace {

constexpr std::chrono::milliseconds kAtOnce{0};

class LogonAgain : public testing::Test {
protected:
    SessionHandle& add(Acceptor& acceptor, IoThread& on) {
        return acceptor.add({.config = {.sender_comp_id = "HOUSE", .target_comp_id = "A"}, .dictionary = &dictionary_},
                            house_, &on);
    }
    static void poll(IoThread& io) {
        for (int i = 0; i < 4; ++i) io.poll(kAtOnce);
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    Counterparty house_;
};

TEST_F(LogonAgain, ANewLogonThatIsReadBeforeTheEndOfTheFirstConnectionIsNotADuplicate) {
    for (const bool by_logout : {true, false}) {
        IoThread listening;
        IoThread running;
        Acceptor acceptor{listening, {}};
        add(acceptor, running);
        RawClient first{acceptor.port()};
        first.send(message("FIX.4.4", "A", 1, "A", "98=0|108=30|"));
        poll(listening);
        poll(running);
        ASSERT_NE(first.received().find("35=A"), std::string::npos);
        // The session's thread is busy in the meantime.
        if (by_logout) first.send(message("FIX.4.4", "5", 2, "A", ""));
        first.end();
        RawClient second{acceptor.port()};
        second.send(message("FIX.4.4", "A", by_logout ? 3 : 2, "A", "98=0|108=30|"));
        poll(listening);
        EXPECT_FALSE(second.over());
        poll(running);
        poll(listening);
        EXPECT_NE(second.received().find("35=A"), std::string::npos) << by_logout;
        EXPECT_EQ(acceptor.counters().duplicate.read(), 0U);
        EXPECT_EQ(acceptor.connected(), 1U);
    }
}

TEST_F(LogonAgain, ASecondConnectionBesideALivingOneIsStillADuplicate) {
    IoThread listening;
    IoThread running;
    Acceptor acceptor{listening, {}};
    add(acceptor, running);
    RawClient first{acceptor.port()};
    first.send(message("FIX.4.4", "A", 1, "A", "98=0|108=30|"));
    poll(listening);
    poll(running);
    RawClient second{acceptor.port()};
    second.send(message("FIX.4.4", "A", 2, "A", "98=0|108=30|"));
    for (int i = 0; i < 3; ++i) {
        poll(listening);
        poll(running);
    }
    second.receive();
    EXPECT_TRUE(second.over());
    EXPECT_EQ(second.received(), "");
    EXPECT_EQ(acceptor.counters().duplicate.read(), 1U);
    first.forget();
    first.send(message("FIX.4.4", "1", 2, "A", "112=still|"));
    poll(running);
    EXPECT_NE(first.received().find("112=still"), std::string::npos);
}

TEST_F(LogonAgain, AnAcceptorMayGoWhileADuplicateIsOnItsWay) {
    IoThread listening;
    IoThread running;
    std::optional<RawClient> first;
    std::optional<RawClient> second;
    {
        Acceptor acceptor{listening, {}};
        add(acceptor, running);
        first.emplace(acceptor.port());
        first->send(message("FIX.4.4", "A", 1, "A", "98=0|108=30|"));
        poll(listening);
        poll(running);
        second.emplace(acceptor.port());
        second->send(message("FIX.4.4", "A", 2, "A", "98=0|108=30|"));
        poll(listening);
        poll(running);  // a duplicate, of which the listener does not know yet
    }
    poll(listening);
    second->receive();
    EXPECT_TRUE(second->over());
}

TEST_F(LogonAgain, AThousandTimesWithThreads) {
    IoThread listening;
    IoThread running;
    IoThread waiting;  // has no sessions: the test only waits with it
    Acceptor acceptor{listening, {}};
    add(acceptor, running);
    listening.start();
    running.start();
    int number = 1;
    for (int i = 0; i < 1'000; ++i) {
        RawClient client{acceptor.port()};
        client.send(message("FIX.4.4", "A", number++, "A", "98=0|108=30|"));
        ASSERT_TRUE(
            run_until(waiting, [&] { return client.received().find("35=A") != std::string::npos || client.over(); }));
        ASSERT_FALSE(client.over()) << i;
        client.send(message("FIX.4.4", "5", number++, "A", ""));
        if (i % 2 == 0) {
            ASSERT_TRUE(run_until(waiting, [&] { return client.received().find("35=5") != std::string::npos; }));
        }
    }
    EXPECT_EQ(acceptor.counters().duplicate.read(), 0U);
    running.stop();
    listening.stop();
    EXPECT_EQ(house_.logons, 1'000);
}

}  // namespace
}  // namespace millpond::engine
