// `[[drop_copy]]` over real sockets: the copies that a counterparty receives, and their counters.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "service/config_error.hpp"
#include "tests/engine/raw_client.hpp"
#include "tests/fixd/drop_copy/drop_copy_house.hpp"
#include "tests/fixd/running_engine.hpp"
#include "tests/support/certificates.hpp"

namespace millpond::fixd {
namespace {

using engine::RawClient;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(FixDropCopy, ExecutionsOfTwoSessionsReachAThirdWithItsOwnNumbersAndTheirSource) {
    RunningEngine house{kListen + waits_for("A") + waits_for("B") + waits_for("RISK") + waits_for("OTHER") +
                            copies("['HOUSE->A', 'HOUSE->B']"),
                        filling()};
    RawClient a{house.port()};
    RawClient b{house.port()};
    RawClient risk{house.port()};
    RawClient other{house.port()};
    a.send(logon(1, "A"));
    b.send(logon(1, "B"));
    risk.send(logon(1, "RISK"));
    other.send(logon(1, "OTHER"));
    ASSERT_TRUE(comes_true([&] {
        return house.is_active("A") && house.is_active("B") && house.is_active("RISK") && house.is_active("OTHER");
    }));
    other.send(order(2, "OTHER", "not copied"));
    a.send(order(2, "A", "a1") + order(3, "A", "a2"));
    ASSERT_TRUE(comes_true([&] { return executions(risk).size() == 2; }));
    b.send(order(2, "B", "b1"));
    ASSERT_TRUE(comes_true([&] { return executions(risk).size() == 3; }));
    ASSERT_TRUE(comes_true([&] { return executions(a).size() == 2 && executions(b).size() == 1; }));
    const auto got = executions(risk);
    const auto of_a = executions(a);
    const std::vector<std::string> ids{value_of(got[0], "11"), value_of(got[1], "11"), value_of(got[2], "11")};
    EXPECT_EQ(ids, (std::vector<std::string>{"a1", "a2", "b1"}));
    for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(value_of(got[i], "34"), std::to_string(i + 2));
        EXPECT_EQ(value_of(got[i], "49"), "HOUSE");
        EXPECT_EQ(value_of(got[i], "56"), "RISK");
        EXPECT_EQ(value_of(got[i], "115"), i < 2 ? "A" : "B");
        EXPECT_EQ(value_of(got[i], "797"), "Y");
        EXPECT_EQ(value_of(got[i], "43"), "");
    }
    // The body equals that of the original, byte by byte.
    const auto body = [](const std::string& message) {
        const auto begin = message.find("|6=");
        const auto end = std::min(message.find("|797="), message.find("|10="));
        return message.substr(begin, end - begin);
    };
    EXPECT_EQ(body(got[0]), body(of_a[0]));
    EXPECT_EQ(value_of(of_a[0], "797"), "");
    const auto status = account(house);
    EXPECT_EQ(status.offered, 3U);
    EXPECT_EQ(status.mirrored, 3U);
    EXPECT_EQ(status.lost(), 0U);
    const auto metrics = house.engine().page({.path = "/metrics"}).body;
    EXPECT_THAT(metrics, HasSubstr("millpond_fix_drop_copy_mirrored_total{drop_copy=\"FIX.4.4:HOUSE->RISK\"} 3"));
    EXPECT_THAT(house.engine().page({.path = "/api/health"}).body,
                HasSubstr(R"("drop_copy":{"sources":["FIX.4.4:HOUSE->A","FIX.4.4:HOUSE->B"],"types":["8"],)"
                          R"("offered":3,"recovered":0,"mirrored":3,"waiting":0,)"));
}

TEST_F(FixDropCopy, ReceivedMessagesAreCopiedTooAndByType) {
    RunningEngine house{kListen + waits_for("A") + waits_for("RISK") + copies("['*']", "types = ['D', '8']\n"),
                        filling()};
    RawClient a{house.port()};
    RawClient risk{house.port()};
    a.send(logon(1, "A"));
    risk.send(logon(1, "RISK"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("A") && house.is_active("RISK"); }));
    a.send(fix44("D", 2, "A", "HOUSE", "50=trader7|97=Y|11=x|55=MSFT|54=1|38=1|40=2|44=1|60=20240102-03:04:05|"));
    ASSERT_TRUE(comes_true([&] { return messages_of(risk.received()).size() == 3; }));
    const auto got = messages_of(risk.received());
    std::map<std::string, std::string> by_type;
    for (const auto& message : got) by_type[value_of(message, "35")] = message;
    EXPECT_EQ(value_of(by_type["D"], "115"), "A");
    EXPECT_EQ(value_of(by_type["D"], "116"), "trader7");
    EXPECT_EQ(value_of(by_type["D"], "50"), "");
    EXPECT_EQ(value_of(by_type["D"], "97"), "Y");
    EXPECT_EQ(value_of(by_type["D"], "797"), "");
    EXPECT_EQ(value_of(by_type["D"], "11"), "x");
    EXPECT_EQ(value_of(by_type["8"], "797"), "Y");
    EXPECT_EQ(value_of(by_type["8"], "57"), "");
}

