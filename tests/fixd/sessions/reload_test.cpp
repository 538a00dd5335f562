// Sessions are added to a running engine, changed and removed.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "fixd/admin/session_admin.hpp"
#include "service/config_error.hpp"
#include "service/settings/toml.hpp"
#include "tests/engine/raw_client.hpp"
#include "tests/fixd/running_engine.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fixd {
namespace {

using engine::RawClient;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class FixReload : public ::testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

    std::filesystem::path folder_{::testing::TempDir() + test::scratch_name("fix_reload")};
};

TEST_F(FixReload, SessionsAreAddedChangedAndRemovedAndTheOthersKeepConnectionAndNumbers) {
    RunningEngine house{kListen + waits_for("A") + waits_for("B") + waits_for("C")};
    RunningEngine a{connects("A", house, "heartbeat_seconds = 1\n")};
    RunningEngine b{connects("B", house)};
    RunningEngine c{connects("C", house)};
    ASSERT_TRUE(comes_true([&] { return house.is_active("A") && house.is_active("B") && house.is_active("C"); }));
    const auto result =
        house.reload(kListen + "\n\n" + waits_for("A") + waits_for("C", "max_latency_seconds = 60\n") + waits_for("D"));
    EXPECT_THAT(result.done, ElementsAre("session FIX.4.4:HOUSE->D is added", "session FIX.4.4:HOUSE->B is removed",
                                         "session FIX.4.4:HOUSE->C is changed"));
    EXPECT_THAT(result.refused, IsEmpty());
    EXPECT_THAT(house.said(), HasSubstr("reload: session FIX.4.4:HOUSE->C is changed"));
    EXPECT_TRUE(house.is_active("A"));
    EXPECT_EQ(house.status("A").connections, 1U);
    EXPECT_EQ(a.status("HOUSE").connections, 1U);
    EXPECT_EQ(a.counts().closed.load(), 0);
    // C logged out and on again with the next numbers; B finds no session; D does.
    ASSERT_TRUE(comes_true([&] { return c.counts().logons.load() == 2 && house.is_active("C"); }));
    EXPECT_TRUE(comes_true([&] {
        return house.status("C").next_sender == c.status("HOUSE").next_target &&
               house.status("C").next_target == c.status("HOUSE").next_sender;
    }));
    EXPECT_GE(house.status("C").next_target, 4U);  // Logon, Logout, Logon
    EXPECT_EQ(c.status("HOUSE").resent, 0U);
    RunningEngine d{connects("D", house)};
    EXPECT_TRUE(comes_true([&] { return house.is_active("D"); }));
    EXPECT_EQ(house.status("HOUSE->B").name, "");
    EXPECT_TRUE(comes_true([&] { return house.said().find("unknown session") != std::string::npos; }));
    EXPECT_EQ(b.counts().logons.load(), 1);
    EXPECT_THAT(
        house.reload(kListen + waits_for("A") + waits_for("C", "max_latency_seconds = 60\n") + waits_for("D")).done,
        IsEmpty());
}

TEST_F(FixReload, AConfigurationThatCannotBeHadLeavesEverything) {
    const auto kept = kListen + waits_for("A");
    RunningEngine house{kept};
    RunningEngine a{connects("A", house)};
    ASSERT_TRUE(comes_true([&] { return house.is_active("A"); }));
    RunningEngine other{kListen + waits_for("X")};
    const auto in_use = "[[acceptor]]\nname = 'wan'\nlisten = '127.0.0.1:" + std::to_string(other.port()) + "'\n";
    std::ofstream{path("file")} << "no folder\n";
    const std::string added = "[[session]]\nsender = 'HOUSE'\ntarget = 'NEW'\n";
    for (const auto& bad : {
             kept + "[[session]]\nsender = 'HOUSE'\n",
             kept + added + "colour = 'red'\n",
             kept + added + "password_file = '/nonexistent'\n",
             kept + added + "dictionary = '/nonexistent.xml'\n",
             kept + added + "store = '" + path("file") + "/new.store'\n",
             kept + added + "keep_bytes = '1KiB'\n",
             kept + added + "hosts = ['127.0.0.1:1']\ntls = true\ntls_authorities = '/nonexistent.pem'\n",
             kListen + in_use + waits_for("A", "max_latency_seconds = 1\n"),
             // A good session before a bad one, with a good acceptor.
             kListen + "[[acceptor]]\nname = 'wan'\nlisten = '127.0.0.1:0'\n" + waits_for("GOOD") + added +
                 "store = '" + path("file") + "/new.store'\n",
         }) {
        EXPECT_ANY_THROW(house.reload(bad)) << bad;
        EXPECT_EQ(house.engine().sessions().size(), 1U) << bad;
        EXPECT_EQ(house.engine().listening().size(), 1U) << bad;
    }
    EXPECT_TRUE(house.is_active("A"));
    EXPECT_EQ(house.status("A").connections, 1U);
    EXPECT_EQ(a.counts().closed.load(), 0);
}

