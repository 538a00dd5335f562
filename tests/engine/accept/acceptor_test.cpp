#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <millpond/engine/acceptor.hpp>

#include "tests/engine/fix_text.hpp"

namespace millpond::engine {
namespace {

/// Keeps received messages, and sends as many messages as requested.
class Desk : public Application {
public:
    fix::Verdict on_message(SessionLink& link, const fix::Message& order) override {
        orders.emplace_back(order.text(fix::tag::kClOrdId).value_or(""));
        for (int i = 0; i < replies; ++i) {
            const bool sent = link.send("8", [&](fix::Writer& writer) { writer.add<37>(std::string_view{reply}); });
            if (!sent) ++refused;
        }
        return fix::Verdict::accepted;
    }
    void on_logon(SessionLink&) override { ++logons; }
    void on_logout(SessionLink&, std::string_view) override { ++logouts; }

    std::vector<std::string> orders;
    std::string reply{"x"};
    int replies{0};
    int refused{0};
    int logons{0};
    int logouts{0};
};

class AcceptorTest : public testing::Test {
protected:
    AcceptorTest() {
        for (const auto* client : {"A", "B"}) {
            acceptor_.add({.config = {.sender_comp_id = "HOUSE", .target_comp_id = client},
                           .dictionary = &dictionary_,
                           .limits = {.pending_bytes = 256U * 1024U}},
                          desk_);
        }
    }