TEST_F(FixDropCopy, ATargetThatIsLoggedOffGetsResendsFromItsStore) {
    RunningEngine house{kListen + waits_for("A") + waits_for("RISK", store("risk")) + copies("['HOUSE->A']"),
                        filling()};
    RawClient a{house.port()};
    a.send(logon(1, "A"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("A"); }));
    // Before the target's first logon.
    a.send(order(2, "A", "o2"));
    ASSERT_TRUE(comes_true([&] { return house.status("RISK").next_sender == 2; }));
    {
        RawClient risk{house.port()};
        risk.send(logon(1, "RISK"));
        ASSERT_TRUE(comes_true([&] { return house.is_active("RISK"); }));
        risk.send(fix44("2", 2, "RISK", "HOUSE", "7=1|16=0|"));
        ASSERT_TRUE(comes_true([&] { return executions(risk).size() == 1; }));
        a.send(order(3, "A", "o3"));
        ASSERT_TRUE(comes_true([&] { return executions(risk).size() == 2; }));
    }
    ASSERT_TRUE(comes_true([&] { return house.status("RISK").state == fix::Session::State::disconnected; }));
    for (std::uint64_t i = 4; i <= 9; ++i) a.send(order(i, "A", fmt::format("o{}", i)));
    ASSERT_TRUE(comes_true([&] { return account(house).mirrored == 8; }));
    ASSERT_TRUE(comes_true([&] { return executions(a).size() == 8; }));
    RawClient risk{house.port()};
    risk.send(logon(3, "RISK"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("RISK"); }));
    ASSERT_TRUE(comes_true([&] { return !messages_of(risk.received()).empty(); }));
    EXPECT_EQ(value_of(messages_of(risk.received()).front(), "34"), "10");  // 1 o2, 2 Logon, 3 o3, 4 to 9, Logon
    risk.send(fix44("2", 4, "RISK", "HOUSE", "7=4|16=0|"));
    ASSERT_TRUE(comes_true([&] { return executions(risk).size() == 6; }));
    const auto got = executions(risk);
    for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(value_of(got[i], "11"), fmt::format("o{}", i + 4));
        EXPECT_EQ(value_of(got[i], "34"), std::to_string(i + 4));
        EXPECT_EQ(value_of(got[i], "43"), "Y");
        EXPECT_EQ(value_of(got[i], "115"), "A");
    }
    EXPECT_EQ(account(house).lost(), 0U);
    EXPECT_EQ(house.status("RISK").lost, 0U);
}

