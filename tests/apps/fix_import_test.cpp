#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;

constexpr const char* kAcceptor =
    "[DEFAULT]\nConnectionType=acceptor\nSocketAcceptAddress=127.0.0.1\n"
    "SocketAcceptPort=0\nSenderCompID=VENUE\nScreenLogShowEvents=Y\n"
    "[SESSION]\nBeginString=FIX.4.2\nTargetCompID=DESK\nTargetSubID=ALGO\n"
    "StartTime=00:00:00\nEndTime=00:00:00\n";

/// Where the engines keep their messages.
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
    ASSERT_TRUE(acceptor.says("listening on")) << acceptor.said();
    const auto address = acceptor.word_behind("listening on ");
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
                HasSubstr("[[session]] 'A' to 'B': [session.standby]: TLS: authorities /nonexistent.pem"));
    EXPECT_THAT(error(standby + "token_file = '/nonexistent.token'\n"), HasSubstr("/nonexistent.token"));
    const std::string listens =
        "store = 's'\n[standby]\nlisten = '127.0.0.1:0'\ntls_certificate = '/nonexistent.pem'\n"
        "tls_key = '/nonexistent.key'\ntls_authorities = '/nonexistent.pem'\n";
    EXPECT_THAT(error(listens), HasSubstr("TLS: certificate /nonexistent.pem"));
    EXPECT_EQ(error(listens, false), "");
}

}  // namespace
}  // namespace millpond::app
