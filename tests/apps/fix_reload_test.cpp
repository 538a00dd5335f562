// Reloads of `millpond fix acceptor` and `fix initiator`: by SIGHUP, `fix reload` and POST.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/stat.h>

#include "tests/apps/program.hpp"
#include "tests/support/line_client.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSecret = "admin-secret-0123456789";

class FixReloadRun : public ::testing::Test {
protected:
    void SetUp() override {
        std::filesystem::create_directories(folder_);
        std::ofstream{path("admin.token")} << kSecret << "\n";
        ::chmod(path("admin.token").c_str(), 0600);
        configure(session("A"));
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
    [[nodiscard]] static std::string session(const std::string& target) {
        return "[[session]]\nsender = 'HOUSE'\ntarget = '" + target + "'\n";
    }
    void configure(const std::string& sessions) const {
        std::ofstream{path("fix.toml")} << "admin = '" << path("fix.sock") << "'\nmetrics = '127.0.0.1:0'\n"
                                        << "admin_token_file = '" << path("admin.token") << "'\n"
                                        << "[[acceptor]]\nlisten = '127.0.0.1:0'\n"
                                        << sessions;
    }
    [[nodiscard]] Program house() const {
        return Program{{"fix", "acceptor", "--config", path("fix.toml"), "--state", path("state")}};
    }
    [[nodiscard]] Outcome reload(std::vector<std::string> more = {}) const {
        more.insert(more.begin(), {"fix", "reload", "--admin", path("fix.sock")});
        return run(more);
    }
    [[nodiscard]] Outcome sessions(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {"fix", "sessions"});
        arguments.insert(arguments.end(), {"--admin", path("fix.sock")});
        return run(arguments);
    }
    static std::string post(const Program& house, const std::string& headers) {
        const auto metrics = house.word_after("metrics at http://127.0.0.1:");
        test::LineClient client{static_cast<std::uint16_t>(std::atoi(metrics.c_str()))};
        client.send_text("POST /api/reload HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers + "\r\n");
        while (!client.over()) {
            client.wait();
            client.receive();
        }
        return client.text();
    }

    std::filesystem::path folder_{::testing::TempDir() + test::scratch_name("fix_reload")};
};

TEST_F(FixReloadRun, TheCommandPrintsWhatChanged) {
    auto house = this->house();
    ASSERT_TRUE(house.prints("metrics at"));
    EXPECT_EQ(reload().out, "no changes\n");
    configure(session("A") + session("B"));
    const auto added = reload();
    EXPECT_EQ(added.exit_code, 0) << added.err;
    EXPECT_EQ(added.out, "session FIX.4.4:HOUSE->B is added\n");
    configure("threads = 7\n" + session("B"));
    const auto bad = reload();  // a top-level key below a table
    EXPECT_EQ(bad.exit_code, 1);
    EXPECT_EQ(bad.out, "");
    EXPECT_THAT(bad.err, HasSubstr("millpond: nothing was changed: " + path("fix.toml") + ":"));
    EXPECT_THAT(sessions({"list"}).out, HasSubstr("HOUSE->A"));
    configure(session("B"));
    EXPECT_EQ(reload({"--json"}).out, "{\"done\":[\"session FIX.4.4:HOUSE->A is removed\"],\"refused\":[]}\n");
    std::filesystem::remove(path("fix.toml"));
    EXPECT_THAT(reload().err, HasSubstr("nothing was changed"));
    EXPECT_THAT(sessions({"list"}).out, HasSubstr("HOUSE->B"));
    house.signal(SIGTERM);
    EXPECT_EQ(house.wait().exit_code, 0);
}

TEST_F(FixReloadRun, ASignalAndAPostDoTheSame) {
    auto house = this->house();
    ASSERT_TRUE(house.prints("metrics at"));
    configure(session("A") + session("B"));
    house.signal(SIGHUP);
    ASSERT_TRUE(house.prints("reload: session FIX.4.4:HOUSE->B is added"));
    configure(session("B"));
    EXPECT_THAT(post(house, ""), HasSubstr("HTTP/1.1 401"));
    EXPECT_THAT(post(house, "Authorization: Bearer wrong-wrong-wrong-wrong\r\n"), HasSubstr("HTTP/1.1 401"));
    EXPECT_THAT(sessions({"list"}).out, HasSubstr("HOUSE->A"));
    EXPECT_THAT(post(house, std::string{"Authorization: Bearer "} + kSecret + "\r\n"),
                HasSubstr("{\"done\":[\"session FIX.4.4:HOUSE->A is removed\"],\"refused\":[]}"));
    EXPECT_THAT(sessions({"list"}).out, Not(HasSubstr("HOUSE->A")));
    house.signal(SIGTERM);
    EXPECT_EQ(house.wait().exit_code, 0);
}

TEST_F(FixReloadRun, DisableAndEnableAreSeenInTheList) {
    auto house = this->house();
    ASSERT_TRUE(house.prints("metrics at"));
    EXPECT_EQ(sessions({"disable", "A"}).exit_code, 0);
    while (sessions({"list"}).out.find("disabled") == std::string::npos) {  // takes effect asynchronously
    }
    EXPECT_EQ(sessions({"enable", "A"}).exit_code, 0);
    while (sessions({"list"}).out.find("disabled") != std::string::npos) {
    }
    EXPECT_EQ(sessions({"disable", "A", "--reason", ""}).exit_code, 2);
    house.signal(SIGTERM);
    EXPECT_EQ(house.wait().exit_code, 0);
}

TEST_F(FixReloadRun, TheSessionOfAScriptStaysAndWithoutAFileNothingIsReadAgain) {
    const auto admin = "admin = '" + path("desk.sock") + "'\n";
    const std::string connects = "[[session]]\nsender = 'DESK'\ntarget = 'HOUSE'\nhosts = ['127.0.0.1:9']\n";
    std::ofstream{path("desk.toml")} << admin << connects;
    Program desk{{"fix", "initiator", "--config", path("desk.toml"), "--state", path("state"), "--script", "/dev/null",
                  "--stay"}};
    ASSERT_TRUE(desk.prints("not logged on"));
    std::ofstream{path("desk.toml")} << admin << connects << "heartbeat_seconds = 77\n";
    const auto refused = run({"fix", "reload", "--admin", path("desk.sock")});
    EXPECT_THAT(refused.err, HasSubstr("the session that the script goes to cannot change"));
    std::ofstream{path("desk.toml")} << admin << connects << session("B") << "hosts = ['127.0.0.1:9']\n";
    EXPECT_EQ(run({"fix", "reload", "--admin", path("desk.sock")}).out, "session FIX.4.4:HOUSE->B is added\n");
    desk.signal(SIGTERM);
    EXPECT_EQ(desk.wait().exit_code, 0);

    Program plain{{"fix", "acceptor", "--port", "0", "--session", "sender=HOUSE,target=A", "--admin",
                   path("plain.sock"), "--metrics", "127.0.0.1:0"}};
    ASSERT_TRUE(plain.prints("metrics at"));
    EXPECT_THAT(run({"fix", "reload", "--admin", path("plain.sock")}).err,
                HasSubstr("nothing was changed: there is no --config to reload"));
    plain.signal(SIGTERM);
    EXPECT_EQ(plain.wait().exit_code, 0);
    const auto gone = run({"fix", "reload", "--admin", path("plain.sock")});
    EXPECT_EQ(gone.exit_code, 1);
    EXPECT_THAT(gone.err, HasSubstr("no engine responds at"));
}

}  // namespace
}  // namespace millpond::app