TEST_F(FixDropCopy, ASessionThatIsPromotedGetsTheCopiesThatWaitForIt) {
    const test::Certificates made;
    if (!made.made()) GTEST_SKIP() << "the program openssl is missing";
    const auto standby = fmt::format(
        "[standby]\nlisten = '127.0.0.1:0'\ntls_certificate = '{}'\ntls_key = '{}'\ntls_authorities = '{}'\n",
        made.certificate("ours-server"), made.key("ours-server"), made.certificate("ours"));
    RunningEngine house{
        standby + kListen + waits_for("A", store("a")) + waits_for("RISK", store("risk")) + copies("['HOUSE->A']"),
        filling()};
    ASSERT_EQ(house.engine().promote("FIX.4.4:HOUSE->A", true), "");
    RawClient a{house.port()};
    a.send(logon(1, "A") + order(2, "A", "first"));
    ASSERT_TRUE(comes_true([&] { return account(house).offered == 1; }));
    EXPECT_EQ(account(house).waiting, 1U);
    ASSERT_EQ(house.engine().promote("FIX.4.4:HOUSE->RISK", true), "");
    ASSERT_TRUE(comes_true([&] { return account(house).mirrored == 1; }));
    RawClient risk{house.port()};
    risk.send(logon(1, "RISK"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("RISK"); }));
    a.send(order(3, "A", "second"));
    ASSERT_TRUE(comes_true([&] { return executions(risk).size() == 1; }));
    EXPECT_EQ(value_of(executions(risk).front(), "11"), "second");
    risk.send(fix44("2", 2, "RISK", "HOUSE", "7=1|16=1|"));
    ASSERT_TRUE(comes_true([&] { return executions(risk).size() == 2; }));
    EXPECT_EQ(value_of(executions(risk).back(), "11"), "first");
    EXPECT_EQ(account(house).lost(), 0U);
}

TEST_F(FixDropCopy, APromotionMayComeWhileTheEngineStops) {
    const test::Certificates made;
    if (!made.made()) GTEST_SKIP() << "the program openssl is missing";
    for (int i = 0; i < 3; ++i) {
        const auto standby = fmt::format(
            "[standby]\nlisten = '127.0.0.1:0'\ntls_certificate = '{}'\ntls_key = '{}'\ntls_authorities = '{}'\n",
            made.certificate("ours-server"), made.key("ours-server"), made.certificate("ours"));
        const auto number = std::to_string(i);
        RunningEngine house{standby + kListen + waits_for("A", store("a" + number)) +
                                waits_for("RISK", store("risk" + number)) + copies("['HOUSE->A']"),
                            filling()};
        std::atomic<bool> begins{false};
        const std::jthread operators{[&] {
            begins.store(true);
            EXPECT_EQ(house.engine().promote("FIX.4.4:HOUSE->RISK", true), "");
        }};
        while (!begins.load()) std::this_thread::yield();
        house.engine().drain(std::chrono::seconds{5});
    }
}