TEST_F(FixReload, AChangedSessionContinuesInItsFileAndWithoutAFileResendsNothingWrong) {
    const auto store = "store = '" + path("a.store") + "'\n";
    RunningEngine house{kListen + waits_for("A", store), filling()};
    RawClient client{house.port()};
    client.send(logon(1, "A"));
    for (std::uint64_t i = 2; i <= 4; ++i) {
        client.send(
            fix44("D", i, "A", "HOUSE", fmt::format("11=o{}|55=MSFT|54=1|38=1|40=2|44=1|60=20240102-03:04:05|", i)));
    }
    ASSERT_TRUE(comes_true([&] { return house.status("A").next_sender == 5; }));
    client.end();
    ASSERT_TRUE(comes_true([&] { return house.status("A").state == fix::Session::State::disconnected; }));
    EXPECT_THAT(house.reload(kListen + waits_for("A", store + "max_latency_seconds = 60\n")).done,
                ElementsAre("session FIX.4.4:HOUSE->A is changed"));
    EXPECT_EQ(house.status("A").next_sender, 5U);
    EXPECT_EQ(house.status("A").next_target, 5U);
    // The fills of A are resent from the file.
    RawClient again{house.port()};
    again.send(logon(5, "A") + fix44("2", 6, "A", "HOUSE", "7=1|16=0|"));
    EXPECT_TRUE(comes_true([&] { return again.received().find("11=o4\x01") != std::string::npos; }));
    EXPECT_EQ(house.status("A").resent, 3U);
}

TEST_F(FixReload, ASessionThatCannotBeReplacedRunsWithItsOldSettings) {
    const auto store = "store = '" + path("a.store") + "'\n";
    std::ofstream{path("file")} << "no folder\n";
    RunningEngine house{kListen + waits_for("A", store)};
    RunningEngine a{connects("A", house)};
    ASSERT_TRUE(comes_true([&] { return house.is_active("A"); }));
    const auto result = house.reload(kListen + waits_for("A", "store = '" + path("file") + "/a.store'\n"));
    EXPECT_THAT(result.done, IsEmpty());
    EXPECT_THAT(result.refused, ElementsAre(HasSubstr("session FIX.4.4:HOUSE->A keeps its old settings: ")));
    EXPECT_TRUE(comes_true([&] { return a.counts().logons.load() == 2 && house.is_active("A"); }));
    EXPECT_TRUE(comes_true([&] { return house.status("A").next_target == a.status("HOUSE").next_sender; }));
}

TEST_F(FixReload, ADictionaryThatChangedDuringAReloadThatFailedIsReadByTheNextOne) {
    const auto write = [&](std::string_view comment) {
        std::ofstream{path("d.xml")} << "<fix type='FIX' major='4' minor='4'><header/><trailer/><messages>"
                                        "<message name='Logon' msgtype='A' msgcat='admin'/></messages><fields/>"
                                     << comment << "</fix>";
    };
    std::ofstream{path("file")} << "no folder\n";
    write("");
    const auto with_store = [&](const std::string& store) {
        return kListen + waits_for("A", "dictionary = '" + path("d.xml") + "'\nstore = '" + path(store) + "'\n");
    };
    RunningEngine house{with_store("a.store")};
    write("<!-- other -->");
    EXPECT_THAT(house.reload(with_store("file/a.store")).refused, ElementsAre(HasSubstr("keeps its old settings")));
    EXPECT_THAT(house.reload(with_store("a.store")).done, ElementsAre("session FIX.4.4:HOUSE->A is changed"));
    EXPECT_THAT(house.reload(with_store("a.store")).done, IsEmpty());
}

