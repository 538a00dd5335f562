// What a FIX engine shows at /metrics, /health and /api/health, with token and TLS.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "fixd/health/health.hpp"
#include "fixd/sessions/session_records.hpp"
#include "service/http/get.hpp"
#include "service/json.hpp"
#include "service/settings/value.hpp"
#include "tests/engine/raw_client.hpp"
#include "tests/fixd/running_engine.hpp"
#include "tests/service/tls_client.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fixd {
namespace {

using engine::RawClient;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kWeb = "[[web]]\nlisten = '127.0.0.1:0'\n";
const std::string kAnyPort = "[[acceptor]]\nlisten = '127.0.0.1:0'\n";
const std::string kHouse = "[[session]]\nsender = 'HOUSE'\ntarget = 'A'\n";

net::SocketAddress page_of(RunningEngine& running) {
    const auto url = running.engine().page_addresses().at(0);
    const auto begin = url.find("://") + 3;
    return net::SocketAddress::parse(url.substr(begin, url.size() - begin - 1));
}

std::string get(RunningEngine& running, const std::string& path, const std::string& token = "") {
    return http::get(page_of(running), path, token);
}

Json::Value health_of(RunningEngine& running) { return service::parse_json(get(running, "/api/health")); }

/// The answer as it is, whatever its status.
std::string answer(RunningEngine& running, const std::string& path) {
    RawClient client{page_of(running).port()};
    client.send("GET " + path + " HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
    EXPECT_TRUE(comes_true([&] { return client.receive(), client.over(); }));
    return client.received();
}

std::vector<std::string> stages(const Json::Value& report) {
    std::vector<std::string> all;
    for (const auto& finding : report["findings"]) all.push_back(finding["stage"].asString());
    return all;
}

TEST(LastLatencies, ArePercentilesOfTheLastThousand) {
    LastLatencies latencies;
    EXPECT_EQ(latencies.read().count, 0U);
    latencies.add(7);
    EXPECT_EQ(latencies.read().p50, 7);
    EXPECT_EQ(latencies.read().p99, 7);
    for (std::int64_t i = 1; i <= 500; ++i) latencies.add(1'000'000);
    for (std::int64_t i = 1; i <= 1'000; ++i) latencies.add(i);
    const auto read = latencies.read();
    EXPECT_EQ(read.count, 1'000U);
    EXPECT_EQ(read.p50, 500);
    EXPECT_EQ(read.p90, 900);
    EXPECT_EQ(read.p99, 990);
    EXPECT_EQ(read.max, 1'000);
}

TEST(LastLatencies, AreReadWhileTheyAreWritten) {
    LastLatencies latencies;
    std::thread writer{[&] {
        for (int i = 0; i < 20'000; ++i) latencies.add(5);
    }};
    for (int i = 0; i < 200; ++i) {
        const auto read = latencies.read();
        EXPECT_TRUE(read.count == 0 || (read.p50 == 5 && read.max == 5)) << read.count;
    }
    writer.join();
}

TEST(FixHealth, TheSessionsNumbersLatencyAndStateAreThoseOfTheEngine) {
    RunningEngine house{kWeb + kAnyPort + kHouse, filling()};
    RawClient a{house.port()};
    a.send(fix44("A", 1, "A", "HOUSE", "98=0|108=30|"));
    for (std::uint64_t i = 2; i <= 11; ++i) {
        a.send(fix44("D", i, "A", "HOUSE", fmt::format("11={}|55=MSFT|54=1|38=1|40=2|44=1|60=20240102-03:04:05|", i)));
    }
    ASSERT_TRUE(comes_true([&] { return house.status("A").next_sender == 12; }));
    const auto report = health_of(house);
    EXPECT_TRUE(report["good"].asBool());
    EXPECT_EQ(report["acceptors"][0].asString(), house.engine().listening().at(0));
    const auto& session = report["sessions"][0];
    EXPECT_EQ(session["name"].asString(), "FIX.4.4:HOUSE->A");
    EXPECT_EQ(session["state"].asString(), "active");
    EXPECT_EQ(session["next_sender"].asUInt64(), 12U);
    EXPECT_EQ(session["next_target"].asUInt64(), 12U);
    EXPECT_EQ(session["received"].asUInt64(), 11U);
    EXPECT_EQ(session["sent"].asUInt64(), 11U);
    EXPECT_EQ(session["latency"]["count"].asUInt64(), 10U);
    EXPECT_GT(session["latency"]["p50"].asInt64(), 0);
    EXPECT_LE(session["latency"]["p50"].asInt64(), session["latency"]["max"].asInt64());
    EXPECT_TRUE(session["last_error"].isNull());
    EXPECT_EQ(get(house, "/health"), "good\n");
    EXPECT_THAT(get(house, "/metrics"), HasSubstr("millpond_fix_state{session=\"FIX.4.4:HOUSE->A\"} 2"));
    EXPECT_THAT(answer(house, "/nothing"), StartsWith("HTTP/1.0 404"));
}

TEST(FixHealth, AnInitiatorWithoutItsSessionIsAnErrorAndSaysWhySinceWhen) {
    RunningEngine house{kAnyPort + "[[session]]\nsender = 'HOUSE'\ntarget = 'B'\n"};
    RunningEngine a{kWeb + connects("A", house)};
    ASSERT_TRUE(comes_true([&] { return health_of(a)["sessions"][0]["last_error"].isString(); }));
    const auto report = health_of(a);
    EXPECT_FALSE(report["good"].asBool());
    EXPECT_THAT(stages(report), ::testing::ElementsAre("not_connected"));
    EXPECT_THAT(answer(a, "/health"), StartsWith("HTTP/1.0 503"));
    EXPECT_THAT(answer(a, "/health"), HasSubstr("not_connected: session 'FIX.4.4:A->HOUSE': "));
    EXPECT_EQ(health_of(a)["findings"][0]["since"].asInt64(), report["findings"][0]["since"].asInt64());
    // The counterparty lets it in: nothing is wrong any more, and the last error stays to be read.
    house.reload(kAnyPort + kHouse);
    ASSERT_TRUE(comes_true([&] { return health_of(a)["good"].asBool(); }));
    EXPECT_TRUE(health_of(a)["sessions"][0]["last_error"].isString());
}

TEST(FixHealth, OutsideOfItsScheduleOrDisabledASessionIsNoError) {
    RunningEngine house{kAnyPort + "[[session]]\nsender = 'HOUSE'\ntarget = 'B'\n"};
    // A run of a second a week ago at this time of the day.
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const auto day = std::chrono::floor<std::chrono::days>(now);
    const auto later = std::chrono::hh_mm_ss{(now - day + std::chrono::hours{6}) % std::chrono::hours{24}};
    const auto schedule = fmt::format("start = '{:02}:{:02}:00'\nend = '{:02}:{:02}:01'\n", later.hours().count(),
                                      later.minutes().count(), later.hours().count(), later.minutes().count());
    RunningEngine closed{kWeb + connects("A", house, schedule)};
    EXPECT_EQ(get(closed, "/health"), "good\n");
    EXPECT_FALSE(health_of(closed)["sessions"][0]["open"].asBool());
    RunningEngine disabled{kWeb + connects("A", house, "enabled = false\n")};
    EXPECT_THAT(get(disabled, "/health"), StartsWith("good, but disabled: session 'FIX.4.4:A->HOUSE'"));
    EXPECT_THAT(stages(health_of(disabled)), ::testing::ElementsAre("disabled"));
}

TEST(FixHealth, AResendInProgressAndALostHistoryAreFindings) {
    RunningEngine house{
        kWeb + kAnyPort + kHouse + "store_bytes = '256KiB'\npending_bytes = '64KiB'\nstall_seconds = 60\n", filling()};
    RawClient a{house.port()};
    a.send(fix44("A", 1, "A", "HOUSE", "98=0|108=30|"));
    std::string orders;
    for (std::uint64_t i = 2; i <= 4'001; ++i) {
        orders +=
            fix44("D", i, "A", "HOUSE", fmt::format("11={}|55=MSFT|54=1|38=1|40=2|44=1|60=20240102-03:04:05|", i));
        if (i % 50 != 1) continue;
        a.send(orders);
        orders.clear();
        ASSERT_TRUE(comes_true([&] { return a.receive(), house.status("A").next_target > i; }));
    }
    EXPECT_EQ(get(house, "/health"), "good\n");
    a.send(fix44("2", 4'002, "A", "HOUSE", "7=1|16=0|"));
    ASSERT_TRUE(comes_true([&] { return health_of(house)["sessions"][0]["history_lost"].asUInt64() != 0; }));
    EXPECT_THAT(stages(health_of(house)), ::testing::Contains("history_lost"));
    EXPECT_THAT(get(house, "/health"), StartsWith("good, but history_lost: session 'FIX.4.4:HOUSE->A'"));
    a.send(fix44("0", 9'000, "A", "HOUSE", ""));  // a gap
    ASSERT_TRUE(comes_true([&] { return a.receive(), house.status("A").awaits_resend; }));
    EXPECT_THAT(stages(health_of(house)), ::testing::Contains("resend"));
}

TEST(FixHealth, AStoreThatCannotGrowIsAFindingUntilTheEngineEnds) {
    SessionReport session;
    session.status.name = "S";
    session.status.store_failures = 2;
    Findings findings;
    const auto found = findings.look({session}, {}, 1'000'000'000);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(severity_of(found.front().kind), service::Severity::warning);
    EXPECT_EQ(health_line(found),
              "good, but store_failed: session 'S': the store could not be extended 2 times since startup (since "
              "19700101-00:00:01 UTC)\n");
    EXPECT_EQ(findings.look({session}, {}, 2'000'000'000).front().since_utc_ns, 1'000'000'000);
    EXPECT_THAT(health_json({session}, found, {}, 0, 0), ::testing::HasSubstr(R"("store_failures":2,)"));
}

TEST(FixHealth, HostileNamesAndTextsAreWellFormedJson) {
    RunningEngine house{kWeb + kAnyPort + "[[session]]\nsender = '</script><b>\"H'\ntarget = '\\<img src=x>'\n"};
    const auto report = health_of(house);
    EXPECT_EQ(report["sessions"][0]["name"].asString(), "FIX.4.4:</script><b>\"H->\\<img src=x>");
    EXPECT_THAT(get(house, "/metrics"), HasSubstr("</script><b>\\\"H->\\\\<img src=x>\"} 0"));
}

TEST(FixHealth, SessionsByTemplateLeaveNothingBehind) {
    RunningEngine house{kWeb + kAnyPort + "[[session]]\nsender = 'HOUSE'\ntarget = '*'\n"};
    {
        RawClient stranger{house.port()};
        stranger.send(fix44("A", 1, "ONE", "HOUSE", "98=0|108=30|"));
        ASSERT_TRUE(comes_true([&] { return house.is_active("ONE"); }));
        house.engine().watch();
        EXPECT_EQ(health_of(house)["sessions"].size(), 1U);
    }
    house.reload(kAnyPort);
    EXPECT_EQ(health_of(house)["sessions"].size(), 0U);
    EXPECT_THAT(get(house, "/metrics"), Not(HasSubstr("ONE")));
}

class FixWebAccess : public ::testing::Test {
protected:
    static constexpr const char* kSecret = "web-secret-0123456789";
    static const test::Certificates& certificates() {
        static const test::Certificates kMade;
        return kMade;
    }
    FixWebAccess() { std::filesystem::permissions(token_.path(), std::filesystem::perms{0600}); }

    test::ScratchFile token_{test::scratch_name("web.token"), std::string{kSecret} + "\n"};
};

TEST_F(FixWebAccess, WithATokenThePageIsOpenAndWhatItShowsIsNot) {
    RunningEngine house{kWeb + "token_file = '" + token_.path() + "'\n" + kAnyPort + kHouse};
    EXPECT_THAT(get(house, "/"), HasSubstr("<title>millpond fix</title>"));
    EXPECT_THAT(get(house, "/fix.js"), HasSubstr("api/health"));
    for (const auto* path : {"/metrics", "/health", "/api/health"}) {
        EXPECT_THAT(answer(house, path), StartsWith("HTTP/1.0 401")) << path;
        EXPECT_THROW(get(house, path, "web-secret-0123456788"), std::runtime_error) << path;
        EXPECT_NO_THROW(static_cast<void>(get(house, path, kSecret))) << path;
    }
}

TEST_F(FixWebAccess, WithTlsItSpeaksTlsOnly) {
    if (!certificates().made()) GTEST_SKIP() << "the program openssl is missing";
    std::filesystem::permissions(certificates().key("ours-server"), std::filesystem::perms{0600});
    RunningEngine house{kWeb + "tls_certificate = '" + certificates().certificate("ours-server") + "'\ntls_key = '" +
                        certificates().key("ours-server") + "'\n" + kAnyPort + kHouse};
    EXPECT_THAT(house.engine().page_addresses().at(0), StartsWith("https://"));
    test::TlsClient client{page_of(house).port()};
    client.send_text("GET /health HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
    EXPECT_TRUE(comes_true([&] { return client.receive(), client.over(); }));
    EXPECT_THAT(client.text(), HasSubstr("\r\n\r\ngood\n"));
    EXPECT_THAT(answer(house, "/health"), Not(HasSubstr("good")));
}

TEST_F(FixWebAccess, ABadTokenOrCertificateStopsTheStart) {
    EXPECT_THROW(RunningEngine{kWeb + "token_file = '/nonexistent'\n" + kAnyPort + kHouse}, settings::ConfigError);
    EXPECT_THROW(RunningEngine{kWeb + "tls_certificate = '/nonexistent'\ntls_key = '/nonexistent'\n"},
                 settings::ConfigError);
    RunningEngine house{kWeb + kAnyPort + kHouse};
    const auto taken = "[[web]]\nlisten = '" + page_of(house).to_string() + "'\n";
    EXPECT_THROW(RunningEngine{taken}, std::system_error);
    EXPECT_THAT(house.reload(taken + kAnyPort + kHouse).refused,
                ::testing::ElementsAre(HasSubstr("metrics or [[web]] changed: ignored until a restart")));
}

}  // namespace
}  // namespace millpond::fixd
