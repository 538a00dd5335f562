#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kAcceptor =
    "[DEFAULT]\nConnectionType=acceptor\nSocketAcceptAddress=127.0.0.1\n"
    "SocketAcceptPort=0\nSenderCompID=VENUE\nScreenLogShowEvents=Y\n"
    "[SESSION]\nBeginString=FIX.4.2\nTargetCompID=DESK\nTargetSubID=ALGO\n"
    "StartTime=00:00:00\nEndTime=00:00:00\n";

/// State folder with the engines' message stores.
class StateFolder {
public:
    ~StateFolder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_{::testing::TempDir() + test::scratch_name("state")};
};

TEST(FixImport, ImportedAcceptorAndInitiatorTradeWithEachOther) {
    const StateFolder state;
    const test::ScratchFile quickfix{test::scratch_name("acceptor.cfg"), kAcceptor};
    const test::ScratchFile ours{test::scratch_name("acceptor.toml"), ""};
    const auto imported = run({"fix", "import", quickfix.path(), "--out", ours.path()});
    ASSERT_EQ(imported.exit_code, 0) << imported.err;
    EXPECT_EQ(imported.out, "");
    EXPECT_THAT(imported.err, HasSubstr(quickfix.path() + ":6: left out: ScreenLogShowEvents: "));
    Program acceptor{{"fix", "acceptor", "--fill", "--config", ours.path(), "--state", state.path()}};
    ASSERT_TRUE(acceptor.prints("listening on")) << acceptor.output();
    const auto address = acceptor.word_after("listening on ");
    const auto port = address.substr(address.rfind(':') + 1);

    const test::ScratchFile desk{test::scratch_name("desk.cfg"),
                                 "[DEFAULT]\nConnectionType=initiator\nNonStopSession=Y\nResetOnLogon=Y\n"
                                 "[SESSION]\nBeginString=FIX.4.2\nSenderCompID=DESK\nSenderSubID=ALGO\n"
                                 "TargetCompID=VENUE\nSocketConnectHost=127.0.0.1\nSocketConnectPort=" +
                                     port + "\n"};
    const auto toml = run({"fix", "import", desk.path()});
    ASSERT_EQ(toml.exit_code, 0) << toml.err;
    EXPECT_EQ(toml.err, "");
    const test::ScratchFile initiator{test::scratch_name("desk.toml"), toml.out};
    const auto good = run({"fix", "config", "check", initiator.path()});
    EXPECT_EQ(good.exit_code, 0) << good.err;
    EXPECT_EQ(good.out, initiator.path() + ": good: acceptors 0, sessions 1 (1 connect)\n");
    const test::ScratchFile script{test::scratch_name("orders.txt"),
                                   "35=D|11=a|21=1|55=MSFT|54=1|38=100|40=2|44=10.5|60=20261121-09:30:00|\n"};
    const auto traded = run({"fix", "initiator", "--config", initiator.path(), "--state", state.path(), "--expect", "1",
                             "--script", script.path()});
    EXPECT_EQ(traded.exit_code, 0) << traded.err;
    EXPECT_THAT(traded.out, HasSubstr("OrdStatus=2")) << traded.err;
    EXPECT_THAT(traded.out, HasSubstr("TargetSubID=ALGO")) << "the acceptor's header field";
}

