// /metrics, /health and /api/health of a FIX engine, with token and TLS.

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
#include "service/config_error.hpp"
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

/// The answer, whatever its status.
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

TEST(Findings, EachReasonOfRejectsIsOneUntilItHasBeenQuietForFifteenMinutes) {
    constexpr std::int64_t kMinute = 60'000'000'000;
    SessionRecord record;
    const auto reject = [&](std::string_view reason, const char* text, std::int64_t utc_ns) {
        EXPECT_EQ(record.count_rejection(reason, utc_ns), 0U);
        record.set_newest(reason, text);
    };
    reject("a", "first", kMinute);
    reject("a", "second", 10 * kMinute);
    reject("b", "other", 20 * kMinute);
    Findings findings;
    const auto at = [&](std::int64_t minute) {
        SessionReport report{.status = {}};
        report.status.name = "S";
        report.rejections = record.rejections(minute * kMinute);
        return findings.update({report}, {}, minute * kMinute);
    };
    auto found = at(24);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].text, "2 rejected, the newest: second");
    EXPECT_EQ(found[0].since_utc_ns, kMinute);
    EXPECT_EQ(found[1].text, "1 rejected, the newest: other");
    EXPECT_EQ(found[1].since_utc_ns, 20 * kMinute);
    found = at(25);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].text, "1 rejected, the newest: other");
    EXPECT_TRUE(at(35).empty());
    reject("a", "again", 40 * kMinute);
    found = at(41);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].text, "1 rejected, the newest: again");
    EXPECT_EQ(found[0].since_utc_ns, 40 * kMinute);
}