TEST_F(FixReload, AConnectionThatHasNotLoggedOnFindsTheNewSessions) {
    RunningEngine house{kListen + waits_for("A") + waits_for("B")};
    RawClient a{house.port()};
    RawClient b{house.port()};
    RawClient c{house.port()};
    const auto text = logon(1, "A");
    a.send(text.substr(0, 30));
    house.reload(kListen + waits_for("A", "max_latency_seconds = 60\n") + waits_for("C"));
    a.send(text.substr(30));
    b.send(logon(1, "B"));
    c.send(logon(1, "C"));
    EXPECT_TRUE(comes_true([&] { return house.is_active("A") && house.is_active("C"); }));
    EXPECT_TRUE(comes_true([&] { return b.receive(), b.over(); }));
    EXPECT_EQ(b.received(), "");
}

TEST_F(FixReload, ASecretThatAReloadAddsIsHiddenInALogonThatIsHalfReceived) {
    std::ofstream{path("key")} << "ours\n";
    std::filesystem::permissions(path("key"), std::filesystem::perms{0600});
    const auto top = "raw_log = '" + path("raw.log") + "'\n" + kListen + waits_for("A");
    const auto logged = [&] { return settings::text_of(path("raw.log")); };
    RunningEngine house{top};
    RawClient a{house.port()};
    RawClient b{house.port()};
    a.send(logon(1, "A"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("A"); }));
    // A Logon with a secret arrives in a running session, in the same read as another message; another arrives on a
    // connection without a session.
    const auto again = fix44("0", 2, "A", "HOUSE", "") + logon(3, "A", "9407=open-secret|");
    const auto first = logon(1, "B", "9407=open-secret|");
    const auto cut = [](const std::string& text) { return text.find("secret"); };
    b.send(first.substr(0, cut(first)));
    a.send(again.substr(0, cut(again)));
    ASSERT_TRUE(comes_true([&] { return house.status("A").next_target == 3; }));
    house.reload(top + waits_for("B", "[session.logon]\n9407 = { file = '" + path("key") + "' }\n"));
    a.send(again.substr(cut(again)));
    b.send(first.substr(cut(first)));
    const auto is_hidden = [&](const std::string& session) {
        const auto text = logged();
        const auto at = text.rfind("< FIX.4.4:HOUSE->" + session + " ");
        return at != std::string::npos && text.find("9407=***********\x01", at) < text.find('\n', at);
    };
    EXPECT_TRUE(comes_true([&] { return is_hidden("A") && is_hidden("B"); })) << logged();
    EXPECT_EQ(logged().find("secret"), std::string::npos);
}

TEST_F(FixReload, PermissionsRestartNoSessionAndASecretThatAllUsersMayReadIsRefused) {
    const auto allow = [&](const char* file, unsigned mode) {
        std::filesystem::permissions(path(file), std::filesystem::perms{mode});
    };
    std::ofstream{path("d.xml")} << "<fix type='FIX' major='4' minor='4'><header/><trailer/><messages>"
                                    "<message name='Logon' msgtype='A' msgcat='admin'/></messages><fields/></fix>";
    std::ofstream{path("password")} << "secret\n";
    allow("password", 0600);
    const auto file = kListen + waits_for("A", "dictionary = '" + path("d.xml") + "'\n") +
                      "[[session]]\nsender = 'DESK'\ntarget = 'ABSENT'\nhosts = ['127.0.0.1:9']\npassword_file = '" +
                      path("password") + "'\n";
    RunningEngine house{file};
    for (const unsigned mode : {0600U, 0644U, 0666U}) {
        allow("d.xml", mode);
        EXPECT_THAT(house.reload(file).done, IsEmpty()) << mode;
    }
    allow("password", 0640);
    EXPECT_THAT(house.reload(file).done, IsEmpty());
    allow("password", 0644);
    EXPECT_THROW(house.reload(file), service::ConfigError);
}