TEST(FixImport, TheFileItselfIsNotOverwritten) {
    const test::ScratchFile quickfix{test::scratch_name("acceptor.cfg"), kAcceptor};
    const auto outcome = run({"fix", "import", quickfix.path(), "--out", quickfix.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("is the file to import; choose another one"));
    EXPECT_EQ(run({"fix", "import", quickfix.path()}).exit_code, 0) << "it is still there";
}

TEST(FixImport, AFileThatIsNotQuickfixsIsNamedWithItsLine) {
    const test::ScratchFile wrong{test::scratch_name("wrong.cfg"),
                                  "[SESSION]\nConnectionType=both\nBeginString=FIX.4.4\n"
                                  "SenderCompID=A\nTargetCompID=B\n"};
    const auto outcome = run({"fix", "import", wrong.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err,
                HasSubstr(wrong.path() + ":2: ConnectionType expects initiator or acceptor, found 'both'"));
    EXPECT_THAT(run({"fix", "import", "/nonexistent.cfg"}).err, HasSubstr("/nonexistent.cfg"));
}

TEST(FixConfigCheck, DictionariesAndSecretsThatCannotBeReadAreNamed) {
    const std::string session = "[[session]]\nsender = 'A'\ntarget = 'B'\nhosts = ['127.0.0.1:1']\n";
    const auto error = [&](const std::string& line, bool secrets = true) {
        const test::ScratchFile file{test::scratch_name("check.toml"), session + line};
        auto outcome = secrets ? run({"fix", "config", "check", file.path()})
                               : run({"fix", "config", "check", "--no-secrets", file.path()});
        EXPECT_EQ(outcome.exit_code, outcome.err.empty() ? 0 : 1);
        return outcome.err;
    };
    EXPECT_EQ(error(""), "");
    EXPECT_THAT(error("dictionary = '/nonexistent.xml'\n"), HasSubstr("/nonexistent.xml"));
    EXPECT_EQ(error("dictionary = '/nonexistent.xml'\n", false), "");
    EXPECT_THAT(error("password_file = '/nonexistent.txt'\n"), HasSubstr("/nonexistent.txt"));
    EXPECT_EQ(error("password_file = '/nonexistent.txt'\n", false), "");
    EXPECT_THAT(error("tls = true\ntls_authorities = '/nonexistent.pem'\n"), HasSubstr("/nonexistent.pem"));
    EXPECT_EQ(error("tls = true\ntls_authorities = '/nonexistent.pem'\n", false), "");
    EXPECT_THAT(error("heartbeat = 5\n"), HasSubstr(":5"));
    const std::string standby = "store = 's'\n[session.standby]\naddress = 'b:1'\n";
    EXPECT_EQ(error(standby), "");
    EXPECT_THAT(error(standby + "tls_authorities = '/nonexistent.pem'\n"),
                HasSubstr("[[session]] 'A' to 'B': [session.standby]: tls: authorities '/nonexistent.pem'"));
    EXPECT_THAT(error(standby + "token_file = '/nonexistent.token'\n"), HasSubstr("/nonexistent.token"));
    const std::string listens =
        "store = 's'\n[standby]\nlisten = '127.0.0.1:0'\ntls_certificate = '/nonexistent.pem'\n"
        "tls_key = '/nonexistent.key'\ntls_authorities = '/nonexistent.pem'\n";
    EXPECT_THAT(error(listens), HasSubstr("tls: certificate '/nonexistent.pem'"));
    EXPECT_EQ(error(listens, false), "");
}

std::string errors_of(const std::string& toml) {
    const test::ScratchFile file{test::scratch_name("all.toml"), toml};
    const auto outcome = run({"fix", "config", "check", file.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    return outcome.err;
}

TEST(FixConfigCheck, AllErrorsAreListed) {
    const auto errors = errors_of(
        "raw_log = '/dev/null/raw.log'\n"
        "[[acceptor]]\ntls_certificate = '/nonexistent.pem'\ntls_key = '/nonexistent.key'\n"
        "[[session]]\nsender = 'A'\ntarget = 'B'\nstart = '08:00'\nacceptor = 'none'\n"
        "[[session]]\nsender = 'A'\ntarget = 'C'\nhosts = ['127.0.0.1:1']\npassword_file = '/nonexistent.pw'\n"
        "store = '/dev/null/c.store'\n");
    for (const auto* expected :
         {"raw_log: '/dev/null': Not a directory", "[[acceptor]] 'acceptor': tls: certificate '/nonexistent.pem'",
          "[[session]] 'A' to 'B': 'start' and 'end' are required together",
          "[[session]] 'A' to 'B': acceptor 'none' does not exist", "/nonexistent.pw",
          "[[session]] 'A' to 'C': store: '/dev/null': Not a directory"}) {
        EXPECT_THAT(errors, HasSubstr(expected));
    }
}

TEST(FixConfigCheck, OfASessionThatIsNotCompleteNothingElseIsChecked) {
    const auto errors = errors_of(
        "[[session]]\nsender = 'A'\ntarget = 'B'\nstart = '08:00'\npassword_file = '/nonexistent.pw'\n"
        "[[session]]\nsender = 'A'\ntarget = 'C'\nstart = '08:00'\ntimezone = 'Nowhere'\n"
        "[standby]\nlisten = '127.0.0.1:0'\ntls_certificate = '/nonexistent.pem'\ntls_key = '/nonexistent.key'\n");
    EXPECT_THAT(errors, HasSubstr("[[session]] 'A' to 'B': 'start' and 'end' are required together"));
    EXPECT_THAT(errors, HasSubstr("[[session]] 'A' to 'C': 'start' and 'end' are required together"));
    EXPECT_THAT(errors, HasSubstr("[standby]: any program could write"));
    EXPECT_THAT(errors, Not(HasSubstr("/nonexistent")));
}

TEST(FixConfigCheck, AddressesThatTheMachineDoesNotHaveAndSecretsAreNamedWithTheirSection) {
    const auto errors = errors_of(
        "metrics = '203.0.113.1:9470'\nadmin_token_file = '/nonexistent.admin'\n"
        "[[acceptor]]\nname = 'lan'\nlisten = '203.0.113.2:5001'\n"
        "[[web]]\nlisten = '203.0.113.3:9475'\ntoken_file = '/nonexistent.web'\n"
        "tls_certificate = '/nonexistent.pem'\ntls_key = '/nonexistent.key'\n"
        "[standby]\nlisten = '203.0.113.4:7100'\ntoken_file = '/nonexistent.pair'\n"
        "tls_certificate = '/nonexistent.pem'\ntls_key = '/nonexistent.key'\n"
        "[[session]]\nsender = 'A'\ntarget = 'B'\nhosts = ['127.0.0.1:1']\nstore = 's'\n"
        "password_file = '/nonexistent.pw'\n");
    for (const auto* expected :
         {"metrics: cannot listen on 203.0.113.1:9470", "[[acceptor]] 'lan': cannot listen on 203.0.113.2:5001",
          "[[web]]: cannot listen on 203.0.113.3:9475", "[standby]: cannot listen on 203.0.113.4:7100",
          "admin_token: token file '/nonexistent.admin'", "[[web]]: token file '/nonexistent.web'", "[[web]]: tls: ",
          "[standby]: token file '/nonexistent.pair'", "[standby]: tls: certificate '/nonexistent.pem'",
          "[[session]] 'A' to 'B': password file '/nonexistent.pw'"}) {
        EXPECT_THAT(errors, HasSubstr(expected));
    }
}

TEST(FixConfigCheck, ADictionaryOfAnotherVersionOrWithoutALogonIsRefused) {
    const auto dictionary = [](const std::string& version, const std::string& messages) {
        return "<fix " + version + "><header/><trailer/><messages>" + messages + "</messages><fields/></fix>";
    };
    const std::string logon = "<message name='Logon' msgtype='A' msgcat='admin'/>";
    const test::ScratchFile fix44{test::scratch_name("44.xml"), dictionary("type='FIX' major='4' minor='4'", logon)};
    const test::ScratchFile bare{test::scratch_name("bare.xml"), dictionary("type='FIX' major='4' minor='2'", "")};
    const test::ScratchFile fixt{test::scratch_name("t.xml"), dictionary("type='FIXT' major='1' minor='1'", logon)};
    const test::ScratchFile fix50{test::scratch_name("50.xml"), dictionary("type='FIX' major='5' minor='0'", "")};
    const auto session = [](const std::string& version, const std::string& lines) {
        return "[[session]]\nsender = 'A'\ntarget = 'B'\nhosts = ['127.0.0.1:1']\nversion = '" + version + "'\n" +
               lines;
    };
    EXPECT_THAT(errors_of(session("FIX.4.2", "dictionary = '" + fix44.path() + "'\n")),
                HasSubstr("dictionary '" + fix44.path() + "' is of FIX.4.4, not FIX.4.2"));
    EXPECT_THAT(errors_of(session("FIX.4.2", "dictionary = '" + bare.path() + "'\n")), HasSubstr("has no Logon"));
    EXPECT_THAT(errors_of(session("FIX.5.0SP2", "dictionary = '" + fix50.path() + "'\n")),
                HasSubstr("is of FIX.5.0, not FIXT.1.1"));
    EXPECT_THAT(errors_of(session("FIX.5.0SP2", "application_dictionary = '" + fix44.path() + "'\n")),
                HasSubstr("is of FIX.4.4, not FIX.5.0SP2"));
    EXPECT_THAT(errors_of(session("FIX.5.0SP2", "further_versions = ['FIX.4.2=" + fix44.path() + "']\n")),
                HasSubstr("is of FIX.4.4, not FIX.4.2"));
    const test::ScratchFile good{
        test::scratch_name("good.toml"),
        session("FIX.5.0SP2", "dictionary = '" + fixt.path() + "'\napplication_dictionary = '" + fix50.path() + "'\n")};
    EXPECT_EQ(run({"fix", "config", "check", good.path()}).err, "");
}

}  // namespace
}  // namespace millpond::app