TEST(Findings, ManyRejectsInASecondAreAllCountedWithSomeTextsForEachReason) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    constexpr std::uint64_t kTexts = SessionRecord::kMaxTextsPerSecond;
    SessionRecord record;
    std::uint64_t texts = 0;
    for (std::int64_t i = 0; i < 1'000; ++i) texts += record.count_rejection("a", kSecond + i) ? 1U : 0U;
    EXPECT_EQ(texts, kTexts);
    EXPECT_EQ(record.count_rejection("b", kSecond + 1'000), 0U);
    EXPECT_EQ(record.count_rejection("a", 2 * kSecond - 1), std::nullopt);
    EXPECT_EQ(record.count_rejection("a", 2 * kSecond), 1'001 - kTexts);
    EXPECT_EQ(record.count_rejection("a", 2 * kSecond), 0U);
    const auto all = record.rejections(2 * kSecond);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].messages, 1'003U);
    EXPECT_EQ(all[1].messages, 1U);
    // The clock is set back.
    for (std::uint64_t i = 2; i < kTexts; ++i) EXPECT_TRUE(record.count_rejection("a", 2 * kSecond));
    EXPECT_FALSE(record.count_rejection("a", 2 * kSecond));
    EXPECT_TRUE(record.count_rejection("a", kSecond));
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

TEST(FixHealth, AnInitiatorWithoutItsSessionIsAnErrorWithReasonAndTime) {
    RunningEngine house{kAnyPort + "[[session]]\nsender = 'HOUSE'\ntarget = 'B'\n"};
    RunningEngine a{kWeb + connects("A", house)};
    ASSERT_TRUE(comes_true([&] { return health_of(a)["sessions"][0]["last_error"].isString(); }));
    const auto report = health_of(a);
    EXPECT_FALSE(report["good"].asBool());
    EXPECT_THAT(stages(report), ::testing::ElementsAre("not_connected"));
    EXPECT_THAT(answer(a, "/health"), StartsWith("HTTP/1.0 503"));
    EXPECT_THAT(answer(a, "/health"), HasSubstr("not_connected: session 'FIX.4.4:A->HOUSE': "));
    EXPECT_EQ(health_of(a)["findings"][0]["since"].asInt64(), report["findings"][0]["since"].asInt64());
    // The counterparty accepts the Logon: the finding ends, and the last error remains visible.
    house.reload(kAnyPort + kHouse);
    ASSERT_TRUE(comes_true([&] { return health_of(a)["good"].asBool(); }));
    EXPECT_TRUE(health_of(a)["sessions"][0]["last_error"].isString());
}

TEST(FixHealth, ASessionThatIsDisabledOrOutsideItsScheduleIsNotAnError) {
    RunningEngine house{kAnyPort + "[[session]]\nsender = 'HOUSE'\ntarget = 'B'\n"};
    // A run of one second, a week ago at this time of day.
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
    auto config = RunningEngine::config_of(kWeb + kAnyPort + kHouse + "pending_bytes = '64KiB'\n");
    config.sessions.at(0).memory_bytes = std::size_t{256} << 10U;
    config.sessions.at(0).limits.stalled = std::chrono::minutes{1};
    RunningEngine house{config, filling()};
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
    const auto found = findings.update({session}, {}, 1'000'000'000);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(severity_of(found.front().kind), service::Severity::warning);
    EXPECT_EQ(health_line(found),
              "good, but store_failed: session 'S': the store could not be extended (attempts since startup: 2) (since "
              "19700101-00:00:01 UTC)\n");
    EXPECT_EQ(findings.update({session}, {}, 2'000'000'000).front().since_utc_ns, 1'000'000'000);
    EXPECT_THAT(health_json({session}, found, {}, 0, 0), ::testing::HasSubstr(R"("store_failures":2,)"));
}

TEST(FixHealth, ADamagedStoreAndAClockThatWasSetBackAreFindings) {
    SessionReport session;
    session.status.name = "S";
    session.status.store_damaged = 3;
    session.status.set_back_ns = 3'600'000'000'000;
    Findings findings;
    const auto found = findings.update({session}, {}, 1'000'000'000);
    ASSERT_EQ(found.size(), 2U);
    const auto json = health_json({session}, found, {}, 0, 0);
    EXPECT_THAT(json, ::testing::HasSubstr(R"("store_damaged":3,)"));
    EXPECT_THAT(json, ::testing::HasSubstr("damaged messages found in the store since startup: 3"));
    EXPECT_THAT(json, ::testing::HasSubstr("the clock is 3600 s before the last reset of its numbers"));
    session.status.set_back_ns = 0;
    EXPECT_EQ(findings.update({session}, {}, 2'000'000'000).size(), 1U);
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

TEST_F(FixWebAccess, WithATokenThePageIsPublicAndItsDataIsNot) {
    RunningEngine house{kWeb + "token_file = '" + token_.path() + "'\n" + kAnyPort + kHouse};
    EXPECT_THAT(get(house, "/"), HasSubstr("<title>millpond fix</title>"));
    EXPECT_THAT(get(house, "/fix.js"), HasSubstr("api/health"));
    for (const auto* path : {"/metrics", "/health", "/api/health"}) {
        EXPECT_THAT(answer(house, path), StartsWith("HTTP/1.0 401")) << path;
        EXPECT_THROW(get(house, path, "web-secret-0123456788"), std::runtime_error) << path;
        EXPECT_NO_THROW(static_cast<void>(get(house, path, kSecret))) << path;
    }
}

TEST_F(FixWebAccess, ANewTokenIsThatOfTheNextRequestAfterAReload) {
    const std::string file = kWeb + "token_file = '" + token_.path() + "'\n" + kAnyPort + kHouse;
    RunningEngine house{file};
    EXPECT_THAT(house.reload(file).done, ::testing::IsEmpty());
    RawClient connected{page_of(house).port()};
    const auto ask = [&](std::string_view token) {
        connected.send(
            fmt::format("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n\r\n", token));
    };
    ask(kSecret);
    ASSERT_TRUE(
        comes_true([&] { return connected.receive(), connected.received().find("good") != std::string::npos; }));
    std::ofstream{token_.path()} << "another-secret-0123456789\n";
    EXPECT_THAT(house.reload(file).done, ::testing::ElementsAre(HasSubstr("has read its token and certificates")));
    EXPECT_THROW(get(house, "/health", kSecret), std::runtime_error);
    EXPECT_THAT(get(house, "/health", "another-secret-0123456789"), HasSubstr("good"));
    ask(kSecret);  // on the connection that was accepted before
    EXPECT_TRUE(
        comes_true([&] { return connected.receive(), connected.received().find(" 401 ") != std::string::npos; }));
    const auto may_be_read = [&](unsigned mode) {
        std::filesystem::permissions(token_.path(), std::filesystem::perms{mode});
    };
    may_be_read(0644);  // unchanged, and known to all users
    EXPECT_THROW(house.reload(file), service::ConfigError);
    may_be_read(0640);
    EXPECT_THAT(house.reload(file).done, ::testing::IsEmpty());
    std::ofstream{token_.path()} << "short\n";
    EXPECT_THROW(house.reload(file), service::ConfigError);
    EXPECT_THAT(get(house, "/health", "another-secret-0123456789"), HasSubstr("good"));
}

TEST_F(FixWebAccess, ANewCertificateIsThatOfTheNextConnectionAfterAReload) {
    const test::Folder folder{"fix-web"};
    const test::Certificate first{folder, "first"};
    const test::Certificate second{folder, "second"};
    constexpr auto kReplace = std::filesystem::copy_options::overwrite_existing;
    const auto put = [&](const test::Certificate& one) {
        std::filesystem::copy_file(one.certificate, folder / "web.crt", kReplace);
        std::filesystem::copy_file(one.key, folder / "web.key", kReplace);
    };
    put(first);
    const std::string file = kWeb + "tls_certificate = '" + (folder / "web.crt") + "'\ntls_key = '" +
                             (folder / "web.key") + "'\n" + kAnyPort + kHouse;
    RunningEngine house{file};
    const auto shown = [&] {
        test::TlsClient client{page_of(house).port()};
        client.send_text("GET /health HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
        EXPECT_TRUE(comes_true([&] { return client.receive(), client.over(); }));
        return client.peer_name();
    };
    EXPECT_EQ(shown(), "first");
    put(second);
    EXPECT_THAT(house.reload(file).done, ::testing::ElementsAre(HasSubstr("has read its token and certificates")));
    EXPECT_EQ(shown(), "second");
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
    EXPECT_THROW(RunningEngine{kWeb + "token_file = '/nonexistent'\n" + kAnyPort + kHouse}, service::ConfigError);
    EXPECT_THROW(RunningEngine{kWeb + "tls_certificate = '/nonexistent'\ntls_key = '/nonexistent'\n"},
                 service::ConfigError);
    RunningEngine house{kWeb + kAnyPort + kHouse};
    const auto in_use = "[[web]]\nlisten = '" + page_of(house).to_string() + "'\n";
    EXPECT_THROW(RunningEngine{in_use}, std::system_error);
    EXPECT_THAT(house.reload(in_use + kAnyPort + kHouse).refused,
                ::testing::ElementsAre(HasSubstr("[[web]] changed: ignored until a restart")));
}

TEST(FixExposure, APageThatIsOpenToOtherMachinesIsAFindingAndWithStrictAnError) {
    const std::string open = "[[web]]\nlisten = '0.0.0.0:0'\n" + kAnyPort + kHouse;
    RunningEngine house{open};
    const auto body = house.engine().page({.path = "/api/health"}).body;
    EXPECT_THAT(body, HasSubstr(R"("stage":"exposed","severity":"warning","of":"[[web]]")"));
    EXPECT_THAT(house.engine().page({.path = "/health"}).body,
                HasSubstr("good, but exposed: [[web]]: 0.0.0.0:0 is open"));
    EXPECT_THAT(house.engine().page({.path = "/metrics"}).body,
                HasSubstr(R"(millpond_fix_finding{of="[[web]]",severity="warning",stage="exposed"} 1)"));
    EXPECT_THAT(house.said(), HasSubstr("[[web]]: 0.0.0.0:0 is open to other machines without a token"));
    EXPECT_THROW(RunningEngine{"strict = true\n" + open}, service::ConfigError);
    EXPECT_THROW(RunningEngine{"strict = true\nmetrics = '0.0.0.0:0'\n" + kAnyPort + kHouse}, service::ConfigError);
    EXPECT_NO_THROW(RunningEngine{"strict = true\n" + kWeb + kAnyPort + kHouse});
}

}  // namespace
}  // namespace millpond::fixd