TEST_F(FixReload, AnInitiatorThatWaitsForAnAnswerToItsLogonIsRemovedAtOnce) {
    RunningEngine silent{kListen + waits_for("X")};  // accepts the connection, but has no session DESK
    RunningEngine desk{connects("DESK", silent) + "[[session]]\nsender = 'DESK'\ntarget = 'ABSENT'\n" +
                       "hosts = ['127.0.0.1:9']\nreconnect_ms = 1\n"};
    ASSERT_TRUE(comes_true([&] { return desk.counts().closed.load() > 0; }));
    EXPECT_THAT(desk.reload("").done, UnorderedElementsAre("session FIX.4.4:DESK->HOUSE is removed",
                                                           "session FIX.4.4:DESK->ABSENT is removed"));
    EXPECT_THAT(desk.engine().sessions(), IsEmpty());
}

TEST_F(FixReload, ASessionWithAResendInProgressIsRemovedAndTheOthersGoOn) {
    constexpr std::uint64_t kOrders = 20'000;
    RunningEngine house{kListen + waits_for("A", "pending_bytes = '64KiB'\nlogout_seconds = 1\n") + waits_for("B"),
                        filling()};
    RunningEngine b{connects("B", house)};
    RawClient a{house.port()};
    a.send(logon(1, "A"));
    std::string orders;
    for (std::uint64_t i = 2; i < kOrders; ++i) {
        orders +=
            fix44("D", i, "A", "HOUSE", fmt::format("11={}|55=MSFT|54=1|38=1|40=2|44=1|60=20240102-03:04:05|", i));
        if (i % 100 != 0) continue;
        a.send(orders);
        orders.clear();
        ASSERT_TRUE(comes_true([&] { return a.receive(), house.status("A").next_target > i; }));
        a.forget();
    }
    ASSERT_TRUE(comes_true([&] { return house.is_active("B"); }));
    const auto next = house.status("A").next_target;
    a.send(fix44("2", next, "A", "HOUSE", "7=1|16=0|"));  // and does not read the answer
    ASSERT_TRUE(comes_true([&] { return house.status("A").resending; }));
    EXPECT_THAT(house.reload(kListen + waits_for("B")).done, ElementsAre("session FIX.4.4:HOUSE->A is removed"));
    EXPECT_TRUE(comes_true([&] { return a.receive(), a.over(); }));
    EXPECT_TRUE(house.is_active("B"));
    EXPECT_EQ(b.counts().closed.load(), 0);
    EXPECT_EQ(house.engine().sessions().size(), 1U);
}

TEST_F(FixReload, DisabledSessionsStayDisabledUntilTheFileOrAnOperatorEnablesThem) {
    RunningEngine house{kListen + waits_for("A", "enabled = false\n") + waits_for("B")};
    RunningEngine a{connects("A", house)};
    RunningEngine b{connects("B", house)};
    const auto list = [&] { return Administered{.sessions = [&] { return house.engine().sessions(); }, .reload = {}}; };
    ASSERT_TRUE(comes_true([&] { return a.counts().closed.load() > 0 && house.is_active("B"); }));
    EXPECT_EQ(house.counts().logons.load(), 1);
    EXPECT_FALSE(house.status("A").enabled);
    EXPECT_THAT(answer_admin("logout\tB\tby hand", list()), HasSubstr("done"));
    ASSERT_TRUE(comes_true([&] { return !house.status("B").enabled && !house.is_active("B"); }));
    // B stays disabled, changed or not, because the file does not change `enabled`.
    EXPECT_THAT(house.reload(kListen + waits_for("A") + waits_for("B")).done,
                ElementsAre("session FIX.4.4:HOUSE->A is enabled"));
    EXPECT_FALSE(house.status("B").enabled);
    EXPECT_TRUE(comes_true([&] { return house.is_active("A"); }));
    const auto changed = waits_for("B", "max_latency_seconds = 60\n");
    EXPECT_THAT(house.reload(kListen + waits_for("A") + changed).done,
                ElementsAre("session FIX.4.4:HOUSE->B is changed"));
    EXPECT_FALSE(house.status("B").enabled);
    EXPECT_THAT(answer_admin("list", list()), HasSubstr("\"enabled\":false"));
    EXPECT_THAT(answer_admin("logon\tB", list()), HasSubstr("done"));
    EXPECT_TRUE(comes_true([&] { return house.is_active("B"); }));
    EXPECT_THAT(house.reload(kListen + waits_for("A", "enabled = false\n") + changed).done,
                ElementsAre("session FIX.4.4:HOUSE->A is disabled"));
    EXPECT_TRUE(comes_true([&] { return !house.is_active("A"); }));
    EXPECT_TRUE(house.is_active("B"));
}