TEST_F(FixDropCopy, AFullStoreIsCountedFoundAndLoggedAndSlowsNoTradingSession) {
    auto config =
        with_queues(kListen + waits_for("A", "max_message_bytes = '4KiB'\n") +
                        waits_for("RISK", "store = 'memory'\nmax_message_bytes = '4KiB'\n") + copies("['HOUSE->A']"),
                    std::size_t{128} << 10U);
    config.sessions.at(1).memory_bytes = std::size_t{64} << 10U;
    RunningEngine house{config, filling()};
    RawClient a{house.port()};
    a.send(logon(1, "A"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("A"); }));
    constexpr std::uint64_t kOrders = 2'000;
    std::string orders;
    for (std::uint64_t i = 2; i < kOrders + 2; ++i) {
        orders += order(i, "A", fmt::format("o{}", i));
        if (i % 100 != 1) continue;
        a.send(orders);
        orders.clear();
        // In batches: the orders of one read would fill this small queue.
        ASSERT_TRUE(comes_true([&] { return executions(a).size() == i - 1; }));
    }
    const auto status = account(house);
    EXPECT_EQ(status.offered, kOrders);
    EXPECT_GT(status.mirrored, 100U);
    EXPECT_GT(status.store_full, 100U);
    EXPECT_GT(status.waiting, 0U);
    expect_balanced(status);
    house.engine().watch();
    EXPECT_THAT(house.said(), HasSubstr("drop copy to FIX.4.4:HOUSE->RISK: "));
    EXPECT_THAT(house.said(), HasSubstr("store full "));
    EXPECT_THAT(house.engine().page({.path = "/health"}).body, HasSubstr("copies_lost"));
    // The target logs on: the copies in its store are resent, then the waiting ones are sent.
    RawClient risk{house.port()};
    risk.send(logon(1, "RISK"));
    ASSERT_TRUE(comes_true([&] { return account(house).waiting == 0; }));
    expect_balanced(account(house));
    a.send(order(kOrders + 2, "A", "late"));
    ASSERT_TRUE(comes_true([&] { return executions(risk).size() > 1; }));
    ASSERT_TRUE(comes_true([&] { return value_of(executions(risk).back(), "11") == "late"; }));
}

TEST_F(FixDropCopy, OrdersThatComeInLargePiecesLoseNoCopy) {
    // One read has more orders than a sender's turn has copies, and the queue cannot hold all copies.
    RunningEngine house{
        with_queues(kListen + waits_for("A") + waits_for("RISK", "store = 'memory'\n") + copies("['HOUSE->A']"),
                    std::size_t{1} << 20U),
        filling()};
    constexpr std::uint64_t kOrders = 8'000;
    std::string orders = logon(1, "A");
    for (std::uint64_t i = 2; i < kOrders + 2; ++i) orders += order(i, "A", fmt::format("o{}", i));
    RawClient a{house.port()};
    const std::jthread trader{[&] { a.send(orders); }};
    ASSERT_TRUE(comes_true([&] {
        a.receive();
        a.forget();
        return house.status("HOUSE->A").next_target == kOrders + 2;
    }));
    ASSERT_TRUE(comes_true([&] { return account(house).waiting == 0; }));
    EXPECT_EQ(account(house).mirrored, kOrders);
    EXPECT_EQ(account(house).lost(), 0U);
}

TEST_F(FixDropCopy, ATargetThatReadsNothingLosesItsConnectionAndNoCopy) {
    RunningEngine house{
        with_queues(kListen + waits_for("A") + waits_for("RISK", store("risk") + "pending_bytes = '64KiB'\n") +
                        copies("['HOUSE->A']"),
                    std::size_t{256} << 10U),
        filling()};
    RawClient a{house.port()};
    RawClient risk{house.port(), 4096};
    a.send(logon(1, "A"));
    risk.send(logon(1, "RISK"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("A") && house.is_active("RISK"); }));
    std::uint64_t sent = 1;
    while (house.status("RISK").connections == 1 && house.is_active("RISK") && sent < 200'000) {
        std::string orders;
        for (int i = 0; i < 200; ++i) {
            ++sent;
            orders += order(sent, "A", fmt::format("o{}", sent));
        }
        a.send(orders);
        ASSERT_TRUE(comes_true([&] { return a.receive(), house.status("A").next_target > sent; }));
        a.forget();
    }
    EXPECT_FALSE(house.is_active("RISK"));
    EXPECT_EQ(house.status("RISK").last_closed, engine::Closed::slow_consumer);
    ASSERT_TRUE(comes_true([&] { return account(house).mirrored == sent - 1; }));
    EXPECT_EQ(account(house).lost(), 0U);
    EXPECT_EQ(house.status("A").connections, 1U);
    RawClient again{house.port()};
    again.send(logon(2, "RISK"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("RISK"); }));
    again.send(fix44("2", 3, "RISK", "HOUSE", "7=2|16=0|"));
    ASSERT_TRUE(comes_true([&] {
        again.receive();
        again.forget();
        return house.status("RISK").resent == sent - 1;  // each execution once
    }));
    EXPECT_EQ(house.status("RISK").lost, 0U);
}

