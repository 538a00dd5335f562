// A callback of the application throws: the exception reaches the caller that runs the I/O thread, and the engine
// continues.

#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "tests/engine/engine_pair.hpp"
#include "tests/engine/fix_text.hpp"
#include "tests/engine/raw_client.hpp"

namespace millpond::engine {
namespace {

struct Throwing : Application {
    fix::Verdict on_message(SessionLink&, const fix::Message&) override {
        if (on_orders) throw std::runtime_error("on_message");
        return fix::Verdict::accepted;
    }
    void on_logon(SessionLink&) override { ++logons; }
    void on_logout(SessionLink&, std::string_view) override {
        if (on_logouts) throw std::runtime_error("on_logout");
    }
    void on_closed(SessionLink&, Closed reason) override {
        closed = reason;
        ++ends;
        if (on_ends) throw std::runtime_error("on_closed");
    }
    bool on_orders{false};
    bool on_logouts{false};
    bool on_ends{false};
    std::atomic<int> logons{0};
    std::atomic<int> ends{0};
    std::atomic<Closed> closed{Closed::none};
};

class CallbackException : public testing::Test {
protected:
    void add(Acceptor& acceptor) {
        acceptor.add({.config = {.sender_comp_id = "HOUSE", .target_comp_id = "A"}, .dictionary = &dictionary_},
                     application_);
    }
    void log_on(RawClient& client, int number) {
        client.send(message("FIX.4.4", "A", number, "A", "98=0|108=30|"));
        ASSERT_TRUE(run_until(io_, [&] { return client.received().find("35=A") != std::string::npos; }));
    }
    /// Polls until a callback throws. Returns the exception's text.
    std::string thrown() {
        try {
            static_cast<void>(run_until(io_, [] { return false; }));
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "";
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    Throwing application_;
    IoThread io_;
};

TEST_F(CallbackException, OfOnClosedReachesThePollAndTheSessionConnectsAgain) {
    application_.on_ends = true;
    Acceptor acceptor{io_, {}};
    add(acceptor);
    {
        RawClient client{acceptor.port()};
        log_on(client, 1);
    }
    EXPECT_EQ(thrown(), "on_closed");
    EXPECT_EQ(application_.closed, Closed::by_peer);
    EXPECT_EQ(acceptor.connected(), 0U);
    EXPECT_EQ(acceptor.sessions()[0]->status().state, fix::Session::State::disconnected);
    RawClient again{acceptor.port()};
    log_on(again, 2);
    EXPECT_EQ(application_.logons, 2);
    // Still connected: the acceptor's destructor calls on_closed, which throws.
}

TEST_F(CallbackException, OfOnLogoutLeavesTheSessionDisconnectedAndOnClosedIsCalled) {
    application_.on_logouts = true;
    Acceptor acceptor{io_, {}};
    add(acceptor);
    {
        RawClient client{acceptor.port()};
        log_on(client, 1);
    }
    EXPECT_EQ(thrown(), "on_logout");
    EXPECT_TRUE(run_until(io_, [&] { return application_.ends == 1; }));
    EXPECT_EQ(acceptor.connected(), 0U);
    RawClient again{acceptor.port()};
    log_on(again, 2);
}

TEST_F(CallbackException, OfOnMessageEndsTheConnectionAndNoOther) {
    application_.on_orders = true;
    Acceptor acceptor{io_, {}};
    add(acceptor);
    acceptor.add({.config = {.sender_comp_id = "HOUSE", .target_comp_id = "B"}, .dictionary = &dictionary_},
                 application_);
    RawClient client{acceptor.port()};
    log_on(client, 1);
    RawClient other{acceptor.port()};
    other.send(message("FIX.4.4", "A", 1, "B", "98=0|108=30|"));
    ASSERT_TRUE(run_until(io_, [&] { return other.received().find("35=A") != std::string::npos; }));
    client.send(message("FIX.4.4", "D", 2, "A", "11=1|"));
    EXPECT_EQ(thrown(), "on_message");
    EXPECT_TRUE(run_until(io_, [&] { return client.receive(), client.over(); }));
    EXPECT_EQ(application_.closed, Closed::application_error);
    other.send(message("FIX.4.4", "1", 2, "B", "112=fine|"));
    EXPECT_TRUE(run_until(io_, [&] { return other.received().find("112=fine") != std::string::npos; }));
}

TEST_F(CallbackException, OnASeparateThreadIsPassedToTheHandlerAndTheThreadContinues) {
    application_.on_ends = true;
    std::atomic<int> caught{0};
    IoThread io{{.on_exception = [&](const std::exception_ptr& error) {
        try {
            std::rethrow_exception(error);
        } catch (const std::runtime_error&) {
            ++caught;
        }
    }}};
    Acceptor acceptor{io, {}};
    add(acceptor);
    io.start();
    for (int number = 1; number <= 3; ++number) {
        RawClient client{acceptor.port()};
        client.send(message("FIX.4.4", "A", number, "A", "98=0|108=30|"));
        ASSERT_TRUE(run_until(io_, [&] { return application_.logons == number; }));
        client.end();
        ASSERT_TRUE(run_until(io_, [&] { return caught == number; }));
    }
    EXPECT_EQ(application_.ends, 3);
    io.stop();
}

TEST_F(CallbackException, PostedWorkThatThrowsIsRunOnceAndTheRestInTheNextRound) {
    int first = 0;
    int second = 0;
    io_.post([&] {
        ++first;
        throw std::runtime_error("posted");
    });
    io_.post([&] { ++second; });
    EXPECT_EQ(thrown(), "posted");
    EXPECT_EQ(second, 0);
    io_.poll(std::chrono::milliseconds{0});
    io_.poll(std::chrono::milliseconds{0});
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 1);
}

}  // namespace
}  // namespace millpond::engine
