// Connections that do not log on: log lines of both sides, and limits of their cost.

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <unistd.h>

#include "tests/engine/engine_pair.hpp"
#include "tests/engine/fix_text.hpp"
#include "tests/engine/raw_client.hpp"
#include "tests/support/descriptor_limit.hpp"
#include "tests/support/stepped_clock.hpp"

namespace millpond::engine {
namespace {

std::string text_of(const Refusal& why) {
    return std::string{name(why.reason)} + "|" + std::to_string(why.tag) + "|" + std::string{why.detail};
}

struct Watching final : AcceptorObserver {
    void on_refused(const Refusal& why) override {
        said.push_back(text_of(why));
        peers.push_back(why.peer.host());
    }
    void on_reclaimed(const std::string& session) override { reclaimed.push_back(session); }
    std::vector<std::string> said;
    std::vector<std::string> peers;
    std::vector<std::string> reclaimed;
};

struct Desk : Counterparty {
    bool may_log_on(SessionLink&, const fix::Message& logon) override { return logon.text(554) != "wrong"; }
    void on_refused(SessionLink&, const Refusal& why) override {
        said.push_back(text_of(why));
        peers.push_back(why.peer.host());
    }
    std::vector<std::string> said;
    std::vector<std::string> peers;
};

class RefusalTest : public testing::Test {
protected:
    void add(Acceptor& acceptor, std::string client = "A") {
        acceptor.add(
            {.config = {.sender_comp_id = "HOUSE", .target_comp_id = std::move(client)}, .dictionary = &dictionary_},
            house_);
    }
    [[nodiscard]] bool is_closed(RawClient& client) {
        return run_until(io_, [&] { return client.receive(), client.over(); });
    }
    /// Sends, and waits for the end of the connection. Returns the received bytes.
    std::string refused(const Acceptor& acceptor, const std::string& bytes) {
        RawClient client{acceptor.port()};
        client.send(bytes);
        EXPECT_TRUE(is_closed(client));
        return client.received();
    }
    [[nodiscard]] bool logs_on(RawClient& client, std::string_view id, int number = 1) {
        client.send(message("FIX.4.4", "A", number, id, "98=0|108=30|"));
        return run_until(io_, [&] { return client.received().find("35=A") != std::string::npos || client.over(); }) &&
               !client.over();
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    Watching watching_;
    Desk house_;
    IoThread io_;
};

TEST_F(RefusalTest, WithoutDescriptorsTheThreadDoesNotSpinAndThePeerLogsOnLater) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "UBSan's vptr check needs a descriptor";
#endif
    Acceptor acceptor{io_, {.observer = &watching_}};
    add(acceptor);
    RawClient client{acceptor.port()};
    {
        const test::NoMoreDescriptors none;
        for (int round = 0; round < 500; ++round) io_.poll(std::chrono::milliseconds{0});
    }
    ASSERT_FALSE(watching_.said.empty());
    EXPECT_LT(watching_.said.size(), 500U);
    EXPECT_EQ(watching_.said[0], "too many connections|0|Too many open files");
    EXPECT_TRUE(logs_on(client, "A"));
}

TEST_F(RefusalTest, AnAcceptorNamesPeerFieldAndReasonOnceForEachConnection) {
    Acceptor acceptor{io_, {.first_message_bytes = 512, .observer = &watching_}};
    add(acceptor);
    EXPECT_EQ(refused(acceptor, message("FIX.4.4", "A", 1, "C", "98=0|108=30|")), "");
    EXPECT_EQ(refused(acceptor, message("FIX.4.2", "A", 1, "A", "98=0|108=30|")), "");
    EXPECT_EQ(refused(acceptor, message("FIX.4.4", "0", 1, "A", "")), "");
    EXPECT_EQ(refused(acceptor, "GET / HTTP/1.1\r\n\r\n"), "");
    EXPECT_EQ(watching_.said,
              (std::vector<std::string>{"unknown session|49|C", "unknown session|8|FIX.4.2",
                                        "first message is not a Logon|35|0", "garbled first message|0|"}));
    RawClient first{acceptor.port()};
    ASSERT_TRUE(logs_on(first, "A"));
    EXPECT_EQ(refused(acceptor, message("FIX.4.4", "A", 2, "A", "98=0|108=30|")), "");
    EXPECT_EQ(watching_.said.back(), "session is connected already|0|");
    for (const auto& peer : watching_.peers) EXPECT_EQ(peer, "127.0.0.1");
    EXPECT_TRUE(house_.said.empty());
}

TEST_F(RefusalTest, AnInvalidLogonIsAnsweredAndReportedToTheApplicationOnce) {
    Acceptor acceptor{io_, {.observer = &watching_}};
    add(acceptor);
    const auto reply = refused(acceptor, message("FIX.4.4", "A", 1, "A", "98=0|108=99999999999|"));
    EXPECT_NE(reply.find("35=3"), std::string::npos);
    EXPECT_NE(reply.find("35=5"), std::string::npos);
    EXPECT_NE(reply.find("58=HeartBtInt is not a number of seconds"), std::string::npos);
    EXPECT_EQ(refused(acceptor, message("FIX.4.4", "A", 1, "A", "98=0|108=30|553=u|554=wrong|")), "");
    EXPECT_EQ(house_.said,
              (std::vector<std::string>{"Logon refused|108|HeartBtInt is not a number of seconds from 0 to 2147483647",
                                        "Logon refused|0|not authorized"}));
    EXPECT_EQ(house_.peers, (std::vector<std::string>{"127.0.0.1", "127.0.0.1"}));
    EXPECT_EQ(house_.closed, (std::vector<Closed>{Closed::logon_refused, Closed::logon_refused}));
    EXPECT_TRUE(watching_.said.empty());
}

TEST_F(RefusalTest, AnInitiatorReportsWhyItDidNotLogOn) {
    Acceptor acceptor{io_, {}};
    add(acceptor);
    Desk desk;
    Initiator initiator{io_};
    const auto connect = [&](std::string target) {
        initiator.add({.config = {.sender_comp_id = "A", .target_comp_id = std::move(target), .heartbeat_seconds = 5},
                       .dictionary = &dictionary_},
                      {.hosts = {{"127.0.0.1", acceptor.port()}}, .reconnect = {.first = std::chrono::hours{1}}}, desk);
    };
    connect("ELSEWHERE");
    ASSERT_TRUE(run_until(io_, [&] { return desk.closed.size() == 1; }));
    EXPECT_EQ(desk.said, std::vector<std::string>{"connection closed before the Logon was complete|0|"});
    EXPECT_EQ(desk.peers, std::vector<std::string>{"127.0.0.1"});
}

TEST_F(RefusalTest, AnInitiatorReportsWhyItCannotConnect) {
    std::uint16_t dead = 0;
    {
        const Acceptor acceptor{io_, {}};
        dead = acceptor.port();
    }
    Desk desk;
    Initiator initiator{io_};
    auto& handle = initiator.add(
        {.config = {.sender_comp_id = "A", .target_comp_id = "B"}, .dictionary = &dictionary_},
        {.hosts = {{"127.0.0.1", dead}, {"no-such-host.invalid", 5001}}, .reconnect = {.first = std::chrono::hours{1}}},
        desk);
    ASSERT_TRUE(run_until(io_, [&] { return desk.said.size() == 2; }));
    EXPECT_EQ(desk.said[0], "cannot connect|0|Connection refused");
    EXPECT_EQ(desk.peers[0], "127.0.0.1");
    EXPECT_TRUE(desk.said[1].starts_with("cannot connect|0|no-such-host.invalid:5001: ")) << desk.said[1];
    EXPECT_EQ(handle.status().last_closed, Closed::connect_failed);
    EXPECT_TRUE(desk.closed.empty());
}

TEST_F(RefusalTest, ASessionThatTheOperatorLoggedOutAnswersALogonWithTheReason) {
    Acceptor acceptor{io_, {.observer = &watching_}};
    auto& handle = acceptor.add(
        {.config = {.sender_comp_id = "HOUSE", .target_comp_id = "A"}, .dictionary = &dictionary_}, house_);
    handle.request_logout("end of day");
    const auto reply = refused(acceptor, message("FIX.4.4", "A", 1, "A", "98=0|108=30|"));
    EXPECT_NE(reply.find("35=5"), std::string::npos);
    EXPECT_NE(reply.find("58=session is disabled"), std::string::npos);
    EXPECT_EQ(house_.said, std::vector<std::string>{"Logon refused|0|session is disabled"});
    handle.request_logon();
    RawClient client{acceptor.port()};
    EXPECT_TRUE(logs_on(client, "A", 1));
}

TEST_F(RefusalTest, AnInitiatorReportsTheReasonOfTheAcceptorsLogout) {
    const auto strict = fix::Dictionary::session_level(fix::Version::fixt11);
    Acceptor acceptor{io_, {}};
    acceptor.add({.config = {.version = fix::Version::fixt11,
                             .sender_comp_id = "HOUSE",
                             .target_comp_id = "A",
                             .default_appl_ver_id = "9"},
                  .dictionary = &strict},
                 house_);
    Desk desk;
    Initiator initiator{io_};
    initiator.add({.config = {.version = fix::Version::fixt11,
                              .sender_comp_id = "A",
                              .target_comp_id = "HOUSE",
                              .default_appl_ver_id = "7"},
                   .dictionary = &strict},
                  {.hosts = {{"127.0.0.1", acceptor.port()}}, .reconnect = {.first = std::chrono::hours{1}}}, desk);
    ASSERT_TRUE(run_until(io_, [&] { return desk.closed.size() == 1; }));
    EXPECT_EQ(house_.said, std::vector<std::string>{"Logon refused|1137|DefaultApplVerID is not 9"});
    EXPECT_EQ(desk.said, std::vector<std::string>{"Logon refused|0|DefaultApplVerID is not 9"});
}

TEST_F(RefusalTest, IdleConnectionsDoNotKeepALogonOut) {
    Acceptor acceptor{io_, {.first_message_timeout = std::chrono::hours{1}, .observer = &watching_}};
    add(acceptor);
    std::vector<RawClient> idle;
    for (int i = 0; i < 80; ++i) idle.emplace_back(acceptor.port());
    ASSERT_TRUE(run_until(io_, [&] { return acceptor.counters().accepted.read() == 80; }));
    EXPECT_EQ(acceptor.counters().full.read(), 64U);  // 16 connections of one address stay
    RawClient good{acceptor.port()};
    EXPECT_TRUE(logs_on(good, "A"));
    EXPECT_TRUE(is_closed(idle.front()));
    idle.back().receive();
    EXPECT_FALSE(idle.back().over());
    EXPECT_EQ(watching_.said.front(), "too many connections|0|max_before_logon_per_address");
}

TEST_F(RefusalTest, ALogonThatHasComeIsReadBeforeItsConnectionCountsAsIdle) {
    Acceptor acceptor{io_, {.max_before_logon_per_address = 1}};
    for (const auto* id : {"A", "B", "C"}) add(acceptor, id);
    std::vector<RawClient> clients;
    for (const auto* id : {"A", "B", "C"}) {
        clients.emplace_back(acceptor.port());
        clients.back().send(message("FIX.4.4", "A", 1, id, "98=0|108=30|"));
    }
    // All three are accepted in one round.
    EXPECT_TRUE(run_until(io_, [&] { return acceptor.connected() == 3; }));
    EXPECT_EQ(acceptor.counters().full.read(), 0U);
}

class Dynamic : public RefusalTest {
protected:
    ~Dynamic() override { std::filesystem::remove_all(folder_); }
    SessionOptions model(bool in_files) {
        SessionOptions options{.config = {.sender_comp_id = "HOUSE", .target_comp_id = "*"},
                               .dictionary = &dictionary_,
                               .store = {.bytes = 1U << 20U, .segments = 1}};
        if (in_files) {
            std::filesystem::create_directories(folder_);
            options.store.file = folder_;
        }
        return options;
    }
    void come_and_go(Acceptor& acceptor, std::string_view id, int number = 1) {
        RawClient client{acceptor.port()};
        ASSERT_TRUE(logs_on(client, id, number));
        client.end();
        ASSERT_TRUE(run_until(io_, [&] { return acceptor.connected() == 0; }));
    }
    std::filesystem::path folder_{::testing::TempDir() + "millpond_dynamic_" + std::to_string(::getpid())};
};

TEST_F(Dynamic, DisconnectedSessionsWithAFileAreRemovedForNewOnesAndLoseNothing) {
    Acceptor acceptor{io_, {.observer = &watching_}};
    acceptor.add_template(model(true), house_, 2);
    for (const auto* id : {"ONE", "TWO", "THREE"}) come_and_go(acceptor, id);
    EXPECT_EQ(watching_.reclaimed, std::vector<std::string>{"FIX.4.4:HOUSE->ONE"});
    EXPECT_EQ(acceptor.sessions().size(), 2U);
    // It continues with the numbers of its file, and TWO is removed for it.
    RawClient one{acceptor.port()};
    ASSERT_TRUE(logs_on(one, "ONE", 2));
    EXPECT_NE(one.received().find("\x01"
                                  "34=2\x01"),
              std::string::npos);
    EXPECT_EQ(watching_.reclaimed.back(), "FIX.4.4:HOUSE->TWO");
    EXPECT_EQ(acceptor.counters().reclaimed.read(), 2U);
}

TEST_F(Dynamic, ConnectedSessionsAndThoseThatWouldLoseTheirNumbersStay) {
    Acceptor files{io_, {.observer = &watching_}};
    files.add_template(model(true), house_, 1);
    RawClient connected{files.port()};
    ASSERT_TRUE(logs_on(connected, "ONE"));
    EXPECT_EQ(refused(files, message("FIX.4.4", "A", 1, "TWO", "98=0|108=30|")), "");
    EXPECT_EQ(watching_.said, std::vector<std::string>{"too many connections|0|max_dynamic"});

    Acceptor memory{io_, {.observer = &watching_}};
    memory.add_template(model(false), house_, 1);
    come_and_go(memory, "ONE");
    EXPECT_EQ(refused(memory, message("FIX.4.4", "A", 1, "TWO", "98=0|108=30|")), "");
    EXPECT_TRUE(watching_.reclaimed.empty());
    RawClient again{memory.port()};
    EXPECT_TRUE(logs_on(again, "ONE", 2));
}

TEST_F(Dynamic, AStoreThatCannotBeOpenedRefusesTheConnectionOnly) {
    auto options = model(true);
    options.store.file = "/proc/nowhere";
    Acceptor acceptor{io_, {.observer = &watching_}};
    acceptor.add_template(options, house_, 2);
    EXPECT_EQ(refused(acceptor, message("FIX.4.4", "A", 1, "ONE", "98=0|108=30|")), "");
    ASSERT_EQ(watching_.said.size(), 1U);
    EXPECT_TRUE(watching_.said[0].starts_with("store cannot be opened|0|/proc/nowhere/ONE.store: "))
        << watching_.said[0];
}

TEST_F(Dynamic, TheStoreOfAnotherSessionIsRefusedWithTheReason) {
    Acceptor acceptor{io_, {.observer = &watching_}};
    acceptor.add_template(model(true), house_, 4);
    come_and_go(acceptor, "ONE");
    std::filesystem::copy_file(folder_ / "ONE.store", folder_ / "TWO.store");
    EXPECT_EQ(refused(acceptor, message("FIX.4.4", "A", 1, "TWO", "98=0|108=30|")), "");
    EXPECT_EQ(
        watching_.said,
        std::vector<std::string>{"store cannot be opened|0|" + (folder_ / "TWO.store").string() +
                                 " is the message store of the session FIX.4.4:HOUSE->ONE, not of FIX.4.4:HOUSE->TWO"});
}

TEST_F(Dynamic, RefusedLogonsLeaveNoFilesBehind) {
    const auto files = [&] {
        const std::filesystem::directory_iterator all{folder_};
        return std::distance(begin(all), end(all));
    };
    {
        Acceptor acceptor{io_, {.observer = &watching_}};
        acceptor.add_template(model(true), house_, 4);
        for (int i = 0; i < 20; ++i) {
            refused(acceptor, message("FIX.4.4", "A", 1, "R" + std::to_string(i), "98=0|108=-1|"));
        }
        refused(acceptor, message("FIX.4.4", "A", 1, "BAD", "98=0|108=30|553=u|554=wrong|"));
        ASSERT_TRUE(run_until(io_, [&] { return acceptor.sessions().empty(); }));
        EXPECT_EQ(files(), 0);
        come_and_go(acceptor, "GOOD");
        EXPECT_EQ(files(), 1);
        // A session that exists again keeps its state, although its Logon is refused.
        refused(acceptor, message("FIX.4.4", "A", 2, "GOOD", "98=0|108=-1|"));
        EXPECT_EQ(files(), 1);
    }
    EXPECT_EQ(files(), 1);
}

TEST_F(Dynamic, AStoreThatIsTooSmallForItsMessagesFailsAtTheStartByName) {
    Acceptor acceptor{io_, {}};
    for (const bool in_files : {false, true}) {
        auto options = model(in_files);
        options.store.bytes = 100'000;
        options.store.segments = 4;
        options.config.max_message_bytes = in_files ? 10'000 : 30'000;
        const auto why = [&](const auto& add) -> std::string {
            try {
                add();
            } catch (const std::invalid_argument& error) {
                return error.what();
            }
            return "taken";
        };
        EXPECT_EQ(
            why([&] { acceptor.add_template(options, house_, 2); }),
            in_files
                ? "FIX.4.4:HOUSE->*: a store of 100000 bytes in 4 segments is too small for messages of 10000 bytes; "
                  "it needs 4 times 40000"
                : "FIX.4.4:HOUSE->*: a store of 100000 bytes is too small for messages of 30000 bytes; it needs 1 "
                  "times 120000");
        options.config.target_comp_id = "A";
        EXPECT_TRUE(why([&] { acceptor.add(options, house_); }).starts_with("FIX.4.4:HOUSE->A: a store of"));
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Dynamic, TheErrorOfALogonThatNoTemplateAcceptsNamesItsFieldAndValue) {
    Acceptor acceptor{io_, {.observer = &watching_}};
    acceptor.add_template(model(false), house_, 2);
    EXPECT_EQ(refused(acceptor, message("FIX.4.2", "A", 1, "A", "98=0|108=30|")), "");
    EXPECT_EQ(refused(acceptor, message("FIX.4.4", "A", 1, "../x", "98=0|108=30|")), "");
    auto elsewhere = message("FIX.4.4", "A", 1, "A", "98=0|108=30|");
    const auto house = elsewhere.find("56=HOUSE");
    elsewhere.replace(house, 8, "56=OUSEH");  // the same CheckSum
    EXPECT_EQ(refused(acceptor, elsewhere), "");
    EXPECT_EQ(watching_.said, (std::vector<std::string>{"unknown session|8|FIX.4.2", "unknown session|49|../x",
                                                        "unknown session|56|OUSEH"}));
}

TEST_F(Dynamic, ASessionWhoseScheduleIsOverIsRemovedForNewOnesThoughItsStoreIsInMemory) {
    constexpr std::int64_t kDay = 86'400;
    constexpr std::int64_t kTenMinutes = 600;
    const auto second = core::utc_nanos() / 1'000'000'000 % kDay;
    auto options = model(false);
    options.config.schedule = fix::Schedule::daily((second + kDay - kTenMinutes) % kDay, (second + kTenMinutes) % kDay);
    Acceptor acceptor{io_, {.observer = &watching_}};
    acceptor.add_template(options, house_, 1);
    come_and_go(acceptor, "ONE");
    const auto two_comes = [&] { return refused(acceptor, message("FIX.4.4", "A", 1, "TWO", "98=0|108=30|")); };
    two_comes();
    EXPECT_EQ(watching_.said, std::vector<std::string>{"too many connections|0|max_dynamic"});
    EXPECT_TRUE(watching_.reclaimed.empty());
    const test::ClockStep hour{3'600'000'000'000};
    // The step is detected within a millisecond.
    for (int i = 0; i < 1'000 && watching_.reclaimed.empty(); ++i) two_comes();
    EXPECT_EQ(watching_.reclaimed, std::vector<std::string>{"FIX.4.4:HOUSE->ONE"});
}

}  // namespace
}  // namespace millpond::engine