TEST_F(FixDropCopy, AResetOfTheTargetsNumbersIsCounted) {
    RunningEngine house{kListen + waits_for("A") + waits_for("RISK", store("risk")) + copies("['HOUSE->A']"),
                        filling()};
    RawClient a{house.port()};
    a.send(logon(1, "A") + order(2, "A", "o2") + order(3, "A", "o3"));
    ASSERT_TRUE(comes_true([&] { return account(house).mirrored == 2; }));
    RawClient risk{house.port()};
    risk.send(logon(1, "RISK", "141=Y|"));
    ASSERT_TRUE(comes_true([&] { return account(house).discarded == 2; }));
    EXPECT_THAT(house.engine().page({.path = "/health"}).body, HasSubstr("copies_lost"));
    a.send(order(4, "A", "o4"));
    ASSERT_TRUE(comes_true([&] { return executions(risk).size() == 1; }));
    EXPECT_EQ(value_of(executions(risk).front(), "34"), "2");
}

TEST_F(FixDropCopy, AClosedScheduleHoldsCopiesBack) {
    // Open for one minute that is far from now: neither in this run nor in the next.
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto hour = std::chrono::duration_cast<std::chrono::hours>(now).count() % 24;
    const auto other = (hour + 12) % 24;
    RunningEngine house{
        kListen + waits_for("A") +
            waits_for("RISK", store("risk") + fmt::format("start = '{:02}:00'\nend = '{:02}:01'\n", other, other)) +
            copies("['HOUSE->A']"),
        filling()};
    RawClient a{house.port()};
    a.send(logon(1, "A") + order(2, "A", "o2"));
    ASSERT_TRUE(comes_true([&] { return executions(a).size() == 1 && account(house).waiting == 1; }));
    EXPECT_EQ(house.status("RISK").next_sender, 1U);
    expect_balanced(account(house));
}

TEST_F(FixDropCopy, SourcesOnOtherThreadsAndOfATemplate) {
    RunningEngine house{"threads = 2\n" + kListen + waits_for("*") + waits_for("RISK", "thread = 1\n") +
                            waits_for("B", "thread = 1\n") + waits_for("C", "thread = 0\n") + copies("['*']"),
                        filling()};
    RawClient risk{house.port()};
    risk.send(logon(1, "RISK"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("RISK"); }));
    constexpr std::uint64_t kOrders = 500;
    const std::vector<std::string> names{"DYN1", "DYN2", "B", "C"};
    std::vector<std::thread> threads;
    threads.reserve(names.size());
    for (const auto& name : names) {
        threads.emplace_back([&house, name] {
            RawClient client{house.port()};
            client.send(logon(1, name));
            for (std::uint64_t i = 2; i < kOrders + 2; ++i) client.send(order(i, name, fmt::format("{}-{}", name, i)));
            EXPECT_TRUE(comes_true([&] { return executions(client).size() == kOrders; }));
        });
    }
    for (auto& thread : threads) thread.join();
    ASSERT_TRUE(comes_true([&] { return executions(risk).size() == names.size() * kOrders; }));
    std::map<std::string, std::uint64_t> next;
    std::uint64_t number = 2;
    for (const auto& message : executions(risk)) {
        const auto from = value_of(message, "115");
        auto& expected = next.try_emplace(from, 2).first->second;
        EXPECT_EQ(value_of(message, "11"), fmt::format("{}-{}", from, expected++));  // in order for each source
        EXPECT_EQ(value_of(message, "34"), std::to_string(number++));
    }
    const auto status = account(house);
    EXPECT_EQ(status.offered, names.size() * kOrders);
    EXPECT_EQ(status.lost(), 0U);
}