    int connect() {
        const auto client = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(acceptor_.port());
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        static_cast<void>(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address));
        clients_.push_back(client);
        run();
        return client;
    }
    void TearDown() override {
        for (const auto client : clients_) ::close(client);
    }
    void run(int rounds = 5) {
        for (int i = 0; i < rounds; ++i) io_.poll(std::chrono::milliseconds{2});
    }
    void give(int client, const std::string& bytes) {
        ASSERT_EQ(::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
        run();
    }
    /// Bytes received so far. ended: set if the other side has closed.
    std::string receive(int client, bool* ended = nullptr) {
        std::string all;
        std::vector<char> buffer(1U << 16U);
        for (;;) {
            const auto got = ::recv(client, buffer.data(), buffer.size(), 0);
            if (got == 0 && ended != nullptr) *ended = true;
            if (got <= 0) return all;
            all.append(buffer.data(), static_cast<std::size_t>(got));
        }
    }
    bool closed(int client) {
        bool ended = false;
        const auto left = receive(client, &ended);
        return ended && left.empty();
    }
    void log_on(int client, std::string_view id) {
        give(client, message("FIX.4.4", "A", 1, id, "98=0|108=30|"));
        EXPECT_NE(receive(client).find("35=A"), std::string::npos);
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    Desk desk_;
    IoThread io_;
    Acceptor acceptor_{io_, {.first_message_timeout = std::chrono::hours{1}}};
    std::vector<int> clients_;
};

TEST_F(AcceptorTest, SeveralSessionsRunOnOneThread) {
    const auto a = connect();
    const auto b = connect();
    log_on(a, "A");
    log_on(b, "B");
    EXPECT_EQ(acceptor_.connected(), 2U);
    give(a, message("FIX.4.4", "D", 2, "A", "11=one|"));
    give(b, message("FIX.4.4", "D", 2, "B", "11=two|"));
    EXPECT_EQ(desk_.orders, (std::vector<std::string>{"one", "two"}));
}

TEST_F(AcceptorTest, BytesMayComeOneByOne) {
    const auto a = connect();
    for (const char c : message("FIX.4.4", "A", 1, "A", "98=0|108=30|")) give(a, std::string(1, c));
    EXPECT_EQ(desk_.logons, 1);
}

TEST_F(AcceptorTest, AClientThatMatchesNoSessionIsClosedWithoutAReply) {
    const auto stranger = connect();
    give(stranger, message("FIX.4.4", "A", 1, "C", "98=0|108=30|"));
    EXPECT_TRUE(closed(stranger));
    const auto other_version = connect();
    give(other_version, message("FIX.4.2", "A", 1, "A", "98=0|108=30|"));
    EXPECT_TRUE(closed(other_version));
    const auto browser = connect();
    give(browser, "GET / HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(closed(browser));
    EXPECT_EQ(acceptor_.counters().unknown.read(), 3U);
    EXPECT_EQ(desk_.logons, 0);
}

TEST_F(AcceptorTest, ASessionThatIsConnectedAlreadyIsNotDisturbed) {
    const auto first = connect();
    log_on(first, "A");
    const auto second = connect();
    give(second, message("FIX.4.4", "A", 1, "A", "98=0|108=30|"));
    EXPECT_TRUE(closed(second));
    EXPECT_EQ(acceptor_.counters().duplicate.read(), 1U);
    give(first, message("FIX.4.4", "1", 2, "A", "112=still|"));
    EXPECT_NE(receive(first).find("112=still"), std::string::npos);
}

TEST_F(AcceptorTest, ALogoutIsAnsweredAndThePeerClosesTheConnection) {
    const auto a = connect();
    log_on(a, "A");
    give(a, message("FIX.4.4", "5", 2, "A", ""));
    bool ended = false;
    EXPECT_NE(receive(a, &ended).find("35=5"), std::string::npos);
    EXPECT_FALSE(ended);
    EXPECT_EQ(desk_.logouts, 1);
    ::shutdown(a, SHUT_WR);
    run();
    EXPECT_EQ(acceptor_.connected(), 0U);
    EXPECT_EQ(acceptor_.sessions()[0]->status().last_closed, Closed::logged_out);
}

TEST_F(AcceptorTest, ALostConnectionFreesItsSessionAndTheNumbersGoOn) {
    const auto a = connect();
    log_on(a, "A");
    ::close(a);
    clients_.clear();
    run();
    EXPECT_EQ(acceptor_.connected(), 0U);
    EXPECT_EQ(desk_.logouts, 1);
    const auto again = connect();
    give(again, message("FIX.4.4", "A", 2, "A", "98=0|108=30|"));
    EXPECT_NE(receive(again).find("\x01"
                                  "34=2\x01"),
              std::string::npos);
}

TEST_F(AcceptorTest, APeerThatReadsNothingIsCutOffAndTheOthersGoOn) {
    const auto slow = connect();
    const auto good = connect();
    log_on(slow, "A");
    log_on(good, "B");
    desk_.reply = std::string(8000, 'x');
    desk_.replies = 100;
    int number = 2;
    for (; number < 60 && acceptor_.connected() == 2; ++number) {
        const auto order = message("FIX.4.4", "D", number, "A", "11=flood|");
        if (::send(slow, order.data(), order.size(), MSG_NOSIGNAL) < 0) break;
        run(2);
    }
    EXPECT_EQ(acceptor_.connected(), 1U);
    EXPECT_EQ(acceptor_.sessions()[0]->status().last_closed, Closed::slow_consumer);
    desk_.replies = 0;
    give(good, message("FIX.4.4", "1", 2, "B", "112=fine|"));
    EXPECT_NE(receive(good).find("112=fine"), std::string::npos);
}

TEST_F(AcceptorTest, MoreConnectionsThanAllowedAreClosed) {
    Acceptor small{io_, {.max_connections = 1}};
    EXPECT_NE(small.port(), acceptor_.port());
    for (int i = 0; i < 2; ++i) {
        const auto client = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(small.port());
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ASSERT_EQ(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        clients_.push_back(client);
    }
    for (int i = 0; i < 5; ++i) io_.poll(std::chrono::milliseconds{2});
    EXPECT_EQ(small.counters().accepted.read(), 2U);
    EXPECT_EQ(small.counters().full.read(), 1U);
}

TEST_F(AcceptorTest, APortInUseOrASessionTwiceIsRefusedByName) {
    EXPECT_THROW((Acceptor{io_, {.port = acceptor_.port()}}), std::system_error);
    EXPECT_THROW((Acceptor{io_, {.address = "nowhere"}}), std::invalid_argument);
    EXPECT_THROW(acceptor_.add(
                     {.config = {.sender_comp_id = "HOUSE", .target_comp_id = "A"}, .dictionary = &dictionary_}, desk_),
                 std::invalid_argument);
}

}  // namespace
}  // namespace millpond::engine