TEST_F(FixReload, SessionsByTemplateGoWithTheirTemplate) {
    RunningEngine house{kListen + waits_for("*") + waits_for("A")};
    RunningEngine a{connects("A", house)};
    RunningEngine one{connects("ONE", house)};
    RunningEngine two{connects("TWO", house)};
    ASSERT_TRUE(comes_true([&] { return house.is_active("A") && house.is_active("ONE") && house.is_active("TWO"); }));
    EXPECT_THAT(house.reload(kListen + waits_for("*", "max_dynamic = 1\n") + waits_for("A")).done,
                ElementsAre("session FIX.4.4:HOUSE->* is changed"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("ONE") != house.is_active("TWO"); }));
    EXPECT_THAT(house.reload(kListen + waits_for("A")).done, ElementsAre("session FIX.4.4:HOUSE->* is removed"));
    EXPECT_EQ(house.engine().sessions().size(), 1U);
    EXPECT_EQ(a.counts().closed.load(), 0);
    const auto logons = house.counts().logons.load();
    ASSERT_TRUE(comes_true([&] { return house.said().find("unknown session: tag 49") != std::string::npos; }));
    EXPECT_EQ(house.counts().logons.load(), logons);
}

TEST_F(FixReload, ATemplateWhoseStoreIsNotAFolderIsRefused) {
    std::ofstream{path("file")} << "other";
    const auto wrong = kListen + waits_for("*", "store = '" + path("file") + "'\n");
    const auto expected = "'HOUSE' to '*': key 'store': expected a folder, found '" + path("file") + "'";
    try {
        RunningEngine{wrong};
        FAIL() << "each Logon would be refused";
    } catch (const service::ConfigError& error) {
        EXPECT_THAT(error.what(), HasSubstr(expected));
    }
    RunningEngine house{kListen + waits_for("A")};
    EXPECT_THROW(static_cast<void>(house.reload(wrong)), service::ConfigError);
}

TEST_F(FixReload, MissingFoldersOfStoresAndOfTheRawLogAreCreated) {
    const auto stores = [&](const std::string& folder) {
        return waits_for("A", "store = '" + path(folder + "/one/a.store") + "'\n") +
               waits_for("*", "store = '" + path(folder + "/any") + "'\n");
    };
    RunningEngine house{"raw_log = '" + path("log/raw.log") + "'\n" + kListen + stores("first")};
    EXPECT_TRUE(std::filesystem::exists(path("log/raw.log")));
    EXPECT_TRUE(std::filesystem::is_directory(path("first/one")));
    EXPECT_TRUE(std::filesystem::is_directory(path("first/any")));
    static_cast<void>(house.reload("raw_log = '" + path("log/raw.log") + "'\n" + kListen + stores("second")));
    EXPECT_TRUE(std::filesystem::is_directory(path("second/one")));
    EXPECT_TRUE(std::filesystem::is_directory(path("second/any")));
}

TEST_F(FixReload, AConfiguredSessionReplacesOneCreatedByATemplate) {
    std::filesystem::create_directories(path("dynamic"));
    const auto folder = "store = '" + path("dynamic") + "'\n";
    RunningEngine house{kListen + waits_for("*", folder)};
    RunningEngine one{connects("ONE", house)};
    RunningEngine two{connects("TWO", house)};
    ASSERT_TRUE(comes_true([&] { return house.is_active("ONE") && house.is_active("TWO"); }));
    const auto next = house.status("ONE").next_sender;
    EXPECT_THAT(house
                    .reload(kListen + waits_for("*", folder) +
                            waits_for("ONE", "store = '" + path("dynamic") + "/ONE.store'\n"))
                    .done,
                ElementsAre("session FIX.4.4:HOUSE->ONE is added"));
    // The session continues with the other session's file.
    EXPECT_TRUE(comes_true([&] { return house.is_active("ONE") && house.status("ONE").next_sender > next; }));
    EXPECT_EQ(house.engine().sessions().size(), 2U);
    EXPECT_EQ(two.counts().closed.load(), 0);
    EXPECT_GE(one.counts().closed.load(), 1);
}