TEST_F(FixDropCopy, AVersionOfAFixtTargetIsNamedInEachMessage) {
    RunningEngine house{
        kListen + waits_for("A") +
            waits_for("RISK", "version = 'FIX.5.0SP2'\nfurther_versions = ['FIX.4.4', 'FIX.5.0SP1']\n") +
            waits_for("F", "version = 'FIX.5.0SP1'\n") + copies("['HOUSE->A', 'HOUSE->F']"),
        filling()};
    RawClient a{house.port()};
    RawClient f{house.port()};
    RawClient risk{house.port()};
    a.send(logon(1, "A"));
    f.send(fix_text("FIXT.1.1", "A", 1, "F", "HOUSE", "98=0|108=30|1137=8|"));
    risk.send(fix_text("FIXT.1.1", "A", 1, "RISK", "HOUSE", "98=0|108=30|1137=9|"));
    ASSERT_TRUE(
        comes_true([&] { return house.is_active("HOUSE->A") && house.is_active("->F") && house.is_active("RISK"); }));
    a.send(order(2, "A", "o2"));
    ASSERT_TRUE(comes_true([&] { return executions(risk).size() == 1; }));
    f.send(fix_text("FIXT.1.1", "D", 2, "F", "HOUSE", "11=f2|55=MSFT|54=1|38=1|40=2|44=1|60=20240102-03:04:05|"));
    ASSERT_TRUE(comes_true([&] { return executions(risk).size() == 2; }));
    EXPECT_EQ(value_of(executions(risk)[0], "1128"), "6");
    EXPECT_EQ(value_of(executions(risk)[1], "1128"), "8");
}

TEST_F(FixDropCopy, ReloadsDuringTrafficLoseNothing) {
    const auto base = kListen + waits_for("A") + waits_for("B");
    RunningEngine house{base, filling()};
    RawClient a{house.port()};
    a.send(logon(1, "A"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("A"); }));
    EXPECT_THAT(house.reload(base + waits_for("RISK", store("risk")) + copies("['HOUSE->A']")).done,
                Contains("drop copy to FIX.4.4:HOUSE->RISK is added"));
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> sent{1};
    std::thread trader{[&] {
        while (!over.load() || sent.load() < 500) {
            const auto number = sent.load() + 1;
            a.send(order(number, "A", fmt::format("o{}", number)));
            sent.store(number);
            EXPECT_TRUE(comes_true([&] { return a.receive(), house.status("HOUSE->A").next_target > number; }));
        }
    }};
    // The target is replaced, the sources change, the target logs on and off.
    for (int i = 0; i < 6; ++i) {
        const auto changing =
            store("risk") + fmt::format("logout_seconds = 1\nmax_latency_seconds = {}\n", 100 + i % 2);
        const auto result = house.reload(base + waits_for("RISK", changing) +
                                         copies(i % 3 == 0 ? "['HOUSE->A', 'HOUSE->B']" : "['HOUSE->A']"));
        EXPECT_THAT(result.refused, IsEmpty());
        RawClient risk{house.port()};
        risk.send(logon(house.status("RISK").next_target, "RISK"));
        EXPECT_TRUE(comes_true([&] { return house.is_active("RISK"); }));
    }
    over.store(true);
    trader.join();
    ASSERT_TRUE(comes_true([&] { return account(house).mirrored == sent.load() - 1; }));
    EXPECT_EQ(account(house).lost(), 0U);
    EXPECT_EQ(house.status("HOUSE->A").connections, 1U);
    RawClient risk{house.port()};
    ASSERT_TRUE(comes_true([&] { return house.status("RISK").state == fix::Session::State::disconnected; }));
    const auto next = house.status("RISK").next_target;
    risk.send(logon(next, "RISK"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("RISK"); }));
    risk.send(fix44("2", next + 1, "RISK", "HOUSE", "7=1|16=0|"));
    ASSERT_TRUE(comes_true([&] { return executions(risk).size() == sent.load() - 1; }));
    std::uint64_t expected = 2;
    for (const auto& message : executions(risk)) EXPECT_EQ(value_of(message, "11"), fmt::format("o{}", expected++));
    EXPECT_THAT(house.reload(base).done, Contains("drop copy to FIX.4.4:HOUSE->RISK is removed"));
    EXPECT_THAT(house.engine().page({.path = "/metrics"}).body, Not(HasSubstr("drop_copy_offered")));
    a.send(order(sent.load() + 1, "A", "after"));
    EXPECT_TRUE(comes_true([&] { return house.status("HOUSE->A").next_target == sent.load() + 2; }));
}