TEST_F(FixReload, AcceptorsOpenAndCloseAndAChangedOneIsRefused) {
    RunningEngine house{kListen + waits_for("A")};
    RunningEngine a{connects("A", house)};
    const std::string wan = "[[acceptor]]\nname = 'wan'\nlisten = '127.0.0.1:0'\n";
    const auto opened =
        house.reload(kListen + wan + waits_for("A") + waits_for("B", "acceptor = 'wan'\nlogout_seconds = 1\n"));
    EXPECT_THAT(opened.done,
                ElementsAre(HasSubstr("acceptor 'wan' listens on 127.0.0.1:"), "session FIX.4.4:HOUSE->B is added"));
    const auto port = house.port(1);
    RawClient b{port};
    b.send(logon(1, "B"));
    ASSERT_TRUE(comes_true([&] { return house.is_active("B"); }));
    const auto changed = "[[acceptor]]\nname = 'lan'\nlisten = '127.0.0.1:0'\nmax_connections = 7\n";
    const auto closed = house.reload(changed + waits_for("A"));
    EXPECT_THAT(closed.done, ElementsAre("session FIX.4.4:HOUSE->B is removed", "acceptor 'wan' is closed"));
    EXPECT_THAT(closed.refused, ElementsAre("acceptor 'lan' changed: ignored until a restart"));
    EXPECT_THROW(RawClient{port}, std::runtime_error);
    EXPECT_TRUE(comes_true([&] { return house.is_active("A"); }));
    EXPECT_EQ(a.counts().logons.load(), 1);
}

TEST_F(FixReload, NewContentsOfAnAcceptorsCertificateAreThoseOfTheNextConnections) {
    const test::Certificates made;
    if (!made.made()) GTEST_SKIP() << "the program openssl is missing";
    const auto put = [&](const std::string& who) {
        constexpr auto kReplace = std::filesystem::copy_options::overwrite_existing;
        std::filesystem::copy_file(made.certificate(who), path("server.pem"), kReplace);
        std::filesystem::copy_file(made.key(who), path("server.key"), kReplace);
    };
    put("ours-server");
    const auto file = "[[acceptor]]\nname = 'lan'\nlisten = '127.0.0.1:0'\ntls_verify = false\ntls_certificate = '" +
                      path("server.pem") + "'\ntls_key = '" + path("server.key") + "'\n" + waits_for("A") +
                      waits_for("B");
    RunningEngine house{file};
    const auto trusting = [&](const std::string& name, const std::string& authority) {
        return connects(name, house) + "tls = true\ntls_server_name = '" + test::Certificates::kServerName +
               "'\ntls_authorities = '" + made.certificate(authority) + "'\n";
    };
    RunningEngine a{trusting("A", "ours")};
    ASSERT_TRUE(comes_true([&] { return house.is_active("A"); }));
    EXPECT_THAT(house.reload(file).done, IsEmpty());
    put("others-server");
    EXPECT_THAT(house.reload(file).done, ElementsAre("acceptor 'lan' has read its certificates"));
    EXPECT_THAT(house.reload(file).done, IsEmpty());
    RunningEngine b{trusting("B", "others")};
    ASSERT_TRUE(comes_true([&] { return house.is_active("B"); }));
    EXPECT_EQ(a.counts().closed.load(), 0);
    // Unusable files change nothing.
    std::ofstream{path("server.pem")} << "nothing";
    EXPECT_THROW(house.reload(file), std::runtime_error);
    EXPECT_TRUE(house.is_active("A") && house.is_active("B"));
    put("others-server");
    EXPECT_THAT(house.reload(file).done, IsEmpty());
    // A key that other users may read has no effect either.
    std::filesystem::permissions(path("server.key"), std::filesystem::perms{0644});
    try {
        static_cast<void>(house.reload(file));
        ADD_FAILURE() << "the key is accepted";
    } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("[[acceptor]] 'lan': tls: key '"), HasSubstr("chmod o-rw")));
    }
    EXPECT_TRUE(house.is_active("A") && house.is_active("B"));
}

TEST_F(FixReload, NewContentsOfAFileThatASessionReadsAreInItsNextLogon) {
    std::ofstream{path("password")} << "old-password\n";
    std::ofstream{path("key")} << "old-key\n";
    for (const auto* file : {"password", "key"}) {
        std::filesystem::permissions(path(file), std::filesystem::perms{0600});
    }
    RunningEngine house{kListen + waits_for("A", "user_fields_are_known = false\n") + waits_for("B")};
    const auto file = connects("A", house,
                               "username = 'a'\npassword_file = '" + path("password") +
                                   "'\n[session.logon]\n9407 = { file = '" + path("key") + "' }\n") +
                      connects("B", house);
    RunningEngine desk{file};
    ASSERT_TRUE(comes_true([&] { return house.is_active("A") && house.is_active("B"); }));
    EXPECT_THAT(desk.reload(file).done, IsEmpty());
    for (const std::string secret : {"password", "key"}) {
        std::ofstream{path(secret)} << "new-" << secret << "\n";
        EXPECT_THAT(desk.reload(file).done, ElementsAre("session FIX.4.4:A->HOUSE is changed")) << secret;
        EXPECT_THAT(desk.reload(file).done, IsEmpty()) << secret;
    }
    ASSERT_TRUE(comes_true([&] { return house.is_active("A") && house.is_active("B"); }));
    EXPECT_EQ(desk.counts().closed.load(), 2);  // B stays
}

TEST_F(FixReload, SettingsThatNeedARestartAreNamedAndNotChanged) {
    for (const auto& key : settings::Schema<EngineConfig>::keys()) {
        EXPECT_EQ(key.show == nullptr, key.is_removed() || key.name == "strict") << key.name << ": not compared";
    }
    RunningEngine house{kListen + waits_for("A")};
    const auto result = house.reload("threads = 2\npoll = 'spin'\nmask_tags = ['58']\nfile_mode = '0600'\nraw_log = '" +
                                     path("raw") + "'\n" + kListen + waits_for("A") + waits_for("B"));
    EXPECT_THAT(result.done, ElementsAre("session FIX.4.4:HOUSE->B is added"));
    EXPECT_THAT(result.refused,
                ElementsAre("raw_log changed: ignored until a restart", "mask_tags changed: ignored until a restart",
                            "file_mode changed: ignored until a restart", "threads changed: ignored until a restart",
                            "poll changed: ignored until a restart"));
    EXPECT_FALSE(std::filesystem::exists(path("raw")));
    // The sessions' stores would be in another folder than their states.
    EXPECT_THROW(house.reload("state = '" + path("elsewhere") + "'\n" + kListen + waits_for("A")),
                 service::ConfigError);
    EXPECT_FALSE(std::filesystem::exists(path("elsewhere")));
}

TEST_F(FixReload, ManyReloadsBesideRequestsLogonsAndMetrics) {
    const auto store = [&](const std::string& name) { return "store = '" + path(name + ".store") + "'\n"; };
    RunningEngine house{kListen + waits_for("A") + waits_for("B", store("b"))};
    RunningEngine a{connects("A", house)};
    RunningEngine b{connects("B", house)};
    RunningEngine c{connects("C", house)};
    ASSERT_TRUE(comes_true([&] { return house.is_active("A") && house.is_active("B"); }));
    std::atomic<bool> over{false};
    std::thread watcher{[&] {
        while (!over.load()) house.engine().watch();
    }};
    std::thread operator_thread{[&] {
        while (!over.load()) {
            const Administered list{.sessions = [&] { return house.engine().sessions(); }, .reload = {}};
            static_cast<void>(answer_admin("list", list));
            static_cast<void>(answer_admin("set-seq\tC\t7\t9", list));
            static_cast<void>(answer_admin("logon\tB", list));
        }
    }};
    for (int i = 0; i < 10; ++i) {
        const auto changing = store("b") + fmt::format("max_latency_seconds = {}\n", 100 + i % 2);
        const auto result =
            house.reload(kListen + waits_for("A") + waits_for("B", changing) + (i % 2 == 0 ? waits_for("C") : ""));
        EXPECT_THAT(result.refused, IsEmpty());
        EXPECT_TRUE(comes_true([&] { return house.is_active("B"); })) << i;
    }
    over.store(true);
    watcher.join();
    operator_thread.join();
    EXPECT_EQ(a.counts().logons.load(), 1);
    EXPECT_TRUE(comes_true([&] { return house.status("B").next_target == b.status("HOUSE").next_sender; }));
}

}  // namespace
}  // namespace millpond::fixd