TEST_F(FixDropCopy, ABadDropCopyIsRefusedAndChangesNothing) {
    const auto base = kListen + waits_for("A") + waits_for("RISK") + waits_for("B");
    RunningEngine house{base + copies("['HOUSE->A']"), filling()};
    struct Bad {
        std::string toml;
        std::string words;
    };
    for (const auto& [toml, words] : std::vector<Bad>{
             {base + copies("['HOUSE->NONE']"), "there is no session 'HOUSE->NONE'"},
             {base + copies("['HOUSE->RISK']"), "would copy itself"},
             {base + copies("[]"), "'sources' is missing"},
             {base + copies("['HOUSE->A', 'FIX.4.4:HOUSE->A']"), "is there twice"},
             {base + copies("['*', 'HOUSE->A']"), "either '*' or names"},
             {base + copies("['HOUSE->A']", "types = []\n"), "'types' is empty"},
             {base + copies("['HOUSE->A']", "types = ['8', '0']\n"),
              "expects types of application messages, found '0'"},
             {base + copies("['HOUSE->A']", "types = ['A']\n"), "fix.toml:"},
             {base + copies("['HOUSE->A']", "colour = 'red'\n"), "colour"},
             {base + copies("['HOUSE->A']") + copies("['HOUSE->B']"), "is there twice"},
             {base + copies("['HOUSE->A']") + "[[drop_copy]]\ntarget = 'HOUSE->A'\nsources = ['HOUSE->RISK']\n",
              "gets copies itself"},
             {base + copies("['HOUSE->A']") + "[[drop_copy]]\ntarget = 'HOUSE->B'\nsources = ['HOUSE->RISK']\n",
              "gets copies itself"},
             {base + "[[drop_copy]]\nsources = ['HOUSE->RISK']\n", "'target' is missing"},
             {base + waits_for("*") + "[[drop_copy]]\ntarget = 'HOUSE->*'\nsources = ['HOUSE->A']\n",
              "cannot get copies"},
             {kListen + waits_for("A", "version = 'FIX.4.2'\n") + waits_for("RISK") + copies("['HOUSE->A']"),
              "messages of FIX.4.2, which the target does not carry"},
             {kListen + waits_for("A") + waits_for("RISK", "reset_on_logon = true\n") + copies("['HOUSE->A']"),
              "'reset_on_logon'"},
             {kListen + waits_for("A", "max_message_bytes = '32KiB'\n") + waits_for("RISK") + copies("['HOUSE->A']"),
              "max_message_bytes"},
             {kListen + waits_for("A") + waits_for("A", "version = 'FIX.4.2'\n") + waits_for("RISK") +
                  copies("['HOUSE->A']"),
              "several sessions"}}) {
        try {
            house.reload(toml);
            ADD_FAILURE() << toml;
        } catch (const service::ConfigError& error) {
            EXPECT_THAT(error.what(), HasSubstr(words)) << toml;
        }
    }
    RawClient a{house.port()};
    a.send(logon(1, "A") + order(2, "A", "o2"));
    EXPECT_TRUE(comes_true([&] { return account(house).mirrored == 1; }));
}

}  // namespace
}  // namespace millpond::fixd
